"""A file's lines without white space, in which a marked text is found again."""

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, combinations, islice, pairwise, starmap

from preread.dossier import fact_text, sources
from preread.models import SpanMark
from preread.project.tree import Tree

MAX_ADDED = 20  # lines that were added between the neighbours of the cited ones
MAX_REGIONS = 100  # between equal neighbours; more say nothing
MAX_COMMENTS = 6  # comments that were added at the ends of the cited lines
MAX_POSITIONS = 4_000  # characters of a symbol, each of which may begin the marked text
MAX_NEIGHBOUR = 300  # characters of a line that was joined with the marked ones
CLOSING = frozenset(")]}")
# Lines above a definition that start like this belong to it, such as its documentation.
ABOVE_DEFINITION = ("//", "/*", "*", "#", "--", "@")


@dataclass(frozen=True, slots=True)
class Place:
    """A run of lines, 1-based and inclusive, that has the marked text."""

    path: str
    start: int
    end: int
    mark: SpanMark


class CompactFile:
    """A file's lines without white space, so that indentation and line breaks do not matter."""

    def __init__(self, tree: Tree, path: str) -> None:
        self.tree, self.path = tree, path
        self.raw = tree.cited_lines(path) or []
        self.lines = ["".join(line.split()) for line in self.raw]
        self.offsets = [0, *accumulate(map(len, self.lines))]
        self.commas = [0, *accumulate(starmap(_has_added_comma, pairwise((*self.lines, ""))))]

    def places(self, marked: SpanMark) -> Iterator[Place]:
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
                    yield Place(self.path, start + 1, last, self.mark(start + 1, last))
                    break
                last += 1  # a closing bracket after a comma that does not count

    def places_before_comments(self, marked: SpanMark) -> Iterator[Place]:
        """The runs in the same symbol with the marked text, before comments that are not in it."""
        count = marked.lines
        starts = {number - 1 - before for number in self.code for before in range(count)}
        for start in sorted(start for start in starts if 0 <= start <= len(self.lines) - count):
            if self._is_marked_before_comments(start, marked):
                mark = self.mark(start + 1, start + count)
                if mark.symbol == marked.symbol:
                    yield Place(self.path, start + 1, start + count, mark)

    def _is_marked_before_comments(self, start: int, marked: SpanMark) -> bool:
        """Whether lines from `start` (0-based) are the marked ones, with comments at some ends."""
        numbers = range(start, start + marked.lines)
        commented = [at for at in numbers if at + 1 in self.code][:MAX_COMMENTS]
        excess = self.offsets[start + marked.lines] - self.offsets[start] - marked.size
        for chosen in _subsets(commented) if excess > 0 else ():
            comments = sum(len(self.lines[at]) - len(self.code[at + 1]) for at in chosen)
            if not comments <= excess <= comments + marked.lines:  # at most a comma in each line
                continue
            lines = [self.code[at + 1] if at in chosen else self.lines[at] for at in numbers]
            if _digest(_without_added_commas(lines)) == marked.digest:
                return True
        return False

    @cached_property
    def code(self) -> dict[int, str]:
        """Number of each line with a comment at its end -> the code before it."""
        from preread import syntax

        found = syntax.code_before_comments(self.path, self.tree.text(self.path) or "")
        return {number: "".join(code.split()) for number, code in found.items()}

    def places_in_joined_lines(self, marked: SpanMark) -> Iterator[Place]:
        """The runs in the same symbol with the marked text and lines that were joined with it.

        They were the ones right before and after it, so that nothing else was added to its lines.
        """
        offsets = self._joined[1]
        line_starts = frozenset(offsets)
        for at in self._positions(marked.symbol):
            end = self._end_of_marked(at, marked)
            if end is None:
                continue
            if at not in line_starts and not self._follows_neighbour(at, marked):
                continue
            if end not in line_starts and not self._precedes_neighbour(end, marked):
                continue
            start, last = bisect_right(offsets, at), bisect_left(offsets, end)
            mark = self.mark(start, last)
            if mark.symbol == marked.symbol:
                yield Place(self.path, start, last, mark)

    @cached_property
    def _joined(self) -> tuple[str, list[int]]:
        """The file in one line without added commas, and where in it each line starts."""
        lines = _without_added_commas(self.lines)
        return "".join(lines), [0, *accumulate(map(len, lines))]

    def _positions(self, symbol: str) -> Iterable[int]:
        """Where in the joined lines a text in this symbol may begin."""
        offsets = self._joined[1]
        if not symbol:
            return sorted(set(offsets))
        spans = [(offsets[start - 1], offsets[end]) for start, end in self._extents(symbol)]
        if sum(end - start for start, end in spans) <= MAX_POSITIONS:
            return sorted({at for span in spans for at in range(*span)})
        return sorted({at for start, end in spans for at in offsets if start <= at < end})

    def _extents(self, symbol: str) -> Iterator[tuple[int, int]]:
        """The first and last line of each definition or test with this path."""
        outline, count = self.tree.outline(self.path), len(self.lines)
        for one in outline.symbols:
            if symbol_path(one.container, one.name) == symbol and one.end <= count:
                yield one.start, one.end
        for test in outline.tests:
            if symbol_path(test.group, test.name) == symbol and test.end <= count:
                yield test.start, test.end

    def _end_of_marked(self, at: int, marked: SpanMark) -> int | None:
        """Where the marked text ends if it begins at `at` of the joined lines."""
        ends = (at + marked.size, at + marked.size - 1)  # also without a comma at its end
        return next((end for end in ends if self._says(at, end, marked.digest)), None)

    def _follows_neighbour(self, at: int, marked: SpanMark) -> bool:
        starts = range(at - 1, max(at - MAX_NEIGHBOUR, 0) - 1, -1)
        return any(self._says(start, at, marked.before) for start in starts)

    def _precedes_neighbour(self, at: int, marked: SpanMark) -> bool:
        ends = range(at + 1, min(at + MAX_NEIGHBOUR, len(self._joined[0])) + 1)
        return any(self._says(at, end, marked.after) for end in ends)

    def _says(self, start: int, end: int, digest: str) -> bool:
        """Whether a part of the joined lines has this digest, with or without an added comma."""
        stream = self._joined[0]
        text, is_closed = stream[start:end], stream[end : end + 1] in CLOSING
        return digest == _digest([text]) or (is_closed and digest == _digest([text, ","]))

    def quoting(self, quote: str) -> list[tuple[int, int]]:
        """The runs of lines that contain a quote, first to last."""
        needle = "".join(quote.split())
        at = fact_text.places(needle, "".join(self.lines))
        return [
            (bisect_right(self.offsets, start), bisect_left(self.offsets, start + len(needle)))
            for start in at
        ]

    def naming(self, quote: str) -> list[tuple[int, int]]:
        """The lines that name a definition which a quote names with its container: `Cart.add`."""
        name = fact_text.dotted(quote)
        word = name.rpartition(".")[2]
        found: set[tuple[int, int]] = set()
        for one in self.tree.outline(self.path).symbols if word != name else ():
            if f".{symbol_path(one.container, one.name)}".endswith(f".{name}"):
                lines = range(one.start, min(one.end, len(self.lines)) + 1)
                found |= {(n, n) for n in islice((n for n in lines if word in self.raw[n - 1]), 1)}
        return sorted(found)

    def between_neighbours(self, marked: SpanMark) -> tuple[int, int] | None:
        """The only lines in the marked symbol between the lines before and after the marked ones.

        Their own text may have changed. Of several line counts, the one nearest to the marked.
        In place of a single line, there must be a single line.
        """
        found = list(islice(self._between_neighbours(marked), MAX_REGIONS + 1))
        if len(found) > MAX_REGIONS:
            return None
        inside = [one for one in found if self.symbol(*one) == marked.symbol]
        if len({start for start, _ in inside}) != 1:
            return None
        return min(inside, key=lambda one: abs(one[1] - one[0] + 1 - marked.lines))

    def _between_neighbours(self, marked: SpanMark) -> Iterator[tuple[int, int]]:
        """Every run of lines between the marked neighbours, in any symbol."""
        filled = [number for number, line in enumerate(self.lines, 1) if line]
        digests = [_digest([""]), *(_digest([self.lines[n - 1]]) for n in filled), _digest([""])]
        ends = [at for at, digest in enumerate(digests) if digest == marked.after]
        most = 1 if marked.lines == 1 else marked.lines * 2 + MAX_ADDED
        for begin in (at for at, digest in enumerate(digests) if digest == marked.before):
            for end in ends[bisect_left(ends, begin + 2) :]:
                start, last = filled[begin], filled[end - 2]
                if last - start >= most:
                    break
                yield start, last

    def _size(self, start: int, end: int) -> int:
        """Characters of these lines without added commas; 0-based, `end` is not included."""
        return self.offsets[end] - self.offsets[start] - self.commas[end - 1] + self.commas[start]

    def with_blank_lines(self, place: Place, count: int, digest: str) -> tuple[int, int]:
        """A place's lines with as many blank ones before it as give the original lines' digest.

        If no number of them does, only with those after it, up to `count` lines in all.
        """
        start = place.start
        while start >= 1 and (start == place.start or not self.lines[start - 1]):
            if self.span_digest(start, start + count - 1) == digest:
                return start, start + count - 1
            start -= 1
        end = place.end
        while end < min(place.start + count - 1, len(self.lines)) and not self.lines[end]:
            end += 1
        return place.start, end

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

        Comments and decorators outside of all symbols belong to the definition that follows them.
        """
        outline = self.tree.outline(self.path)
        definitions = [(one.start, -one.end, one.container, one.name) for one in outline.symbols]
        tests = [(one.start, -one.end, one.group, one.name) for one in outline.tests]
        both = (*definitions, *tests)
        around = [one for one in both if one[0] <= start and end <= -one[1]]
        if around:
            return symbol_path(*max(around)[2:])
        below = min((one for one in both if one[0] > start), default=None)
        if below is None or not self._is_comment(start, below[0]):
            return ""
        return symbol_path(*below[2:]) if end < below[0] or end <= -below[1] else ""

    def definition(self, symbol: str) -> tuple[int, int] | None:
        """The lines of the only definition or test with this path."""
        outline = self.tree.outline(self.path)
        found = [(one.start, one.end, one.container, one.name) for one in outline.symbols]
        found += [(one.start, one.end, one.group, one.name) for one in outline.tests]
        same = {(start, end) for start, end, *names in found if symbol_path(*names) == symbol}
        return same.pop() if symbol and len(same) == 1 else None

    def _is_comment(self, start: int, end: int) -> bool:
        """Whether all lines from `start` up to, but not including, `end` are comments."""
        return all(line.startswith(ABOVE_DEFINITION) for line in self.lines[start - 1 : end - 1])

    def is_text(self, start: int, end: int) -> bool:
        """Whether the lines are inside a comment or string that begins before them."""
        from preread import syntax

        return syntax.is_inside_text(self.path, self.tree.text(self.path) or "", start, end)

    def span_digest(self, start: int, end: int) -> str:
        """The digest of the original lines, as in a manifest."""
        return sources.Span(tuple(self.raw[start - 1 : end])).digest


def _subsets(numbers: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All subsets of these numbers except the empty one."""
    return chain.from_iterable(combinations(numbers, size + 1) for size in range(len(numbers)))


def _has_added_comma(line: str, after: str) -> bool:
    """Whether a line ends in a comma that formatters add where they break lines."""
    return line.endswith(",") and after[:1] in CLOSING


def _without_added_commas(lines: list[str]) -> list[str]:
    pairs = pairwise((*lines, ""))
    return [line[:-1] if _has_added_comma(line, after) else line for line, after in pairs]


def symbol_path(container: str, name: str) -> str:
    return f"{container}.{name}" if container else name


def _digest(lines: list[str]) -> str:
    data = "".join(lines).encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:12]
