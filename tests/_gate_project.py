# Paths are text here, as the contract has it.
# ruff: noqa: PTH110, PTH112, PTH113, PTH116, PTH118, PTH120, PTH123, PTH208
"""Gates file, paths and dossiers by docs/gates-reference.md; shares no code with the gates."""

import math
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import _gate_shell as shell

REQUIRED = ("patterns.md", "codebase.md", "summary.md")
DEVICES = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{name}{n}" for name in ("com", "lpt") for n in range(1, 10)),
}


class BrokenGatesError(Exception):
    """The gates file cannot be read; which line, or why."""


def slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:64].strip("-")


def is_feature(name: str) -> bool:
    return (
        bool(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name))
        and len(name) <= 64
        and name not in DEVICES
    )


def feature_of_text(text: str) -> str:
    name = slug(text)
    return name if is_feature(name) else "_project"


# -- the gates file


@dataclass
class Rules:
    """A gates file that is not broken."""

    mode: str = ""
    patterns: list[tuple[bool, re.Pattern[str]]] = field(default_factory=list)
    agents: list[tuple[bool, str]] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)

    def served_by(self, feature: str) -> str:
        return self.aliases.get(feature, feature)

    def feature_of(self, relative: str) -> str | None:
        for gates, pattern in self.patterns:
            if found := pattern.fullmatch(relative):
                if not gates:
                    return None
                captured = found.groupdict().get("feature")
                return self.served_by("_project" if captured is None else feature_of_text(captured))
        return None

    def gates_agent(self, name: str) -> bool:
        for gates, word in [*self.agents, (True, "test-planner")]:
            if name == word or (":" not in word and name == f"preread:{word}"):
                return gates
        return False


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    regex, at, captured = "", 0, False
    while at < len(pattern):
        rest = pattern[at:]
        if rest.startswith("**/") and (at == 0 or pattern[at - 1] == "/"):
            regex, at = regex + "(?:[^/]+/)*", at + 3
        elif rest.startswith("**"):
            regex, at = regex + ".*", at + 2
        elif rest.startswith("*"):
            regex, at = regex + "[^/]*", at + 1
        elif rest.startswith("?"):
            regex, at = regex + "[^/]", at + 1
        elif rest.startswith("{feature}"):
            regex += "(?P=feature)" if captured else "(?P<feature>[^/]+?)"
            captured, at = True, at + len("{feature}")
        else:
            regex, at = regex + re.escape(rest[0]), at + 1
    return re.compile(regex, re.DOTALL)


def read_rules(root: str) -> Rules | None:
    path = os.path.join(root, ".project", "gates")
    if not os.path.exists(path):
        return None
    if not os.path.isfile(path):
        raise BrokenGatesError("gates")
    with open(path, "rb") as file:
        return rules_of(file.read())


@cache
def rules_of(data: bytes) -> Rules:
    if len(data) > 1 << 20 or b"\0" in data:
        raise BrokenGatesError("gates")
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise BrokenGatesError("gates") from None
    rules = Rules()
    for number, line in enumerate(text.split("\n"), 1):
        if not add_line(rules, without_comment(line)):
            raise BrokenGatesError(f"line {number}")
    return rules


def without_comment(line: str) -> str:
    line = line.removesuffix("\r").strip(" \t")
    return re.split(r"(?:^|(?<=[ \t]))#", line, maxsplit=1)[0].strip(" \t")


def add_line(rules: Rules, line: str) -> bool:
    """Take one line in; whether it is a good one."""
    keyword, *words = re.split(r"[ \t]+", line)
    if keyword == "mode":
        rules.mode = rules.mode or words[0] if words else ""
        return len(words) == 1 and words[0] in {"block", "warn", "off"}
    if keyword in {"agent", "!agent"}:
        rules.agents += [(keyword == "agent", word) for word in words]
        return len(words) == 1
    if keyword == "alias":
        if (
            len(words) != 2
            or not is_feature(words[0])
            or not (is_feature(words[1]) or words[1] == "_project")
        ):
            return False
        rules.aliases.setdefault(*words)
        return True
    if line:
        exempts = line.startswith("!")
        pattern = line[1:].lstrip(" \t") if exempts else line
        pattern = re.sub(r"^(\./|/)", "", pattern)
        rules.patterns.append((not exempts, compiled(pattern)))
        return pattern != ""
    return True


# -- places


def is_project(folder: str) -> bool:
    return os.path.isdir(os.path.join(folder, ".project")) or os.path.exists(
        os.path.join(folder, ".git")
    )


def project_above(path: str) -> str | None:
    """The nearest project that a path is in, itself not counted."""
    while path != "/":
        path = os.path.dirname(path)
        if is_project(path):
            return path
    return None


def project_of_folder(folder: Any) -> str | None:
    if not isinstance(folder, str) or not folder.startswith("/") or not is_path(folder):
        return None
    return project_above(shell.absolute("any file", folder))


def is_path(text: str) -> bool:
    return "\0" not in text and not re.search("[\ud800-\udfff]", text)


def located(path: str) -> list[tuple[str, str]]:
    """(project, path in it), as text and with links resolved."""
    places = []
    for each in (path, os.path.realpath(path)):
        root = project_above(each)
        if root is not None:
            places.append((root, os.path.relpath(each, root)))
    return list(dict.fromkeys(places))


def undrafted(relative: str) -> str:
    *folders, name = relative.split("/")
    return "/".join([*(folder for folder in folders if folder != ".draft"), name])


def candidates(path: str) -> list[tuple[str, str]]:
    places = located(path)
    return list(
        dict.fromkeys([*places, *((root, undrafted(relative)) for root, relative in places)])
    )


def problem_of(path: str) -> str:
    """Why a file of a dossier does not hold; empty where it does."""
    try:
        status = os.stat(path)
    except OSError:
        return "missing"
    if not stat.S_ISREG(status.st_mode):
        return "no file"
    with open(path, "rb") as file:
        return "" if file.read().strip() else "empty"


def dossier_problem(root: str, feature: str) -> str:
    """`none` when nothing exists, empty when it is complete, else what is wrong."""
    folder = os.path.join(root, ".project", "context", feature)
    problems = [(name, problem_of(os.path.join(folder, name))) for name in REQUIRED]
    if all(problem == "missing" for _, problem in problems):
        return "none"
    return next((f"{name} is {problem}" for name, problem in problems if problem), "")


def complete(roots: Iterable[str]) -> list[str]:
    """The names of the complete dossiers."""
    names = set()
    for root in roots:
        folder = os.path.join(root, ".project", "context")
        if os.path.isdir(folder):
            names |= {name for name in os.listdir(folder) if is_feature(name) or name == "_project"}
    return sorted(
        name for name in names if any(dossier_problem(root, name) == "" for root in roots)
    )


def time_in(path: str) -> float | None:
    """The epoch seconds in a regular file; None when it contains no time."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        text = file.read().strip()
    return float(text) if re.fullmatch(rb"[0-9]+(\.[0-9]+)?", text) else None


def switched_off(path: str) -> float | None:
    """Until when the person switched the gates off; None when the file does not count."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        found = re.fullmatch(
            rb"\s*([0-9]+(?:\.[0-9]+)?|forever)\s*\n\s*by (preread gates off|/preread:gates)\s*",
            file.read(),
        )
    if not found:
        return None
    return math.inf if found[1] == b"forever" else float(found[1])


# -- near names


def edits(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        above, row = row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
    return row[-1]


def nearness(asked: str, name: str) -> int | None:
    """The kind of nearness, best first; None where it is not near."""
    if asked.replace("-", "") == name.replace("-", ""):
        return 0
    if len(asked) > 4 and len(name) > 4 and edits(asked, name) <= 2:
        return 1
    if f"-{asked}-" in f"-{name}-" or f"-{name}-" in f"-{asked}-":
        return 2
    return None


def near(asked: str, rules: Rules, roots: list[str]) -> str:
    stand = set(complete(roots))
    names = (stand | {left for left, right in rules.aliases.items() if right in stand}) - {
        "_project",
        asked,
    }
    found = sorted((kind, name) for name in names if (kind := nearness(asked, name)) is not None)[
        :2
    ]
    if asked == "_project" or not found:
        return ""
    listed = ", ".join(name for _, name in found)
    line = f"alias {asked} {rules.served_by(found[0][1])}"
    return (
        f" (there is one for {listed}: if that is the same feature, load that dossier and rename "
        f'the file to match, or ask the person to add "{line}" to .project/gates)'
    )
