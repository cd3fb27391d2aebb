"""Output of text, tables and bars on a terminal, or as plain text into a pipe."""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TextIO

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, OverflowMethod, RenderableType, RenderResult
    from rich.measure import Measurement
    from rich.text import Text

# Control and direction characters that a project's text could use to repaint a terminal.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
BAR_WIDTH = 10  # characters
EIGHTHS = " ▏▎▍▌▋▊▉█"
Update = Callable[[str, float, float], None]


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal; None is a stream that was closed before the start."""
    return stream is not None and stream.isatty()


def clean(text: str) -> str:
    """The text with control characters escaped, which a terminal would interpret."""
    return CONTROL.sub(lambda match: ascii(match[0])[1:-1], text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    return clean(text.replace("\n", " ").replace("\t", " "))


# -- cells that fit the width they are given; as plain text they are complete


class Bar(NamedTuple):
    """A score from 0 to 1 as a bar."""

    score: float

    def __str__(self) -> str:
        return f"{self.score:.2f} {self.bar(plain=True)}"

    def bar(self, *, plain: bool) -> str:
        share = max(0.0, min(1.0, self.score))
        if plain:
            return ("#" * round(share * BAR_WIDTH)).ljust(BAR_WIDTH, ".")
        eighths = round(share * BAR_WIDTH * 8)
        return (EIGHTHS[8] * (eighths // 8) + EIGHTHS[eighths % 8]).strip().ljust(BAR_WIDTH)

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.text import Text

        bar = self.bar(plain=options.ascii_only)[: options.max_width]
        yield Text(bar, style="green", no_wrap=True)

    def __rich_measure__(self, console: "Console", options: "ConsoleOptions") -> "Measurement":
        from rich.measure import Measurement

        return Measurement(BAR_WIDTH, BAR_WIDTH)


class FileLines(NamedTuple):
    """A file and the line ranges that matter.

    To fit, the path is shortened in its middle, and the last ranges are left out.
    """

    path: str
    lines: Sequence[tuple[int, int]] = ()

    def __str__(self) -> str:
        return self.path + self.ranges(len(self.lines), ",")

    def ranges(self, limit: int, comma: str = ", ", dots: str = "…") -> str:
        shown = [
            str(start) if start == end else f"{start}-{end}" for start, end in self.lines[:limit]
        ]
        more = [dots] if limit < len(self.lines) else []
        return ":" + comma.join(shown + more) if shown else ""

    def fitted(self, width: int, dots: str = "…") -> str:
        """What fits into `width`: the file's name, then one range, then folders and more ranges."""
        path = one_line(self.path)
        room = min(cells(path), max(width // 2, cells(path.rpartition("/")[2]) + len(dots) + 1))
        texts = [self.ranges(limit, dots=dots) for limit in range(len(self.lines), 0, -1)]
        ranges = next((text for text in texts if room + len(text) <= width), "")
        return shortened(path, width - len(ranges), dots) + ranges

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.text import Text

        dots = "..." if options.ascii_only else "…"
        yield Text(self.fitted(options.max_width, dots), no_wrap=True)

    def __rich_measure__(self, console: "Console", options: "ConsoleOptions") -> "Measurement":
        from rich.measure import Measurement

        whole = cells(one_line(self.path)) + len(self.ranges(len(self.lines)))
        return Measurement(min(whole, 16), whole)


class Truncated(NamedTuple):
    """A text on one line, cut off at its end."""

    text: str

    def __str__(self) -> str:
        return self.text

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.text import Text

        overflow: OverflowMethod = "crop" if options.ascii_only else "ellipsis"
        yield Text(one_line(self.text), style="dim", no_wrap=True, overflow=overflow)

    def __rich_measure__(self, console: "Console", options: "ConsoleOptions") -> "Measurement":
        from rich.measure import Measurement

        room = max(12, console.width // 3)  # leave the rest to the column with the paths
        whole = min(cells(one_line(self.text)), room)
        return Measurement(min(whole, 12), whole)


def cells(text: str) -> int:
    """How many terminal columns a text takes."""
    from rich.cells import cell_len

    return cell_len(text)


def shortened(path: str, room: int, dots: str = "…") -> str:
    """A path in `room` columns; its first folder and its last names are kept if possible."""
    if cells(path) <= room:
        return path
    names = path.split("/")
    ends = ["/".join((dots, *names[start:])) for start in range(1, len(names))]
    texts = (*(f"{names[0]}/{end}" for end in ends[1:]), *ends)
    if found := next((text for text in texts if cells(text) <= room), ""):
        return found
    name, keep = names[-1], max(room - len(dots), 1)
    head, tail = name[: keep // 2], name[len(name) - (keep - keep // 2) :]
    while tail and cells(head + tail) > keep:
        head, tail = head[:-1], tail[1:]
    return head + dots + tail


# -- blocks of output


class Table(NamedTuple):
    """Rows under column names; the last column may have long texts."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[str | Bar | FileLines | Truncated, ...]]


class BulletList(NamedTuple):
    """A heading with texts under it, each with its source."""

    heading: str
    rows: Sequence[tuple[str, str]]


class Marked(NamedTuple):
    """A line that begins with a word such as `warn`, which has its colour on a terminal."""

    mark: str
    text: str


class Markdown(NamedTuple):
    """A dossier's text: as it is in a pipe, rendered on a terminal."""

    text: str


Block = str | Table | BulletList | Marked | Markdown
MARKS = {
    "ok": "green", "warn": "yellow", "warning": "yellow", "note": "yellow", "fail": "bold red",
    "error": "bold red", "degraded": "yellow", "partial": "yellow", "hint": "cyan",
}  # fmt: skip


def render_blocks(blocks: Iterator[Block], *, terminal: bool) -> str:
    """Blocks as text, for a terminal or for a pipe."""
    return "\n".join(_styled(block) if terminal else _plain(block) for block in blocks)


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
    if isinstance(block, BulletList):
        texts = (f"- {text} ({source})" if source else f"- {text}" for text, source in block.rows)
        return "\n".join((clean(block.heading), *map(one_line, texts)))
    return clean(block if isinstance(block, str) else "".join(block))


def _styled(block: Block) -> str:
    if isinstance(block, str):
        return clean(block)
    if os.environ.get("NO_COLOR") and isinstance(block, Marked | Markdown):
        return _plain(block)
    from rich.console import Console

    console = Console(color_system=None if os.environ.get("NO_COLOR") else "auto")
    with console.capture() as capture:
        if isinstance(block, Marked):
            console.print(_marked(block), soft_wrap=True)
        elif isinstance(block, Markdown):
            from preread.cli.markdown import rendered

            console.print(rendered(clean(block.text)), soft_wrap=True)
        else:
            console.print(_grid(block) if isinstance(block, Table) else _list(block))
    return capture.get().rstrip("\n")


def _marked(line: Marked) -> "Text":
    from rich.text import Text

    style = MARKS.get(line.mark.strip(" :"), "")
    return Text.assemble((clean(line.mark), style), clean(line.text))


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


def _list(block: BulletList) -> "RenderableType":
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    rows = (
        Text.assemble(one_line(text), (f"  {one_line(source)}" if source else "", "dim"))
        for text, source in block.rows
    )
    indented = (Padding(row, (0, 0, 0, 2)) for row in rows)
    return Group(Text(clean(block.heading), style="bold"), *indented)


def progress(message: str, done: float, total: float) -> str:
    """The progress of a run on one line."""
    step = f"step {min(done + 1, total):.0f} of {total:.0f}: " if total else ""
    return f"{step}{one_line(message) or 'working'}"


@contextmanager
def live_line(begun: float, limit: float) -> Iterator[Update]:
    """A line on stderr with the time passed, the limit and the progress; removed at the end."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(stderr=True), transient=True, refresh_per_second=10) as live:

        def update(message: str, done: float, total: float) -> None:
            passed = f"{time.monotonic() - begun:.0f} s so far"
            passed += f", {limit:.0f} s at most" if limit else ""
            text = f"{progress(message, done, total)} ({passed})"
            live.update(Text(text, overflow="ellipsis", no_wrap=True))

        yield update


def age(seconds: float) -> str:
    """A time span, in its largest unit."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def as_json(data: object) -> str:
    """JSON for stdout, whatever its encoding."""
    text = json.dumps(data, ensure_ascii=False, indent=2)
    # The escapes mean the same in JSON, and a terminal does not interpret them.
    text = CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(data, indent=2)
    return text
