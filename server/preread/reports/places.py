"""Find the tests of a report in the project."""

import hashlib
import re

from preread.project.tree import Tree
from preread.reports.ingest import LocatedOutcome
from preread.reports.outcomes import Outcome

MAX_CACHED = 20_000  # files and groups


class Places:
    """Maps the paths in a report, which may come from another machine, to the project's files."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._located: dict[tuple[str, str], tuple[str, str, str]] = {}
        self._files: dict[str, str] = {}

    def locate(self, outcome: Outcome) -> LocatedOutcome:
        """The outcome with its test's file, group and key in the project."""
        reported = (outcome.file, outcome.group)
        if reported not in self._located:
            if len(self._located) >= MAX_CACHED:
                self._located.clear()
                self._files.clear()
            file, group = self._file(outcome.file) if outcome.file else "", outcome.group
            if not file and group:
                file, group = self._module(group)
            words = " ".join(re.findall(r"\w+", f"{file.removesuffix('.py')} {group}"))
            self._located[reported] = (file, group, words)
        file, group, words = self._located[reported]
        key = hashlib.sha256(f"{words}\0{outcome.name}".encode()).hexdigest()[:20]
        return LocatedOutcome(key, file, group, outcome)

    def _file(self, path: str) -> str:
        """The longest end of the path that is a file of the project, else the path itself."""
        if path not in self._files:
            inside = path.removeprefix(f"{self.tree.root}/").strip("/")
            parts = inside.split("/")
            ends = ("/".join(parts[n:]) for n in range(len(parts)))
            self._files[path] = next(filter(self.tree.exists, ends), inside)
        return self._files[path]

    def _module(self, group: str) -> tuple[str, str]:
        """File and classes of a dotted name like `tests.test_login.TestForm`, if it has a file."""
        dotted = group.split(".")
        ends = range(len(dotted), 0, -1) if " " not in group else range(0)
        found = next((n for n in ends if self.tree.exists("/".join(dotted[:n]) + ".py")), 0)
        file = "/".join(dotted[:found]) + ".py" if found else ""
        return file, " > ".join(dotted[found:]) if found else group
