"""Find cited lines again after their file changed or was renamed, or their definition moved."""

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, chain, combinations, pairwise, starmap

from preread.dossier import fact_text, sources
from preread.dossier.sources import Ref, SourceError
from preread.models import SpanMark
from preread.project.renames import Renames
from preread.project.tree import Tree

# A shorter text (in characters) is not distinctive: an equal line elsewhere in the file, with other
# neighbours and another symbol, is more likely not the one that was cited.
DISTINCTIVE = 24
MAX_SEARCHED = 5_000  # files read to find a definition that moved to another file
MAX_COMMENTS = 6  # comments that were added at the ends of the cited lines
# Lines above a definition that start like this belong to it, such as its documentation.
ABOVE_DEFINITION = ("//", "/*", "*", "#", "--", "@")


@dataclass(frozen=True, slots=True)
class _Place:
    """A run of lines, 1-based and inclusive, that has the marked text."""

    path: str
    start: int
    end: int
    mark: SpanMark


class Relocator:
    """Marks and relocates the sources of one dossier; each file is read once."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._texts: dict[str, _CompactFile] = {}
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
        equal = [place.start for place in text.places(here)]
        ordinal = sum(start < ref.start for start in equal) + 1
        return here.model_copy(
            update={
                "ordinal": ordinal,
                "copies": max(1, len(equal)),
                "lines": ref.end - ref.start + 1,
            }
        )

    def relocate(self, ref: Ref, digest: str, marked: SpanMark | None) -> Ref | None:
        """The source that now has the marked text; None when there is no single match.

        `digest` is that of the cited lines. Searches the same lines, then the rest of the file,
        then the file's new place, then the files that define the enclosing symbol.
        """
        try:
            is_same = sources.resolve(ref, self.tree).digest == digest
        except SourceError:
            is_same = False
        if marked is None:
            return ref if is_same else None
        if is_same and self._is_in_place(ref, marked):
            return ref
        place = self._in_file(ref.path, marked, digest) or self._elsewhere(ref.path, marked)
        if place is None:
            return None
        end = self._text(place.path).with_blank_lines(place, marked.lines)
        return replace(ref, path=place.path, start=place.start, end=end)

    def quoting(self, ref: Ref, quotes: Sequence[str], marked: SpanMark | None) -> Ref | None:
        """The lines of the same file and symbol that contain all quotes, no more than were cited.

        The cited ones if they do; otherwise None unless each quote is there exactly once.
        """
        path = ref.path if self.tree.exists(ref.path) else self._renames.of(ref.path)
        if not path:
            return None
        text = self._text(path)
        found = [text.quoting(quote) for quote in quotes]
        if path == ref.path and all(
            any(ref.start <= start and end <= ref.end for start, end in one) for one in found
        ):
            return ref
        if marked is not None:
            found = [[at for at in one if text.symbol(*at) == marked.symbol] for one in found]
        if any(len(one) != 1 for one in found):
            return None
        start, end = min(one[0][0] for one in found), max(one[0][1] for one in found)
        is_one_place = end - start <= ref.end - ref.start
        return replace(ref, path=path, start=start, end=end) if is_one_place else None

    def has_symbol(self, path: str, marked: SpanMark | None) -> bool:
        """Whether a file still defines the symbol that enclosed the lines.

        For lines outside of any symbol: whether the file exists.
        """
        if marked is None or not marked.symbol:
            return self.tree.exists(path)
        outline = self.tree.outline(path)
        defined = {(one.container, one.name) for one in outline.symbols}
        defined |= {(one.group, one.name) for one in outline.tests}
        return marked.symbol in {_symbol_path(*one) for one in defined}

    def _text(self, path: str) -> "_CompactFile":
        if path not in self._texts:
            self.tree.check()
            self._texts[path] = _CompactFile(self.tree, path)
        return self._texts[path]

    def _is_in_place(self, ref: Ref, marked: SpanMark) -> bool:
        """Whether unchanged lines are the cited ones, and not another copy of them."""
        here = self._text(ref.path).mark(ref.start, ref.end)
        if here.symbol != marked.symbol:
            return False
        return bool(marked.symbol) or marked.copies == 1 or here.before == marked.before

    def _in_file(self, path: str, marked: SpanMark, digest: str) -> _Place | None:
        """The place of the marked text, else of that text with comments at its lines' ends."""
        text = self._text(path)
        for places in (text.places(marked), text.places_before_comments(marked)):
            found = list(places)
            chosen = _closest(found, marked, lambda place: text.digest(place) == digest)
            if chosen is not None and _is_same(chosen, found, marked):
                return chosen
        return None

    def _elsewhere(self, path: str, marked: SpanMark) -> _Place | None:
        """The place in the renamed file, else the only convincing place in any other file.

        While the file still defines the symbol, the same text elsewhere is a copy: nothing moved.
        """
        current = path if self.tree.exists(path) else self._renames.of(path)
        renamed = self._in_file(current, marked, "") if current != path and current else None
        if renamed is not None:
            return renamed
        if current and marked.symbol and self.has_symbol(current, marked):
            return None
        found = [
            place
            for other in self._candidates(path, marked)
            if (place := _closest(list(self._text(other).places(marked)), marked)) is not None
            and _is_moved(place, marked, is_kept=bool(current))
        ]
        return found[0] if len(found) == 1 else None

    def _candidates(self, path: str, marked: SpanMark) -> Iterator[str]:
        """Files of the same suffix: those with the same name, and those that name the symbol."""
        name = path.rpartition("/")[2]
        suffix = name.rpartition(".")[2]
        needle = marked.symbol.rpartition(".")[2]
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


def _closest(
    places: list[_Place], marked: SpanMark, is_exact: Callable[[_Place], bool] | None = None
) -> _Place | None:
    """The place that matches the mark best; None when several match it equally well."""
    left = places
    tests: list[Callable[[_Place], bool]] = [
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


def _is_same(place: _Place, places: list[_Place], marked: SpanMark) -> bool:
    """Whether an equal text is the one that was cited rather than another copy of it."""
    neighbours = _neighbours(place, marked)
    in_symbol = place.mark.symbol == marked.symbol
    is_distinctive = marked.size >= DISTINCTIVE
    if len(places) < marked.copies:  # the cited copy may be the one that was deleted
        return neighbours == 2 and in_symbol and (is_distinctive or bool(marked.symbol))
    if neighbours == 2 or (in_symbol and (marked.symbol or neighbours)):
        return True
    return is_distinctive and (neighbours == 1 or len(places) == marked.copies == 1)


def _is_moved(place: _Place, marked: SpanMark, *, is_kept: bool) -> bool:
    """Whether an equal text in another file is the one that was cited.

    `is_kept`: the cited file still exists, perhaps under another name, so text outside of symbols
    has probably not moved.
    """
    if marked.symbol:
        return place.mark.symbol == marked.symbol
    return _neighbours(place, marked) == 2 or (not is_kept and marked.size >= DISTINCTIVE)


def _name(mark: SpanMark) -> str:
    return mark.symbol.rpartition(".")[2]


def _neighbours(place: _Place, marked: SpanMark) -> int:
    """How many of the two neighbouring lines, before and after, are unchanged."""
    return (place.mark.before == marked.before) + (place.mark.after == marked.after)


class _CompactFile:
    """A file's lines without white space, so that indentation and line breaks do not matter."""

    def __init__(self, tree: Tree, path: str) -> None:
        self.tree, self.path = tree, path
        self.raw = tree.cited_lines(path) or []
        self.lines = ["".join(line.split()) for line in self.raw]
        self.offsets = [0, *accumulate(map(len, self.lines))]
        self.commas = [0, *accumulate(starmap(_has_added_comma, pairwise((*self.lines, ""))))]

    def places(self, marked: SpanMark) -> Iterator[_Place]:
        """Every run of whole lines with the marked text, first to last."""
        end = 0
        for start, line in enumerate(self.lines):
            if not line:
                continue
            end = max(end, start + 1)
            while end < len(self.lines) and self._size(start, end) < marked.size:
                end += 1
            last = end
            while last <= len(self.lines) and self._size(start, last) == marked.size:
                if _digest(_without_added_commas(self.lines[start:last])) == marked.digest:
                    yield _Place(self.path, start + 1, last, self.mark(start + 1, last))
                    break
                last += 1  # a closing bracket after a comma that does not count

    def places_before_comments(self, marked: SpanMark) -> Iterator[_Place]:
        """The runs in the same symbol with the marked text, before comments that are not in it."""
        count = marked.lines
        starts = {number - 1 - before for number in self._code for before in range(count)}
        for start in sorted(start for start in starts if 0 <= start <= len(self.lines) - count):
            numbers = range(start, start + count)
            commented = [at for at in numbers if at + 1 in self._code][:MAX_COMMENTS]
            excess = self.offsets[start + count] - self.offsets[start] - marked.size
            for chosen in _subsets(commented) if excess > 0 else ():
                comments = sum(len(self.lines[at]) - len(self._code[at + 1]) for at in chosen)
                if not comments <= excess <= comments + count:  # at most a comma in each line
                    continue
                lines = [self._code[at + 1] if at in chosen else self.lines[at] for at in numbers]
                if _digest(_without_added_commas(lines)) == marked.digest:
                    mark = self.mark(start + 1, start + count)
                    if mark.symbol == marked.symbol:
                        yield _Place(self.path, start + 1, start + count, mark)
                    break

    @cached_property
    def _code(self) -> dict[int, str]:
        """Number of each line with a comment at its end -> the code before it."""
        from preread import syntax

        found = syntax.code_before_comments(self.path, self.tree.text(self.path) or "")
        return {number: "".join(code.split()) for number, code in found.items()}

    def quoting(self, quote: str) -> list[tuple[int, int]]:
        """The runs of lines that contain a quote, first to last."""
        needle = "".join(quote.split())
        at = fact_text.places(needle, "".join(self.lines))
        return [
            (bisect_right(self.offsets, start), bisect_left(self.offsets, start + len(needle)))
            for start in at
        ]

    def _size(self, start: int, end: int) -> int:
        """Characters of these lines without added commas; 0-based, `end` is not included."""
        return self.offsets[end] - self.offsets[start] - self.commas[end - 1] + self.commas[start]

    def with_blank_lines(self, place: _Place, count: int) -> int:
        """The last line of a place, extended by blank lines up to `count` lines in all."""
        end = place.end
        while end < min(place.start + count - 1, len(self.lines)) and not self.lines[end]:
            end += 1
        return end

    def mark(self, start: int, end: int) -> SpanMark:
        text = _without_added_commas(self.lines[start - 1 : end])
        return SpanMark(
            size=sum(map(len, text)),
            digest=_digest(text),
            before=_digest([self._neighbour(range(start - 2, -1, -1))]),
            after=_digest([self._neighbour(range(end, len(self.lines)))]),
            symbol=self.symbol(start, end),
        )

    def _neighbour(self, numbers: Iterable[int]) -> str:
        """The first of these lines that is not blank."""
        return next((self.lines[number] for number in numbers if self.lines[number]), "")

    def symbol(self, start: int, end: int) -> str:
        """The path of the innermost symbol or test around the lines, such as `Cart.add`.

        A comment outside of all symbols belongs to the definition that follows it.
        """
        outline = self.tree.outline(self.path)
        definitions = [(one.start, -one.end, one.container, one.name) for one in outline.symbols]
        tests = [(one.start, -one.end, one.group, one.name) for one in outline.tests]
        both = (*definitions, *tests)
        around = [one for one in both if one[0] <= start and end <= -one[1]]
        if around:
            return _symbol_path(*max(around)[2:])
        below = min((one for one in both if one[0] > end), default=None)
        if below is None or not self._is_comment(start, below[0]):
            return ""
        return _symbol_path(*below[2:])

    def _is_comment(self, start: int, end: int) -> bool:
        """Whether all lines from `start` up to, but not including, `end` are comments."""
        return all(line.startswith(ABOVE_DEFINITION) for line in self.lines[start - 1 : end - 1])

    def digest(self, place: _Place) -> str:
        """The digest of a place's original lines, as in a manifest."""
        return sources.Span(tuple(self.raw[place.start - 1 : place.end])).digest


def _subsets(numbers: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All subsets of these numbers except the empty one."""
    return chain.from_iterable(combinations(numbers, size + 1) for size in range(len(numbers)))


def _has_added_comma(line: str, after: str) -> bool:
    """Whether a line ends in a comma that formatters add where they break lines."""
    return line.endswith(",") and after[:1] in {")", "]", "}"}


def _without_added_commas(lines: list[str]) -> list[str]:
    pairs = pairwise((*lines, ""))
    return [line[:-1] if _has_added_comma(line, after) else line for line, after in pairs]


def _symbol_path(container: str, name: str) -> str:
    return f"{container}.{name}" if container else name


def _digest(lines: list[str]) -> str:
    data = "".join(lines).encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:12]
