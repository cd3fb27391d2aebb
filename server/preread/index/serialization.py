"""Outlines and details as compact JSON, for the derived database."""

import json
from typing import Any, NamedTuple, TypeVar

from preread import syntax
from preread.syntax import Details, Outline

Whole = TypeVar("Whole", Outline, Details)


class _Kind(NamedTuple):
    """One kind of record, and the positions of its tuple fields, which are lists in JSON."""

    record: Any
    tuples: tuple[int, ...]


def _kinds(*records: type) -> tuple[_Kind, ...]:
    return tuple(
        _Kind(
            record,
            tuple(
                i for i, of in enumerate(record.__annotations__.values()) if of == tuple[str, ...]
            ),
        )
        for record in records
    )


KINDS = {
    Outline: _kinds(syntax.Symbol, syntax.TestCase, syntax.Import),
    Details: _kinds(syntax.Call, syntax.Comment, syntax.Member, syntax.Raise, syntax.Attribute),
}


def pack(whole: Outline | Details) -> str:
    return json.dumps(whole, separators=(",", ":"))


def unpack(kind: type[Whole], text: str) -> Whole:
    """The inverse of `pack`; an empty record for an empty text. Raises ValueError, TypeError or
    LookupError for corrupt data.
    """
    groups = json.loads(text) if text else [[]] * len(KINDS[kind])
    return kind(*(_records(of, rows) for of, rows in zip(KINDS[kind], groups, strict=True)))


def _records(kind: _Kind, rows: list[list[Any]]) -> tuple[Any, ...]:
    for row in rows:
        for place in kind.tuples:
            row[place] = tuple(row[place])
    return tuple(map(kind.record._make, rows))
