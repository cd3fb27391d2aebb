"""Where lines went from one commit to the next, by git's own line maps: the answer to check against.

It shares no code with `preread.dossier.relocation` and knows nothing of symbols, digests or neighbours.
"""

import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
# Two ways to align the same change; where they differ, which line is which is a matter of taste.
ALGORITHMS = ("myers", "histogram")
GIT = ("git", "-c", "core.autocrlf=false", "-c", "core.quotePath=false")


class Place(NamedTuple):
    path: str
    start: int
    end: int

    def __str__(self) -> str:
        lines = f"{self.start}" if self.start == self.end else f"{self.start}-{self.end}"
        return f"{self.path}:{lines}"


class Fate(NamedTuple):
    """What became of a place: all answers that are right, and whether to lose it is one."""

    kind: Literal["kept", "moved", "unclear", "gone"]
    places: frozenset[Place]


@dataclass
class _File:
    new: str | None
    hunks: list[tuple[int, int, int, int]] = field(default_factory=list)

    def mapped(self, place: Place) -> Place | None:
        """The place after the change, if none of its lines was touched."""
        shift = 0
        for old, removed, _, added in self.hunks:
            # Of an insertion, `old` is the line before it.
            first, last = (old, old + removed - 1) if removed else (old + 1, old)
            if last < place.start:
                shift += added - removed
            elif first <= place.end:
                return None
        return Place(self.new or "", place.start + shift, place.end + shift) if self.new else None


class Change:
    """The change from one commit to another."""

    def __init__(self, root: Path, old: str, new: str) -> None:
        self.root, self.old, self.new = root, old, new
        self._texts: dict[tuple[str, str], list[str]] = {}

    def git(self, *arguments: str) -> str:
        done = subprocess.run([*GIT, *arguments], cwd=self.root, check=True, capture_output=True)
        return done.stdout.decode("utf-8", "replace")

    @cached_property
    def maps(self) -> list[dict[str, _File]]:
        """A map of each algorithm; white space does not count."""
        return [self._map(f"--diff-algorithm={name}", "-w") for name in ALGORITHMS]

    def _map(self, *options: str) -> dict[str, _File]:
        text = self.git("diff", "--no-color", "-M50%", "-U0", *options, self.old, self.new)
        names = self.git("diff", "-M50%", "--name-status", "-z", self.old, self.new).split("\0")
        found: dict[str, _File] = {}
        rows = iter(names)
        for status in rows:
            if not status:
                continue
            path = next(rows)
            if status[0] == "R":
                found[path] = _File(next(rows))
            elif status[0] != "A":
                found[path] = _File(None if status[0] == "D" else path)
        current: _File | None = None
        for line in text.split("\n"):
            if line.startswith("diff --git "):
                current = None
            elif line.startswith("--- "):
                current = found.get(line[6:].rstrip("\t"))
            elif current is not None and (match := HUNK.match(line)):
                old, removed, at, added = (int(one or 1) for one in match.groups())
                removed = 0 if match[2] == "0" else removed
                added = 0 if match[4] == "0" else added
                current.hunks.append((old, removed, at, added))
        return found

    @cached_property
    def added(self) -> dict[str, set[int]]:
        """The lines of each file that the change wrote, white space aside."""
        found: dict[str, set[int]] = defaultdict(set)
        text = self.git("diff", "--no-color", "-M50%", "-U0", "-w", self.old, self.new)
        path = ""
        for line in text.split("\n"):
            if line.startswith("+++ "):
                path = "" if line[4:].startswith("/dev") else line[6:].rstrip("\t")
            elif path and (match := HUNK.match(line)):
                start, count = int(match[3]), int(match[4] or 1)
                found[path] |= set(range(start, start + count))
        return found

    def lines(self, commit: str, path: str) -> list[str]:
        key = (commit, path)
        if key not in self._texts:
            try:
                self._texts[key] = self.git("show", f"{commit}:{path}").split("\n")
            except subprocess.CalledProcessError:
                self._texts[key] = []
        return self._texts[key]

    def text(self, commit: str, place: Place) -> str:
        """A place's text without white space."""
        return "".join("".join(self.lines(commit, place.path)[place.start - 1 : place.end]).split())

    def fate(self, place: Place) -> Fate:
        if all(place.path not in one for one in self.maps):
            return Fate("kept", frozenset({place}))
        mapped = {
            now
            for one in self.maps
            if (file := one.get(place.path)) is not None and (now := file.mapped(place)) is not None
        }
        wanted = self.text(self.old, place)
        mapped = {one for one in mapped if self.text(self.new, one) == wanted}
        written = self._written_again(wanted)
        if len(mapped) == 1 and all(
            (file := one.get(place.path)) is not None and file.mapped(place) in mapped
            for one in self.maps
        ):
            return Fate("kept", frozenset(mapped))
        places = frozenset(mapped | written)
        if len(places) == 1:
            return Fate("moved", places)
        return Fate("unclear" if places else "gone", places)

    def _written_again(self, wanted: str) -> set[Place]:
        """Every run of lines with this text of which the change wrote at least one."""
        found = set()
        for path, numbers in self.added.items():
            lines = ["".join(line.split()) for line in self.lines(self.new, path)]
            for start, line in enumerate(lines, 1):
                if not line or not wanted.startswith(line):
                    continue
                text, end = line, start
                while len(text) < len(wanted) and end < len(lines):
                    text, end = text + lines[end], end + 1
                while end > start and not lines[end - 1]:
                    end -= 1
                if text == wanted and numbers & set(range(start, end + 1)):
                    found.add(Place(path, start, end))
        return found
