"""The record of test runs that the hooks keep, read with a tree's care."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from preread.gates import run_records
from preread.gates.run_records import Run
from preread.project.tree import Tree

MAX_RUNS = 2_000  # of the newest lines are read


class Line(NamedTuple):
    """One line that is a record with an id, as text and as parsed."""

    line: str
    value: dict[str, Any]


def lines(tree: Tree, containing: str = "") -> Iterator[Line]:
    """The records in order; with `containing`, only those that may have this id."""
    for line in tree.lines(tree.layout.relative(tree.layout.results)) or ():
        if containing in line and (value := _record(line)) is not None:
            yield Line(line, value)


def _record(line: str) -> dict[str, Any] | None:
    value = run_records.parse(line)
    return value if value is not None and isinstance(value.get("id"), str) else None


def runs(tree: Tree) -> list[Run]:
    """The newest runs, oldest first."""
    newest = (tree.lines(tree.layout.relative(tree.layout.results)) or [])[-MAX_RUNS:]
    return [Run(value) for line in newest if (value := _record(line)) is not None]
