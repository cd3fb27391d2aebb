"""Outlines and details as compact JSON, for the derived database."""

import json
from typing import Any, TypeVar

from preread import syntax
from preread.syntax import Details, Outline

Whole = TypeVar("Whole", Outline, Details)
RECORDS: dict[type, tuple[Any, ...]] = {
    Outline: (syntax.Symbol, syntax.TestCase, syntax.Import),
    Details: (syntax.Call, syntax.Comment, syntax.Member, syntax.Raise, syntax.Attribute),
}


def pack(whole: Outline | Details) -> str:
    return json.dumps(whole, separators=(",", ":"))


def unpack(kind: type[Whole], text: str) -> Whole:
    """The inverse of `pack`; an empty record for an empty text. Raises ValueError, TypeError or
    LookupError for corrupt data.
    """
    groups = json.loads(text) if text else [[]] * len(RECORDS[kind])
    return kind(
        *(
            tuple(record._make(map(_as_tuple, values)) for values in rows)
            for record, rows in zip(RECORDS[kind], groups, strict=True)
        )
    )


def _as_tuple(value: object) -> object:
    """JSON has lists where records have tuples."""
    return tuple(value) if isinstance(value, list) else value
