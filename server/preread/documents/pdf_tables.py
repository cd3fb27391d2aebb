"""Tables on a PDF's page, found by ruled lines: cells between lines, or columns between gaps.

A table needs horizontal lines above and below and, if it has no vertical lines, inside.
"""

import ctypes
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage  # type: ignore[import-untyped]

NEAR = 3.0  # points; lines closer than this are merged
SHORT = 12.0  # points; shorter lines are ignored
GAP = 7.0  # points; minimum between two columns
MAX_PATHS = 3_000  # of a page; more means a drawing
MAX_RULES = 120  # horizontal ones
Rows = tuple[tuple[str, ...], ...]


class Rule(NamedTuple):
    """A straight line: its position on one axis, and its extent along the other."""

    at: float
    begin: float
    end: float


class Box(NamedTuple):
    """A character's bounding box."""

    left: float
    bottom: float
    right: float
    top: float


def tables(page: "PdfPage", text_page: "PdfTextPage") -> list[Rows]:
    """The tables of a page, from the top."""
    across, down = _rules(page)
    if not 2 <= len(across) <= MAX_RULES:
        return []
    found = []
    for group in _groups(across):
        begin = 0
        while begin < len(group) - 1:
            rows, after = _best(text_page, group[begin:], down)
            found += [(group[begin].at, rows)] if rows else []
            begin += after
    return [rows for _, rows in sorted(found, key=lambda one: -one[0])]


def _best(text_page: "PdfTextPage", rules: Sequence[Rule], down: list[Rule]) -> tuple[Rows, int]:
    """The largest table from the first rule on, and its number of rules; no rows and 1 if none."""
    for end in range(len(rules), 1, -1):
        inside = rules[:end]
        rows = _ruled(text_page, inside, down) or _blank(text_page, inside)
        if rows:
            return rows, end
    return (), 1


def _rules(page: "PdfPage") -> tuple[list[Rule], list[Rule]]:
    """The horizontal lines from the top, and the vertical ones from the left."""
    across: list[Rule] = []
    down: list[Rule] = []
    for number, ((x, y), (to_x, to_y)) in enumerate(_segments(page)):
        if number > 10 * MAX_PATHS:
            return [], []
        if abs(y - to_y) < 1 and abs(x - to_x) > SHORT:
            across.append(Rule(y, min(x, to_x), max(x, to_x)))
        elif abs(x - to_x) < 1 and abs(y - to_y) > 4:
            down.append(Rule(x, min(y, to_y), max(y, to_y)))
    return _joined(across)[::-1], _joined(down)


Point = tuple[float, float]


def _segments(page: "PdfPage") -> Iterator[tuple[Point, Point]]:
    """The straight segments of the page's paths."""
    from pypdfium2 import raw

    for number, one in enumerate(page.get_objects(filter=[raw.FPDF_PAGEOBJ_PATH])):
        if number > MAX_PATHS:
            return
        matrix = one.get_matrix()
        start = last = (0.0, 0.0)
        for place in range(raw.FPDFPath_CountSegments(one.raw)):
            segment = raw.FPDFPath_GetPathSegment(one.raw, place)
            x, y = ctypes.c_float(), ctypes.c_float()
            raw.FPDFPathSegment_GetPoint(segment, x, y)
            point = matrix.on_point(x.value, y.value)
            if raw.FPDFPathSegment_GetType(segment) == raw.FPDF_SEGMENT_LINETO:
                yield last, point
            else:
                start = point
            last = point
            if raw.FPDFPathSegment_GetClose(segment):
                yield last, start


def _joined(rules: list[Rule]) -> list[Rule]:
    """The lines in order, merged if they touch, or are both edges of a thin bar."""
    found: list[Rule] = []
    for rule in sorted(rules):
        place = next(
            (
                number
                for number, one in enumerate(found)
                if rule.at - one.at < NEAR
                and rule.begin <= one.end + NEAR
                and one.begin <= rule.end + NEAR
            ),
            None,
        )
        if place is None:
            found.append(rule)
        else:
            one = found[place]
            found[place] = Rule(one.at, min(one.begin, rule.begin), max(one.end, rule.end))
    return found


def _groups(across: list[Rule]) -> list[list[Rule]]:
    """Groups of horizontal lines with the same ends."""
    found: list[list[Rule]] = []
    for rule in across:
        group = next((one for one in found if _is_below(rule, one[0])), None)
        if group is None:
            found.append([rule])
        else:
            group.append(rule)
    return [group for group in found if len(group) > 1]


def _is_below(rule: Rule, other: Rule) -> bool:
    return abs(rule.begin - other.begin) < NEAR and abs(rule.end - other.end) < NEAR


def _ruled(text_page: "PdfTextPage", across: Sequence[Rule], down: list[Rule]) -> Rows:
    """The cells of a grid of lines; none if there are fewer than two columns."""
    top, bottom = across[0], across[-1]
    height = top.at - bottom.at
    inside = [
        rule.at
        for rule in down
        if top.begin + NEAR < rule.at < top.end - NEAR
        and min(rule.end, top.at) - max(rule.begin, bottom.at) > height * 0.9
    ]
    if not inside:
        return ()
    columns = [top.begin, *inside, top.end]
    return _cells(text_page, _boxes(text_page), columns, [rule.at for rule in across])


def _cuts(boxes: list[Box], at: float) -> bool:
    """Whether a vertical line cuts through a word."""
    if any(box.left + 1 < at < box.right - 1 for box in boxes):
        return True
    before = [box for box in boxes if at - NEAR < box.right <= at + 1]
    behind = [box for box in boxes if at - 1 <= box.left < at + NEAR]
    return any(
        other.left - one.right < 1.5 and one.bottom < other.top and other.bottom < one.top
        for one in before
        for other in behind
    )


def _blank(text_page: "PdfTextPage", across: Sequence[Rule]) -> Rows:
    """Columns separated by blanks that run through all lines below the second rule."""
    if len(across) < 3:
        return ()
    top, second, bottom = across[0], across[1], across[-1]
    boxes = [
        box
        for box in _boxes(text_page)
        if top.begin - NEAR < box.left and box.right < top.end + NEAR
        and bottom.at < box.bottom and box.top < top.at + NEAR
    ]  # fmt: skip
    body = [box for box in boxes if box.top < second.at + NEAR]
    columns = [top.begin - 1, *_blanks(body), top.end + 1]
    rows = [top.at, *_between_lines(boxes), bottom.at]
    return _cells(text_page, boxes, columns, rows) if len(columns) > 2 else ()


def _boxes(text_page: "PdfTextPage") -> list[Box]:
    """The boxes of a page's non-blank characters."""
    text = text_page.get_text_range(errors="replace")
    count = text_page.count_chars()
    shown = (place for place in range(count) if len(text) != count or not text[place].isspace())
    return [box for place in shown if (box := Box(*text_page.get_charbox(place))).right > box.left]


def _blanks(boxes: list[Box]) -> list[float]:
    """The middles of vertical strips without characters."""
    found, end = [], None
    for box in sorted(boxes):
        if end is not None and box.left - end > GAP:
            found.append((box.left + end) / 2)
        end = box.right if end is None else max(end, box.right)
    return found


def _between_lines(boxes: list[Box]) -> list[float]:
    """The middles of the gaps between lines of text, from the top."""
    found, end = [], None
    for box in sorted(boxes, key=lambda one: -one.top):
        if end is not None and box.top < end:
            found.append((box.top + end) / 2)
        end = box.bottom if end is None else min(end, box.bottom)
    return found


def _cells(
    text_page: "PdfTextPage", boxes: list[Box], columns: list[float], rows: list[float]
) -> Rows:
    """The texts between these lines; none if too few cells have text for it to be a table."""
    within = [box for box in boxes if rows[-1] < box.bottom and box.top < rows[0]]
    if any(_cuts(within, at) for at in (columns[0], columns[-1])):
        return ()  # a frame around something else
    every = (_row(text_page, boxes, columns, top, bottom) for top, bottom in pairwise(rows))
    found = [row for row in every if any(row)]
    filled = sum(bool(cell) for row in found for cell in row)
    is_table = len(found) > 1 and filled > 0.6 * len(found) * (len(columns) - 1)
    return tuple(found) if is_table else ()


def _row(
    text_page: "PdfTextPage", boxes: list[Box], columns: list[float], top: float, bottom: float
) -> tuple[str, ...]:
    """The cells of a row. Text that crosses columns belongs to the cell where it starts."""
    inside = [box for box in boxes if bottom < (box.bottom + box.top) / 2 < top]
    uncut = [at for at in columns[1:-1] if not _cuts(inside, at)]
    row = [""] * (len(columns) - 1)
    for left, right in pairwise([columns[0], *uncut, columns[-1]]):
        text = text_page.get_text_bounded(left, bottom, right, top)
        row[columns.index(left)] = " ".join(text.split())
    return tuple(row)
