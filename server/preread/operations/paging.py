"""Long results, page by page: a cursor contains the start of the next page, and its call."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from preread.errors import PrereadError

# Unless the caller says how many: items, and their characters as JSON, about 10,000 tokens.
PAGE, MAX_CHARS = 50, 40_000
MOST = 1000  # items that it may ask for
CURSOR = re.compile(r"(\d{1,9})-([0-9a-f]{8})")


class Page(NamedTuple):
    """One page of a result, and how to get the next."""

    result: dict[str, Any]
    total: int
    next_cursor: str  # empty after the last page


def page(
    result: Mapping[str, Any],
    field: str,
    call: Mapping[str, Any],
    limit: int | None,
    cursor: str,
) -> Page:
    """The part of `result[field]` that begins at `cursor`; `call` is the method with its params.

    Raises E_USAGE for a cursor of another call.
    """
    mark = hashlib.sha256(json.dumps(call, sort_keys=True).encode()).hexdigest()[:8]
    match = CURSOR.fullmatch(cursor) if cursor else None
    if cursor and (match is None or match[2] != mark):
        raise PrereadError(
            "E_USAGE",
            "The cursor does not belong to this call.",
            "Repeat the call with the same method and params, and `metadata.next_cursor` of its "
            "last reply; or leave the cursor out to begin again.",
        )
    begin = int(match[1]) if match else 0
    items = result.get(field) or []
    end = begin + (limit or _fitting(items[begin : begin + PAGE]))
    following = f"{end}-{mark}" if end < len(items) else ""
    return Page({**result, field: items[begin:end]}, len(items), following)


def _fitting(items: Sequence[Any]) -> int:
    """How many of the items a page takes; one at least."""
    sizes = accumulate(len(json.dumps(item, ensure_ascii=False)) for item in items)
    return max(1, sum(size <= MAX_CHARS for size in sizes))
