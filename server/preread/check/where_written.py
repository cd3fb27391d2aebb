"""What a person's fact cited when it was written, where the manifest does not say so."""

from collections.abc import Callable, Collection, Container, Iterable
from dataclasses import replace
from functools import cache, cached_property

from preread.dossier import anchors, fact_history, fact_text, markdown, published, sources
from preread.dossier.fact_changes import Facts, Known
from preread.dossier.published import Published
from preread.dossier.relocation import Relocator
from preread.dossier.source_tracking import SourceChanges
from preread.dossier.sources import Ref
from preread.models import Draft, Fact, Manifest
from preread.project import line_map
from preread.services import Services


class WhereWritten:
    """Finds out by git's history of a dossier's files, and by its earlier generations."""

    def __init__(
        self,
        services: Services,
        current: Published,
        relocator: Relocator,
        generations: Callable[[], list[Published]],
    ) -> None:
        self._services, self._current, self._relocator = services, current, relocator
        self._manifest = current.manifest or Manifest(feature="")
        self._generations = generations
        self._commit_of = cache(lambda *place: line_map.commit_of(services.tree, *place))
        self._map = cache(lambda *place: line_map.since(services.tree, *place))

    def is_new(self, name: str, fact: Fact) -> bool:
        """Whether the dossier did not have this fact, with these sources, when last published."""
        if (before := self._before(name)) is not None:
            return fact_text.fact_key(name, fact) not in before
        past = self._past  # also says it if the database was lost, but not what was cited
        return bool(past) and (name, fact_text.fact_id(name, fact.text)) not in past

    def is_reworded(self, name: str, fact: Fact, base: str, shown: Container[str]) -> bool:
        """Whether a new fact has the sources of one that is not there any more.

        It may have fewer of those in the text. `base` is its section's source, `shown` are the ids
        of the dossier's facts.
        """
        text, cited = self._text_before(name), {*fact.sources}
        if text is None:
            past = (one for (file, _), one in self._past.items() if file == name)
            return any(one.id not in shown and cited == {*one.sources} for one in past)
        at_end, draft = anchors.at_end(fact, base), self._parsed(name, text)
        return bool(cited) and any(
            cited <= {*old.sources}
            and at_end == anchors.at_end(old, section.source)
            and fact_text.fact_id(name, old.text) not in shown
            for _, section, old in markdown.all_facts([draft])
        )

    def _before(self, name: str) -> Collection[fact_text.FactKey] | None:
        """The keys of a file's facts when it was last published; None if that is not known."""
        text = self._text_before(name)
        return self._keys(name, text) if text is not None else None

    def _text_before(self, name: str) -> str | None:
        """A file's text when it was last published; None if that is not known."""
        digest = self._manifest.files.get(name)
        for one in self._earlier:
            text = one.texts.get(name, "")
            is_same = one.manifest is not None and one.manifest.files.get(name) == digest
            if is_same and published.digest(text.encode("utf-8", "surrogatepass")) == digest:
                return text
        return None

    def facts_before(self, name: str) -> list[Known] | None:
        """A file's facts when it was last published, in order; None if that is not known."""
        text, feature = self._text_before(name), self._manifest.feature
        return None if text is None else [*fact_history.facts_in({name: text}, feature).values()]

    @cached_property
    def ever_known(self) -> dict[str, Known]:
        """All facts that the dossier ever had, by id, as far as its versions or history say it."""
        feature = self._manifest.feature
        past = fact_history.all_facts(fact_history.events(self._services.layout, feature))
        texts = (one.texts for one in reversed(self._earlier))
        found = (one for part in texts for one in fact_history.facts_in(part, feature).values())
        return {one.id: one for one in (*past, *found)}

    def was_built(self, name: str, fact: Fact) -> bool:
        """Whether a build wrote exactly this fact into an earlier version of the dossier."""
        digest = fact_text.cited_digest(name, fact)
        return any(one.manifest and digest in one.manifest.cited for one in self._earlier)

    def _keys(self, name: str, text: str) -> set[fact_text.FactKey]:
        return {fact_text.fact_key(name, fact) for fact in self._parsed(name, text).facts}

    def _parsed(self, name: str, text: str) -> Draft:
        return markdown.parse(name, self._manifest.feature, text)[0]

    @cached_property
    def _past(self) -> Facts:
        past = fact_history.events(self._services.layout, self._manifest.feature)
        return fact_history.facts_after(past)

    def by_commits(
        self, name: str, fact: Fact, version: str, cited: Iterable[str]
    ) -> SourceChanges:
        """What has become of these sources since the commit that wrote the fact, if there is one.

        `version`: the commit whose file has the fact on its line; empty for the file as it is.
        Of lines whose text was changed, a fact without quotes says nothing that can be looked up.
        """
        moved: dict[str, str] = {}
        changed: set[str] = set()
        layout, quotes = self._services.layout, fact_text.quotes(fact.text)
        path = layout.relative(layout.dossier(self._manifest.feature) / name)
        refs = [
            ref
            for ref in map(sources.parse, cited)
            if ref and ref.kind == "lines" and ref.start <= ref.end
        ]
        is_known = bool(refs) and self._services.tree.is_git
        commit = self._commit_of(path, fact.line, version) if is_known else ""
        for ref in refs if commit else ():
            now = self._relocator.path_now(ref.path)
            lines = self._map(commit, ref.path, now) if now else None
            if lines is None:
                continue
            at = lines.lines(ref.start, ref.end)
            if not quotes and lines.is_changed(ref.start, ref.end):
                changed.add(str(ref))
            elif at is not None and (now, *at) != (ref.path, ref.start, ref.end):
                moved[str(ref)] = str(replace(ref, path=now, start=at[0], end=at[1]))
        return SourceChanges(moved, frozenset(changed))

    def by_generations(self, name: str, fact: Fact, cited: Iterable[str]) -> dict[str, str]:
        """Those of these sources whose lines are what an earlier generation of the fact cited."""
        found: dict[str, str] = {}
        now = self._same_words(name, self._current.texts.get(name, ""), fact)
        for generation in self._earlier:
            manifest = generation.manifest or Manifest(feature="")
            then = self._same_words(name, generation.texts.get(name, ""), fact)
            if len(then) != len(now):
                continue
            earlier = next(two for one, two in zip(now, then, strict=True) if one.line == fact.line)
            pairs = dict(zip(fact.sources, earlier.sources, strict=False))
            if published.is_unverified(manifest, earlier):
                continue
            for source in (one for one in cited if one in pairs and one not in found):
                place = self._still_there(manifest, pairs[source])
                found |= {source: str(place)} if place is not None else {}
        return found

    def _same_words(self, name: str, text: str, fact: Fact) -> list[Fact]:
        """The facts of a file's text with the words of a fact, in order."""
        return [one for one in self._parsed(name, text).facts if one.text == fact.text]

    def _still_there(self, manifest: Manifest, source: str) -> Ref | None:
        """Where the lines of a source are whose text has not changed since a generation."""
        ref, digest = sources.parse(source), manifest.spans.get(source)
        if ref is None or ref.kind != "lines" or digest is None:
            return None
        now = self._relocator.relocate(ref, digest, manifest.marks.get(source))
        return now if now is not None and self._relocator.has_digest(now, digest) else None

    @cached_property
    def _earlier(self) -> list[Published]:
        return self._generations()
