"""Where the tests of a report are in the project."""

import hashlib
import re

from preread.project.tree import Tree
from preread.reports.fold import Told
from preread.reports.outcomes import Outcome

MOST_PLACES = 20_000  # that are known at once


class Places:
    """Names files as the project has them: reports do as their runner saw them, on another machine, too."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._known: dict[tuple[str, str], tuple[str, str, str]] = {}
        self._files: dict[str, str] = {}

    def told(self, outcome: Outcome) -> Told:
        """An outcome with its file and its group as the project has them, and the key of its test."""
        named = (outcome.file, outcome.group)
        if named not in self._known:
            if len(self._known) >= MOST_PLACES:
                self._known.clear()
                self._files.clear()
            file, group = self._file(outcome.file) if outcome.file else "", outcome.group
            if not file and group:
                file, group = self._module(group)
            words = " ".join(re.findall(r"\w+", f"{file.removesuffix('.py')} {group}"))
            self._known[named] = (file, group, words)
        file, group, words = self._known[named]
        key = hashlib.sha256(f"{words}\0{outcome.name}".encode()).hexdigest()[:20]
        return Told(key, file, group, outcome)

    def _file(self, path: str) -> str:
        """A path relative to the root: the longest end of it that is a file there, else as it stands."""
        if path not in self._files:
            inside = path.removeprefix(f"{self.tree.root}/").strip("/")
            parts = inside.split("/")
            ends = ("/".join(parts[n:]) for n in range(len(parts)))
            self._files[path] = next(filter(self.tree.exists, ends), inside)
        return self._files[path]

    def _module(self, group: str) -> tuple[str, str]:
        """File and classes of a dotted name like pytest's `tests.test_login.TestForm`; no file where there is none."""
        dotted = group.split(".")
        ends = range(len(dotted), 0, -1) if " " not in group else range(0)
        found = next((n for n in ends if self.tree.exists("/".join(dotted[:n]) + ".py")), 0)
        file = "/".join(dotted[:found]) + ".py" if found else ""
        return file, " > ".join(dotted[found:]) if found else group
