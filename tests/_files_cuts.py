"""Publishers killed at chosen or random instants while others read. Run as a program: it forks.

    _files_cuts.py steps ROOT          cut a publish, and its recovery, before each file operation
    _files_cuts.py storm ROOT KILLS    SIGKILL a looping publisher again and again

Each prints one JSON object with what was seen; `wrong` lists every broken promise.
"""

import itertools
import json
import os
import random
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from _files_project import BASIC, put, services
from preread import publish
from preread.dossier import published
from preread.dossier.published import Published
from preread.infra.reading import plain_bytes
from preread.layout import Layout

SETS = {"A": (*BASIC, "failures.md"), "B": (*BASIC, "requirements.md")}
EDITED = "# Patterns: login\n\n- what a person wrote\n"
MAX_ROUNDS = 8  # of the kills that are asked for
CHANGES = frozenset({"os.rename", "os.remove", "os.rmdir", "os.mkdir"})


@contextmanager
def locked(layout: Layout) -> Iterator[None]:
    layout.lock("login").parent.mkdir(parents=True, exist_ok=True)
    with FileLock(layout.lock("login"), timeout=5):
        yield


def generation(found: Published | None) -> str:
    """The generation of a dossier that was read; AssertionError if it is mixed or partial."""
    assert found is not None, "no dossier"
    assert found.manifest is not None, "no manifest"
    mark = found.manifest.recipe
    assert set(found.texts) == set(SETS[mark]), f"{mark} has {sorted(found.texts)}"
    for name, text in found.texts.items():
        if name in found.edited:
            assert text == EDITED, f"{name} of {mark} counts as edited: {text!r}"
        else:
            assert re.findall(r"(?:begin|end) (\w+)", text) == [mark, mark], (
                f"{name} of {mark} says {text!r}"
            )
    return mark


# -- every step


def forked(work: Callable[[], object]) -> int:
    """Run `work` in a separate process; returns its exit status."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            sys.stderr.write(f"{error!r}\n")
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def cut_at(step: int) -> None:
    """End this process before its `step`-th change of a file."""
    steps = itertools.count(1)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        opened = (
            event == "open"
            and isinstance(arguments[2], int)
            and arguments[2] & (os.O_CREAT | os.O_TRUNC)
        )
        if (opened or event in CHANGES) and next(steps) == step:
            os._exit(9)

    sys.addaudithook(hook)


def begin(root: Path) -> Layout:
    """A dossier of generation A, with one file that a person edited and one of the person's own."""
    work = services(root)
    put(work, "A", SETS["A"])
    (work.layout.dossier("login") / "patterns.md").write_text(EDITED)
    (work.layout.dossier("login") / "notes.md").write_text("my own")
    return work.layout


def publish_b(root: Path, step: int) -> None:
    work = services(root)
    with locked(work.layout):
        cut_at(step)
        put(work, "B", SETS["B"])


def recover(root: Path, step: int) -> None:
    work = services(root)
    with locked(work.layout):
        cut_at(step)
        publish.recover(work, "login")


def manifest_last(layout: Layout) -> None:
    """A published manifest names published files: readers without the package may rely on it."""
    folder = layout.dossier("login")
    manifest = published.parse_manifest(plain_bytes(folder / "manifest.json"), "login")
    for name, value in manifest.files.items() if manifest.recipe == "B" else ():
        assert published.digest(plain_bytes(folder / name) or b"") == value, (
            f"{name} comes after its manifest"
        )


def kept_all(layout: Layout, mark: str, marked: bool) -> None:
    """After a recovery: one generation published, nothing staged, no person's text lost."""
    folder = layout.dossier("login")
    assert not published.pending(layout, "login"), "something is still staged"
    assert mark == ("B" if marked else "A"), f"{mark} after a recovery, marked {marked}"
    assert (folder / "notes.md").read_text() == "my own", "a person's file is lost"
    names = {path.name for path in folder.iterdir()}
    assert names == {*SETS[mark], "manifest.json", "notes.md"}, f"{sorted(names)}"
    backups = [path.read_text() for path in layout.backups("login").glob("*")]
    assert backups in ([EDITED], [] if mark == "A" else [EDITED]), f"backups {backups}"


def steps(root: Path) -> dict[str, object]:
    seen = {"cuts": 0, "marked": 0, "cuts of recovery": 0}
    wrong: list[str] = []
    begin(root / "begin")
    for step in itertools.count(1):
        place = root / f"{step}"
        shutil.copytree(root / "begin", place)
        status = forked(lambda place=place, step=step: publish_b(place, step))
        if status != 9:
            assert status == 0, status
            break
        seen["cuts"] += 1
        layout = services(place).layout
        marked = bool(published.ready(layout, "login"))
        seen["marked"] += marked
        try:
            manifest_last(layout)
            mark = generation(published.read(layout, "login"))
            # Readers see the new one once it is marked, and also after its manifest is published.
            assert mark == "B" or not marked, "an old dossier beside a ready one"
            seen["cuts of recovery"] += (
                recoveries(place, mark == "B") if marked else recoveries(place, mark == "B", 1)
            )
        except AssertionError as error:
            wrong.append(f"cut at {step}: {error}")
        shutil.rmtree(place)
    return seen | {"wrong": wrong}


def recoveries(place: Path, marked: bool, most: int = 99) -> int:
    """Kill the recovery at each step too, and let the next one finish; returns how often."""
    for step in itertools.count(1):
        again = place.with_name(f"{place.name}-{step}")
        shutil.copytree(place, again)
        layout = services(again).layout
        status = forked(lambda again=again, step=step: recover(again, step)) if step <= most else 0
        assert status in {0, 9}, status
        generation(published.read(layout, "login"))
        with locked(layout):
            publish.recover(services(again), "login")
        kept_all(layout, generation(published.read(layout, "login")), marked)
        shutil.rmtree(again)
        if status == 0:
            return step
    raise AssertionError("unreachable")


# -- the storm


def publisher(root: Path, started: int) -> None:
    work = services(root)
    for turn in itertools.count():
        with locked(work.layout):
            publish.recover(work, "login")
            put(work, "AB"[turn % 2], SETS["AB"[turn % 2]])
        if turn == 0:
            os.write(started, b"1")


def reader(root: Path, report: int, look: Callable[[Layout], None]) -> None:
    """Look until the parent closes its end, then say how often and what was wrong."""
    layout, reads, wrong = services(root).layout, 0, []
    while not (root / "stop").exists():
        try:
            look(layout)
        except (AssertionError, OSError) as error:
            wrong.append(repr(error)[:300])
        reads += 1
        time.sleep(0.0005)  # the publishers need their share of two processors
    with os.fdopen(report, "w") as file:
        json.dump({"reads": reads, "wrong": wrong[:20]}, file)


def whole(layout: Layout) -> None:
    found = published.read(layout, "login")
    generation(found)
    assert not found.edited, f"{found.edited} count as edited"


def required(layout: Layout) -> None:
    """As a gate or an agent reads, without the package: every required file exists and is whole."""
    for name in (*BASIC, "manifest.json"):
        text = (layout.dossier("login") / name).read_text()
        ends = set(re.findall(r"(?:begin|end) (\w+)", text)) or set(json.loads(text)["recipe"])
        assert len(ends) == 1, f"{name} says {text!r}"


def storm(root: Path, kills: int) -> dict[str, object]:
    chance = random.Random(7)
    work = services(root)
    put(work, "A", SETS["A"])
    pipes = []
    for look in (whole, whole, required):
        out, into = os.pipe()
        if os.fork() == 0:
            reader(root, into, look)
            os._exit(0)
        os.close(into)
        pipes.append(out)
    seen = {"rounds": 0, "kills": 0, "cut when ready": 0, "cut before": 0, "reads": 0}
    wrong: list[str] = []
    for turn in range(MAX_ROUNDS * kills):
        if turn >= kills and seen["cut when ready"] > kills / 7 and seen["cut before"] > kills / 13:
            break  # where the instants fall depends on how busy the machine is
        seen["rounds"] += 1
        try:
            left = kill_one(root, chance.uniform(0, 0.006), when_ready=turn % 2 == 1)
            seen["kills"] += 1
            seen["cut when ready"] += left == "ready"
            seen["cut before"] += left == "staged"
        except AssertionError as error:
            wrong.append(str(error))
    (root / "stop").touch()
    for out in pipes:
        with os.fdopen(out) as file:
            told = json.load(file)
        seen["reads"] += told["reads"]
        wrong += told["wrong"]
        os.wait()
    if published.pending(work.layout, "login"):
        wrong.append("staging is left")
    return seen | {"wrong": wrong}


def kill_one(root: Path, after: float, when_ready: bool) -> str:
    """Kill a publisher at a random instant, look, roll forward, look again; what it had left.

    With `when_ready`, the instant is a brief one: when the build has just been marked as ready.
    """
    layout = services(root).layout
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        publisher(root, into)
    os.close(into)
    os.read(out, 1)
    os.close(out)
    time.sleep(after)
    while when_ready and not published.ready(layout, "login"):
        pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    left = (
        "ready"
        if published.ready(layout, "login")
        else "staged"
        if published.pending(layout, "login")
        else ""
    )
    whole(layout)
    with locked(layout):
        publish.recover(services(root), "login")
    assert not published.pending(layout, "login"), "staging is left after a recovery"
    whole(layout)
    return left


if __name__ == "__main__":
    place = Path(sys.argv[2])
    result = steps(place) if sys.argv[1] == "steps" else storm(place, int(sys.argv[3]))
    sys.stdout.write(json.dumps(result) + "\n")
