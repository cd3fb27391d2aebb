"""Several sessions in one project: real servers and shells that see and tell each other."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from itertools import pairwise
from pathlib import Path

import anyio
import pytest

from _faces import ENVIRON
from _mcp_process import connect
from _trees import write
from conftest import Cli, make_repository, run_cli
from preread.layout import Layout
from preread.records import sessions
from preread.records.sessions import Identity

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    write(
        root,
        {"src/cart.py": "def total(items):\n    return sum(items)\n", ".project/config.toml": ""},
    )
    make_repository(root)
    return root


async def call(client, method: str, **params) -> dict:
    reply = await client.call_tool("context_operation", {"method": method, "params": params})
    assert not reply.is_error, reply.structured_content
    return reply.structured_content


def alive(name: str) -> tuple[subprocess.Popen, Identity]:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    return process, Identity(name=name, pid=process.pid)


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_two_servers_see_and_tell_each_other(project: Path, era: str) -> None:
    async with connect(project, era, ENVIRON) as one, connect(project, era, ENVIRON) as two:
        first = await call(one, "session.register", name="payments", feature="Checkout")
        assert first["result"]["session"]["feature"] == "checkout"
        mine = await call(two, "register", name="cart", files=["src/./cart.py"])
        assert mine["result"]["session"]["files"] == ["src/cart.py"]
        here = (await call(one, "who_is_here"))["result"]
        assert [one["name"] for one in here["sessions"]] == ["payments", "cart"]
        assert here["you"] == first["result"]["session"]["id"]

        sent = await call(one, "say", text="I rename total", to="cart")
        assert ["cart" in name for name in sent["result"]["reached"]] == [True]
        told = await call(two, "session.whoami")
        assert told["metadata"]["unheard"] == told["result"]["unheard"] == 1
        heard = (await call(two, "hear"))["result"]["messages"]
        assert ["I rename total" in one["text"] for one in heard] == [True]
        assert (await call(two, "hear"))["result"]["messages"] == []
        assert "unheard" not in (await call(two, "session.whoami"))["metadata"]
        assert (await call(one, "hear"))["result"]["messages"] == []


async def test_both_sessions_that_write_the_same_file_are_told_once(project: Path) -> None:
    async with (
        connect(project, "legacy", ENVIRON) as one,
        connect(project, "legacy", ENVIRON) as two,
    ):
        await call(one, "session.status", files=["src/cart.py", "src/a.py"])
        for _ in range(2):
            found = await call(two, "session.status", files=["src/cart.py"])
            assert len(found["result"]["overlaps"]) == 1
        for client in (one, two):
            (message,) = (await call(client, "hear"))["result"]["messages"]
            assert "src/cart.py" in message["text"]
            assert "src/a.py" not in message["text"]
            assert message["sender"] == "preread"


async def test_a_load_shows_what_a_session_works_on(project: Path) -> None:
    async with (
        connect(project, "legacy", ENVIRON) as one,
        connect(project, "legacy", ENVIRON) as two,
    ):
        await one.call_tool("load_context", {"feature": "Cart"})
        here = (await call(two, "session.who_is_here"))["result"]["sessions"]
        assert [one["feature"] for one in here] == ["cart"]


async def test_each_change_of_what_a_session_works_on_is_written_once(tmp_path: Path) -> None:
    layout, here = Layout(tmp_path), os.getpid()
    (tmp_path / ".project").mkdir()
    one, two = (Identity(name=name, pid=here, part=name) for name in ("one", "two"))
    times = []
    for me, feature in ((one, "a"), (two, "b"), (one, "a"), (two, "b"), (one, "c"), (one, "a")):
        if not sessions.is_noted(tmp_path, me, feature):
            sessions.note_feature(layout, tmp_path, me, feature)
        times.append(layout.sessions_db.stat().st_mtime_ns)
    assert [later > sooner for sooner, later in pairwise(times)] == [True, False, False, True, True]
    assert [each.feature for each in sessions.live_sessions(layout)] == ["a", "b"]


async def test_a_person_in_a_shell_is_a_session_too(project: Path, cli: Cli) -> None:
    async with connect(project, "legacy", ENVIRON) as one:
        await call(one, "session.register", name="payments")
        done = await anyio.to_thread.run_sync(
            lambda: cli("say", "stop, please", "--to", "payments", cwd=project)
        )
        assert (done.status, done.out) == (0, f"sent to {identity_of(await call(one, 'whoami'))}\n")
        (message,) = (await call(one, "hear"))["result"]["messages"]
        assert message["name"] == "person"
        await call(one, "say", text="stopped")
    done = await anyio.to_thread.run_sync(lambda: cli("hear", cwd=project))
    assert "payments (now): stopped" in done.out
    assert "No new messages." in cli("hear", cwd=project).out
    assert "Nobody else is here" in cli("say", "anybody?", cwd=project).out
    shown = cli("who", cwd=project)
    assert "(you)" in shown.out
    assert "payments" not in shown.out  # its server has ended


def identity_of(state: dict) -> str:
    return str(state["result"]["session"]["id"])


def test_a_wrong_recipient_is_an_error_that_lists_the_sessions(project: Path, cli: Cli) -> None:
    done = cli("call", "session.register", '{"name": "me"}', cwd=project)
    assert done.status == 0, done
    done = cli("say", "x", "--to", "nobody", cwd=project)
    assert done.status == 1
    assert "E_NOT_FOUND" in done.err
    assert "(me)" in done.err


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a\0b"])
def test_files_outside_the_project_are_refused(project: Path, cli: Cli, path: str) -> None:
    done = cli("call", "-", cwd=project, input=json.dumps(
        {"method": "session.status", "params": {"files": [path]}}
    ))  # fmt: skip
    assert done.json["error"]["code"] == "E_OUTSIDE"


def test_a_session_ends_when_its_process_is_killed_or_is_silent(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = Layout(project)
    killed, first = alive("killed")
    silent, second = alive("silent")
    try:
        sessions.update(layout, first, files=["a"])
        sessions.update(layout, second)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert [one.name for one in sessions.live_sessions(layout)] == ["silent"]
        monkeypatch.setattr(sessions, "SILENCE", -1.0)
        assert sessions.live_sessions(layout) == []
    finally:
        silent.kill()
        silent.wait()
        killed.stdin.close()
        silent.stdin.close()


def test_messages_of_many_writers_keep_their_order_and_arrive_once(project: Path) -> None:
    layout, me = Layout(project), Identity(name="reader", pid=os.getpid())
    sessions.update(layout, me)
    script = (
        "import sys; from pathlib import Path; from preread.records import sessions\n"
        "from preread.layout import Layout\n"
        "me = sessions.own(__import__('os').getpid(), sys.argv[2])\n"
        "for n in range(50): sessions.say(Layout(Path(sys.argv[1])), me, f'{sys.argv[2]} {n}')\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", script, str(project), f"w{number}"])
        for number in range(4)
    ]
    heard: list[str] = []
    lock, running = threading.Lock(), threading.Event()

    def listen() -> None:
        while True:
            ended = running.is_set()
            messages, _ = sessions.hear(layout, me, 7)
            with lock:
                heard.extend(one.text for one in messages)
            if ended and not messages:
                return

    readers = [threading.Thread(target=listen) for _ in range(2)]
    for reader in readers:
        reader.start()
    assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
    running.set()
    for reader in readers:
        reader.join()
    assert Counter(heard) == Counter(f"w{n} {m}" for n in range(4) for m in range(50))


def test_one_reader_hears_each_writer_in_its_order(project: Path) -> None:
    layout, me = Layout(project), Identity(name="reader", pid=os.getpid())
    other, speaker = alive("speaker")
    try:
        sessions.update(layout, me)
        for number in range(9):
            sessions.say(layout, speaker, str(number))
        first, left = sessions.hear(layout, me, 4)
        rest, none = sessions.hear(layout, me, 100)
        assert [one.text for one in (*first, *rest)] == [str(number) for number in range(9)]
        assert (left, none) == (5, 0)
    finally:
        other.kill()
        other.wait()
        other.stdin.close()


def test_a_damaged_database_is_set_aside(project: Path) -> None:
    layout = Layout(project)
    layout.state.mkdir(exist_ok=True)
    layout.sessions_db.write_bytes(b"no database" * 1000)
    done = run_cli("who", cwd=project)
    assert done.status == 0
    assert layout.sessions_db.with_suffix(".db.broken").is_file()


def test_a_secret_in_a_message_is_hidden(project: Path, cli: Cli) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    done = cli("say", f"use {token}", "--json", cwd=project)
    assert done.status == 0
    assert token not in done.out
