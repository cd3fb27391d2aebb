"""Cut the power before each change of a publish. Run as a program: it forks.

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
from pathlib import Path

from _files_cuts import CHANGES, SETS, begin, generation, kept_all, locked
from _files_project import put, services
from preread import publish, published

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


def main(root: Path) -> dict[str, object]:
    project, cuts = root / "project", root / "cuts"
    project.mkdir()
    cuts.mkdir()
    begin(project)
    child = os.fork()
    if child == 0:
        publish_b(project, cuts)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    marks, wrong = [], [f"the publish ended with {status}"] if status else []
    for place in sorted(cuts.iterdir(), key=lambda path: int(path.name)):
        try:
            marks.append(check(place))
        except AssertionError as error:
            wrong.append(f"cut {place.name}: {error}")
    # Once a new dossier was there, no later cut brings the old one back.
    if marks != sorted(marks) or set(marks) != {"A", "B"}:
        wrong.append(f"the generations are {''.join(marks)}")
    return {"cuts": len(marks), "wrong": wrong}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]).resolve()), indent=1))
