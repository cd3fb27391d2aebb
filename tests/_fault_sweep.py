"""The N-th file operation fails, for every N. Run as a program: it forks.

    _fault_sweep.py ROOT [EVERY [FIRST]]    each EVERY-th point from the FIRST on; all of them: 1

Prints one JSON object with the number of points by scene; `wrong` lists every broken promise: after
one failed operation, or when all fail from there on, the dossier is of one generation, the error is
an expected one, and the next run works and leaves nothing behind.
"""

import errno
import itertools
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from _files_cuts import SETS, begin, generation, kept_all, locked, publish_b
from _files_project import put, services
from preread import facts, inputs, publish, published
from preread.errors import PrereadError
from preread.models import Checked, Request
from preread.services import Services

EVENTS = frozenset(
    "open os.listdir os.scandir os.rename os.remove os.rmdir os.mkdir os.chmod".split()
)
# Errors of one file or disk, and of the process, which last.
ERRORS = (errno.EIO, errno.EACCES, errno.EMFILE, errno.ENOSPC, errno.EROFS, errno.ENFILE)
CODES = frozenset({"E_READ", "E_WRITE"})
REACHED, NOT_REACHED, UNEXPECTED = 0, 7, 8
Work = Callable[[Services], object]


def fail_at(root: Path, step: int, number: int, *, lasting: bool) -> Iterator[int]:
    """Make the `step`-th operation on files below `root` fail; the counter of operations."""
    steps = itertools.count(1)
    start = str(root)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event not in EVENTS or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        path = os.fsdecode(arguments[0])
        if start in path:
            now = next(steps)
            if now == step or (lasting and now > step):
                raise OSError(number, os.strerror(number), path)

    sys.addaudithook(hook)
    return steps


def attempt(root: Path, work: Work, step: int, number: int, *, lasting: bool) -> tuple[int, str]:
    """Run `work` in a fork in which an operation fails; how it ended, and what it raised."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status, said = REACHED, ""
        given = services(root, reports=["reports/*.xml"])
        held = ExitStack()
        held.enter_context(locked(given.layout))
        steps = fail_at(root, step, number, lasting=lasting)
        try:
            work(given)
        except PrereadError as error:
            status, said = (REACHED if error.code in CODES else UNEXPECTED), repr(error)
        except BaseException:
            status, said = UNEXPECTED, traceback.format_exc(limit=-4)
        if next(steps) <= step:
            status = NOT_REACHED
        os.write(writer, said[:1000].encode("utf-8", "replace"))
        os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


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
    generation(published.read(layout, "login"))
    with locked(layout):
        publish.recover(services(place), "login")
    mark = generation(published.read(layout, "login"))
    kept_all(layout, mark, mark == "B")
    with locked(layout):
        publishing(services(place))
    kept_all(layout, generation(published.read(layout, "login")), True)


def scene(root: Path, name: str, every: int, first: int) -> Iterator[tuple[str, str]]:
    """Each point, and what is wrong after it; empty if nothing is."""
    state, work = SCENES[name]
    numbers = itertools.count(first)
    for number, lasting in itertools.product(ERRORS, (False, True)):
        for step in itertools.count(1):
            if next(numbers) % every and step > 1:
                if step > 2_000:
                    raise AssertionError(f"{name} never ends")
                if not within(root, name, step):
                    break
                continue
            place = root / "place"
            shutil.copytree(root / state, place, symlinks=True)
            status, said = attempt(place, work, step, number, lasting=lasting)
            point = f"{name}, operation {step}: {os.strerror(number)}{', lasting' * lasting}"
            try:
                assert status in {REACHED, NOT_REACHED}, f"{status} {said}"
                afterwards(place)
                wrong = ""
            except (AssertionError, OSError, PrereadError) as error:
                wrong = f"{point}: {error!r}"
            shutil.rmtree(place)
            if status == NOT_REACHED:
                break
            yield point, wrong


LENGTHS: dict[str, int] = {}


def within(root: Path, name: str, step: int) -> bool:
    """Whether the scene has that many operations; counted once, without a fault."""
    if name not in LENGTHS:
        state, work = SCENES[name]
        place = root / "counted"
        shutil.copytree(root / state, place)
        low, high = 1, 2
        while attempt(place, work, high, errno.EIO, lasting=False)[0] != NOT_REACHED:
            shutil.rmtree(place)
            shutil.copytree(root / state, place)
            low, high = high, high * 2
        while low + 1 < high:
            middle = (low + high) // 2
            shutil.rmtree(place)
            shutil.copytree(root / state, place)
            reached = attempt(place, work, middle, errno.EIO, lasting=False)[0] != NOT_REACHED
            low, high = (middle, high) if reached else (low, middle)
        shutil.rmtree(place)
        LENGTHS[name] = low
    return step <= LENGTHS[name]


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
    points = {name: [wrong for _, wrong in scene(root, name, every, first)] for name in SCENES}
    wrong = [text for found in points.values() for text in found if text]
    return {name: len(found) for name, found in points.items()} | {"wrong": wrong}


if __name__ == "__main__":
    place, *numbers = sys.argv[1:]
    sys.stdout.write(json.dumps(sweep(Path(place), *map(int, numbers)), indent=1))
