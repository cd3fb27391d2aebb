"""Faults at every step of a refresh, of memory and of repair. Run as a program: it forks.

    _refresh_faults.py ROOT [SAMPLE [SEED]]    as many points of each scene; all of them: 0

The points are chosen and ordered at random, another seed gives others; Ctrl-C ends it early.

A step is an operation on a file below the project. At a point, it fails (EIO, EACCES, …; once or
from then on), the process is killed there, or the clock jumps. Besides, writes end at a file size,
and descriptors run out, so that writes of SQLite fail too. After each, what is published is of one
generation, what people wrote is there, and the next run works and leaves nothing over. Prints one
JSON object: the points by scene and kind of fault, and in `wrong` every broken promise.
"""

import errno
import gc
import importlib
import itertools
import json
import os
import random
import resource
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import anyio

from _files_project import ENVIRON, repository, write
from _processes import LOGIN, TESTS, UNRELATED
from preread import publish
from preread.builds.jobs import Caller, Jobs
from preread.dossier import published
from preread.errors import PrereadError
from preread.layout import MANIFEST, Layout
from preread.operations import REGISTRY
from preread.operations.integrity import check
from preread.operations.registry import Context, services_of

EVENTS = frozenset(
    "open os.listdir os.scandir os.rename os.remove os.rmdir os.mkdir os.chmod".split()
)
ERRORS = (errno.EIO, errno.EACCES, errno.EMFILE, errno.ENOSPC, errno.EROFS)
JUMPS = (-86_400.0, 86_400.0)
SIZES = range(0, 65_536, 512)  # bytes after which a write ends
FILES = range(40)  # descriptors that are left
MINE = "- ask Ann before a change: `raise LoginError` (login.py:14)"
NOTES = "# Knowledge\n\n## Notes\n- Ann knows why: `ATTEMPTS = 5` (login.py:3)\n"
NEW = "the gateway answers within 12 s"
SECONDS = 300.0  # after them a run hangs; of a busy machine each has little


class Fault(NamedTuple):
    """What goes wrong, and at which step or from which size or number on."""

    kind: str
    at: int
    number: float = 0

    def __str__(self) -> str:
        name = os.strerror(int(self.number)) if "error" in self.kind else f"{self.number:+.0f} s"
        return f"{self.kind} at {self.at}{f' ({name})' if self.number else ''}"


async def _silent(_message: str, _done: float, _total: float) -> None:
    """No progress bar."""


def call(root: Path, name: str, **given: object) -> object:
    async def run() -> object:
        async with Jobs() as jobs:
            operation = REGISTRY[name]
            context = Context(
                root, ENVIRON | {"PREREAD_CLAUDE": "off"}, jobs, Caller(None, _silent)
            )
            return await operation.run(context, operation.request(**given))

    return anyio.run(run)


def load(root: Path) -> object:
    return call(root, "context.load", feature="login", level="light")


# -- the scenes: in which state a project is, and what is done then


def changed(root: Path) -> None:
    write(root, {"login.py": "#\n" + LOGIN, "tests/test_more.py": TESTS.replace("t_l", "t_more_l")})


def switched(root: Path) -> None:
    changed(root)
    load(root)
    write(root, {"login.py": LOGIN})
    (root / "tests" / "test_more.py").unlink()


def damaged(root: Path) -> None:
    (root / ".project/context/login" / MANIFEST).write_text("{")
    (root / ".project/.state/runs/login.json").write_text("{")
    (root / ".project/.cache/index.db").write_text("no database")


def remember(root: Path) -> object:
    return call(root, "memory.remember", content=NEW)


def repair(root: Path) -> object:
    return call(root, "integrity.repair")


def status(root: Path) -> object:
    return call(root, "context.status")


SCENES: dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]] = {
    "refresh": (changed, load),
    "switch back": (switched, load),
    "status": (changed, status),
    "remember": (lambda _: None, remember),
    "repair": (damaged, repair),
}


def begin(root: Path) -> None:
    """A project with a dossier, a fact in it that a person wrote, and remembered ones."""
    files = {"login.py": LOGIN, "tests/test_login.py": TESTS, "paint.py": UNRELATED}
    repository(root, {**files, ".project/knowledge.md": NOTES, ".project/.gitignore": "*\n"})
    shutil.rmtree(root / ".git" / "hooks", ignore_errors=True)
    load(root)
    path = root / ".project/context/login/patterns.md"
    path.write_text(f"{path.read_text()}\n## Ours\n<!-- Ann's -->\n{MINE}\n")
    load(root)


# -- one run in a process of its own


class Ended(NamedTuple):
    """How a run ended: its exit status (negative: a signal), its steps, and what it said."""

    status: int
    steps: int
    said: str
    modules: tuple[str, ...]


def run(root: Path, work: Callable[[Path], object], fault: Fault | None = None) -> Ended:
    """Run `work` in a fork, with a fault."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(int(SECONDS))
        os.close(reader)
        _work(root, work, fault, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    exit_status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    steps, said, modules = json.loads(data) if data else (0, "", [])
    return Ended(exit_status, steps, said, tuple(modules))


def _work(root: Path, work: Callable[[Path], object], fault: Fault | None, writer: int) -> None:
    status, said = 0, ""
    steps = itertools.count()
    _arm(root, steps, fault)
    try:
        reply = work(root)
        said = " ".join(getattr(reply, "warnings", ()))
    except PrereadError as error:
        status, said = (3 if error.code == "E_INTERNAL" else 1), repr(error)
    except BaseException:
        status, said = 3, traceback.format_exc(limit=-6)
    resource.setrlimit(resource.RLIMIT_FSIZE, resource.getrlimit(resource.RLIMIT_FSIZE)[1:] * 2)
    modules = [name for name in sys.modules if fault is None]
    os.write(writer, json.dumps([next(steps), said[:1500], modules]).encode())
    os._exit(status)


def _arm(root: Path, steps: "itertools.count[int]", fault: Fault | None) -> None:
    """Make the fault happen."""
    start, jumped = str(root), [0.0]
    kind, at, number = fault or Fault("", 0)
    if kind == "size":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (at, resource.RLIM_INFINITY))
    elif kind == "files":
        now = max(int(path.name) for path in Path("/proc/self/fd").iterdir()) + 1
        resource.setrlimit(resource.RLIMIT_NOFILE, (now + at, now + at + 100))
    elif kind == "clock":
        real, real_ns = time.time, time.time_ns
        time.time = lambda: real() + jumped[0]
        time.time_ns = lambda: real_ns() + int(jumped[0] * 1e9)

    def happen(now: int, path: str) -> None:
        if kind == "clock" and now == at:
            jumped[0] = number
        elif kind == "kill" and now == at:
            os.kill(os.getpid(), signal.SIGKILL)
        elif (kind == "error" and now == at) or (kind == "lasting error" and now >= at):
            raise OSError(int(number), os.strerror(int(number)), path)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event in EVENTS and isinstance(arguments[0], str | bytes | os.PathLike):
            path = os.fsdecode(arguments[0])
            if start in path:
                happen(next(steps) + 1, path)

    sys.addaudithook(hook)


# -- what is promised


def texts(root: Path) -> dict[str, str]:
    found = published.read(Layout(root), "login")
    return dict(found.texts) if found is not None else {}


def afterwards(root: Path, scene: "Scene", fault: Fault, ended: Ended) -> None:
    """Check a project after a fault; raises AssertionError."""
    name, old, new = scene.name, scene.old, scene.new
    assert ended.status in {0, 1, -signal.SIGKILL}, f"ended with {ended.status}: {ended.said}"
    layout = Layout(root)
    now = texts(root)
    poorer = ended.status == 0 and "cannot be read" in ended.said
    assert now in (old, new, scene.other) or poorer, f"a mix: {_difference(now, old, new)}"
    assert MINE.partition(" (")[0] in now["patterns.md"], "a person's fact is lost"
    assert "<!-- Ann's -->" in now["patterns.md"], "a person's comment is lost"
    knowledge = layout.knowledge.read_text()
    assert knowledge.startswith(NOTES), "a remembered fact is lost"
    for path in (root / ".project").rglob("*.part"):
        assert ended.status < 0 or fault.kind != "error", f"{path} is left over"
    again = run(root, SCENES[name][1])
    assert again.status == 0, f"the next run ended with {again.status}: {again.said}"
    assert texts(root) in (new, scene.other), f"the next run: {_difference(texts(root), old, new)}"
    assert layout.knowledge.read_text().count(NEW) == (name == "remember")
    left = [*publish.leftovers(services_of(root, ENVIRON), "login")]
    left += (root / ".project").rglob("*.part")
    assert not left, f"left over: {left}"
    problems = check.look(services_of(root, ENVIRON)).problems
    assert not problems, f"{problems}"


def _difference(now: dict[str, str], old: dict[str, str], new: dict[str, str]) -> str:
    return "; ".join(
        f"{name}: {now.get(name)!r} is neither {old.get(name)!r} nor {new.get(name)!r}"
        for name in sorted({*now, *old, *new})
        if now.get(name) not in {old.get(name), new.get(name)} or now.get(name) != new.get(name)
    )[:1200]


def points(steps: int) -> Iterator[Fault]:
    """Every fault in a scene of so many steps."""
    for at in range(1, steps + 1):
        yield Fault("kill", at)
        yield from (Fault("error", at, number) for number in ERRORS)
        yield from (Fault("lasting error", at, number) for number in ERRORS)
        yield from (Fault("clock", at, jump) for jump in JUMPS)
    yield from (Fault("size", at) for at in SIZES)
    yield from (Fault("files", at) for at in FILES)


class Scene(NamedTuple):
    """A prepared state, and the dossier before and after a run without a fault."""

    name: str
    place: Path
    old: dict[str, str]
    new: dict[str, str]
    other: dict[str, str]  # after a run without the database, which only makes things easier
    faults: list[Fault]


def prepared(root: Path, first: Path, name: str) -> Scene:
    place, done = root / f"{name} before", root / f"{name} after"
    shutil.copytree(first, place, symlinks=True)
    prepare, work = SCENES[name]
    made = run(place, prepare)
    assert made.status == 0, made.said
    shutil.copytree(place, done, symlinks=True)
    ended = run(done, work)
    assert ended.status == 0, ended.said
    for module in ended.modules:  # once here, not in every fork
        with suppress(ImportError):
            importlib.import_module(module)
    other = root / f"{name} without"
    shutil.copytree(place, other, symlinks=True)
    for path in (other / ".project" / ".cache").glob("index.db*"):
        path.unlink()
    run(other, work)
    return Scene(name, place, texts(place), texts(done), texts(other), list(points(ended.steps)))


def tried(place: Path, scene: Scene, fault: Fault) -> str:
    """What is wrong after a fault; empty if nothing is."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(scene.place, place, symlinks=True)
    try:
        afterwards(place, scene, fault, run(place, SCENES[scene.name][1], fault))
    except (AssertionError, OSError, PrereadError) as error:
        return str(error)
    return ""


def sweep(root: Path, sample: int, seed: int = 0) -> dict[str, object]:
    first = root / "first"
    made = run(first, begin)
    assert made.status == 0, made.said
    scenes = [prepared(root, first, name) for name in SCENES]
    rng = random.Random(f"faults {sample} {seed}")
    chosen = [
        (scene, fault)
        for scene in scenes
        for fault in rng.sample(scene.faults, min(sample or sys.maxsize, len(scene.faults)))
    ]
    rng.shuffle(chosen)
    gc.freeze()
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    with suppress(KeyboardInterrupt):
        for scene, fault in chosen:
            if said := tried(root / "place", scene, fault):
                wrong.append(f"{scene.name}, {fault}: {said}")
                if os.environ.get("PREREAD_TEST_VERBOSE"):
                    sys.stderr.write(f"{wrong[-1]}\n")
            counts[f"{scene.name}: {fault.kind}"] += 1
    return {"points": sum(counts.values()), "counts": dict(counts), "wrong": wrong}


if __name__ == "__main__":
    place, *numbers = sys.argv[1:]
    sys.stdout.write(
        json.dumps(sweep(Path(place).resolve(), *map(int, numbers or ["0"])), indent=1)
    )
