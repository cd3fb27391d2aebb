"""Match paths against `.gitignore`, files of the same format, and `.gitattributes`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import Pattern

IGNORE = ".prereadignore"  # in the format of .gitignore: files to exclude from evidence
ATTRIBUTES = ".gitattributes"
_LINGUIST = re.compile(r"^(-|!)?linguist-(generated|vendored)(?:=(\w+))?$")


@dataclass(slots=True)
class Ignores:
    """The rules of all ignore files of one name. Paths of folders end with a slash."""

    _rules: "dict[str, tuple[Pattern, ...]]" = field(default_factory=dict)
    _above: "dict[str, list[tuple[int, tuple[Pattern, ...]]]]" = field(default_factory=dict)
    _folders: dict[str, bool] = field(default_factory=lambda: {"": False})

    def add(self, folder: str, text: str) -> None:
        """Add the rules of one file.

        Files are added from the root down, each before any path below its folder is checked.
        """
        from pathspec import GitIgnoreSpec

        self._rules[folder] = tuple(GitIgnoreSpec.from_lines(text.split("\n")).patterns)

    def matches(self, path: str) -> bool:
        """Whether the rules ignore this very path; the last match decides, deeper files last."""
        is_ignored = False
        for start, patterns in self._rules_above(_folder(path)):
            for pattern in patterns:
                if pattern.include is not None and matches_path(pattern, path[start:]):
                    is_ignored = pattern.include
        return is_ignored

    def ignores(self, path: str) -> bool:
        """Whether the rules ignore a path or a folder that contains it."""
        if not self._rules:
            return False
        folder, unknown = _folder(path), []
        while folder not in self._folders:
            unknown.append(folder)
            folder = _folder(folder)
        is_ignored = self._folders[folder]
        for folder in reversed(unknown):
            is_ignored = self._folders[folder] = is_ignored or self.matches(folder)
        return is_ignored or self.matches(path)

    def _rules_above(self, folder: str) -> "list[tuple[int, tuple[Pattern, ...]]]":
        if folder not in self._above:
            starts = [start for start in self._rules if folder.startswith(start)]
            self._above[folder] = [
                (len(start), self._rules[start]) for start in sorted(starts, key=len)
            ]
        return self._above[folder]


def _folder(path: str) -> str:
    """The folder that contains a file or a folder."""
    bare = path.rstrip("/")
    return bare.rpartition("/")[0] + "/" if "/" in bare else ""


def matches_path(pattern: "Pattern", path: str) -> bool:
    """Whether an ignore rule matches this very path.

    In pathspec, a rule for a folder also matches everything below it. Git decides that at the
    folder, and a rule that re-includes a folder does not re-include its files. `folder/**` matches
    what is in the folder, not the folder itself.
    """
    found = pattern.match_file(path)
    if found is None:
        return False
    match: re.Match[str] = found.match
    is_whole = match.end() == len(path)
    if match.groupdict().get("ps_d") is not None:  # the rule names a folder
        return is_whole
    return not (path.endswith("/") and is_whole)


@dataclass(slots=True)
class Attributes:
    """The generated and vendored files by `.gitattributes`, as GitHub interprets it."""

    _rules: "list[tuple[str, Pattern, str, bool | None]]" = field(default_factory=list)
    _texts: list[tuple[str, str, str, bool | None]] = field(default_factory=list)

    def add(self, folder: str, text: str) -> None:
        """Add the rules of one file; files are added from the root down."""
        from pathspec import GitIgnoreSpec

        for glob, kind, value in _linguist_rules(text):
            [*_, pattern] = GitIgnoreSpec.from_lines([glob]).patterns
            self._rules.append((folder, pattern, kind, value))
            self._texts.append((folder, glob, kind, value))

    def __bool__(self) -> bool:
        return bool(self._rules)

    @property
    def key(self) -> str:
        """The rules as text, equal for equal rules."""
        return repr(self._texts)

    def of(self, path: str) -> dict[str, bool]:
        """The values of `generated` and `vendored` that are set for a path; the last rule wins."""
        found = {
            kind: value
            for folder, pattern, kind, value in self._rules
            if path.startswith(folder) and matches_path(pattern, path[len(folder) :])
        }
        return {kind: value for kind, value in found.items() if value is not None}


def _linguist_rules(text: str) -> Iterator[tuple[str, str, bool | None]]:
    """Glob, kind and value of each rule about generated or vendored files; None unsets."""
    for line in text.split("\n"):
        glob, *words = line.split() or [""]
        if not glob or glob.startswith(("#", "!", "[attr]")):
            continue
        for word in words:
            if found := _LINGUIST.match(word):
                mark, kind, value = found.groups()
                is_set = mark is None and value not in ("false", "0")
                yield glob, kind, None if mark == "!" else is_set
