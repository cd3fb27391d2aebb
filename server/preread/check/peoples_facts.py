"""What people wrote into the published files, with its current sources."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, cached_property
from typing import NamedTuple

from preread.check import peoples_versions
from preread.check.lookups import Answers, Lookups
from preread.check.where_written import WhereWritten
from preread.check.written_by_people import written_by_people
from preread.dossier import (
    anchors,
    fact_text,
    markdown,
    merged_sides,
    published,
    source_tracking,
    sources,
)
from preread.dossier.merged_sides import Sides
from preread.dossier.published import Published
from preread.dossier.relocation import Relocator
from preread.dossier.source_tracking import SourceChanges
from preread.dossier.sources import Ref, Span
from preread.models import Draft, Fact, Manifest, Section, SpanMark
from preread.services import Services


class People(NamedTuple):
    """What people wrote into the published files."""

    facts: dict[fact_text.FactKey, bool]  # whether its sources still exist
    replaced: dict[str, str]  # as in `Manifest.replaced`
    sought: dict[str, SpanMark]  # what was at cited lines that are gone, as in `Manifest.sought`
    renumbered: tuple[str, ...] = ()  # of builds' facts: edits of people that are undone


def with_peoples_facts(
    services: Services,
    feature: str,
    drafts: Iterable[Draft],
    found: SourceChanges,
    generations: Callable[[], list[Published]],
    subjects: Mapping[str, str],
) -> tuple[tuple[Draft, ...], People]:
    """Add the facts that people wrote into the published files, with their current sources.

    `generations` returns earlier ones of the dossier, latest first; `subjects` says what facts of
    the drafts are about, as in `Manifest.subjects`.

    They come first in their file, unless a draft already has them with the same sources, and are
    checked like any other.
    If the manifest does not say who wrote what, or git merged it, facts that differ from a draft's
    only in their numbers do not count as a person's. What one side of a merge took out, stays out.
    """
    drafts = tuple(drafts)
    by_name = {draft.name: draft for draft in drafts}
    current = published.read(services.layout, feature)
    if current is None or current.manifest is None:
        return tuple(by_name.values()), People({}, {}, {})
    is_in_git = bool(current.edited) and services.tree.is_git
    merged = merged_sides.merged(services, feature) if is_in_git else Sides()
    followed = _PeoplesFacts(services, current, found, merged, generations)
    for name, text in current.texts.items():
        draft = by_name.get(name, Draft(name, feature))
        if added := tuple(followed.missing_from(draft, text)):
            by_name[name] = replace(draft, sections=(*added, *draft.sections))
    of_sides = [one.manifest for one in followed.sides if one.manifest is not None]
    replaced = peoples_versions.replaced(
        current, of_sides, followed.new_ids, followed.where_written
    )
    of_drafts = (*by_name.values(), *drafts)  # a build's version counts, if there is one
    more = peoples_versions.by_lasting_ids(
        current.manifest,
        replaced | followed.corrected,
        of_drafts,
        followed.where_written,
        subjects,
    )
    return tuple(by_name.values()), People(
        followed.facts, replaced | more, followed.sought, tuple(followed.renumbered)
    )


class _PeoplesFacts:
    """The facts that people wrote, with their current sources."""

    def __init__(
        self,
        services: Services,
        current: Published,
        found: SourceChanges,
        merged: Sides,
        generations: Callable[[], list[Published]],
    ) -> None:
        manifest = current.manifest or Manifest(feature="")
        self.manifest, self.found, self.edited = manifest, found, current.edited
        self.texts = current.texts
        self.merged = merged
        self.sides = merged.sides if current.is_merged else []
        self.is_of_unknown_sides = current.is_merged and not merged.sides
        self.changes_of_side = cache(lambda i: self._changes_of_side(services, i))
        self.relocator = Relocator(services.tree)
        answers = Answers(())
        self.lookups = Lookups(services, manifest.feature, answers, trust_published=False)
        self.facts: dict[fact_text.FactKey, bool] = {}
        self.where_written = WhereWritten(services, current, self.relocator, generations)
        self.new_ids: dict[str, str] = {}  # a fact's published id -> its id with current sources
        self.corrected: dict[str, str] = {}  # the same, of facts that a build had written
        self.sought: dict[str, SpanMark] = {}
        self.renumbered: list[str] = []

    def missing_from(self, draft: Draft, published_text: str) -> Iterator[Section]:
        """The sections of a published file, with only those facts of people that a draft lacks."""
        name, drafted = draft.name, {fact_text.fact_key(draft.name, fact) for fact in draft.facts}
        for section in self._sections_of_people(draft, published_text):
            items = []
            for old in section.facts:
                fact = self._current(name, section, old)
                if fact_text.fact_key(name, fact) not in drafted:
                    items.append(fact)
                elif fact != old and self._is_new(name, old):
                    self.renumbered.append(f"{name}: {fact_text.with_sources(old)}")
            if items:
                yield replace(section, items=tuple(items))

    def _sections_of_people(self, draft: Draft, published_text: str) -> Iterator[Section]:
        """The sections of a published file with the facts of people that no draft supersedes."""
        name, manifest = draft.name, self.manifest
        is_merged = manifest.files.get(name) == ""  # lines of builds of both sides
        authors_known = bool(manifest.facts) and not is_merged
        shapes = set() if authors_known else {fact_text.shape(one.text) for one in draft.facts}
        now = markdown.parse(name, manifest.feature, published_text)[0].facts
        built = [one for one in now if published.is_built(manifest, name, one)]
        found_again = _words(draft.facts) & _words(built)
        for section in written_by_people(name, published_text, manifest, self.merged).sections:
            facts = [
                fact
                for fact in section.facts
                if fact_text.fact_key(name, fact) in self.merged.of_people
                or (
                    fact_text.shape(fact.text) not in shapes
                    and not self._is_superseded(name, fact, found_again)
                )
            ]
            yield replace(section, items=tuple(facts))

    def _is_superseded(self, name: str, fact: Fact, found_again: Collection[str]) -> bool:
        """Whether a build's fact is back from an earlier version, as after `git stash pop`.

        Or git kept it although one side has a newer one, and does not say which sides there were.
        `found_again`: the words of builds' facts that the file has and the new build finds, too.
        """
        if self.is_of_unknown_sides:
            return self.where_written.was_built(name, fact)
        is_found_again = fact_text.without_places(fact.text) in found_again
        is_edited = name in self.edited and self.manifest.files.get(name) != ""
        return is_edited and is_found_again and self.where_written.was_built(name, fact)

    def _current(self, name: str, section: Section, fact: Fact) -> Fact:
        """The fact with its current sources; notes its new id and the sources it has lost."""
        marks, found = self._followed(name, section, fact)
        now = source_tracking.updated_fact(fact, section.source, found)
        old, identity = fact_text.fact_id(name, fact.text), fact_text.fact_id(name, now.text)
        self.new_ids[old] = identity
        if old in self.manifest.facts:
            self.corrected[old] = identity
        for source, new in zip(fact.sources, now.sources, strict=True):
            if (mark := self._mark(source, new, found, marks)) is not None:
                self.sought[f"{identity} {new}"] = mark
        # The check looks up quotes, so a person need not edit a fact that is still true.
        own = anchors.own_quotes(fact, section.source)
        lost = (one for one in fact.sources if source_tracking.is_lost(one, fact, found))
        self.facts[fact_text.fact_key(name, now)] = all(own.get(one) for one in lost)
        return now

    def _mark(
        self, source: str, new: str, found: SourceChanges, marks: Mapping[str, SpanMark]
    ) -> SpanMark | None:
        """What to look for if the fact is unverified: what was there, or is at the `new` place."""
        ref = sources.parse(new)
        if source not in found.lost and ref is not None and ref.kind == "lines":
            return self.relocator.mark(ref)
        digest = self.manifest.spans.get(source)
        return marks.get(source) or source_tracking.mark_of_whole(source, digest)

    def _followed(
        self, name: str, section: Section, fact: Fact
    ) -> tuple[Mapping[str, SpanMark], SourceChanges]:
        """What was at the fact's lines, and what has become of them.

        Each step looks only for what the ones before it have not found.
        """
        is_new = self._is_new(name, fact)
        seen = self._seen_by_side(name, fact)
        marks, found = seen or self._tracked(name, section, fact, is_new=is_new)
        known: Collection[str] = fact.sources if seen else marks | self.manifest.spans
        if is_new:
            known = found.moved
        found |= self._found_by_commits(name, fact, known)
        found = self._found_by_digest(fact, found, marks)
        lost = [source for source in fact.sources if source in found.lost]
        if lost:
            found = found.with_moved(self.where_written.by_generations(name, fact, lost))
        return marks, self._found_by_quotes(fact, section.source, found, marks)

    def _is_new(self, name: str, fact: Fact) -> bool:
        """Whether a person wrote the fact, or corrected its sources, since the last publish."""
        is_edited = name in self.edited and self.manifest.files.get(name) != ""  # merged
        return is_edited and self.where_written.is_new(name, fact)

    def _seen_by_side(
        self, name: str, fact: Fact
    ) -> tuple[dict[str, SpanMark], SourceChanges] | None:
        """Like `_tracked`, by the manifest of a side of a merge that has the fact; None without."""
        key = fact_text.fact_key(name, fact)
        for number, side in enumerate(self.sides):
            manifest = side.manifest
            if manifest is None or key not in side.facts:
                continue
            if published.is_unverified(manifest, fact):
                return self._sought(manifest, name, fact)
            if manifest.spans.keys() >= {*fact.sources}:
                return manifest.marks, self.changes_of_side(number)
        return None

    def _sought(
        self, manifest: Manifest, name: str, fact: Fact
    ) -> tuple[dict[str, SpanMark], SourceChanges]:
        """What was at the lines of an unverified fact while they said it, and where that is now."""
        marks = source_tracking.sought(manifest, name, fact)
        return marks, source_tracking.find_lost(self.relocator, marks)

    def _changes_of_side(self, services: Services, number: int) -> SourceChanges:
        manifest = self.sides[number].manifest
        return source_tracking.follow(services, manifest) if manifest else SourceChanges()

    def _tracked(
        self, name: str, section: Section, fact: Fact, *, is_new: bool
    ) -> tuple[dict[str, SpanMark], SourceChanges]:
        """What the manifest says was at the fact's lines, and what has become of that."""
        if is_new:
            return {}, self._moved_while_reworded(name, fact, section.source)
        if published.is_unverified(self.manifest, fact):
            return self._sought(self.manifest, name, fact)
        return self.manifest.marks, self.found

    def _moved_while_reworded(self, name: str, fact: Fact, base: str) -> SourceChanges:
        """Where the lines are now that a new fact cites as the one did that it replaced.

        Lines that have changed are meant as they are: they may be why it was reworded. So are all,
        if any would lose its quotes: a number may be that of an old line by chance.
        """
        if not self.where_written.is_reworded(name, fact, base, self._shown):
            return SourceChanges()
        found = self._found_by_digest(fact, self.found, self.manifest.marks)
        moved = {one: found.moved[one] for one in fact.sources if one in found.moved}
        own = anchors.own_quotes(fact, base)
        are_quoted = all(self._says(now, own.get(old, ())) for old, now in moved.items())
        if any(one in found.lost for one in fact.sources) or not are_quoted:
            return SourceChanges()  # all of its numbers, or none
        return SourceChanges(moved)

    @cached_property
    def _shown(self) -> set[str]:
        """The ids of the dossier's facts, without those that git's union brought back."""
        order = peoples_versions.reading_order(self.manifest.feature, self.texts)
        return {*order} - self.merged.taken_out

    def _found_by_commits(self, name: str, fact: Fact, known: Collection[str]) -> SourceChanges:
        """What has become of the sources that are not known, unless others have the quotes."""
        unseen = [source for source in fact.sources if source not in known]
        found = self.where_written.by_commits(name, *self._before_rebase(name, fact), unseen)
        return self._if_quoted(fact, found)

    def _before_rebase(self, name: str, fact: Fact) -> tuple[Fact, str]:
        """The fact's line, and the commit whose file has it there; empty for the file as it is.

        A rebase writes commits again whose facts are about the code as it was before.
        """
        key = fact_text.fact_key(name, fact)
        for side in self.merged.rebased:
            if key in side.facts:
                return replace(fact, line=side.facts[key][1].line), side.commit
        return fact, ""

    def _if_quoted(self, fact: Fact, found: SourceChanges) -> SourceChanges:
        """`found`, unless a fact's only source has moved to lines without its quotes."""
        quotes = fact_text.quotes(fact.text)
        if len(fact.sources) > 1 or all(self._says(one, quotes) for one in found.moved.values()):
            return found
        return SourceChanges()

    def _found_by_digest(
        self, fact: Fact, found: SourceChanges, marks: Mapping[str, SpanMark]
    ) -> SourceChanges:
        """`found`, with the lines that a build's fact cited before a person edited the fact.

        Of several equal lines, those count that moved as far as the fact's others.
        """
        moved: dict[str, Ref] = {}
        ambiguous: list[tuple[Ref, str]] = []
        for source in fact.sources:
            ref, digest = sources.parse(source), self.manifest.spans.get(source)
            is_lost = source in found.lost and source not in marks
            if ref is not None and ref.kind == "lines" and digest and is_lost:
                now = self.relocator.equal_lines(ref, digest)
                if now is not None:
                    moved[source] = now
                else:
                    ambiguous.append((ref, digest))
        for ref, digest in ambiguous:
            others = [(sources.parse(old), new) for old, new in moved.items()]
            steps = {new.start - old.start for old, new in others if old and old.path == ref.path}
            for step in steps if len(steps) == 1 else ():
                now = replace(ref, start=ref.start + step, end=ref.end + step)
                if self.relocator.has_digest(now, digest):
                    moved[str(ref)] = now
        return found.with_moved({old: str(new) for old, new in moved.items()})

    def _says(self, source: str, quotes: Iterable[str]) -> bool:
        """Whether a source has these quotes, as the check looks them up."""
        span = self.lookups.span(source)
        return isinstance(span, Span) and all(
            self.lookups.contains(quote, source, span) for quote in quotes
        )

    def _found_by_quotes(
        self, fact: Fact, base: str, found: SourceChanges, marks: Mapping[str, SpanMark]
    ) -> SourceChanges:
        """`found`, with the lines that have a fact's quotes where it has lost its lines.

        Also where they were never seen, unless they have the quotes: the file may have changed
        since a person wrote the fact.
        """
        own, moved = anchors.own_quotes(fact, base), dict[str, str]()
        for source in fact.sources:
            ref, is_seen = sources.parse(source), source in marks or source in found.moved
            if ref is None or ref.kind != "lines":
                continue
            quotes = own.get(source)
            if quotes is None:
                now = self._changed_range(ref, fact, marks) if source in found.lost else None
            elif source not in found.lost if is_seen else self._says(source, quotes):
                continue
            else:
                now = self.relocator.quoting(ref, quotes, marks.get(source)) if quotes else None
            if now is not None and now != ref:
                moved[source] = str(now)
        return found.with_moved(moved)

    def _changed_range(self, ref: Ref, fact: Fact, marks: Mapping[str, SpanMark]) -> Ref | None:
        """The lines in the place of changed ones, if they have any quote of the fact."""
        mark = marks.get(str(ref))
        now = self.relocator.in_place_of(ref, mark) if mark is not None else None
        quotes = fact_text.quotes(fact.text)
        return now if now and any(self._says(str(now), [quote]) for quote in quotes) else None


def _words(facts: Iterable[Fact]) -> set[str]:
    """The words of facts, without the lines that they name."""
    return {fact_text.without_places(fact.text) for fact in facts}
