"""Extract what is inside definitions (calls, members, errors) in one pass over the captures."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from preread.syntax.callees import callees_of
from preread.syntax.captures import Captured
from preread.syntax.grammars import Source, first_line, last_line
from preread.syntax.model import Attribute, Call, Member, MemberKind, Raise
from preread.syntax.places import Places
from preread.syntax.text import callee_text, longest_run, unquoted

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_LITERALS = 60  # of one call
_OPTION = re.compile(r"-{1,2}[A-Za-z][\w-]*")
_KINDS: dict[str, MemberKind] = {
    "enum": "enum",
    "constant": "constant",
    "option": "option",
    "field": "field",
    "union": "union",
}


@dataclass(slots=True)
class _Frame:
    """The call that strings and keywords between two offsets belong to, if any."""

    begin: int
    end: int
    found: Captured | None = None  # the call
    callee: str = ""
    hook: str = ""
    literals: list[str] = field(default_factory=list)
    keywords: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Error:
    found: Captured
    strings: list[str] = field(default_factory=list)


class ContentReader:
    """Extracts calls, members, errors and attributes from captures."""

    def __init__(self, source: Source, places: Places, *, in_tests: bool) -> None:
        self.source = source
        self.places = places
        self.in_tests = in_tests
        self.members: list[Member] = []
        self.attributes: list[Attribute] = []
        self._calls: list[_Frame] = []
        self._errors: list[_Error] = []
        self._open_frames: list[_Frame] = []
        self._open_errors: list[_Error] = []
        self._open_hooks: list[tuple[int, str]] = []  # end, name
        self._open_families: list[tuple[int, str]] = []
        self._open_locals: list[tuple[int, str]] = []
        self._callees: dict[tuple[int, int], str] = {}
        self._seen: set[tuple[str | int, ...]] = set()

    def read(self, found: list[Captured]) -> None:
        """Process the captures in source order."""
        handlers = {
            "reference": self._call,
            "string": self._string,
            "keyword": self._keyword,
            "block": self._block,
            "member": self._member,
            "family": self._family,
            "local": self._local,
            "raise": self._raise,
            "hook": self._hook,
            "attribute": self._attribute,
        }
        self._callees = callees_of(self.source, found)
        for entry in found:
            self._close(entry.start)
            handler = handlers.get(entry.role.partition(".")[0])
            if handler is not None:
                handler(entry)

    def calls(self) -> tuple[Call, ...]:
        """The calls found, by line; those of one line as they are nested."""
        found = (self._as_call(frame, frame.found) for frame in self._calls if frame.found)
        return tuple(sorted(found, key=lambda call: call.line))

    def raises(self) -> tuple[Raise, ...]:
        """The errors found; those without a message are dropped."""
        found = []
        for error in self._errors:
            message = longest_run(error.strings)
            exception = error.found.parts.get("exception")
            if message and exception:
                line = first_line(error.found.node)
                text = self.source.fold_between(exception[0].start_byte, exception[-1].end_byte)
                name = callee_text(text).removesuffix(".new")
                found.append(Raise(message, name, line, self.places.within(line)))
        return tuple(found)

    def _close(self, offset: int) -> None:
        while self._open_frames and self._open_frames[-1].end <= offset:
            self._open_frames.pop()
        while self._open_errors and self._open_errors[-1].found.end <= offset:
            self._open_errors.pop()
        for open_ in (self._open_hooks, self._open_families, self._open_locals):
            while open_ and open_[-1][0] <= offset:
                open_.pop()

    def _call(self, entry: Captured) -> None:
        name = entry.part("name")
        callee = self._callees.pop((entry.start, entry.end), "")
        if entry.role != "reference.call" or name is None or not callee:
            return
        hook = self._open_hooks[-1][1] if self._open_hooks else ""
        frame = _Frame(name.end_byte, entry.end, entry, callee, hook)
        self._open_frames.append(frame)
        if all(callee != local for _, local in self._open_locals):
            self._calls.append(frame)

    def _as_call(self, frame: _Frame, entry: Captured) -> Call:
        name = entry.part("name")
        # The line of the name itself, which in a chain of calls is not where the chain begins.
        line = last_line(entry.node if name is None else name)
        literals, keywords = tuple(frame.literals[:_MAX_LITERALS]), tuple(frame.keywords)
        text, end = self.source.fold(entry.node, 120), last_line(entry.node)
        within = self.places.within(line)
        return Call(frame.callee, text, line, end, literals, keywords, within, frame.hook)

    def _string(self, entry: Captured) -> None:
        if ("keyword", entry.start) in self._seen:
            return
        frame = self._frame_at(entry.start)
        text = unquoted(self.source.text(entry.node))
        if frame is not None:
            frame.literals.append(text)
        if self._open_errors:
            self._open_errors[-1].strings.append(text)
        self._block(entry)

    def _keyword(self, entry: Captured) -> None:
        self._seen.add(("keyword", entry.start))
        frame = self._frame_at(entry.start)
        if frame is not None:
            frame.keywords.append(self.source.fold(entry.node).strip("'\":"))

    def _frame_at(self, offset: int) -> _Frame | None:
        """The call whose arguments contain an offset."""
        frame = self._open_frames[-1] if self._open_frames else None
        return frame if frame is not None and frame.found and frame.begin <= offset else None

    def _block(self, entry: Captured) -> None:
        self._open_frames.append(_Frame(entry.start, entry.end))

    def _member(self, entry: Captured) -> None:
        name, kind = entry.part("name"), _KINDS.get(entry.role.partition(".")[2])
        if name is None or not self._is_first(entry, name) or kind is None:
            return
        line = first_line(entry.node)
        owner = self._owner(entry, kind, line)
        if kind in ("union", "field") and not owner:  # of a parameter
            return
        text = self.source.text(name)
        raw = (
            unquoted(text) if "string" in name.type or kind == "option" else self.source.fold(name)
        )
        if kind != "option":
            self.members.append(Member(raw.strip("`$:"), self._value(entry), line, owner, kind))
            return
        for option in _OPTION.findall(raw) if raw.startswith("-") else ():
            self.members.append(Member(option, raw, line, owner, kind))

    def _owner(self, entry: Captured, kind: MemberKind, line: int) -> str:
        owner = entry.part("owner")
        if owner is not None:
            return self.source.fold(owner)
        if self._open_families:
            return ".".join(name for _, name in self._open_families)
        return self.places.within(line) if kind == "option" else self.places.type_at(line)

    def _family(self, entry: Captured) -> None:
        name = entry.part("name")
        if name is not None:
            self._open_families.append((entry.end, self.source.fold(name).strip("'\"")))

    def _local(self, entry: Captured) -> None:
        name = entry.part("name")
        if name is not None:
            self._open_locals.append((entry.end, self.source.text(name)))

    def _value(self, entry: Captured) -> str:
        """The text from the first to the last part of the value."""
        parts = entry.parts.get("value")
        if not parts:
            return ""
        start, end = min(n.start_byte for n in parts), max(n.end_byte for n in parts)
        return self.source.fold_between(start, end, 120).lstrip(":= ")

    def _is_first(self, entry: Captured, name: "Node") -> bool:
        """Whether no earlier pattern captured this node with this name; records it."""
        key = (entry.start, entry.end, name.start_byte)
        is_first = key not in self._seen
        self._seen.add(key)
        return is_first

    def _raise(self, entry: Captured) -> None:
        if ("raise", entry.start, entry.end) in self._seen:
            return
        self._seen.add(("raise", entry.start, entry.end))
        error = _Error(entry)
        self._errors.append(error)
        self._open_errors.append(error)

    def _hook(self, entry: Captured) -> None:
        name = entry.part("name")
        if name is None or not self.in_tests:
            return
        text = self.source.fold(name).strip(":'\"`")
        shown = f"fixture:{text}" if entry.role == "hook.fixture" else text.rpartition(".")[2]
        self._open_hooks.append((entry.end, shown))

    def _attribute(self, entry: Captured) -> None:
        element, name, value = (entry.part(part) for part in ("element", "name", "value"))
        if element is None or name is None or value is None:
            return
        line = first_line(entry.node)
        texts = self.source.fold(element), self.source.fold(name), unquoted(self.source.text(value))
        self.attributes.append(Attribute(*texts, line, self.places.within(line)))
