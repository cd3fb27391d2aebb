"""Callees as written, but without arguments: `expect(…).toBeVisible`."""

from preread.syntax.captures import Captured
from preread.syntax.grammars import Source
from preread.syntax.text import callee_text

_MAX_CALLEE = 400  # characters of a callee, which may be a long chain of calls
_MAX_BETWEEN = 4_000  # bytes between two calls of a chain


def callees_of(source: Source, found: list[Captured]) -> dict[tuple[int, int], str]:
    """The callee of each call by its span."""
    callees: dict[tuple[int, int], str] = {}
    last_by_start: dict[
        int, tuple[int, str]
    ] = {}  # by start offset: the end and text of the last call
    for entry in sorted(_outermost(found), key=lambda entry: entry.end):
        name = entry.part("name")
        if name is None:
            continue
        end, prefix = last_by_start.get(entry.start, (entry.start, ""))
        if end > name.start_byte:  # the previous call is not part of this callee
            end, prefix = entry.start, ""
        text = prefix + callee_text(_between(source, end, name.end_byte), first=not prefix)
        if len(text) > _MAX_CALLEE:
            text = "…" + text[-_MAX_CALLEE:]
        callees[entry.start, entry.end] = text
        given = source.data[name.end_byte : entry.end].strip()
        last_by_start[entry.start] = (entry.end, f"{text}(…)" if given else text)
    return callees


def _outermost(found: list[Captured]) -> list[Captured]:
    """The calls; of those with the same start and the same callee, only the first."""
    calls: dict[tuple[int, int], Captured] = {}
    for entry in found:
        name = entry.part("name") if entry.role == "reference.call" else None
        if name is not None:
            calls.setdefault((entry.start, name.end_byte), entry)
    return list(calls.values())


def _between(source: Source, start: int, end: int) -> str:
    if end - start > _MAX_BETWEEN:
        return (
            "…."
            + source.data[end - _MAX_BETWEEN : end].decode("utf-8", "ignore").rpartition(".")[2]
        )
    return source.data[start:end].decode("utf-8", "ignore")
