"""`.project/gates`: its lines, and which feature a path belongs to. The grammar is in docs/gates.md."""

from __future__ import annotations

import errno
import os

LARGEST = 1 << 20
LONGEST_FEATURE = 64
PROJECT = "_project"
MODES = ("block", "warn", "off")
DIRECTIVES = ("mode", "agent", "!agent", "alias")
DEVICES = frozenset(
    [
        "con",
        "prn",
        "aux",
        "nul",
        *["com" + str(n) for n in range(1, 10)],
        *["lpt" + str(n) for n in range(1, 10)],
    ]
)
SLUG = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


class Broken(Exception):  # noqa: N818 - the word of docs/gates.md
    """A gates file that cannot be followed: `line` counts from 1, and is 0 where the whole file is meant."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(".project/gates" + (", line " + str(line) if line else "") + " " + why)
        self.line = line
        self.why = why


class Rule:
    """One pattern line."""

    __slots__ = ("gates", "line", "pattern", "text")

    def __init__(self, line: int, text: str, gates: bool, pattern: str) -> None:
        self.line = line
        self.text = text
        self.gates = gates
        self.pattern = pattern


class Rules:
    """A gates file that was read."""

    def __init__(self) -> None:
        self.mode = "block"
        self.mode_line = 0
        self.rules: list[Rule] = []
        self.agents: list[tuple[str, bool]] = []
        self.aliases: dict[str, str] = {}

    def find(self, relative: str) -> tuple[Rule | None, str]:
        """The first rule that matches a path, gate or exemption, and what its {feature} captured."""
        for rule in self.rules:
            found = capture(rule.pattern, relative)
            if found is not None:
                return rule, found
        return None, ""

    def feature_of(self, relative: str) -> str | None:
        """The feature whose dossier a path needs; None where no rule gates it."""
        rule, found = self.find(relative)
        return self.served_by(feature_for(rule, found)) if rule is not None and rule.gates else None

    def served_by(self, feature: str) -> str:
        """The feature whose dossier serves this one: an alias is followed one step."""
        return self.aliases.get(feature, feature)

    def gated_agent(self, name: str) -> bool:
        """Whether dispatching this agent needs a dossier."""
        plain = name[len("preread:") :] if name.startswith("preread:") else name
        for agent, gated in self.agents:
            if agent == name or (agent == plain and ":" not in agent):
                return gated
        return plain == "test-planner"


def feature_for(rule: Rule, captured: str) -> str:
    """The feature of a captured text, before aliases."""
    return feature_of_text(captured) if "{feature}" in rule.pattern else PROJECT


def feature_of_text(text: str) -> str:
    """The feature that a free text names; `_project` where it names none."""
    name = slug(text)
    return PROJECT if not name or name in DEVICES else name


def slug(text: str) -> str:
    """Lower case, each run of other characters than a-z0-9 one `-`, at most 64 characters, trimmed."""
    words = "".join([char if char in SLUG else " " for char in text.lower()]).split()
    return "-".join(words)[:LONGEST_FEATURE].strip("-")


def is_feature(text: str) -> bool:
    """Whether a text is a feature name, `_project` aside."""
    shaped = len(text) <= LONGEST_FEATURE and all(
        part and SLUG.issuperset(part) for part in text.split("-")
    )
    return shaped and text not in DEVICES


def read(root: str) -> Rules | None:
    """The rules of a project; None without a gates file. Raises Broken."""
    text = _text(os.path.join(root, ".project", "gates"))
    return None if text is None else parse(text)


def _text(path: str) -> str | None:
    try:
        # A FIFO must not make a gate wait: it is opened without blocking, and then seen to be no file.
        handle = os.open(
            path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
        )
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno in (
            errno.ELOOP,
            errno.ENAMETOOLONG,
        ):  # there can be no file, as behind a link to nothing
            return None
        raise Broken(0, "cannot be read (" + str(error.strerror) + ")") from error
    try:
        if os.fstat(handle).st_mode & 0o170000 != 0o100000:
            raise Broken(0, "is no regular file")
        data = block = os.read(handle, 1 << 16)
        while block and len(data) <= LARGEST:
            block = os.read(handle, LARGEST)
            data += block
    except OSError as error:
        raise Broken(0, "cannot be read (" + str(error.strerror) + ")") from error
    finally:
        os.close(handle)
    if len(data) > LARGEST:
        raise Broken(0, "is larger than 1 MiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Broken(data.count(b"\n", 0, error.start) + 1, "is not UTF-8") from None


def parse(text: str) -> Rules:
    """The rules in the text of a gates file. Raises Broken."""
    if text.startswith("\ufeff"):
        text = text[1:]
    found = Rules()
    for number, raw in enumerate(text.split("\n"), 1):
        if "\0" in raw:
            raise Broken(number, "holds a NUL")
        line = _bare(raw)
        if line:
            _take(found, number, line)
    return found


def _bare(raw: str) -> str:
    """A line without its comment and the white space around it."""
    line = (raw[:-1] if raw.endswith("\r") else raw).strip(" \t")
    start = line.find("#")
    while start > 0 and line[start - 1] not in " \t":
        start = line.find("#", start + 1)
    return line if start < 0 else line[:start].rstrip(" \t")


def _take(found: Rules, number: int, line: str) -> None:
    words = line.replace("\t", " ").split(" ")
    if words[0] in DIRECTIVES:
        _directive(found, number, words[0], [word for word in words[1:] if word])
        return
    gates = not line.startswith("!")
    pattern = line if gates else line[1:].lstrip(" \t")
    pattern = (
        pattern[2:]
        if pattern.startswith("./")
        else pattern[1:]
        if pattern.startswith("/")
        else pattern
    )
    if not pattern:
        raise Broken(number, "has no pattern")
    found.rules.append(Rule(number, line, gates, pattern))


def _directive(found: Rules, number: int, word: str, rest: list[str]) -> None:
    if word == "mode":
        if len(rest) != 1 or rest[0] not in MODES:
            raise Broken(number, "names no mode: write `mode block`, `mode warn` or `mode off`")
        if not found.mode_line:
            found.mode, found.mode_line = rest[0], number
    elif word == "alias":
        if (
            len(rest) != 2
            or not is_feature(rest[0])
            or not (is_feature(rest[1]) or rest[1] == PROJECT)
        ):
            raise Broken(number, "is no alias: write `alias NAME FEATURE` with two feature names")
        found.aliases.setdefault(rest[0], rest[1])
    elif len(rest) != 1:
        raise Broken(number, "names no agent: write `" + word + " NAME`")
    else:
        found.agents.append((rest[0], word == "agent"))


def capture(pattern: str, text: str) -> str | None:
    """What {feature} captures where the pattern matches the whole text ("" without one); None where it does not."""
    # Almost every rule is told apart by how it ends, and `match` is loaded for the others alone.
    last = max(map(pattern.rfind, "/*?}"))
    if not text.endswith(pattern[last + 1 :]):
        return None
    from gatelib.match import match, parts

    return match(parts(pattern), text)
