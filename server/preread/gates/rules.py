"""Parses `.project/gates` (grammar: docs/gates-reference.md) and finds the rule for a path."""

from __future__ import annotations

import errno
import os

from preread.gates.feature_names import PROJECT, feature_of_text, is_feature

MAX_BYTES = 1 << 20
MODES = ("block", "warn", "off")
DIRECTIVES = ("mode", "agent", "!agent", "alias")
PLUGIN_PREFIX = "preread:"  # of our agents' names, when the plugin brings them


class Broken(Exception):  # noqa: N818 - describes the file, not a failure of ours
    """A gates file that cannot be used. `line` counts from 1; 0 means the whole file."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(".project/gates" + (", line " + str(line) if line else "") + " " + why)
        self.line = line
        self.why = why


class Rule:
    """One pattern line: a gate, or an exemption (`!`) when `gates` is false."""

    __slots__ = ("gates", "line", "pattern", "text")

    def __init__(self, line: int, text: str, gates: bool, pattern: str) -> None:
        self.line = line
        self.text = text
        self.gates = gates
        self.pattern = pattern


class Rules:
    """The contents of one gates file."""

    def __init__(self) -> None:
        self.mode = "block"
        self.mode_line = 0  # 0: the file sets no mode
        self.rules: list[Rule] = []
        self.agents: list[tuple[str, bool]] = []  # name, gated or exempt
        self.aliases: dict[str, str] = {}

    def find(self, relative: str) -> tuple[Rule | None, str]:
        """The first rule that matches a path, even an exemption, and what {feature} captured."""
        for rule in self.rules:
            captured = capture(rule.pattern, relative)
            if captured is not None:
                return rule, captured
        return None, ""

    def feature_of(self, relative: str) -> str | None:
        """The feature whose dossier a path needs; None when no rule gates it."""
        rule, captured = self.find(relative)
        if rule is None or not rule.gates:
            return None
        return self.served_by(feature_for(rule, captured))

    def served_by(self, feature: str) -> str:
        """The feature whose dossier serves this one. Aliases are not chained."""
        return self.aliases.get(feature, feature)

    def served_by_name(self, name: str) -> str:
        """The feature whose dossier serves a name in free text."""
        return self.served_by(name if name == PROJECT else feature_of_text(name))

    def gated_agent(self, name: str) -> bool:
        """Whether dispatching this agent needs a dossier."""
        plain = name[len(PLUGIN_PREFIX) :] if name.startswith(PLUGIN_PREFIX) else name
        for agent, gated in self.agents:
            if agent == name or (agent == plain and ":" not in agent):
                return gated
        return plain == "test-planner"


def feature_for(rule: Rule, captured: str) -> str:
    """The feature that a rule's captured text means, before aliases."""
    return feature_of_text(captured) if "{feature}" in rule.pattern else PROJECT


def read(root: str) -> Rules | None:
    """The rules of a project; None without a gates file. Raises Broken."""
    try:
        data = _bytes(os.path.join(root, ".project", "gates"))
    except OSError as error:
        raise Broken(0, "cannot be read (" + str(error.strerror) + ")") from error
    if data is None:
        return None
    if len(data) > MAX_BYTES:
        raise Broken(0, "is larger than 1 MiB")
    try:
        return parse(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Broken(data.count(b"\n", 0, error.start) + 1, "is not UTF-8") from None


def _bytes(path: str) -> bytes | None:
    """Up to a little over MAX_BYTES of a file; None when there is none. Raises Broken, OSError."""
    # O_NONBLOCK: opening a FIFO must not hang the gate. It is rejected below.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        handle = os.open(path, flags | getattr(os, "O_BINARY", 0))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        # Such a path cannot exist, as with a link that points nowhere.
        if error.errno in (errno.ELOOP, errno.ENAMETOOLONG):
            return None
        raise
    try:
        if os.fstat(handle).st_mode & 0o170000 != 0o100000:
            raise Broken(0, "is not a regular file")
        data = block = os.read(handle, 1 << 16)
        while block and len(data) <= MAX_BYTES:
            block = os.read(handle, MAX_BYTES)
            data += block
        return data
    finally:
        os.close(handle)


def parse(text: str) -> Rules:
    """The rules in the text of a gates file. Raises Broken."""
    if text.startswith("\ufeff"):
        text = text[1:]
    found = Rules()
    for number, raw in enumerate(text.split("\n"), 1):
        if "\0" in raw:
            raise Broken(number, "contains a NUL character")
        line = _without_comment(raw)
        if line:
            _add_line(found, number, line)
    return found


def _without_comment(raw: str) -> str:
    """A line without its comment and the white space around it."""
    line = (raw[:-1] if raw.endswith("\r") else raw).strip(" \t")
    start = line.find("#")
    while start >= 0:
        if start == 0 or line[start - 1] in " \t":
            return line[:start].rstrip(" \t")
        start = line.find("#", start + 1)
    return line


def _add_line(found: Rules, number: int, line: str) -> None:
    words = [word for word in line.replace("\t", " ").split(" ") if word]
    if words[0] in DIRECTIVES:
        _add_directive(found, number, words[0], words[1:])
        return
    gates = not line.startswith("!")
    pattern = line if gates else line[1:].lstrip(" \t")
    if pattern.startswith("./"):
        pattern = pattern[2:]
    elif pattern.startswith("/"):
        pattern = pattern[1:]
    if not pattern:
        raise Broken(number, "has no pattern")
    found.rules.append(Rule(number, line, gates, pattern))


def _add_directive(found: Rules, number: int, word: str, rest: list[str]) -> None:
    if word == "mode":
        if len(rest) != 1 or rest[0] not in MODES:
            raise Broken(
                number, "sets no valid mode: write `mode block`, `mode warn` or `mode off`"
            )
        if not found.mode_line:
            found.mode, found.mode_line = rest[0], number
    elif word == "alias":
        if len(rest) != 2 or rest[0] == PROJECT or not all(map(is_feature, rest)):
            raise Broken(
                number, "is not a valid alias: write `alias NAME FEATURE` with two feature names"
            )
        found.aliases.setdefault(rest[0], rest[1])
    elif len(rest) != 1:
        raise Broken(number, "names no agent: write `" + word + " NAME`")
    else:
        found.agents.append((rest[0], word == "agent"))


def capture(pattern: str, text: str) -> str | None:
    """What {feature} captures when the pattern matches all of `text`, None when it does not.

    A pattern without {feature} captures "".
    """
    # Most rules are ruled out by how they end, without importing the matcher.
    last = max(map(pattern.rfind, "/*?}"))
    if not text.endswith(pattern[last + 1 :]):
        return None
    from preread.gates.path_patterns import match, parts

    return match(parts(pattern), text)
