"""Which script of a package.json runs one test file: by what the script names, or the settings of its runner."""

import re
from typing import NamedTuple

from preread.project.tree import Tree, glob_pattern

SCRIPT = re.compile(r'\s*"((?!pre|post)[\w:.-]*(?:test|e2e)[\w:.-]*)"\s*:\s*"((?:[^"\\]|\\.)+)"')
RUNNERS = re.compile(r"\b(?:vitest|jest|playwright|mocha|ava|karma)\b")
WATCH = re.compile(
    r"(?i)watch|bench|codspeed|debug|--ui\b|--update|snapshot"
)  # no run that ends by itself
SETTINGS = {  # of a runner, by how its files are called
    "karma": re.compile(r"karma\.conf\.\w+"),
    "mocha": re.compile(r"\.mocharc\.\w+"),
    "jest": re.compile(r"jest\.config\.\w+"),
    "vitest": re.compile(r"vitest\.config\.\w+"),
    "ava": re.compile(r"ava\.config\.\w+"),
}
GLOB = re.compile(r"[\"']((?:[\w.@/-]|\*)*\*[\w.@/*-]*\.\w+)[\"']")  # in settings
SEVERAL = re.compile(r"&&|\b(?:npm|pnpm|yarn) (?:run|test)\b|\brun-[sp]\b")
ENDING = re.compile(r"\.[cm]?[jt]sx?$")


class Script(NamedTuple):
    """A script with its line."""

    name: str
    line: int
    runs: str


def script_for(tree: Tree, path: str, inner: str) -> Script | None:
    """The script of a package.json that runs a test file, given from its folder: the first whose patterns match it,
    else the first that has none; those that only call others come last."""
    best: tuple[float, Script] | None = None
    for number, line in enumerate(tree.lines(path) or (), 1):
        told = SCRIPT.match(line)
        if told and RUNNERS.search(told[2]) and not WATCH.search(line):
            script = Script(told[1], number, told[2].replace('\\"', '"'))
            rank = _matches(tree, path.rpartition("/")[0], script.runs, inner)
            rank -= 0.5 * (rank <= 0 and SEVERAL.search(script.runs) is not None)
            if rank > -1 and (best is None or rank > best[0]):
                best = rank, script
    return best[1] if best else None


def _matches(tree: Tree, base: str, runs: str, inner: str) -> float:
    """1 where a script's patterns or those of its runner's settings match a test file, -1 where none of them does."""
    words = [word.strip("\"'") for word in runs.split()]
    globs = [word for word in words if "*" in word or ENDING.search(word)]
    given = [
        word
        for word in globs
        if not any(kind.fullmatch(word.rpartition("/")[2]) for kind in SETTINGS.values())
    ]
    given = [word for word in given if not word.startswith("-") and "bin/" not in word]
    runner = RUNNERS.search(runs)
    kind = SETTINGS.get(runner[0]) if runner else None
    if not given and kind:
        home = f"{base}/" if base else ""
        named = [
            f"{home}{word.removeprefix('./')}"
            for word in words
            if kind.fullmatch(word.rpartition("/")[2])
        ]
        beside = [
            path
            for path in tree.files
            if path.rpartition("/")[0] == base and kind.fullmatch(path[len(home) :])
        ]
        for settings in (named or sorted(beside))[:1]:
            given = GLOB.findall(tree.text(settings) or "")
    elif not given:
        return 0.0
    patterns = [glob_pattern(glob.removeprefix("./")) for glob in given if not glob.startswith("!")]
    if not patterns:
        return 0.0
    return 1.0 if any(pattern.fullmatch(inner) for pattern in patterns) else -1.0
