"""How text, tables and bars get onto a terminal, and plainly into a pipe."""

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TextIO

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.measure import Measurement

# Control and direction characters that a project's text could use to repaint a terminal.
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
BAR = 10  # characters of a whole bar
EIGHTHS = " ▏▎▍▌▋▊▉█"
Update = Callable[[str, float, float], None]


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at a stream; one that was closed before the start is None."""
    return stream is not None and stream.isatty()


def clean(text: str) -> str:
    """`text` with what a terminal would obey instead of showing made visible."""
    return UNSEEN.sub(lambda match: ascii(match[0])[1:-1], text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    return clean(text.replace("\n", " ").replace("\t", " "))


# -- cells that fit themselves to the width they get; as text they are whole


class Bar(NamedTuple):
    """A score of 0 to 1."""

    score: float

    def __str__(self) -> str:
        return f"{self.score:.2f} {self.drawn(plain=True)}"

    def drawn(self, *, plain: bool) -> str:
        share = max(0.0, min(1.0, self.score))
        if plain:
            return ("#" * round(share * BAR)).ljust(BAR, ".")
        eighths = round(share * BAR * 8)
        return (EIGHTHS[8] * (eighths // 8) + EIGHTHS[eighths % 8]).strip().ljust(BAR)

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.text import Text

        yield Text(
            self.drawn(plain=options.ascii_only)[: options.max_width], style="green", no_wrap=True
        )

    def __rich_measure__(self, console: "Console", options: "ConsoleOptions") -> "Measurement":
        from rich.measure import Measurement

        return Measurement(BAR, BAR)


class Place(NamedTuple):
    """A file with the line ranges that matter: the path is cut in its middle, of the ranges the last are left out."""

    path: str
    lines: Sequence[tuple[int, int]] = ()

    def __str__(self) -> str:
        return self.path + self.ranges(len(self.lines), ",")

    def ranges(self, most: int, comma: str = ", ", dots: str = "…") -> str:
        shown = [
            str(start) if start == end else f"{start}-{end}" for start, end in self.lines[:most]
        ]
        more = [dots] if most < len(self.lines) else []
        return ":" + comma.join(shown + more) if shown else ""

    def fitted(self, width: int, dots: str = "…") -> str:
        """As much as `width` has room for: the file's own name first, then a range, then folders and other ranges."""
        path = one_line(self.path)
        room = min(cells(path), max(width // 2, cells(path.rpartition("/")[2]) + len(dots) + 1))
        texts = [self.ranges(most, dots=dots) for most in range(len(self.lines), 0, -1)]
        ranges = next((text for text in texts if room + len(text) <= width), "")
        return shortened(path, width - len(ranges), dots) + ranges

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.text import Text

        yield Text(
            self.fitted(options.max_width, "..." if options.ascii_only else "…"), no_wrap=True
        )

    def __rich_measure__(self, console: "Console", options: "ConsoleOptions") -> "Measurement":
        from rich.measure import Measurement

        whole = cells(one_line(self.path)) + len(self.ranges(len(self.lines)))
        return Measurement(min(whole, 16), whole)


class Cut(NamedTuple):
    """A text on one line, cut at its end."""

    text: str

    def __str__(self) -> str:
        return self.text

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.text import Text

        yield Text(
            one_line(self.text),
            style="dim",
            no_wrap=True,
            overflow="crop" if options.ascii_only else "ellipsis",
        )

    def __rich_measure__(self, console: "Console", options: "ConsoleOptions") -> "Measurement":
        from rich.measure import Measurement

        whole = min(
            cells(one_line(self.text)), max(12, console.width // 3)
        )  # places need the room more
        return Measurement(min(whole, 12), whole)


def cells(text: str) -> int:
    """How many columns of a terminal a text takes."""
    from rich.cells import cell_len

    return cell_len(text)


def shortened(path: str, room: int, dots: str = "…") -> str:
    """A path in so many columns: its first folder and its last names stay as long as they can."""
    if cells(path) <= room:
        return path
    names = path.split("/")
    rests = ["/".join((dots, *names[start:])) for start in range(1, len(names))]
    fitting = (
        text
        for text in (*(f"{names[0]}/{rest}" for rest in rests[1:]), *rests)
        if cells(text) <= room
    )
    if found := next(fitting, ""):
        return found
    name, keep = names[-1], max(room - len(dots), 1)
    head, tail = name[: keep // 2], name[len(name) - (keep - keep // 2) :]
    while tail and cells(head + tail) > keep:
        head, tail = head[:-1], tail[1:]
    return head + dots + tail


# -- blocks of output


class Table(NamedTuple):
    """Rows under column names; the last column may be long."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[str | Bar | Place | Cut, ...]]


class Points(NamedTuple):
    """What belongs together: a heading, and under it one text each with where it comes from."""

    heading: str
    rows: Sequence[tuple[str, str]]


Block = str | Table | Points


def drawn(blocks: Iterator[Block], *, terminal: bool) -> str:
    """Blocks as text, for a terminal or for a pipe."""
    return "\n".join(_drawn(block) if terminal else _plain(block) for block in blocks)


def _plain(block: Block) -> str:
    if isinstance(block, Table):
        heads = tuple(column.upper() for column in block.columns)
        rows = [[one_line(str(cell)) for cell in row] for row in (heads, *block.rows)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
        aligned = (
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            for row in rows
        )
        return "\n".join(line.rstrip() for line in aligned)
    if isinstance(block, Points):
        texts = (f"- {text} ({source})" if source else f"- {text}" for text, source in block.rows)
        return "\n".join((clean(block.heading), *map(one_line, texts)))
    return clean(block)


def _drawn(block: Block) -> str:
    if isinstance(block, str):
        return clean(block)
    from rich.console import Console

    console = Console(color_system=None if os.environ.get("NO_COLOR") else "auto")
    with console.capture() as capture:
        console.print(_grid(block) if isinstance(block, Table) else _list(block))
    return capture.get().rstrip("\n")


def _grid(block: Table) -> "RenderableType":
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in block.columns:
        grid.add_column(name, overflow="fold")
    for row in block.rows:
        grid.add_row(*(Text(one_line(cell)) if isinstance(cell, str) else cell for cell in row))
    return grid


def _list(block: Points) -> "RenderableType":
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    rows = (
        Text.assemble(one_line(text), (f"  {one_line(source)}" if source else "", "dim"))
        for text, source in block.rows
    )
    hung = (Padding(row, (0, 0, 0, 2)) for row in rows)
    return Group(Text(clean(block.heading), style="bold"), *hung)


@contextmanager
def live_line(begun: float, limit: float) -> Iterator[Update]:
    """One line on stderr: for how long it runs, of how long at most, how far it is; it vanishes at the end."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(stderr=True), transient=True, refresh_per_second=10) as live:

        def update(message: str, done: float, total: float) -> None:
            step = f" {done:.0f}/{total:.0f}" if total else ""
            passed = f"{time.monotonic() - begun:.0f}" + (f" of {limit:.0f} s" if limit else " s")
            text = f"{passed}{step}  {clean(message) or 'working'}"
            live.update(Text(text, overflow="ellipsis", no_wrap=True))

        yield update
