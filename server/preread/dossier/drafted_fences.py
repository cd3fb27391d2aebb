"""Code that a model quotes in a draft: with the `Source:` line above it, it follows the code."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from preread.dossier import fact_text, sources
from preread.dossier.relocation import Relocator
from preread.dossier.sources import Ref
from preread.models import Draft, Fence, Manifest, Section, SpanMark
from preread.project.tree import Tree


class Followed(NamedTuple):
    """Where a section's source is now, empty if it is gone, and the fences that it still has."""

    source: str
    fences: tuple[Fence, ...]


class Follower:
    """Follows the sources of the sections that a model drafted."""

    def __init__(self, tree: Tree, manifest: Manifest) -> None:
        self._relocator, self._manifest = Relocator(tree), manifest

    def follow(
        self, name: str, section: Section, moved: Mapping[str, str], lost: Collection[str]
    ) -> Followed:
        """Follow a section of a file; `moved` and `lost` say what is known of all sources."""
        source, ref = section.source, sources.parse(section.source) if section.source else None
        if ref is None or source in moved:
            return Followed(moved.get(source, source), section.fences)
        if source in lost:
            return self._in_changed(name, section, ref)
        if ref.kind == "path" and not section.fences:  # no digest is known of it
            now = self._in_file_now(ref)
            return Followed(str(now) if now is not None else "", ())
        return Followed(source, section.fences)

    def _in_file_now(self, ref: Ref) -> Ref | None:
        """A whole file in its new place if it was renamed; None if it is gone."""
        path = self._relocator.path_now(ref.path)
        return replace(ref, path=path) if path else None

    def _in_changed(self, name: str, section: Section, ref: Ref) -> Followed:
        """Follow a section whose source says something else: into the place with most fences.

        Without any fence, what is in place of the cited lines is what the section is about.
        """
        if ref.kind != "lines":
            now = self._in_file_now(ref) if ref.kind == "path" else ref
            if now is None or not self._relocator.exists(now):
                return Followed("", ())
            return Followed(str(now), self._shown(name, section, now, None))
        mark = self._manifest.marks.get(section.source)
        if mark is None:
            return Followed("", ())
        places = [self._relocator.in_place_of(ref, mark)]
        if len(section.fences) == 1:
            narrowed = self._relocator.quoted_lines(ref, section.fences[0].lines)
            places += (
                [narrowed] if narrowed and self._relocator.is_in_symbol_of(narrowed, mark) else []
            )
        found = [(one, self._shown(name, section, one, mark)) for one in places if one is not None]
        best = max(found, key=lambda one: len(one[1]), default=None)
        return Followed(str(best[0]), best[1]) if best is not None else Followed("", ())

    def _shown(
        self, name: str, section: Section, ref: Ref, mark: SpanMark | None
    ) -> tuple[Fence, ...]:
        """The fences of a section of which every line is a line of this source, in this order.

        A line that was only a part of a line when it was published may still be that.
        """
        cut = self._manifest.cut_lines
        known = (
            (one, cut.get(fact_text.fence_key(name, section, one), ())) for one in section.fences
        )
        return tuple(one for one, parts in known if self._shows(ref, one, parts, mark))

    def _shows(self, ref: Ref, fence: Fence, parts: Collection[int], mark: SpanMark | None) -> bool:
        whole = self._relocator.rows(ref)
        wanted = [(line, number in parts) for number, line in _filled(fence)]
        at = _in_order([{row} for row in whole], wanted)
        if at is None:
            code = self._relocator.rows(ref, comments=False)
            at = _in_order([{*both} for both in zip(whole, code, strict=True)], wanted)
        if at is None or mark is None:
            return at is not None
        lines = replace(ref, start=ref.start + at[0], end=ref.start + at[1])
        return self._relocator.is_still_code(lines, mark)


def cut_lines(tree: Tree, drafts: Iterable[Draft]) -> dict[str, tuple[int, ...]]:
    """Keys of fences -> the numbers of their lines that are only a part of a line of the source."""
    relocator, found = Relocator(tree), {}
    for draft in drafts:
        for section in draft.sections:
            ref = sources.parse(section.source) if section.source else None
            for fence in section.fences:
                if ref is not None and (numbers := tuple(_cut(relocator, ref, fence))):
                    found[fact_text.fence_key(draft.name, section, fence)] = numbers
    return found


def _cut(relocator: Relocator, ref: Ref, fence: Fence) -> Iterator[int]:
    whole = {*relocator.rows(ref)}
    left = [(number, line) for number, line in _filled(fence) if line not in whole]
    code = {*relocator.rows(ref, comments=False)} if left else whole
    return (number for number, line in left if line not in code)


def _filled(fence: Fence) -> Iterator[tuple[int, str]]:
    """The lines of a fence that are not blank, without white space, each with its number."""
    rows = (("".join(line.split())) for line in fence.lines)
    return ((number, row) for number, row in enumerate(rows, 1) if row)


def _in_order(
    rows: Iterable[Collection[str]], wanted: Iterable[tuple[str, bool]]
) -> tuple[int, int] | None:
    """The first and last of the rows, each in one or more readings, that have these lines in order.

    Each line comes with whether it may be a part of a row. None without all of them.
    """
    left, found = iter(enumerate(rows)), list[int]()
    for line, is_part in wanted:
        at = next((at for at, row in left if _is_row(row, line, is_part)), None)
        if at is None:
            return None
        found.append(at)
    return (found[0], found[-1]) if found else (0, 0)


def _is_row(readings: Collection[str], line: str, is_part: bool) -> bool:
    if not is_part:
        return line in readings
    return any(next(fact_text.places(line, one), None) is not None for one in readings)
