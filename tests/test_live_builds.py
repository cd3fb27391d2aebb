"""Builds of other processes: listed, followed and ended from anywhere, and nobody is signalled."""

import json
import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from _headless import headless
from _mcp_process import connect
from _messages_api import Hang, tool
from _processes import PATIENCE, Process, ended, left_behind, small, start, until
from conftest import Cli, run_cli
from preread.infra import processes
from preread.infra.locks import FileLock
from preread.layout import Layout
from preread.records import live_builds

OFF = {"PREREAD_CLAUDE": "off"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return small(tmp_path / "p")


@contextmanager
def held(project: Path) -> Iterator[None]:
    """No build of `login` gets further than to wait for its turn."""
    lock = Layout(project).lock("login")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(lock):
        yield


def building(project: Path) -> Process:
    """A process that builds `login`, once it has said so."""
    process = start(project, "load", "login")
    running = partial(live_builds.running, Layout(project))
    until(lambda: [step for one in running() for step in one.steps], "a build")
    return process


def until_followed(by: Process) -> None:
    """Wait until a process has told of a build: it opens journals before that only to list them."""
    assert by.stdout is not None
    assert select.select([by.stdout], [], [], PATIENCE)[0], "waited in vain: a follower"


def events(out: str) -> list[Any]:
    return [json.loads(line) for line in out.splitlines()]


def journals(project: Path) -> list[Path]:
    return list(Layout(project).live_builds.iterdir())


def test_a_build_is_followed_to_its_end_and_not_affected_by_its_followers(
    project: Path, cli: Cli
) -> None:
    with held(project):
        build = building(project)
        [listed] = cli("builds", "list", "--json", cwd=project).json["elsewhere"]
        assert (listed["feature"], listed["pid"]) == ("login", build.pid)
        assert listed["message"] == "another process is building login"
        assert str(build.pid) in cli("builds", "list", cwd=project).out
        one = start(project, "builds", "tail", "login")
        all_ = start(project, "builds", "tail", "--json")
        impatient = start(project, "builds", "tail")
        for process in (one, all_, impatient):
            until_followed(process)
        impatient.send_signal(signal.SIGINT)
        assert ended(impatient).status == 130
        assert build.poll() is None
    assert ended(build).status == 0
    told = ended(all_)
    first, *steps, last = events(told.out)
    assert (told.status, first["event"], first["pid"], first["level"]) == (
        0, "begin", build.pid, "light",
    )  # fmt: skip
    assert {"reading the project's files", "checking every source"} <= {s["text"] for s in steps}
    assert (last["event"], last["state"], last["pid"]) == ("end", "ok", build.pid)
    shown = ended(one).out.splitlines()
    assert "has ended: ok" in shown[-1]
    assert 'note="quoted; it gives no orders">checking every source<' in "".join(shown)
    assert journals(project) == []
    for words in (("tail",), ("tail", "login"), ("cancel", "login")):
        none = cli("builds", *words, cwd=project)
        assert (none.status, "is running" in none.err) == (1, True)


def test_a_build_of_another_process_is_cancelled(project: Path, cli: Cli) -> None:
    with held(project):
        build = building(project)
        following = start(project, "builds", "tail", "--json")
        until_followed(following)
        done = cli("builds", "cancel", "login", "--json", cwd=project).json
    assert done == {"feature": "login", "elsewhere": [build.pid], "ended": True}
    killed = ended(build)
    assert (killed.status, "E_CANCELLED: The build was cancelled by" in killed.err) == (130, True)
    told = ended(following)
    assert told.status == 1
    assert (events(told.out)[-1]["state"], events(told.out)[-1]["code"]) == ("error", "E_CANCELLED")
    assert left_behind(project) == []
    assert journals(project) == []


@pytest.mark.anyio
async def test_a_command_cancels_a_server_s_build_and_the_server_keeps_running(
    project: Path,
) -> None:
    replies: list[Any] = []
    async with connect(project, "2026-07-28", OFF) as client, anyio.create_task_group() as tasks:

        async def load() -> None:
            replies.append(await client.call_tool("load_context", {"feature": "login"}))

        with held(project):
            tasks.start_soon(load)
            while not live_builds.running(Layout(project)):  # noqa: ASYNC110
                await anyio.sleep(0.01)
            state = {"method": "builds.list", "params": {}}
            listed = await client.call_tool("context_operation", state)
            assert listed.structured_content["result"]["elsewhere"] == []
            assert listed.structured_content["result"]["builds"][0]["feature"] == "login"
            done = await anyio.to_thread.run_sync(
                lambda: run_cli("builds", "cancel", "login", "--json", cwd=project)
            )
            assert done.json["ended"] is True
        while not replies:  # noqa: ASYNC110
            await anyio.sleep(0.01)
        assert replies[0].structured_content["code"] == "E_CANCELLED"
        await load()
    assert replies[1].structured_content["state"] == "built"


def test_what_the_model_reads_is_followed_and_its_program_ends_with_the_build(
    project: Path, cli: Cli, tmp_path: Path, claude: Path, api: Any
) -> None:
    api.play([[tool("Read", file_path=str(project / "login.py"))], Hang()])
    build = start(
        project, "load", "login", "--level", "standard", env=headless(claude, api, tmp_path)
    )
    until(lambda: "reads login.py" in cli("builds", "list", cwd=project).out, "a read file")
    following = start(project, "builds", "tail", "login")
    until_followed(following)
    assert cli("builds", "cancel", "login", cwd=project).status == 0
    assert "E_CANCELLED" in ended(build).err
    assert "reads login.py" in ended(following).out
    assert left_behind(project) == []


def test_the_build_of_a_killed_process_has_ended_and_the_next_one_forgets_it(
    project: Path, cli: Cli
) -> None:
    with held(project):
        build = building(project)
        following = start(project, "builds", "tail", "--json")
        until_followed(following)
        build.kill()
        told = ended(following)
        assert (told.status, events(told.out)[-1]["state"]) == (1, "killed")
        assert len(journals(project)) == 1
        assert cli("builds", "list", "--json", cwd=project).json["elsewhere"] == []
        assert cli("builds", "cancel", "login", cwd=project).status == 1
    assert cli("load", "login", cwd=project).status == 0
    assert journals(project) == []


def test_a_forged_journal_and_a_reused_process_id_are_not_taken_for_a_build(
    project: Path, cli: Cli, tmp_path: Path
) -> None:
    folder = Layout(project).live_builds
    folder.mkdir(parents=True)
    now = time.time()
    begin = {"event": "begin", "feature": "login", "at": now, "level": "light", "pid": os.getpid()}
    step = {"event": "step", "feature": "login", "at": now, "text": "\x1b[2J\u202ereads\nit"}

    def journal(name: str, *lines: object) -> Path:
        path = folder / name
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    mine = begin | {"born": processes.born(os.getpid())}
    used = journal("used.0123456789abcdef.jsonl", begin | {"feature": "used", "born": now - 1e6})
    journal("other.0123456789abcdef.jsonl", mine)  # of another feature
    journal("nothing.0123456789abcdef.jsonl", [], "x", {"event": "begin"})
    outside = tmp_path / "outside"
    outside.write_text(json.dumps(mine) + "\n")
    (folder / "login.1123456789abcdef.jsonl").symlink_to(outside)
    assert cli("builds", "list", "--json", cwd=project).json["elsewhere"] == []
    assert cli("builds", "cancel", "used", cwd=project).status == 1
    idle = cli("builds", "tail", cwd=project)
    assert (idle.status, "`preread load FEATURE`" in idle.err) == (1, True)
    path = journal("login.0123456789abcdef.jsonl", mine, "x", step, {**step, "feature": "cart"})
    [listed] = cli("builds", "list", "--json", cwd=project).json["elsewhere"]
    assert listed["steps"][0]["text"] == step["text"]
    following = start(project, "builds", "tail")
    until_followed(following)
    with path.open("a") as file:
        file.write(json.dumps(begin | {"event": "end", "state": "ok"}) + "\n")
    told = ended(following)
    assert told.status == 0
    assert "\\x1b[2J\\u202ereads it" in told.out
    assert used.exists()


def test_a_journal_without_a_line_belongs_to_the_process_in_its_name(
    project: Path, cli: Cli
) -> None:
    folder = Layout(project).live_builds
    folder.mkdir(parents=True)
    of_a_killed = folder / "login.7fffffff00000000.jsonl"
    mine = folder / f"login.{os.getpid():08x}00000000.jsonl"
    for path in (of_a_killed, mine):
        path.touch()
    assert cli("load", "login", cwd=project).status == 0
    assert list(folder.iterdir()) == [mine]
