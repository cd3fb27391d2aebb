"""Match paths against `.gitignore`, files of the same format, and `.gitattributes`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from preread.project.globs import GitRule, git_rule

IGNORE = ".prereadignore"  # in the format of .gitignore: files to exclude from evidence
ATTRIBUTES = ".gitattributes"
_LINGUIST = re.compile(r"^(-|!)?linguist-(generated|vendored)(?:=(\w+))?$")


@dataclass(slots=True)
class Ignores:
    """The rules of all ignore files of one name. Paths of folders end with a slash."""

    _rules: dict[str, tuple[GitRule, ...]] = field(default_factory=dict)
    _above: dict[str, list[tuple[int, tuple[GitRule, ...]]]] = field(default_factory=dict)
    _folders: dict[str, bool] = field(default_factory=lambda: {"": False})

    def add(self, folder: str, text: str) -> None:
        """Add the rules of one file.

        Files are added from the root down, each before any path below its folder is checked.
        """
        found = map(git_rule, text.removeprefix("\ufeff").split("\n"))
        self._rules[folder] = tuple(rule for rule in found if rule is not None)

    def matches(self, path: str) -> bool:
        """Whether the rules ignore this very path; the last match decides, deeper files last."""
        is_ignored = False
        for start, rules in self._rules_above(_folder(path)):
            for rule in rules:
                if rule.matches(path[start:]):
                    is_ignored = rule.includes
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

    def _rules_above(self, folder: str) -> list[tuple[int, tuple[GitRule, ...]]]:
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


@dataclass(slots=True)
class Attributes:
    """The generated and vendored files by `.gitattributes`, as GitHub interprets it."""

    _rules: list[tuple[str, GitRule, str, bool | None]] = field(default_factory=list)
    _texts: list[tuple[str, str, str, bool | None]] = field(default_factory=list)

    def add(self, folder: str, text: str) -> None:
        """Add the rules of one file; files are added from the root down."""
        for glob, kind, value in _linguist_rules(text):
            rule = git_rule(glob)
            if rule is not None:
                self._rules.append((folder, rule, kind, value))
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
            for folder, rule, kind, value in self._rules
            if path.startswith(folder) and rule.matches(path[len(folder) :])
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
