"""Rules of `.gitignore`, and of files written like it: which paths of a project they name."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import Pattern

IGNORE = ".prereadignore"  # written like .gitignore; what it names is no evidence
ATTRIBUTES = ".gitattributes"
_LINGUIST = re.compile(r"^(-|!)?linguist-(generated|vendored)(?:=(\w+))?$")


@dataclass(slots=True)
class Ignores:
    """The rules of all files of one name, each for what is below its folder; a folder ends with a slash."""

    _rules: "dict[str, tuple[Pattern, ...]]" = field(default_factory=dict)
    _above: "dict[str, list[tuple[int, tuple[Pattern, ...]]]]" = field(default_factory=dict)
    _folders: dict[str, bool] = field(default_factory=lambda: {"": False})

    def add(self, folder: str, text: str) -> None:
        """The rules of one file; those of folders above it, and nothing below, have been added and asked before."""
        from pathspec import GitIgnoreSpec

        self._rules[folder] = tuple(GitIgnoreSpec.from_lines(text.split("\n")).patterns)

    def name(self, path: str) -> bool:
        """The verdict of the last rule about this very path, from the root's rules to those of its own folder."""
        verdict = False
        for start, patterns in self._rules_above(_folder(path)):
            for pattern in patterns:
                if pattern.include is not None and is_about(pattern, path[start:]):
                    verdict = pattern.include
        return verdict

    def hold(self, path: str) -> bool:
        """Whether they name a path, or a folder that it is in."""
        if not self._rules:
            return False
        folder, waiting = _folder(path), []
        while folder not in self._folders:
            waiting.append(folder)
            folder = _folder(folder)
        held = self._folders[folder]
        for folder in reversed(waiting):
            held = self._folders[folder] = held or self.name(folder)
        return held or self.name(path)

    def _rules_above(self, folder: str) -> "list[tuple[int, tuple[Pattern, ...]]]":
        if folder not in self._above:
            starts = [start for start in self._rules if folder.startswith(start)]
            self._above[folder] = [
                (len(start), self._rules[start]) for start in sorted(starts, key=len)
            ]
        return self._above[folder]


def _folder(path: str) -> str:
    """The folder that a file or a folder is in."""
    return path.rstrip("/").rpartition("/")[0] + "/" if "/" in path.rstrip("/") else ""


def is_about(pattern: "Pattern", path: str) -> bool:
    """Whether an ignore rule is about this very path.

    To pathspec a rule is about everything below a folder that it names, too. For git that was decided at the folder,
    and a rule that takes a folder back in says nothing of its files. `folder/**` names what is inside, not the folder.
    """
    found = pattern.match_file(path)
    if found is None:
        return False
    match: re.Match[str] = found.match
    by_folder = match.groupdict().get("ps_d") is not None
    return (
        (match.end() == len(path))
        if by_folder
        else not (path.endswith("/") and match.end() == len(path))
    )


@dataclass(slots=True)
class Attributes:
    """What `.gitattributes` files say of generated and vendored files, as GitHub reads them."""

    _rules: "list[tuple[str, Pattern, str, bool | None]]" = field(default_factory=list)
    _said: list[tuple[str, str, str, bool | None]] = field(default_factory=list)

    def add(self, folder: str, text: str) -> None:
        """The rules of one file; files of folders above it have been added before."""
        from pathspec import GitIgnoreSpec

        for glob, kind, value in _said(text):
            [*_, pattern] = GitIgnoreSpec.from_lines([glob]).patterns
            self._rules.append((folder, pattern, kind, value))
            self._said.append((folder, glob, kind, value))

    def __bool__(self) -> bool:
        return bool(self._rules)

    @property
    def key(self) -> str:
        """What they say, in their order: others of the same key say the same of every path."""
        return repr(self._said)

    def of(self, path: str) -> dict[str, bool]:
        """`generated` and `vendored`, where something is said of them; the last rule decides."""
        found = {
            kind: value
            for folder, pattern, kind, value in self._rules
            if path.startswith(folder) and is_about(pattern, path[len(folder) :])
        }
        return {kind: value for kind, value in found.items() if value is not None}


def _said(text: str) -> Iterator[tuple[str, str, bool | None]]:
    for line in text.split("\n"):
        glob, *words = line.split() or [""]
        if not glob or glob.startswith(("#", "!", "[attr]")):
            continue
        for word in words:
            if found := _LINGUIST.match(word):
                mark, kind, value = found.groups()
                yield (
                    glob,
                    kind,
                    None if mark == "!" else mark is None and value not in ("false", "0"),
                )
