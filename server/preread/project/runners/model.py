"""What all runners share: a test file as target, a command, and the lines that prove it."""

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from preread.project.tree import Tree


class Proof(NamedTuple):
    """Lines of a settings file, both ends included."""

    path: str
    start: int
    end: int


class Note(NamedTuple):
    """A setting worth knowing when writing tests: its text, its lines, or its meaning in words."""

    text: str
    proof: Proof
    words: str = ""


class Command(NamedTuple):
    """How test files are run, from which folder, and the line that proves it."""

    tool: str
    start: str  # the command without `files`
    proof: Proof
    folder: str = ""  # relative to the root
    notes: tuple[Note, ...] = ()
    files: tuple[str, ...] = ()  # as words of the shell, if the runner takes several
    glue: str = ""  # joins `files` into a single word, which is followed by `end`
    end: str = ""
    is_general: bool = False  # runs all tests, because nothing is known about the file's runner

    @property
    def run(self) -> str:
        if self.glue:
            return f"{self.start}{self.glue.join(self.files)}{self.end}"
        return " ".join((self.start, *self.files))

    def joined(self, other: "Command") -> "Command | None":
        """The command that also runs another's files; None if no single command can."""
        ours, theirs = (self.tool, self.start, self.folder), (other.tool, other.start, other.folder)
        if ours != theirs or not self.files or not other.files:
            return None
        return self._replace(files=tuple(dict.fromkeys((*self.files, *other.files))))


class Target(NamedTuple):
    """One test file, and the names of its tests that matter most."""

    tree: Tree
    test: str
    names: tuple[str, ...] = ()
    group: str = ""  # the class of the first one, if it has any


Runner = Callable[[Target], Command | None]


def folders(path: str) -> list[str]:
    """The folders that contain a path, the nearest first; the root is empty."""
    return ["" if str(one) == "." else str(one) for one in PurePosixPath(path).parents]


def within(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def relative(folder: str, path: str) -> str:
    return path.removeprefix(f"{folder}/") if folder else path


def nearest(target: Target, *names: str) -> Iterator[tuple[str, str]]:
    """Each file of these names in a folder above the test, the nearest first, with its folder."""
    for folder in folders(target.test):
        for name in names:
            if (path := within(folder, name)) in target.tree.files:
                yield folder, path


def line_with(tree: Tree, path: str, pattern: re.Pattern[str]) -> Proof | None:
    """The first line of a file in which a pattern is found."""
    for number, line in enumerate(tree.lines(path) or (), 1):
        if pattern.search(line):
            return Proof(path, number, number)
    return None


def shell(path: str) -> str:
    """A path as a word of a shell command."""
    return shlex.quote(path)


def toml(tree: Tree, path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(tree.text(path) or "")
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def table(found: object, *keys: str) -> dict[str, Any]:
    """The table under these keys; empty if there is none."""
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def json_of(tree: Tree, path: str) -> dict[str, Any]:
    try:
        found = json.loads(tree.text(path) or "")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
