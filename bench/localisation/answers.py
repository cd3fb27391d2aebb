"""What a commit changed of what was there before it, and how much of that a text names."""

import re
from functools import cached_property
from typing import NamedTuple

from cases import Case
from definitions import Definition, definitions, innermost
from repositories import Clone, State

DIFF = "-w --ignore-blank-lines -U0 --no-renames --no-color --no-ext-diff --no-textconv".split()
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? [^\n]*\n((?:[-+\\][^\n]*\n?)*)", re.MULTILINE)
_IDLE_LINE = re.compile(r"\s*(//|/\*|\*|#\s|#$|$)")  # blank, or nothing but a comment
Row = dict[str, float]


class Answers(NamedTuple):
    """Paths, and pairs of path and name."""

    files: tuple[str, ...]
    functions: tuple[tuple[str, str], ...]
    test_files: tuple[str, ...]
    tests: tuple[tuple[str, str], ...]


def answers(clone: Clone, state: State, case: Case) -> Answers:
    changed: dict[tuple[str, str], bool] = {}
    for path in (*case.sources, *case.tests):
        text = state.text(path)
        diff = clone.git("diff", *DIFF, case.parent, case.commit, "--", f":(literal){path}")
        for one in _changed(path, text, diff):
            changed[path, one.name] = one.is_test
    functions = (key for key, test in changed.items() if not test and key[0] in case.sources)
    tests = (key for key, test in changed.items() if test)
    return Answers(case.sources, tuple(functions), case.tests, tuple(tests))


def _changed(path: str, text: str, diff: str) -> list[Definition]:
    """The innermost definition around each changed line; around an insertion, what it stands in."""
    found, lines = definitions(path, text), text.split("\n")
    hit: dict[Definition, None] = {}
    for start, count, body in _HUNK.findall(diff):
        first, many = int(start), int(count or 1)
        for number in range(first, first + many):
            around = innermost(found, number, number)
            if around is not None and not _IDLE_LINE.match(lines[number - 1]):
                hit[around] = None
        if not many:
            around = innermost(found, first, first + 1)
            before = innermost(found, first, first)
            if before is not None and path.endswith((".py", ".pyi")):
                # Nothing closes a block here: what is set in deeper than its first line is its.
                added = next((line[1:] for line in body.split("\n") if line[1:].strip()), "")
                around = before if _inset(added) > _inset(lines[before.start - 1]) else around
            if around is not None:
                hit[around] = None
    return list(hit)


def _inset(line: str) -> int:
    return len(line) - len(line.lstrip())


class Reading:
    """What a text names, of the files of one tree."""

    def __init__(self, text: str, paths: list[str]) -> None:
        self._text = text.replace("`", "")
        self._folded = " ".join(self._text.split())
        self._paths = paths

    def names_file(self, path: str) -> bool:
        """By its path, or by an end of it that no other file of the tree has."""
        parts = path.split("/")
        ends = ("/".join(parts[n:]) for n in range(len(parts)))
        return any(self._holds(end) for end in ends if end in self._text and self._is_one(end))

    def _is_one(self, end: str) -> bool:
        return sum(path == end or path.endswith(f"/{end}") for path in self._paths) == 1

    def _holds(self, path: str) -> bool:
        pattern = rf"(?<![\w@/.\-])(?:\./)?{re.escape(path)}(?![\w/\-]|\.\w)"
        return re.search(pattern, self._text) is not None

    def names_word(self, name: str) -> bool:
        name = " ".join(name.replace("`", "").split())
        before, after = (
            (r"(?<!\w)" if name[:1].isalnum() else ""),
            (r"(?!\w)" if name[-1:].isalnum() else ""),
        )
        return re.search(before + re.escape(name) + after, self._folded) is not None

    def names_function(self, function: tuple[str, str]) -> bool:
        return self.names_file(function[0]) and self.names_word(function[1])

    @cached_property
    def files(self) -> list[str]:
        """Those that are named by their whole path."""
        return [path for path in self._paths if path in self._text and self._holds(path)]


def measured(text: str, paths: list[str], asked: Answers) -> Row:
    """The shares; absent where the commit changed nothing of the kind."""
    reading = Reading(text, paths)
    found = {
        "files": [reading.names_file(path) for path in asked.files],
        "functions": [reading.names_function(one) for one in asked.functions],
        "test files": [reading.names_file(path) for path in asked.test_files],
        "tests": [reading.names_word(name) for _, name in asked.tests],
    }
    row = {name: sum(hits) / len(hits) for name, hits in found.items() if hits}
    return row | {"tokens": len(text) / 4, "named": float(len(reading.files))}
