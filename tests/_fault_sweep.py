"""The N-th file operation fails, for every N. Run as a program.

    _fault_sweep.py ROOT [EVERY [FIRST]]    each EVERY-th point from the FIRST on; all of them: 1

Prints one JSON object with the number of points by scene; `wrong` lists every broken promise: after
one failed operation, or when all fail from there on, the dossier is of one generation, the error is
an expected one with a path, and the next run works and leaves nothing behind.
"""

import errno
import hashlib
import itertools
import json
import os
import re
import shutil
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from _files_cuts import SETS, begin, generation, kept_all, locked, publish_b
from _files_project import put, services
from _power_cuts import check
from preread import facts, inputs, publish
from preread.dossier import published
from preread.errors import PrereadError
from preread.models import Checked, Request
from preread.services import Services

EVENTS = frozenset(
    "open os.listdir os.scandir os.rename os.remove os.rmdir os.mkdir os.chmod".split()
)
# Errors of one file or disk, and of the process, which last.
ERRORS = (errno.EIO, errno.EACCES, errno.EMFILE, errno.ENOSPC, errno.EROFS)
CODES = frozenset({"E_READ", "E_WRITE"})
Work = Callable[[Services], object]


class Point(NamedTuple):
    """Which operation fails, how, and whether all that follow do, too."""

    step: int
    error: int
    lasts: bool


class Faults:
    """Makes the `step`-th operation on files below `root` fail, or all from there on."""

    def __init__(self, root: Path) -> None:
        self.start, self.count, self.step, self.error, self.lasts = str(root), 0, 0, 0, False
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.step or event not in EVENTS:
            return
        if not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        path = os.fsdecode(arguments[0])
        if self.start in path:
            self.count += 1
            if self.count == self.step or (self.lasts and self.count > self.step):
                raise OSError(self.error, os.strerror(self.error), path)

    def during(self, work: Work, place: Path, point: Point) -> str:
        """Do the work with a fault; what is wrong about the error that it raises."""
        given = services(place, reports=["reports/*.xml"])
        with locked(given.layout):
            self.count, (self.step, self.error, self.lasts) = 0, point
            try:
                work(given)
            except PrereadError as error:
                is_expected = error.code in CODES and f"{place.name}/" in error.message
                return "" if is_expected else repr(error)
            except Exception:
                return traceback.format_exc(limit=-4)
            finally:
                self.step = 0
        return ""


# -- the scenes: what is done, and in which state of the project


def publishing(work: Services) -> None:
    put(work, "B", SETS["B"])


def recovering(work: Services) -> None:
    publish.recover(work, "login")


def reading(work: Services) -> None:
    layout = work.layout
    if "login" not in published.features(layout):
        raise AssertionError("its dossier is not listed")
    generation(published.read(layout, "login"))


def indexing(work: Services) -> None:
    facts.index(work, lambda *_: Checked((), (), 0, 0, (), {}))


def looking_up_inputs(work: Services) -> None:
    found = inputs.digests(work, Request(feature="login", ticket="T-1", level="light"))
    if not {"ticket:T-1", "knowledge"} <= found.keys():
        raise AssertionError(f"absent: {found}")


def staged(root: Path) -> None:
    """The project after a publish was killed when its staging folder was complete."""
    for step in itertools.count(1):
        place = root.with_name(f"{root.name}-{step}")
        shutil.copytree(root, place)
        child = os.fork()
        if child == 0:
            publish_b(place, step)
            os._exit(0)
        os.waitpid(child, 0)
        if published.ready(services(place).layout, "login"):
            shutil.rmtree(root)
            place.rename(root)
            return
        shutil.rmtree(place)


SCENES: dict[str, tuple[str, Work]] = {
    "publish": ("published", publishing),
    "publish over a killed one": ("staged", publishing),
    "recover": ("staged", recovering),
    "read": ("published", reading),
    "read a killed one": ("staged", reading),
    "index the facts": ("published", indexing),
    "look up the inputs": ("published", looking_up_inputs),
}


def afterwards(place: Path) -> None:
    """What is promised after any fault; raises AssertionError."""
    layout = services(place).layout
    check(place)
    with locked(layout):
        publishing(services(place))
    kept_all(layout, generation(published.read(layout, "login")), True)


RUN = re.compile(rb"(?<=login\.)[\w-]+(?=/|\.ready|$)|(?<=\.)[\w-]+(?=\.part)")
TIMES = re.compile(rb'"(?:order|at)": ?[\d.]+')


def state_of(place: Path) -> str:
    """A digest of every folder and file, but for the random parts of names, and times."""
    found: list[tuple[bytes, bytes]] = []
    for folder, folders, files in os.walk(os.fsencode(place)):
        own = RUN.sub(b"*", folder.removeprefix(os.fsencode(place)))
        found += ((own, RUN.sub(b"*", name)) for name in folders)
        for name in files:
            data = Path(os.fsdecode(os.path.join(folder, name))).read_bytes()  # noqa: PTH118
            found.append((own + b"/" + RUN.sub(b"*", name), TIMES.sub(b"*", data)))
    return hashlib.sha256(repr(sorted(found)).encode()).hexdigest()


def points(length: int) -> list[Point]:
    every = itertools.product(range(1, length + 1), ERRORS, (False, True))
    return [Point(*one) for one in every]


def tried(root: Path, name: str, faults: Faults, every: int, first: int) -> list[str]:
    """What is wrong after each point of a scene; empty if nothing is."""
    state, work = SCENES[name]
    place = root / "place"

    known: set[str] = set()  # what many faults leave is the same: it is looked at once

    def attempt(point: Point) -> str:
        if not place.exists():
            shutil.copytree(root / state, place, copy_function=shutil.copyfile)
        left = ""
        try:
            wrong = faults.during(work, place, point)
            if (left := state_of(place)) not in known:
                afterwards(place)
                known.add(left)
                left = ""
        except (AssertionError, OSError, PrereadError) as error:
            wrong = repr(error)
        if wrong or left != before:  # else the next one may have it
            shutil.rmtree(place)
        lasting = ", lasting" * point.lasts
        at = f"{name}, operation {point.step}: {os.strerror(point.error)}{lasting}"
        return f"{at}: {wrong}" if wrong else ""

    never = Point(sys.maxsize, errno.EIO, False)
    before = state_of(root / state)
    found = [attempt(never)]
    found += [attempt(point) for point in points(faults.count)[first % every :: every]]
    assert state_of(root / state) == before
    shutil.rmtree(place, ignore_errors=True)
    return found


def sweep(root: Path, every: int = 1, first: int = 0) -> dict[str, object]:
    project = root / "published"
    (project / ".project" / "tickets").mkdir(parents=True)
    (project / ".project" / "tickets" / "T-1.md").write_text("# T-1\n\n- It works.\n")
    (project / ".project" / "knowledge.md").write_text(
        "# Knowledge\n\n## Facts\n- a fact (a.py:1)\n"
    )
    (project / "reports").mkdir()
    (project / "reports" / "junit.xml").write_text("<testsuites/>")
    (project / "a.py").write_text("a = 1\n")
    begin(project)
    shutil.copytree(project, root / "staged")
    staged(root / "staged")
    faults = Faults(root / "place")
    found = {name: tried(root, name, faults, every, first) for name in SCENES}
    wrong = [text for texts in found.values() for text in texts if text]
    return {name: len(texts) for name, texts in found.items()} | {"wrong": wrong}


if __name__ == "__main__":
    place, *numbers = sys.argv[1:]
    os.fsync = lambda _: None  # power cuts have a test of their own, and disks are slow
    sys.stdout.write(json.dumps(sweep(Path(place), *map(int, numbers)), indent=1))
