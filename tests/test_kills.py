"""Builds killed at any moment: readers never notice, and the next load cleans up."""

import random
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from filelock import FileLock

from _processes import (
    LONG,
    SHORT,
    Process,
    Readers,
    bytes_of,
    ended,
    left_behind,
    processes_in,
    small,
    start,
    until,
    watched,
)
from _whole import sized
from conftest import Cli
from preread.dossier import published
from preread.dossier.published import READY, Ready
from preread.layout import MANIFEST, Layout
from preread.models import Manifest

KILLS = sized(16, 40)
WAYS = (("the long one", LONG), ("the short one", SHORT))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return small(tmp_path / "small")


def load(project: Path, way: int) -> Process:
    description, env = WAYS[way]
    return start(project, "load", "login", "--force", "--description", description, env=env)


def generations(project: Path) -> tuple[list[dict[str, bytes]], float]:
    """The two dossiers that the two ways make, and the seconds that one build takes."""
    found, spent = [], []
    for way in range(len(WAYS)):
        begun = time.monotonic()
        assert ended(load(project, way)).status == 0
        spent.append(time.monotonic() - begun)
        found.append(bytes_of(project))
    assert all(
        len({each.get(name) for each in found}) == 2
        for name in ("codebase.md", "failures.md", MANIFEST)
    )
    return found, min(spent)


def until_no_process(project: Path) -> None:
    """A killed build's git goes on to its own end, which is near."""
    until(lambda: not processes_in(project), "no process is left in the project")


def test_killed_builds_never_affect_readers_and_the_next_load_cleans_up(
    project: Path, tmp_path: Path
) -> None:
    both, seconds = generations(project)
    killed: list[int] = []

    def lane(way: int, readers: Readers) -> None:
        """Half of the kills; the lanes' builds also wait for each other."""
        chance = random.Random(way)
        end = time.monotonic() + 60
        while time.monotonic() < end and (
            killed.count(-signal.SIGKILL) < KILLS or readers.reads <= 12 * KILLS
        ):
            process = load(project, way)
            try:
                process.wait(chance.uniform(0, seconds * 1.2))
            except subprocess.TimeoutExpired:
                process.kill()
            process.communicate()
            killed.append(process.returncode)

    with watched(project, both, tmp_path) as readers:
        lanes = [threading.Thread(target=lane, args=(way, readers)) for way in range(len(WAYS))]
        for thread in lanes:
            thread.start()
        for thread in lanes:
            thread.join()
        assert readers.reads > 12 * KILLS
    assert killed.count(-signal.SIGKILL) >= KILLS
    assert set(killed) <= {0, -signal.SIGKILL}
    assert readers.wrong == {"package": [], "plain": []}
    until_no_process(project)
    last = ended(start(project, "load", "login", "--description", WAYS[0][0], env=WAYS[0][1]))
    assert last.status == 0, last
    assert bytes_of(project) == both[0]
    assert left_behind(project) == []


def as_killed_after_its_mark(project: Path) -> dict[str, bytes]:
    """Turn a published dossier into what a build leaves if killed before its first file moved."""
    layout = Layout(project)
    texts = bytes_of(project)
    staging = layout.staging / f"login.x{READY}"
    staging.parent.mkdir(parents=True, exist_ok=True)
    layout.dossier("login").rename(staging)
    manifest = Manifest.model_validate_json(texts[MANIFEST])
    mark = Ready(order=1, manifest=manifest, before={}).model_dump_json()
    (staging / published.MARK).write_text(mark)
    layout.building("login").parent.mkdir(exist_ok=True)
    layout.building("login").write_text(f"{time.time() + 180:.0f}\n")
    return texts


def test_a_covering_dossier_that_a_killed_build_left_in_staging_is_put_in_place_before_the_reply(
    project: Path, cli: Cli
) -> None:
    assert cli("load", "login", cwd=project).status == 0
    texts = as_killed_after_its_mark(project)
    done = cli("load", "login", "--json", cwd=project)
    assert (done.status, done.json["state"]) == (0, "cached")
    assert bytes_of(project) == texts
    assert left_behind(project) == []


def test_leftovers_of_a_running_build_are_not_touched(project: Path, cli: Cli) -> None:
    # Twice: the first build does not trust the times of files that were written just before.
    for _ in range(2):
        assert cli("load", "login", cwd=project).status == 0
        time.sleep(0.2)
    as_killed_after_its_mark(project)
    with FileLock(Layout(project).lock("login")):
        done = cli("load", "login", "--json", cwd=project)
        assert (done.status, done.json["state"]) == (0, "cached")
        assert {"login", f"login.x{READY}"} <= {Path(name).name for name in left_behind(project)}


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_builds_ended_by_a_signal_leave_nothing_at_once(
    project: Path, number: int, status: int
) -> None:
    both, seconds = generations(project)
    chance, hint, statuses = random.Random(number), Layout(project).building("login"), []
    for turn in range(5):
        process = load(project, turn % 2)
        until(
            lambda process=process: hint.exists() or process.poll() is not None,
            "the build has begun",
        )
        with suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0, seconds / 3))
        process.send_signal(number)
        done = ended(process)
        statuses.append(done.status)
        assert "Traceback" not in done.err
        assert left_behind(project) == []
        assert bytes_of(project) in both
    assert set(statuses) <= {0, status}
    assert statuses.count(status) >= 2


def test_a_hint_left_by_a_build_that_was_killed_early_goes_with_the_next_load(
    project: Path,
) -> None:
    assert ended(start(project, "load", "login")).status == 0
    hint = Layout(project).building("login")
    hint.parent.mkdir(exist_ok=True)
    hint.write_text("9999999999\n")
    again = ended(start(project, "load", "login", "--json"))
    assert again.json["state"] == "cached"
    assert left_behind(project) == []


def half_a_backup(project: Path) -> Path:
    """What a killed `remove` leaves of its backup."""
    part = Layout(project).backup_sets / ".20261129-090738-remove-login.part"
    (part / "context" / "login").mkdir(parents=True)
    (part / "context" / "login" / "codebase.md").write_text("# Codebase")
    return part


@pytest.mark.parametrize(
    "arguments",
    [("load", "login"), ("load", "login", "--force"), ("remove", "login"), ("gc",), ("repair",)],
    ids=["cached", "built", "remove", "gc", "repair"],
)
def test_a_backup_that_a_killed_call_left_unfinished_goes_with_the_next_one(
    project: Path, cli: Cli, arguments: tuple[str, ...]
) -> None:
    cli("load", "login", cwd=project)
    part = half_a_backup(project)
    done = cli(*arguments, "--json", cwd=project)
    assert done.status == 0
    assert done.json.get("state", "") in {"", "cached", "built"}
    assert not part.exists()
    assert cli("check", "--all", cwd=project).status == 0


def test_a_backup_that_another_process_is_writing_stays(project: Path, cli: Cli) -> None:
    cli("load", "login", cwd=project)
    part = half_a_backup(project)
    with FileLock(Layout(project).lock("_backups")):
        assert cli("load", "login", "--json", cwd=project).json["state"] == "cached"
        assert cli("load", "login", "--force", cwd=project).status == 0
        assert cli("gc", "--json", cwd=project).json["leftovers"] == []
        assert cli("check", "--all", cwd=project).status == 0
        waiting = start(project, "remove", "login")
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(1)
        assert part.exists()
    assert ended(waiting).status == 0
    assert cli("load", "login", cwd=project).status == 0
    assert not part.exists()
    [made] = cli("backups", "--json", cwd=project).json["backups"]
    assert ".project/context/login/codebase.md" in made["files"]
