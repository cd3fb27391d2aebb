"""Find the tests of a report in the project."""

import hashlib
import re
from functools import lru_cache

from preread.project.tree import Tree
from preread.reports.ingest import LocatedOutcome
from preread.reports.outcomes import Outcome

MAX_CACHED = 20_000  # tests, places and files


class Places:
    """Maps the paths in a report, which may come from another machine, to the project's files."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        # Reports repeat the same tests, files and groups.
        self._file = lru_cache(MAX_CACHED)(self._longest_end)
        self._place = lru_cache(MAX_CACHED)(self._found)
        self._test = lru_cache(MAX_CACHED)(self._keyed)

    def locate(self, outcome: Outcome) -> LocatedOutcome:
        """The outcome with its test's file, group and key in the project."""
        return LocatedOutcome(*self._test(outcome.file, outcome.group, outcome.name), outcome)

    def _keyed(self, file: str, group: str, name: str) -> tuple[str, str, str]:
        file, group, words = self._place(file, group)
        return hashlib.sha256(f"{words}\0{name}".encode()).hexdigest()[:20], file, group

    def _found(self, reported: str, group: str) -> tuple[str, str, str]:
        file = self._file(reported) if reported else ""
        if not file and group:
            file, group = self._module(group)
        return file, group, " ".join(re.findall(r"\w+", f"{file.removesuffix('.py')} {group}"))

    def _longest_end(self, path: str) -> str:
        """The longest end of the path that is a file of the project, or else the path itself."""
        inside = path.removeprefix(f"{self.tree.root}/").strip("/")
        parts = inside.split("/")
        ends = ("/".join(parts[n:]) for n in range(len(parts)))
        return next(filter(self.tree.exists, ends), inside)

    def _module(self, group: str) -> tuple[str, str]:
        """File and classes of a dotted name like `tests.test_login.TestForm`, if it has a file."""
        dotted = group.split(".")
        ends = range(len(dotted), 0, -1) if " " not in group else range(0)
        found = next((n for n in ends if self.tree.exists("/".join(dotted[:n]) + ".py")), 0)
        file = "/".join(dotted[:found]) + ".py" if found else ""
        return file, " > ".join(dotted[found:]) if found else group
