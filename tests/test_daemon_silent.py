"""A project whose file system does not answer stops its own calls, and nothing else."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import httpx2
import psutil
import pytest

from _daemon import Daemon, daemon
from _mcp_process import connect
from _silent import Mount, Pipe
from conftest import make_repository, run_cli
from preread.daemon.lookups import MAX_LOOKUPS

pytestmark = pytest.mark.anyio
BOUND = 100.0  # seconds; the machine may be busy
MANY = 60  # calls at a time: more than one event loop has worker threads
POOL = 40  # worker threads of an event loop, which is anyio's default
PROGRAM = """
from preread.daemon import project_loop
project_loop.SILENT_SECONDS, project_loop.PAUSE_SECONDS = 3, 0.2
from preread.__main__ import main
main()
"""
# A relay that gave up on a busy daemon would serve by itself, and hang in the silent file system.
RELAY = """
from preread.daemon import relay
relay.HELLO_SECONDS = 60
from preread.__main__ import main
raise SystemExit(main())
"""
SHOW = {"method": "context.show", "params": {"feature": "cart"}}
EVIDENCE = {"method": "context.evidence", "params": {"feature": "cart"}}
LOAD = {"method": "context.load", "params": {"feature": "cart", "level": "light"}}
CALLS = (SHOW, EVIDENCE, LOAD)
CODE = "LIMIT = {}\n\n\ndef add_to_cart(item):\n    return item\n"
OFF = {"PREREAD_CLAUDE": "off"}


@dataclass
class Scene:
    """A daemon, a project whose file system can fall silent, and another one."""

    daemon: Daemon
    project: Path
    other: Path
    silence: Mount | Pipe
    client: httpx2.AsyncClient

    async def code(self, state: Any, root: Path) -> str:
        """The code of a call's error; empty if it succeeds."""
        headers = {"Preread-Namespace": str(root)}
        done = await self.client.post("/operation", json=state, headers=headers)
        error = done.json().get("error")
        return str(error["code"]) if error else ""

    async def codes(self, count: int) -> list[str]:
        """Those of so many calls to the silent project at the same time."""
        found: list[str] = []
        # A cached reply only looks at files, which the pipe cannot hold up.
        calls = (EVIDENCE,) if isinstance(self.silence, Pipe) else CALLS

        async def call(number: int) -> None:
            found.append(await self.code(calls[number % len(calls)], self.project))

        async with anyio.create_task_group() as tasks:
            for number in range(count):
                tasks.start_soon(call, number)
        return found

    async def rest_works(self) -> None:
        """Everything but the silent project answers."""
        for path in ("/health", "/metrics"):
            assert (await self.client.get(path)).status_code == 200
        for state in CALLS:
            assert await self.code(state, self.other) == ""

    def threads(self) -> int:
        return psutil.Process(self.daemon.pid).num_threads()


def project(root: Path) -> Path:
    root.mkdir()
    (root / "cart.py").write_text(CODE.format(10))
    make_repository(root)
    assert run_cli("load", "cart", cwd=root, env=OFF).status == 0
    return root


@pytest.fixture(params=[Mount, Pipe])
def silence(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mount | Pipe]:
    found = request.param(tmp_path / "silent", tmp_path / "gate")
    try:
        yield found
    finally:
        found.end()


@asynccontextmanager
async def scene(tmp_path: Path, silence: Mount | Pipe) -> AsyncIterator[Scene]:
    one, other = project(tmp_path / "silent"), project(tmp_path / "other")
    silence.begin()  # whether it can be done here
    silence.end()
    env = {"SILENT_ROOT": str(one), "SILENT_GATE": str(tmp_path / "gate")}
    program = ("-c", silence.program + PROGRAM)
    with daemon(tmp_path / "h", env=env, program=program) as running:
        for root in (one, other):
            running.allow(root)
        headers = {"authorization": f"Bearer {running.token()}"}
        with anyio.fail_after(BOUND):
            async with httpx2.AsyncClient(
                base_url=running.url, headers=headers, timeout=BOUND
            ) as client:
                found = Scene(running, one, other, silence, client)
                await found.rest_works()
                for state in CALLS:
                    assert await found.code(state, one) == ""
                yield found


async def test_only_its_own_calls_fail_until_it_answers_again(
    tmp_path: Path, silence: Mount | Pipe
) -> None:
    async with scene(tmp_path, silence) as found, anyio.create_task_group() as tasks:
        before, failed = found.threads(), anyio.Event()
        silence.begin()

        async def fail() -> None:
            assert {*await found.codes(MANY)} == {"E_READ"}
            failed.set()

        tasks.start_soon(fail)
        while not failed.is_set():
            await found.rest_works()
        assert {*await found.codes(MANY)} == {"E_READ"}
        await found.rest_works()
        assert found.threads() <= before + POOL + 4  # and its event loop, and what asks it
        silence.end()
        while await found.code(SHOW, found.project) == "E_READ":  # noqa: ASYNC110 - another process
            await anyio.sleep(0.1)
        assert {*await found.codes(MANY)} == {""}


async def test_clients_of_it_are_told_and_others_hear_of_changes(
    tmp_path: Path, silence: Mount | Pipe
) -> None:
    async with scene(tmp_path, silence) as found:
        env = {name: found.daemon.environ[name] for name in ("HOME", "XDG_RUNTIME_DIR")}
        relay = ["-c", RELAY, "mcp", "--project", str(found.project)]
        stream = found.client.stream
        headers = {"Preread-Namespace": str(found.project)}
        async with (
            connect(found.project, env=env, program=relay) as old,
            stream("GET", "/stream", headers=headers) as events,
        ):
            assert not (await old.call_tool("context_operation", SHOW)).is_error
            assert events.status_code == 200
            silence.begin()
            told = await old.call_tool("context_operation", EVIDENCE)
            assert told.is_error
            assert told.content[0].text.startswith("E_READ: The file system of")
            async with connect(found.project, env=env, program=relay) as new:
                assert (await new.call_tool("load_context", {"feature": "cart"})).is_error
                assert "load_context" in {one.name for one in (await new.list_tools()).tools}
            headers = {"Preread-Namespace": str(found.other)}
            async with stream("GET", "/stream", headers=headers) as others:
                await hear_of_change(found.other / "cart.py", others)


async def hear_of_change(path: Path, events: httpx2.Response) -> None:
    """Change a cited line until a stream says so."""
    async with anyio.create_task_group() as tasks:

        async def change() -> None:
            for value in count(11):
                path.write_text(CODE.format(value))  # noqa: ASYNC240 - a local file
                await anyio.sleep(1)

        tasks.start_soon(change)
        async for line in events.aiter_lines():
            if line == "event: dossier":
                tasks.cancel_scope.cancel()
                return


async def test_the_daemon_ends_while_threads_hang(tmp_path: Path, silence: Mount | Pipe) -> None:
    async with scene(tmp_path, silence) as found:
        silence.begin()
        assert {*await found.codes(len(CALLS))} == {"E_READ"}
        process = psutil.Process(found.daemon.pid)
        done = await anyio.to_thread.run_sync(found.daemon.cli, "serve", "stop")
        assert done.status == 0, done.err
        while process.status() != psutil.STATUS_ZOMBIE:  # noqa: ASYNC110 - another process
            await anyio.sleep(0.02)


async def test_folders_that_nobody_knows_use_up_a_bounded_number_of_threads(
    tmp_path: Path, silence: Mount | Pipe
) -> None:
    if isinstance(silence, Pipe):
        pytest.skip("looking for a root opens nothing")
    async with scene(tmp_path, silence) as found:
        before, silent = found.threads(), []
        silence.begin()

        async def call(number: int) -> None:
            headers = {"Preread-Namespace": f"{found.project}/{number}"}
            more = {"over": "socket", **headers}
            done = await anyio.to_thread.run_sync(
                partial(found.daemon.operation, SHOW, **more), limiter=limiter
            )
            silent.append(done["error"]["code"])

        limiter = anyio.CapacityLimiter(2 * MAX_LOOKUPS)
        async with anyio.create_task_group() as tasks:
            for number in range(2 * MAX_LOOKUPS):
                tasks.start_soon(call, number)
        assert {*silent} == {"E_READ"}
        assert found.threads() <= before + MAX_LOOKUPS
        await found.rest_works()
