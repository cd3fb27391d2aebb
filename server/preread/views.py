"""How each reply reads to a person: text and tables, with colours and boxes only on a terminal."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from preread.models import LoadReply, Model

# Control and direction characters that a project's text could use to repaint a terminal.
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Table(NamedTuple):
    """Rows under column names; the last column may be long."""

    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


Block = str | Table
Update = Callable[[str, float, float], None]


def clean(text: str) -> str:
    """`text` with what a terminal would obey instead of showing made visible."""
    return UNSEEN.sub(lambda match: ascii(match[0])[1:-1], text.replace("\r\n", "\n"))


def render(operation: str, reply: Model, *, terminal: bool) -> str:
    """A reply as text, for a terminal or for a pipe."""
    blocks = VIEWS[operation](reply)
    table = _boxed if terminal else _aligned
    return "\n".join(table(block) if isinstance(block, Table) else clean(block) for block in blocks)


def _cell(text: str) -> str:
    return clean(text.replace("\n", " ").replace("\t", " "))


def _aligned(table: Table) -> str:
    rows = [[_cell(cell) for cell in row] for row in (tuple(c.upper() for c in table.columns), *table.rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _boxed(table: Table) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(*table.columns, box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for row in table.rows:
        grid.add_row(*(Text(_cell(cell)) for cell in row))
    console = Console()
    with console.capture() as capture:
        console.print(grid)
    return capture.get().rstrip("\n")


@contextmanager
def live_line(begun: float) -> Iterator[Update]:
    """One line on stderr that says what runs, how far it is and for how long; it vanishes at the end."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(stderr=True), transient=True, refresh_per_second=10) as live:

        def update(message: str, done: float, total: float) -> None:
            step = f" {done:.0f}/{total:.0f}" if total else ""
            text = f"{time.monotonic() - begun:5.0f} s{step}  {clean(message) or 'working'}"
            live.update(Text(text, overflow="ellipsis", no_wrap=True))

        yield update


def load(reply: LoadReply) -> Iterator[Block]:
    stats = reply.stats
    how = [
        reply.state,
        f"by {reply.builder}" if reply.builder else "",
        f"({reply.level})" if reply.level else "",
    ]
    head = [f"{reply.status}: {' '.join(word for word in how if word)}".removesuffix(": "), reply.path]
    if stats is not None:
        head.append(f"{stats.facts} facts, about {stats.tokens} tokens, {stats.seconds:.2f} s")
    yield " · ".join(head)
    yield from (f"warning: {warning}" for warning in reply.warnings)
    yield f"\n{reply.dossier}" if reply.dossier else reply.next


VIEWS: dict[str, Callable[[Any], Iterator[Block]]] = {"context.load": load}
