"""The record of test runs that the hooks keep in `.project/.state/results.jsonl`: a line of JSON each, newest last."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from preread.project.tree import Tree

MOST = 2_000  # of the newest lines are looked at


class Line(NamedTuple):
    """One line that is a record with an id, as it stands and as it reads."""

    line: str
    value: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """One run of tests. What a record lacks, or has in another type, is empty."""

    id: str
    at: float
    outcome: str  # passed, failed, error
    kind: str
    features: tuple[str, ...]
    command: str
    targets: tuple[str, ...]
    failed: tuple[str, ...]
    message: str
    seconds: float = 0.0  # that it took; 0: unknown


def lines(tree: Tree, holding: str = "") -> Iterator[Line]:
    """The records in their order, or those that may have this id; a line cut by a killed writer is none."""
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
    """The newest runs, the oldest of them first."""
    newest = (tree.lines(tree.layout.relative(tree.layout.results)) or [])[-MOST:]
    return [_run(value) for line in newest if (value := _record(line)) is not None]


def _run(value: dict[str, Any]) -> Run:
    def text(key: str) -> str:
        return found if isinstance(found := value.get(key), str) else ""

    def texts(key: str) -> tuple[str, ...]:
        found = value.get(key)
        return (
            tuple(part for part in found if isinstance(part, str))
            if isinstance(found, list)
            else ()
        )

    def number(key: str, most: float) -> float:
        found = value.get(key)
        return float(found) if isinstance(found, (int, float)) and abs(found) < most else 0.0

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
