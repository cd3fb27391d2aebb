"""Code that people quote in a dossier's file: its `Source:` line follows it."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from preread.dossier import fact_text, markdown, source_tracking, sources
from preread.dossier.relocation import Relocator
from preread.dossier.source_tracking import SourceChanges
from preread.dossier.sources import Ref
from preread.models import Fence, Manifest, Section, SpanMark


class Followed(NamedTuple):
    """A file's text with current `Source:` lines, the sources that were found, and the others."""

    text: str
    sources: tuple[str, ...]
    sought: dict[str, SpanMark]  # what was at the lines that were not found, by key of the fence


def ids_of(keys: Iterable[str]) -> set[str]:
    """The ids of the fences with these keys."""
    return {one.partition(" ")[0] for one in keys}


def sections_with(
    name: str, feature: str, text: str, ids: Collection[str]
) -> list[tuple[Section, list[Fence]]]:
    """The sections of a file that have fences with these ids, with these fences."""
    found = []
    for section in markdown.parse(name, feature, text)[0].sections:
        fences = [one for one in section.fences if fact_text.fence_id(name, one.lines) in ids]
        found += [(section, fences)] if fences else []
    return found


class Follower:
    """Follows the sources of people's fences, as far as they are local."""

    def __init__(
        self,
        relocator: Relocator,
        manifest: Manifest,
        found: SourceChanges,
        by_commits: Callable[[str, Fence, str], str],
    ) -> None:
        """`by_commits` returns where a file's new fence has its source now, by git's history."""
        self.relocator, self.manifest, self.found = relocator, manifest, found
        self.by_commits = by_commits

    def follow(self, name: str, text: str, ids: Collection[str]) -> Followed:
        """Update the `Source:` lines of the fences with these ids."""
        lines, cited = text.split("\n"), []
        sought: dict[str, SpanMark] = {}
        for section, fences in sections_with(name, self.manifest.feature, text, ids):
            ref = sources.parse(section.source) if section.source else None
            if ref is None or not sources.ROWS[ref.kind].local:
                continue
            keys = [fact_text.fence_key(name, section, fence) for fence in fences]
            marks = self._marks(section.source, keys)
            now = self._by_commits(name, section.source, fences, keys)
            now = now or self._now(section.source, fences, keys, marks)
            if now:
                cited.append(now)
            elif (mark := self._lost(section.source, marks)) is not None:
                sought |= dict.fromkeys(keys, mark)
            if now and now != section.source:
                markdown.move_source(lines, section, now)
        return Followed("\n".join(lines), tuple(cited), sought)

    def _marks(self, source: str, keys: Collection[str]) -> Mapping[str, SpanMark]:
        """What was at the source's lines: also when they have been lost since then."""
        lost = [self.manifest.sought[one] for one in keys if one in self.manifest.sought]
        return {source: lost[0]} if lost else self.manifest.marks

    def _by_commits(
        self, name: str, source: str, fences: Collection[Fence], keys: Collection[str]
    ) -> str:
        """Where the source of fences is that no build has seen; empty without all their lines."""
        if any(one in self.manifest.peoples_fences for one in keys):
            return ""
        now = self.by_commits(name, next(iter(fences)), source)
        quoted = [line.strip() for fence in fences for line in fence.lines if line.strip()]
        return now if now and self.relocator.has(now, quoted) else ""

    def _now(
        self,
        source: str,
        fences: Collection[Fence],
        keys: Collection[str],
        marks: Mapping[str, SpanMark],
    ) -> str:
        """Where the source is now; empty if it is not found."""
        ref = sources.parse(source)
        tracked = self._tracked(source, marks, is_lost=marks is not self.manifest.marks)
        if ref is None or ref.kind != "lines":
            return tracked or (source if ref and self.relocator.exists(ref) else "")
        quoted = [line.strip() for fence in fences for line in fence.lines if line.strip()]
        is_seen = any(one in self.manifest.peoples_fences for one in keys)
        known = {*(self.manifest.fences or ())} | ids_of(self.manifest.peoples_fences)
        is_merged = "" in self.manifest.files.values()
        is_corrected = not is_seen and not is_merged and not known.isdisjoint(ids_of(keys))
        if is_corrected and self.relocator.exists(ref):
            return source  # a person means these lines, also if the code is not there
        # A new fence may be about the lines as they are, which an earlier build cited as well.
        is_new = not is_seen and not self.relocator.has(tracked, quoted)
        if tracked and not (is_new and self.relocator.has(source, quoted)):
            return tracked
        now = self._with_lines(ref, fences, quoted, marks.get(source))
        return str(now) if now is not None else ""

    def _with_lines(
        self, ref: Ref, fences: Collection[Fence], quoted: list[str], mark: SpanMark | None
    ) -> Ref | None:
        """The lines that have what the fences quote, also if the range has changed.

        They are what is in the range's place, else those that the fence shows without a gap, else
        no more than were cited, with each quoted line, except short ones, exactly once in the file.
        """
        if not quoted:
            return None
        now = self.relocator.quoting(ref, quoted, mark)
        if now is None and len(fences) == 1:
            now = self.relocator.quoted_lines(ref, next(iter(fences)).lines)
        long = [line for line in quoted if len(line) >= fact_text.MIN_QUOTE]
        if now is None and long:
            now = self.relocator.quoting(ref, long, None)
        return now if now is not None and self.relocator.has(str(now), quoted) else None

    def _tracked(self, source: str, marks: Mapping[str, SpanMark], *, is_lost: bool) -> str:
        """Where the text is that the source had at the last build; empty if that is not known."""
        if is_lost:
            lost = {source: marks[source]}
            return source_tracking.find_lost(self.relocator, lost).moved.get(source, "")
        if source in self.found.moved:
            return self.found.moved[source]
        digest, ref = self.manifest.spans.get(source), sources.parse(source)
        if digest is None or source not in self.found.lost:
            return source if digest is not None else ""
        # A build's fence that a person edited has no mark.
        is_unmarked = ref is not None and ref.kind == "lines" and source not in marks
        now = self.relocator.equal_lines(ref, digest) if ref and is_unmarked and digest else None
        return str(now) if now is not None else ""

    def _lost(self, source: str, marks: Mapping[str, SpanMark]) -> SpanMark | None:
        """What to look for where a source is not found."""
        digest = self.manifest.spans.get(source)
        return marks.get(source) or source_tracking.mark_of_whole(source, digest)
