"""Find cited lines again after their file changed or was renamed, or their definition moved."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from preread.dossier import sources
from preread.dossier.compact_file import CompactFile, Place, symbol_path
from preread.dossier.sources import Ref, SourceError
from preread.models import SpanMark
from preread.project.renames import Renames
from preread.project.tree import Tree

# A shorter text (in characters) is not distinctive: an equal line elsewhere in the file, with other
# neighbours and another symbol, is more likely not the one that was cited.
DISTINCTIVE = 24
MAX_SEARCHED = 5_000  # files read to find a definition that moved to another file


class Relocator:
    """Marks and relocates the sources of one dossier; each file is read once."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._texts: dict[str, CompactFile] = {}
        self._renames = Renames(tree)

    def mark(self, ref: Ref) -> SpanMark | None:
        """The mark of a source's lines; None for other kinds of sources and for blank lines."""
        if ref.kind != "lines":
            return None
        text = self._text(ref.path)
        if not 1 <= ref.start <= ref.end <= len(text.lines):
            return None
        here = text.mark(ref.start, ref.end)
        if not here.size:
            return None
        equal = list(text.places(here))
        return here.model_copy(
            update={
                "ordinal": sum(place.start < ref.start for place in equal) + 1,
                "copies": max(1, len(equal)),
                "lines": ref.end - ref.start + 1,
                "is_whole": text.definition(here.symbol) == (ref.start, ref.end),
                "twins": max(1, sum(_is_twin(place, here) for place in equal)),
                "is_text": text.is_text(ref.start, ref.end),
            }
        )

    def relocate(self, ref: Ref, digest: str, marked: SpanMark | None) -> Ref | None:
        """The source that now has the marked text; None when there is no single match.

        `digest` is that of the cited lines. Searches the same lines, then the rest of the file,
        then the file's new place, then the files that define the enclosing symbol.
        """
        is_same = self.has_digest(ref, digest)
        if marked is None:
            return ref if is_same else None
        if is_same and self._is_in_place(ref, marked):
            return ref
        place = self._in_file(ref.path, marked, digest) or self._elsewhere(ref.path, marked)
        if place is None:
            return None
        start, end = self._text(place.path).with_blank_lines(place, marked.lines, digest)
        return replace(ref, path=place.path, start=start, end=end)

    def equal_lines(self, ref: Ref, digest: str) -> Ref | None:
        """Where the file, or its new place, has lines with this digest: as cited, else once."""
        path = self.path_now(ref.path)
        text, height = self._text(path), ref.end - ref.start
        starts = range(1, len(text.lines) - height + 1)
        return _only(ref, path, [n for n in starts if text.span_digest(n, n + height) == digest])

    def quoted_lines(self, ref: Ref, quoted: Sequence[str]) -> Ref | None:
        """Where the file, or its new place, has exactly these lines: as cited, else once."""
        wanted = ["".join(line.split()) for line in quoted]
        if not any(wanted):
            return None
        path = self.path_now(ref.path)
        lines = self._text(path).lines
        starts = range(1, len(lines) - len(wanted) + 2)
        found = [n for n in starts if lines[n - 1 : n - 1 + len(wanted)] == wanted]
        return _only(replace(ref, end=ref.start + len(wanted) - 1), path, found)

    def rows(self, ref: Ref, *, comments: bool = True) -> list[str]:
        """The lines of a source without white space, also without comments at their ends; none if
        it cannot be looked up.
        """
        try:
            lines = sources.resolve(ref, self.tree).lines
        except SourceError:
            return []
        rows = ["".join(line.split()) for line in lines]
        if comments or ref.kind not in {"lines", "path"}:
            return rows
        code = self._text(ref.path).code
        return [code.get(number, row) for number, row in enumerate(rows, ref.start or 1)]

    def is_in_symbol_of(self, ref: Ref, marked: SpanMark) -> bool:
        """Whether lines are in the marked ones' definition or, outside of any, distinctive."""
        here = self._text(ref.path).mark(ref.start, ref.end)
        return here.symbol == marked.symbol and (bool(here.symbol) or here.size >= DISTINCTIVE)

    def has(self, source: str, quotes: Sequence[str]) -> bool:
        """Whether the lines that a source cites contain all quotes."""
        ref = sources.parse(source) if source else None
        if ref is None or ref.kind != "lines":
            return False
        text = self._text(ref.path)
        return _has_all((ref.start, ref.end), [text.quoting(quote) for quote in quotes])

    def exists(self, ref: Ref) -> bool:
        """Whether a source can be looked up."""
        try:
            sources.resolve(ref, self.tree)
        except SourceError:
            return False
        return True

    def found_elsewhere(self, ref: Ref, digest: str) -> Ref | None:
        """A whole file or a test with the same text: in the file's new place or, of a test, in the
        only other file that has it.
        """
        if ref.kind not in {"path", "test"}:
            return None
        path = self.path_now(ref.path)
        now = replace(ref, path=path) if path not in {"", ref.path} else None
        if now is not None and self.has_digest(now, digest):
            return now
        if ref.kind == "path" or self.exists(ref):
            return None
        title = re.split("::| > ", ref.name)[-1]
        others = (replace(ref, path=one) for one in self._candidates(ref.path, title))
        found = [one for one in others if self.has_digest(one, digest)]
        return found[0] if len(found) == 1 else None

    def has_digest(self, ref: Ref, digest: str) -> bool:
        """Whether a source has this text, as in a manifest's spans. A commit never changes."""
        try:
            return sources.resolve(ref, self.tree).digest == digest or ref.kind == "commit"
        except SourceError:
            return False

    def quoting(self, ref: Ref, quotes: Sequence[str], marked: SpanMark | None) -> Ref | None:
        """The lines of the same file and symbol that contain all quotes.

        They are those between the neighbours of the cited ones, else the cited ones themselves,
        else no more lines than were cited, with each quote exactly once; otherwise None.
        """
        path = self.path_now(ref.path)
        text = self._text(path)
        places = [text.quoting(quote) or text.naming(quote) for quote in quotes]
        now = self.in_place_of(ref, marked) if marked is not None else None
        if now is not None and _has_all((now.start, now.end), places):
            return now
        if path == ref.path and _has_all((ref.start, ref.end), places):
            return ref
        if marked is not None:
            places = [[at for at in one if text.symbol(*at) == marked.symbol] for one in places]
        if any(len(one) != 1 for one in places):
            return None
        start, end = min(one[0][0] for one in places), max(one[0][1] for one in places)
        is_one_place = end - start <= ref.end - ref.start
        return replace(ref, path=path, start=start, end=end) if is_one_place else None

    def in_place_of(self, ref: Ref, marked: SpanMark) -> Ref | None:
        """What is where the marked lines were, whatever it says: all of their definition if they
        were that, or else what is between their neighbours.
        """
        path = self.path_now(ref.path)
        text = self._text(path)
        lines = text.definition(marked.symbol) if marked.is_whole else None
        lines = lines or text.between_neighbours(marked)
        return replace(ref, path=path, start=lines[0], end=lines[1]) if lines is not None else None

    def has_symbol(self, path: str, marked: SpanMark | None) -> bool:
        """Whether a file still defines the symbol that enclosed the lines.

        For lines outside of any symbol: whether the file exists.
        """
        if marked is None or not marked.symbol:
            return self.tree.exists(path)
        outline = self.tree.outline(path)
        defined = {(one.container, one.name) for one in outline.symbols}
        defined |= {(one.group, one.name) for one in outline.tests}
        return marked.symbol in {symbol_path(*one) for one in defined}

    def path_now(self, path: str) -> str:
        """A file's path, or its new one after a rename; empty if it is gone."""
        return path if self.tree.exists(path) else self._renames.of(path)

    def _text(self, path: str) -> CompactFile:
        if path not in self._texts:
            self.tree.check()
            self._texts[path] = CompactFile(self.tree, path)
        return self._texts[path]

    def _is_in_place(self, ref: Ref, marked: SpanMark) -> bool:
        """Whether unchanged lines are the cited ones, and not another copy of them."""
        here = self._text(ref.path).mark(ref.start, ref.end)
        if here.symbol != marked.symbol or not self.is_still_code(ref, marked):
            return False
        return bool(marked.symbol) or marked.copies == 1 or here.before == marked.before

    def is_still_code(self, lines: Ref | Place, marked: SpanMark) -> bool:
        """Whether lines are code if the marked ones were, and otherwise inside a comment or string.

        Around code that was commented out, its own lines are the same.
        """
        if marked.is_text is None:
            return True
        return self._text(lines.path).is_text(lines.start, lines.end) == marked.is_text

    def _in_file(self, path: str, marked: SpanMark, digest: str) -> Place | None:
        """The place of the marked text, else with comments at its lines' ends or joined lines."""
        text = self._text(path)
        searches = (text.places, text.places_before_comments, text.places_in_joined_lines)
        for places in searches:
            found = list(places(marked))
            chosen = _closest(
                found, marked, lambda place: text.span_digest(place.start, place.end) == digest
            )
            if chosen is None or not _is_same(chosen, found, marked):
                continue
            if self.is_still_code(chosen, marked):
                return chosen
        return None

    def _elsewhere(self, path: str, marked: SpanMark) -> Place | None:
        """The place in the renamed file, else the only convincing place in any other file.

        While the file still defines the symbol, the same text elsewhere is a copy: nothing moved.
        """
        current = self.path_now(path)
        renamed = self._in_file(current, marked, "") if current != path and current else None
        if renamed is not None:
            return renamed
        if current and marked.symbol and self.has_symbol(current, marked):
            return None
        places = [
            place
            for other in self._candidates(path, _name(marked))
            if (place := _closest(list(self._text(other).places(marked)), marked)) is not None
        ]
        found = [one for one in places if _is_moved(one, marked, is_kept=bool(current))]
        found = found or [one for one in places if _is_moved_into_class(one, marked)]
        found = found or [one for one in places if self._is_in_other_class(one, marked, path)]
        found = [one for one in found if self.is_still_code(one, marked)]
        return found[0] if len(found) == 1 else None

    def _is_in_other_class(self, place: Place, marked: SpanMark, path: str) -> bool:
        """Whether an equal text in another file is that of a method which is in another class now.

        Classes can have methods of one name with the same lines, so git has to show that it is new.
        """
        are_methods = "." in place.mark.symbol and "." in marked.symbol
        if not are_methods or _name(place.mark) != _name(marked):
            return False
        needed = 1 if marked.size >= DISTINCTIVE else 2
        if not marked.is_whole and _neighbours(place, marked) < needed:
            return False
        lines = self._text(place.path).lines[place.start - 1 : place.end]
        return self._renames.is_new("".join(lines), place.path, path)

    def _candidates(self, path: str, needle: str) -> Iterator[str]:
        """Files of the same suffix: those with the same name, and those that contain a text."""
        name = path.rpartition("/")[2]
        suffix = name.rpartition(".")[2]
        is_gone = not self.tree.exists(path)
        searched = 0
        for other in self.tree.files:
            if other == path or not other.endswith(f".{suffix}"):
                continue
            if other.rpartition("/")[2] == name:
                yield other
            elif searched < MAX_SEARCHED and (needle or is_gone):
                searched += 1
                if needle in (self.tree.text(other) or ""):
                    yield other


def _only(ref: Ref, path: str, starts: list[int]) -> Ref | None:
    """The cited lines if one of these lines starts them, else those from the only start."""
    if path == ref.path and ref.start in starts:
        return ref
    if len(starts) != 1:
        return None
    return replace(ref, path=path, start=starts[0], end=starts[0] + ref.end - ref.start)


def _has_all(lines: tuple[int, int], places: Iterable[Sequence[tuple[int, int]]]) -> bool:
    """Whether each quote has a place within the lines; 1-based and inclusive."""
    return all(any(lines[0] <= a and b <= lines[1] for a, b in one) for one in places)


def _closest(
    places: list[Place], marked: SpanMark, is_exact: Callable[[Place], bool] | None = None
) -> Place | None:
    """The place that matches the mark best; None when several match it equally well."""
    left = places
    tests: list[Callable[[Place], bool]] = [
        lambda place: place.mark.symbol == marked.symbol,
        lambda place: _name(place.mark) == _name(marked),  # its container was renamed
        lambda place: _neighbours(place, marked) == 2,
        lambda place: _neighbours(place, marked) > 0,
    ]
    for test in (*tests, *([is_exact] if is_exact else [])):
        left = [place for place in left if test(place)] or left
        if len(left) == 1:
            return left[0]
    # Equal lines in equal surroundings keep their order.
    return places[marked.ordinal - 1] if len(places) == marked.copies > 1 else None


def _is_same(place: Place, places: list[Place], marked: SpanMark) -> bool:
    """Whether an equal text is the one that was cited rather than another copy of it."""
    neighbours = _neighbours(place, marked)
    in_symbol = place.mark.symbol == marked.symbol
    is_distinctive = marked.size >= DISTINCTIVE
    if len(places) < marked.copies:  # the cited copy may be the one that was deleted
        if sum(_is_twin(one, marked) for one in places) < marked.twins > 1:
            return False
        return neighbours == 2 and in_symbol and (is_distinctive or bool(marked.symbol))
    if neighbours == 2 or (in_symbol and (marked.symbol or neighbours)):
        return True
    return is_distinctive and (neighbours == 1 or len(places) == marked.copies == 1)


def _is_moved(place: Place, marked: SpanMark, *, is_kept: bool) -> bool:
    """Whether an equal text in another file is the one that was cited.

    `is_kept`: the cited file still exists, perhaps under another name, so text outside of symbols
    has probably not moved.
    """
    if marked.symbol:
        return place.mark.symbol == marked.symbol
    return _neighbours(place, marked) == 2 or (not is_kept and marked.size >= DISTINCTIVE)


def _is_moved_into_class(place: Place, marked: SpanMark) -> bool:
    """Whether an equal text in another file is that of a function which is a method now, or was."""
    symbols = (place.mark.symbol, marked.symbol)
    is_either = len({"." in symbol for symbol in symbols}) == 2
    return is_either and _name(place.mark) == _name(marked) and _neighbours(place, marked) > 0


def _is_twin(place: Place, marked: SpanMark) -> bool:
    """Whether an equal text has the same neighbours in the same symbol, too."""
    return place.mark.symbol == marked.symbol and _neighbours(place, marked) == 2


def _name(mark: SpanMark) -> str:
    return mark.symbol.rpartition(".")[2]


def _neighbours(place: Place, marked: SpanMark) -> int:
    """How many of the two neighbouring lines, before and after, are unchanged."""
    return (place.mark.before == marked.before) + (place.mark.after == marked.after)
