"""What is called, as written but without arguments: `expect(…).toBeVisible`."""

from preread.syntax.captures import Captured
from preread.syntax.grammars import Source
from preread.syntax.text import spelled

_LONG = 400  # characters of a callee, which holds a whole chain of calls
_FAR = 4_000  # bytes of text that is no call in a callee


def callees_of(source: Source, found: list[Captured]) -> dict[tuple[int, int], str]:
    """The callee of each call by its span; a call within the same call has none."""
    callees: dict[tuple[int, int], str] = {}
    ended: dict[int, tuple[int, str]] = {}  # by where calls start: the last one to end there
    for entry in sorted(_outermost(found), key=lambda entry: entry.end):
        name = entry.part("name")
        if name is None:
            continue
        end, before = ended.get(entry.start, (entry.start, ""))
        if end > name.start_byte:  # the call before is not a part of what is called
            end, before = entry.start, ""
        text = before + spelled(_between(source, end, name.end_byte), first=not before)
        if len(text) > _LONG:
            text = "…" + text[-_LONG:]
        callees[entry.start, entry.end] = text
        given = source.data[name.end_byte : entry.end].strip()
        ended[entry.start] = (entry.end, f"{text}(…)" if given else text)
    return callees


def _outermost(found: list[Captured]) -> list[Captured]:
    """The calls, of those that start at one place and call the same only the first."""
    calls: dict[tuple[int, int], Captured] = {}
    for entry in found:
        name = entry.part("name") if entry.role == "reference.call" else None
        if name is not None:
            calls.setdefault((entry.start, name.end_byte), entry)
    return list(calls.values())


def _between(source: Source, start: int, end: int) -> str:
    if end - start > _FAR:
        return "…." + source.data[end - _FAR : end].decode("utf-8", "ignore").rpartition(".")[2]
    return source.data[start:end].decode("utf-8", "ignore")
