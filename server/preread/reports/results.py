"""Test runs that the hooks record in `.project/.state/results.jsonl`: JSON lines, oldest first."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from preread.project.tree import Tree

MAX_RUNS = 2_000  # newest ones; older runs are ignored


class Line(NamedTuple):
    """A line that is a record with an id: its text and its value."""

    line: str
    value: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """One test run. Fields that the record lacks, or that have another type, are empty."""

    id: str
    at: float
    outcome: str  # passed, failed, error
    kind: str
    features: tuple[str, ...]
    command: str
    targets: tuple[str, ...]
    failed: tuple[str, ...]
    message: str
    seconds: float = 0.0  # duration; 0: unknown


def lines(tree: Tree, holding: str = "") -> Iterator[Line]:
    """The valid records in order; with `holding`, only lines that contain this text."""
    for line in tree.lines(tree.layout.relative(tree.layout.results)) or ():
        if holding in line and (value := _record(line)) is not None:
            yield Line(line, value)


def _record(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("id"), str) else None


def runs(tree: Tree) -> list[Run]:
    """The newest runs, oldest first."""
    newest = (tree.lines(tree.layout.relative(tree.layout.results)) or [])[-MAX_RUNS:]
    return [_run(value) for line in newest if (value := _record(line)) is not None]


def _run(value: dict[str, Any]) -> Run:
    def text(key: str) -> str:
        return found if isinstance(found := value.get(key), str) else ""

    def texts(key: str) -> tuple[str, ...]:
        found = value.get(key)
        parts = found if isinstance(found, list) else []
        return tuple(part for part in parts if isinstance(part, str))

    def number(key: str, limit: float) -> float:
        found = value.get(key)
        return float(found) if isinstance(found, (int, float)) and abs(found) < limit else 0.0

    return Run(
        id=value["id"],
        at=number("at", 1e11),
        outcome=text("outcome"),
        kind=text("kind"),
        features=texts("features"),
        command=text("command"),
        targets=texts("targets"),
        failed=texts("failed"),
        message=text("message"),
        seconds=max(0.0, number("seconds", 86_400)),
    )
