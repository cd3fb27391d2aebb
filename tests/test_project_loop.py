"""The thread of a project: it starts, ends when it is idle, and starts again."""

import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
import httpx2
import psutil
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from _daemon import daemon
from conftest import ROOT
from preread.builds.jobs import Jobs
from preread.daemon import paths, project_loop
from preread.daemon.background import Background
from preread.daemon.lookups import Lookups
from preread.daemon.project_loop import ProjectLoop
from preread.errors import PrereadError

pytestmark = pytest.mark.anyio
BOUND = 100.0  # seconds; the machine may be busy
PROJECTS = 40
PROGRAM = """
import resource
from preread.daemon import project_loop
from preread.mcp import http
project_loop.IDLE_SECONDS, http.IDLE_SECONDS, http.TICK = 2.0, 1.0, 0.1
resource.setrlimit(resource.RLIMIT_NOFILE, (80, 4096))
from preread.__main__ import main
main()
"""
SEARCH = {"method": "knowledge.search", "params": {"query": "cart"}}


@asynccontextmanager
async def loop_of(root: Path) -> AsyncIterator[tuple[ProjectLoop, list[str]]]:
    """A project's loop, and a list to which it adds a word each time it has been idle."""
    idle: list[str] = []
    async with anyio.create_task_group() as tasks:
        loop = ProjectLoop(
            root, Background(tasks), lambda _root, _job: None, lambda: idle.append("idle")
        )
        try:
            with anyio.fail_after(BOUND):
                yield loop, idle
        finally:
            loop.end()
            tasks.cancel_scope.cancel()


async def where(_jobs: Jobs) -> threading.Thread:
    return threading.current_thread()


@contextmanager
def no_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The system has no more threads for projects."""
    start = threading.Thread.start

    def fail(thread: threading.Thread) -> None:
        if thread.name in {"project", "look"}:
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        yield


async def test_it_ends_when_idle_and_the_next_call_starts_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project_loop, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(project_loop, "PAUSE_SECONDS", 0.05)
    async with loop_of(tmp_path) as (loop, idle):
        first = await loop.run(where)
        assert first is not threading.current_thread()

        async def wait(_jobs: Jobs) -> threading.Thread:
            await anyio.sleep(0.5)
            return threading.current_thread()

        assert await loop.run(wait) is first, "a call runs, so it is not idle"
        while first.is_alive():  # noqa: ASYNC110 - threads set no event
            await anyio.sleep(0.01)
        assert idle == ["idle"]
        second = await loop.run(where)
        assert second is not first
        assert second.is_alive()


async def test_without_a_thread_for_it_a_call_says_so_and_a_later_one_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lookups = Lookups()
    async with loop_of(tmp_path) as (loop, _):
        with no_threads(monkeypatch):
            for call in (lambda: loop.run(where), lambda: lookups.run(tmp_path, Path.is_dir)):
                with pytest.raises(PrereadError, match=f"left for {tmp_path}: can't") as error:
                    await call()
                assert error.value.code == "E_READ"
        assert (await loop.run(where)).is_alive()
        assert await lookups.run(tmp_path, Path.is_dir)


SCARCE = """
import contextlib, gc, os, resource
import anyio
from pathlib import Path
from preread.daemon.background import Background
from preread.daemon.project_loop import ProjectLoop

async def run():
    async with anyio.create_task_group() as tasks:
        loop = ProjectLoop(Path("."), Background(tasks), print)
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        taken = []
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open(".", os.O_RDONLY))
        while taken:
            try:
                await loop.run(lambda jobs: anyio.sleep(0))
            except Exception as error:
                print(error)
            else:
                break
            gc.collect()
            os.close(taken.pop())
        loop.end()
        tasks.cancel_scope.cancel()

anyio.run(run)
"""


def test_without_a_descriptor_for_it_calls_say_so_and_nothing_else_is_printed(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCARCE],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "server")},
        capture_output=True,
        text=True,
        timeout=BOUND,
    )
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) >= 3
    assert set(lines) == {lines[0]}
    assert "no thread or file descriptor left for .: too many open files" in lines[0]


async def test_many_projects_are_served_and_what_idle_ones_had_open_is_closed(
    tmp_path: Path,
) -> None:
    """Each needs a loop and watches folders: more than the usual limit of descriptors allows."""
    roots = [tmp_path / f"p{number}" for number in range(PROJECTS)]
    for root in roots:
        (root / ".project").mkdir(parents=True)
    with daemon(tmp_path / "h", "--socket", program=("-c", PROGRAM)) as running:
        process = psutil.Process(running.pid)
        wire = httpx2.AsyncHTTPTransport(uds=paths.http_socket(running.environ))
        async with httpx2.AsyncClient(transport=wire, base_url="http://x", timeout=BOUND) as client:
            assert not (await client.get("/health")).is_error
            before = process.num_fds()
            for root in roots:
                headers = {"preread-namespace": str(root)}
                done = await client.post("/operation", json=SEARCH, headers=headers)
                assert done.json().get("error") is None
            with anyio.fail_after(BOUND):
                # A few wait for the garbage collector.
                while process.num_fds() > before + PROJECTS // 4:  # noqa: ASYNC110 - process
                    await anyio.sleep(0.1)


async def test_an_mcp_endpoint_that_nobody_uses_ends_with_its_projects_thread(
    tmp_path: Path,
) -> None:
    root = tmp_path / "project"
    (root / ".project").mkdir(parents=True)
    with daemon(tmp_path / "h", program=("-c", PROGRAM)) as running, anyio.fail_after(BOUND):
        running.allow(root)
        headers = {"authorization": f"Bearer {running.token()}"}
        before = psutil.Process(running.pid).num_threads()
        for era in ("legacy", "2026-07-28"):
            async with httpx2.AsyncClient(headers=headers, timeout=BOUND) as wire:
                transport = streamable_http_client(f"{running.url}/mcp", http_client=wire)
                async with Client(transport, mode=era) as client:
                    done = await client.call_tool("context_operation", SEARCH)
                    assert not done.is_error
                    assert psutil.Process(running.pid).num_threads() > before
            while psutil.Process(running.pid).num_threads() > before:  # noqa: ASYNC110 - process
                await anyio.sleep(0.1)
