"""However a build with a child ends, nothing remains: interrupt, cancellation, exit, SIGKILL."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

import _mcp_process
from _fake_claude import GOOD, STUBBORN, WORKING, FakeClaude
from _headless import STANDARD, headless, output, writing
from _mcp_process import wired
from _messages_api import Answer, Hang, MessagesAPI, Request, text, tool
from _processes import PATIENCE, bytes_of, ended, left_behind, processes_in, small, start, until
from conftest import child_environ, run_cli
from preread.layout import Layout

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "SIGKILL"), reason="POSIX signals and terminals"
)
LOAD = ("load", "login", "--level", "standard", "--force")
INTERRUPT = b"\x03"  # what Ctrl-C sends to a terminal
SOON, LATEST = (
    5.0,
    10.0,
)  # seconds until nothing is left of a child that can be asked to end, and of any


class Scene:
    """The small project, and a program in Claude Code's place that builds its dossiers."""

    def __init__(self, folder: Path) -> None:
        self.project = small(folder / "small")
        self.fake = FakeClaude(folder / "fake", WORKING)
        self.private = folder / "private"
        self.private.mkdir()
        self.env = {
            "PREREAD_CLAUDE": str(self.fake.path),
            "PREREAD_TIMEOUT": "60",
            "TMPDIR": str(self.private),
        }

    def published(self) -> dict[str, bytes]:
        """A published dossier from before the build that is to be ended."""
        self.fake.behave(GOOD)
        assert run_cli(*LOAD, cwd=self.project, env=self.env).status == 0
        return bytes_of(self.project)

    @property
    def costs(self) -> list[float | None]:
        path = Layout(self.project).spending
        return (
            [json.loads(line)["cost_usd"] for line in path.read_text().splitlines()]
            if path.exists()
            else []
        )

    def at_work(self) -> None:
        """Wait until the program is as far as it goes by itself."""
        until(self.fake.runs, "the child is at work")

    def assert_no_process_within(self, seconds: float, begun: float) -> None:
        """Also: no private file."""
        until(
            lambda: not self.fake.left() and not self.scratch(),
            f"{self.fake.left()} or {self.scratch()} are gone",
        )
        assert time.monotonic() - begun < seconds

    def scratch(self) -> list[Path]:
        return list(self.private.glob("preread-*"))

    def tidied(self) -> bool:
        """Whether nothing remains of a build; takes the lock last, while a server runs."""
        return not (
            _mcp_process.remains(self.project, "login")
            or _mcp_process.left_behind(self.project, "login")
        )

    def assert_clean(self) -> None:
        assert self.fake.left() == set()
        assert self.scratch() == []
        assert left_behind(self.project) == []


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    for pid in made.fake.left():  # of a test that failed
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


class Terminal:
    """`preread` in the foreground of a terminal, and what it shows there."""

    TAKE = (
        "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
        "os.execv(sys.executable, [sys.executable, '-m', 'preread', *sys.argv[1:]])"
    )

    def __init__(self, project: Path, env: Mapping[str, str], *arguments: str) -> None:
        self._master, slave = os.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.TAKE, *arguments],
            cwd=project, env=child_environ({**env, "TERM": "xterm"}), start_new_session=True,
            stdin=slave, stdout=slave, stderr=slave,
        )  # fmt: skip
        os.close(slave)
        self._shown = bytearray()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with suppress(OSError):  # so a terminal ends on Linux
            while data := os.read(self._master, 4096):
                self._shown += data

    @property
    def shown(self) -> str:
        return self._shown.decode("utf-8", "replace")

    def type(self, data: bytes) -> None:
        os.write(self._master, data)

    def ended(self) -> int:
        status = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        os.close(self._master)
        return status


# -- the command line


def test_ctrl_c_ends_the_child_and_leaves_the_published_dossier(scene: Scene) -> None:
    before = scene.published()
    scene.fake.behave(WORKING)
    terminal = Terminal(scene.project, scene.env, *LOAD)
    scene.at_work()
    until(
        lambda: "turn 1: asks claude-fake-1" in terminal.shown,
        "the terminal tells what the child does",
    )
    assert "60 s at most" in terminal.shown
    begun = time.monotonic()
    terminal.type(INTERRUPT)
    assert terminal.ended() == 130
    assert time.monotonic() - begun < SOON
    assert terminal.shown.rstrip().endswith("load again to build.")
    assert "E_CANCELLED: Interrupted." in terminal.shown
    assert "Traceback" not in terminal.shown
    assert bytes_of(scene.project) == before
    assert scene.costs == [0.25, None]
    scene.assert_clean()


def test_a_second_ctrl_c_exits_at_once_and_the_child_s_processes_still_end(scene: Scene) -> None:
    before = scene.published()
    scene.fake.behave(STUBBORN)
    terminal = Terminal(scene.project, scene.env, *LOAD)
    scene.at_work()
    begun = time.monotonic()
    terminal.type(INTERRUPT)
    until(lambda: scene.costs == [0.25, None], "the first one was heard")
    terminal.type(INTERRUPT)
    assert terminal.ended() == 130
    assert time.monotonic() - begun < 3
    assert "Traceback" not in terminal.shown
    scene.assert_no_process_within(SOON, begun)
    assert bytes_of(scene.project) == before
    assert (
        run_cli("load", "paint", "--level", "light", cwd=scene.project, env=scene.env).status == 0
    )
    assert bytes_of(scene.project) == before
    scene.assert_clean()


@pytest.mark.parametrize(
    ("behaviour", "bound"), [(WORKING, SOON), (STUBBORN, LATEST)], ids=["working", "stubborn"]
)
def test_sigterm_ends_the_child_and_a_pipe_gets_only_the_error(
    scene: Scene, behaviour: str, bound: float
) -> None:
    scene.fake.behave(behaviour)
    process = start(scene.project, *LOAD, env=scene.env)
    scene.at_work()
    begun = time.monotonic()
    process.send_signal(signal.SIGTERM)
    done = ended(process)
    assert time.monotonic() - begun < bound
    assert (done.status, done.out) == (143, "")
    assert done.err.startswith("error: E_CANCELLED: Interrupted.\n")
    assert done.err.count("\n") == 2
    assert not Layout(scene.project).dossier("login").exists()
    assert scene.costs == [None]
    scene.assert_clean()


def test_the_wait_before_another_try_can_be_interrupted_and_what_the_first_cost_is_known(
    scene: Scene,
) -> None:
    scene.fake.behave(
        "begin(); result(is_error=True, api_error_status=529, result='Overloaded'); "
        "sys.stdin.read()"
    )
    process = start(scene.project, *LOAD, env=scene.env)
    until(lambda: scene.costs == [0.25] and not scene.fake.left(), "the first child has ended")
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert ended(process).status == 130
    assert time.monotonic() - begun < 3
    assert len(scene.fake.started()) == 1
    assert scene.costs == [0.25]
    scene.assert_clean()


def test_the_real_program_is_interrupted_in_the_middle_of_a_request(
    claude: Path, api: MessagesAPI, tmp_path: Path
) -> None:
    project = small(tmp_path / "small")
    api.play(writing(STANDARD, Hang()))
    process = start(project, *LOAD, env=headless(claude, api, tmp_path, timeout=60))
    api.wait(lambda requests: len(requests) == 2)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert ended(process).status == 130
    assert time.monotonic() - begun < LATEST
    assert not Layout(project).dossier("login").exists()
    assert left_behind(project) == []


# -- the server


async def when(holds: Callable[[], Any], what: str) -> None:
    await anyio.to_thread.run_sync(until, holds, what)


async def cancel(wire: _mcp_process.Wire, number: int) -> None:
    await wire.send(
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
    )


async def call(wire: _mcp_process.Wire, number: int, **given: object) -> None:
    """A call of load_context that asks for progress under its own number."""
    arguments = {"feature": "login", "level": "standard", **given}
    meta = {"progressToken": number}
    await wire.request(number, "tools/call", name="load_context", arguments=arguments, _meta=meta)


async def told(wire: _mcp_process.Wire, number: int) -> dict[str, Any]:
    """The next progress of a call."""
    while True:
        message = await wire.receive()
        if (
            message.get("method") == "notifications/progress"
            and message["params"]["progressToken"] == number
        ):
            return message["params"]
        assert message.get("id") != number, message


async def loaded(wire: _mcp_process.Wire, number: int) -> dict[str, Any]:
    return (await wire.answer(number))["result"]["structuredContent"]


@pytest.mark.anyio
@pytest.mark.parametrize("behaviour", [WORKING, STUBBORN], ids=["working", "stubborn"])
async def test_the_cancellation_of_the_only_caller_ends_the_child(
    scene: Scene, behaviour: str
) -> None:
    scene.fake.behave(behaviour)
    async with wired(scene.project, scene.env) as wire:
        await wire.initialize()
        await call(wire, 1)
        await when(scene.fake.runs, "the child is at work")
        begun = time.monotonic()
        await cancel(wire, 1)
        await when(lambda: not scene.fake.left(), "the child has ended")
        assert time.monotonic() - begun < LATEST
        await when(scene.tidied, "the build has ended")
        assert scene.scratch() == []
        assert scene.costs == [None]
        scene.fake.behave(GOOD)
        await call(wire, 2)
        reply = await loaded(wire, 2)
        assert (reply["status"], reply["state"]) == ("ok", "built")
        assert scene.costs == [None, 0.25]


@pytest.mark.anyio
async def test_the_cancellation_of_one_of_two_callers_leaves_the_child_to_the_other(
    scene: Scene,
) -> None:
    scene.fake.behave("begin(); ready(); hold(); write(); result(); sys.stdin.read()")
    async with wired(scene.project, scene.env) as wire:
        await wire.initialize()
        await call(wire, 1)
        await when(scene.fake.runs, "the child is at work")
        await call(wire, 2)
        await told(wire, 2)  # it has joined
        await cancel(wire, 1)
        await wire.request(3, "ping")
        await wire.answer(3)  # the cancellation was heard
        scene.fake.let_go()
        reply = await loaded(wire, 2)
        assert (reply["status"], reply["state"]) == ("ok", "joined")
        assert len(scene.fake.started()) == 1
        assert scene.costs == [0.25]
        assert _mcp_process.left_behind(scene.project, "login") == []


async def by_end_of_input(wire: _mcp_process.Wire) -> int:
    await wire.process.stdin.aclose()
    return 0


def by(number: int) -> Callable[[_mcp_process.Wire], Any]:
    async def end(wire: _mcp_process.Wire) -> int:
        wire.process.send_signal(number)
        return -number if number == signal.SIGKILL else 128 + number

    return end


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("behaviour", "bound"), [(WORKING, SOON), (STUBBORN, LATEST)], ids=["working", "stubborn"]
)
@pytest.mark.parametrize(
    "end",
    [by_end_of_input, by(signal.SIGINT), by(signal.SIGTERM), by(signal.SIGKILL)],
    ids=["input", "SIGINT", "SIGTERM", "SIGKILL"],
)
async def test_the_end_of_the_server_ends_the_child_and_leaves_nothing_behind(
    scene: Scene, behaviour: str, bound: float, end: Callable[[_mcp_process.Wire], Any]
) -> None:
    scene.fake.behave(behaviour)
    async with wired(scene.project, scene.env, anew=True) as wire:
        await wire.initialize()
        await call(wire, 1)
        await when(scene.fake.runs, "the child is at work")
        begun = time.monotonic()
        status = await end(wire)
        assert await wire.ended() == status
        # A build has two seconds after the end of input to answer, then half a one to stop.
        assert time.monotonic() - begun < (6 if end is by_end_of_input else 2)
    scene.assert_no_process_within(bound, begun)
    if end is by_end_of_input:  # which leaves the time for it
        assert scene.costs == [None]
    async with wired(scene.project, scene.env, anew=True) as wire:
        await wire.initialize()
        await when(scene.tidied, "the next server tidies up")
    assert not Layout(scene.project).dossier("login").exists()
    scene.assert_clean()


@pytest.mark.anyio
async def test_a_killed_server_takes_the_real_program_with_it(
    claude: Path, api: MessagesAPI, tmp_path: Path
) -> None:
    project = small(tmp_path / "small")
    api.play(writing(STANDARD, Hang()))
    async with wired(project, headless(claude, api, tmp_path, timeout=60), anew=True) as wire:
        await wire.initialize()
        await call(wire, 1)
        await anyio.to_thread.run_sync(api.wait, lambda requests: len(requests) == 2)
        wire.process.kill()
        begun = time.monotonic()
        await when(lambda: not processes_in(project), "no process is left")
        assert time.monotonic() - begun < SOON


@pytest.mark.anyio
async def test_a_client_sees_turn_by_turn_what_the_child_does(
    claude: Path, api: MessagesAPI, tmp_path: Path
) -> None:
    project = small(tmp_path / "small")
    seen = threading.Semaphore()

    def script(request: Request) -> Answer:
        """Each turn waits until the previous one was reported: progress in between is skipped."""
        seen.acquire(timeout=PATIENCE)
        writes = [
            tool("Write", file_path=str(output(request) / name), content=STANDARD[name])
            for name in STANDARD
        ]
        turns = [
            [tool("Read", file_path="login.py")],
            [tool("Grep", pattern="LoginError")],
            writes,
            [text("Done.")],
        ]
        return turns[request.turn]

    api.play(script)
    progress: list[dict[str, Any]] = []
    async with wired(project, headless(claude, api, tmp_path, timeout=60)) as wire:
        await wire.initialize()
        await call(wire, 1)
        for word in ("reads login.py", 'searches "LoginError"', "writes summary.md"):
            while not progress or word not in progress[-1]["message"]:
                progress.append(await told(wire, 1))
            seen.release()
        while (message := await wire.receive()).get("id") != 1:
            progress.append(message["params"])
        assert message["result"]["structuredContent"]["status"] == "ok"
    values = [each["progress"] for each in progress]
    assert values == sorted(set(values))
    assert [each for each in progress if each["total"] != 5] == []
    messages = [each["message"] for each in progress]
    told_of = [int(words[5]) for words in messages if words.startswith("turn ")]
    assert told_of == sorted(told_of)
    assert all(
        0.99 < value < 4
        for value, words in zip(values, messages, strict=True)
        if words.startswith("turn ")
    )
    assert values[-1] >= 4  # the check comes after the model
