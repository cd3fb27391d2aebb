"""Cut the power before each change of a publish and of a remembered fact. Run as a program: it forks.

    _power_cuts.py ROOT

A cut keeps the changes of names so far and empties every file whose bytes were not yet on the disk,
as XFS and ext4 may. Prints one JSON object; `wrong` lists every broken promise.
"""

import itertools
import json
import os
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path

from _files_cuts import CHANGES, SETS, begin, forked, generation, kept_all, locked
from _files_project import put, services
from _refresh_faults import NEW, NOTES, remember
from preread import publish
from preread.dossier import published

Identity = tuple[int, int, int]


def identity(path: str | int) -> Identity:
    info = os.stat(path)  # noqa: PTH116 - also of a descriptor
    return info.st_ino, info.st_size, info.st_mtime_ns


class Disk:
    """What of a project would be there after a power cut."""

    def __init__(self, root: Path, cuts: Path) -> None:
        self.root, self.cuts = root, cuts
        self.on_disk = {identity(str(path)) for path in root.rglob("*") if path.is_file()}
        self.numbers = itertools.count(1)
        self.is_copying = False
        self._fsync = os.fsync
        os.fsync = self.fsync
        sys.addaudithook(self.hook)

    def fsync(self, descriptor: int) -> None:
        self._fsync(descriptor)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            self.on_disk.add(identity(descriptor))

    def hook(self, event: str, arguments: tuple[object, ...]) -> None:
        if event not in CHANGES or self.is_copying or str(self.root) not in str(arguments[0]):
            return
        self.is_copying = True
        self.cut()
        self.is_copying = False

    def cut(self) -> None:
        place = self.cuts / str(next(self.numbers))
        shutil.copytree(self.root, place, ignore=shutil.ignore_patterns("*.lock"))
        for path in self.root.rglob("*"):
            if (
                path.is_file()
                and identity(str(path)) not in self.on_disk
                and path.suffix != ".lock"
            ):
                (place / path.relative_to(self.root)).write_bytes(b"")


def publish_b(root: Path, cuts: Path) -> None:
    work = services(root)
    with locked(work.layout):
        disk = Disk(root, cuts)
        put(work, "B", SETS["B"])
        disk.is_copying = True
        disk.cut()


def check(place: Path) -> str:
    """The generation after the next run; raises AssertionError."""
    layout = services(place).layout
    generation(published.read(layout, "login"))
    with locked(layout):
        publish.recover(services(place), "login")
    mark = generation(published.read(layout, "login"))
    kept_all(layout, mark, mark == "B")
    return mark


def remember_more(root: Path, cuts: Path) -> None:
    disk = Disk(root, cuts)
    remember(root)
    disk.is_copying = True
    disk.cut()


def cut_up(work: Callable[[Path, Path], None], project: Path, cuts: Path) -> list[Path]:
    """The project after each cut in the work, in order."""
    cuts.mkdir()
    assert forked(lambda: work(project, cuts)) == 0
    return sorted(cuts.iterdir(), key=lambda path: int(path.name))


def publishes(root: Path) -> tuple[int, list[str]]:
    """How many cuts of a publish there were, and what was wrong after them."""
    begin(root / "project")
    marks, wrong = [], []
    for place in cut_up(publish_b, root / "project", root / "cuts"):
        try:
            marks.append(check(place))
        except AssertionError as error:
            wrong.append(f"cut {place.name}: {error}")
    # Once a new dossier was there, no later cut brings the old one back.
    if marks != sorted(marks) or set(marks) != {"A", "B"}:
        wrong.append(f"the generations are {''.join(marks)}")
    return len(marks), wrong


def memories(root: Path) -> tuple[int, list[str]]:
    """Likewise, of a fact that is added to what a person wrote."""
    project = root / "notes"
    (project / ".project").mkdir(parents=True)
    (project / ".project" / "knowledge.md").write_text(NOTES)
    places = cut_up(remember_more, project, root / "cuts of notes")
    texts = [(place / ".project" / "knowledge.md").read_text() for place in places]
    wrong = [f"cut {number} left {text!r}" for number, text in enumerate(texts, 1)
             if not text.startswith(NOTES)]  # fmt: skip
    has_new = [NEW in text for text in texts]
    if has_new != sorted(has_new) or {*has_new} != {False, True}:
        wrong.append(f"the new fact was there: {has_new}")
    return len(texts), wrong


def main(root: Path) -> dict[str, object]:
    (published_cuts, wrong), (own_cuts, own_wrong) = publishes(root), memories(root)
    return {"cuts": published_cuts, "cuts of notes": own_cuts, "wrong": wrong + own_wrong}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]).resolve()), indent=1))
