"""The daemon under load: the relay, 50 clients on its socket, memory and descriptors.

    python bench/daemon.py [--calls 20000] [--json FILE]

Prints one row per number, with its goal. Runs a daemon in a temporary home, on a copy of the example
shop. The floor of each number is measured in the same run: a tool, and a route, that do nothing.
Processor time is the daemon's; a busy machine changes it less than times of the clock.
"""

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "server"))

from preread.daemon import paths, service  # noqa: E402

CLIENTS = 50
PACE = 4.0  # calls a second of each client, where clients do not ask as fast as they can
SHOW = {"method": "context.show", "params": {"feature": "checkout"}}
LOAD = {"method": "context.load", "params": {"feature": "checkout"}}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}  # fmt: skip


@dataclass
class Row:
    """One number: what it is, its floor in the same run, and what it should be at most or least."""

    what: str
    value: float
    unit: str
    floor: float | None = None
    most: float | None = None
    least: float | None = None

    @property
    def is_met(self) -> bool:
        most = self.most is None or self.value <= self.most
        return most and (self.least is None or self.value >= self.least)

    def __str__(self) -> str:
        goal = f"≤ {self.most:g}" if self.most is not None else ""
        goal = f"≥ {self.least:g}" if self.least is not None else goal
        floor = "" if self.floor is None else f"{self.floor:.1f}"
        said = "" if not goal else "yes" if self.is_met else "NO"
        return f"{self.what:<62}{self.value:>10.1f} {self.unit:<10}{floor:>8}  {goal:<8}{said}"


def environ(home: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREREAD_", "XDG_", "CLAUDE"))}
    own = {"HOME": str(home), "XDG_RUNTIME_DIR": str(home), "PREREAD_CLAUDE": "off"}
    return kept | own | {"PYTHONPATH": str(ROOT / "server")}


def run(env: Mapping[str, str], *arguments: str, cwd: Path) -> str:
    program = [sys.executable, "-m", "preread", *arguments]
    done = subprocess.run(program, env=env, cwd=cwd, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def shop(folder: Path) -> Path:
    """A copy of the example shop, in a git repository."""
    ignored = shutil.ignore_patterns(".cache", ".state", "context", "node_modules")
    root = Path(shutil.copytree(ROOT / "examples" / "shop", folder, ignore=ignored))
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "All"]):
        subprocess.run([*git, *arguments], cwd=root, check=True)
    return root


@contextmanager
def daemon(env: Mapping[str, str], *program: str) -> Iterator[psutil.Process]:
    """A running daemon, this file's or `program`; it is killed at the end."""
    whole = [sys.executable, *(program or (__file__, "--serve"))]
    process = subprocess.Popen(whole, env=env, cwd="/", stderr=subprocess.DEVNULL)
    try:
        while not ((found := service.status(env)) and found.answers):
            if process.poll() is not None:
                raise RuntimeError("the daemon did not start")
            time.sleep(0.05)
        yield psutil.Process(process.pid)
    finally:
        process.kill()
        process.wait()


def serve() -> None:
    """The real daemon, with one tool more."""
    from mcp_types import Tool

    from preread.daemon import server
    from preread.daemon.listening import Listen
    from preread.mcp import tools
    from preread.models import Model

    class Nothing(Model):
        pass

    async def nothing(*_: object) -> Nothing:
        return Nothing()

    rows = tools.rows
    row = tools.ToolRow(Tool(name="nothing", input_schema={"type": "object"}), nothing)
    tools.rows = lambda *given, **more: rows(*given, **more) | {"nothing": row}
    server.run(os.environ, Listen(port=0))


# -- the relay


class Relay:
    """`preread mcp` as a client starts it, after the initialize reply."""

    def __init__(self, env: Mapping[str, str], root: Path, *more: str) -> None:
        begun = time.perf_counter()
        program = [sys.executable, "-m", "preread", "mcp", *more]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(program, env=env, cwd=root, **pipes)
        self.ask("initialize", HELLO)
        self.seconds = time.perf_counter() - begun
        found = psutil.Process(self.process.pid)
        self.processor, self.memory = sum(found.cpu_times()[:2]), found.memory_info().rss
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _write(self, message: object) -> None:
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: object) -> Any:
        self._write({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        while "id" not in (answer := json.loads(self.process.stdout.readline())):
            pass  # a notification
        return answer["result"]

    def call(self, name: str, **arguments: object) -> Any:
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def starts(env: Mapping[str, str], root: Path, runs: int = 9) -> Iterator[Row]:
    """The start of `preread mcp`: through the daemon, and by itself."""

    def bare() -> float:
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", ""], check=True)
        return time.perf_counter() - begun

    found, floors = [], []
    for _ in range(runs):
        relay = Relay(env, root)
        relay.end()
        found.append(relay)
        floors.append(bare())
    floor = statistics.median(floors) * 1000
    seconds = [relay.seconds * 1000 for relay in found]
    yield Row("relay: spawn to the initialize reply, median", statistics.median(seconds), "ms", floor, 60)  # fmt: skip
    yield Row("relay: the same, least", min(seconds), "ms", min(floors) * 1000, 60)
    yield Row("relay: its processor time", min(one.processor for one in found) * 1000, "ms")
    yield Row("relay: memory", max(one.memory for one in found) / 2**20, "MB", most=12)


def relayed(env: Mapping[str, str], root: Path, calls: int = 400) -> Iterator[Row]:
    """A cached `load_context` over the relay, against a tool that does nothing."""
    relay = Relay(env, root)
    taken: dict[str, list[float]] = {"nothing": [], "load_context": []}
    time.sleep(2.5)  # a server trusts nothing that has changed just now
    for number in range(calls + 20):  # by turns, so that a busy moment meets both
        for name, times in taken.items():
            begun = time.perf_counter()
            reply = relay.call(name, **({"feature": "checkout"} if name == "load_context" else {}))
            if number >= 20:
                times.append((time.perf_counter() - begun) * 1000)
    assert reply["structuredContent"]["state"] == "cached", reply
    relay.end()
    nothing, loaded = (statistics.median(times) for times in taken.values())
    yield Row("relay: cached load_context, median", loaded, "ms", nothing)
    yield Row("relay: the same, in times of the tool that does nothing", loaded / nothing, "×", 1, 1.3)  # fmt: skip


# -- many clients


def request(root: Path, state: object | None) -> bytes:
    """A request of an operation; without a state, of the route that does nothing."""
    if state is None:
        return b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    body = json.dumps(state)
    head = f"POST /operation HTTP/1.1\r\nHost: x\r\nPreread-Namespace: {root}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


async def asked(env: Mapping[str, str], data: bytes, calls: int, pace: float = 0) -> list[float]:
    """Milliseconds of each call by all clients; a failed one is infinite.

    With a pace, each client begins that many calls a second, spread evenly among the clients.
    """
    times: list[float] = []

    async def client(number: int) -> None:
        reader, writer = await asyncio.open_unix_connection(paths.http_socket(env))
        due = time.perf_counter() + (number / CLIENTS / pace if pace else 0)
        for _ in range(calls // CLIENTS):
            if pace:
                await asyncio.sleep(due - time.perf_counter())
                due += 1 / pace
            begun = time.perf_counter()
            writer.write(data)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            body = await reader.readexactly(int(head.partition(b"content-length: ")[2].split()[0]))
            is_fine = b" 200 " in head[:20] and b'"error": {' not in body
            times.append((time.perf_counter() - begun) * 1000 if is_fine else float("inf"))
        writer.close()

    await asyncio.gather(*map(client, range(CLIENTS)))
    return sorted(times)


def descriptors_of(process: psutil.Process) -> int:
    """The daemon's descriptors, once it has closed the connections whose clients are gone."""
    until = time.perf_counter() + 10  # what is open then is a leak, and is counted
    found = process.num_fds()
    while time.perf_counter() < until:
        time.sleep(0.5)
        before, found = found, process.num_fds()
        if before == found:
            break
    return found


def loaded(
    env: Mapping[str, str], root: Path, process: psutil.Process, calls: int
) -> Iterator[Row]:
    """As fast as they can, and at a pace; then memory and descriptors after all of it."""
    kinds = {"a route that does nothing": None, "context.load, cached": LOAD, "context.show": SHOW}
    for state in kinds.values():
        asyncio.run(asked(env, request(root, state), 1000))
    memory, descriptors = process.memory_info().rss, descriptors_of(process)
    floor: dict[str, float] = {}
    for name, state in kinds.items():
        data, made = request(root, state), 2000 if state is None else calls // 2
        before, begun = sum(process.cpu_times()[:2]), time.perf_counter()
        times = asyncio.run(asked(env, data, made))
        rate = len(times) / (time.perf_counter() - begun)
        cpu = (sum(process.cpu_times()[:2]) - before) / len(times) * 1e6
        paced = asyncio.run(asked(env, data, 1000, PACE))
        found = {
            "rate": rate, "cpu": cpu, "p99": paced[int(len(paced) * 0.99)],
            "p50": statistics.median(paced),
        }  # fmt: skip
        floor = floor or found
        failed = sum(one == float("inf") for one in times + paced)
        head = f"{CLIENTS} clients, {name}:"
        least = 1000 if state is SHOW else None
        yield Row(f"{head} calls a second", rate, "/s", floor["rate"], least=least)
        yield Row(f"{head} daemon's processor a call", cpu, "µs", floor["cpu"])
        yield Row(f"{head} median at {CLIENTS * PACE:.0f}/s", found["p50"], "ms", floor["p50"])
        yield Row(f"{head} 99th percentile", found["p99"], "ms", floor["p99"], 5 if state else None)
        yield Row(f"{head} failed", failed, "calls", most=0)
    grown = (process.memory_info().rss - memory) / 2**20
    yield Row(f"memory grown in {calls:,} calls", grown, "MB", most=5)
    more = descriptors_of(process) - descriptors
    yield Row(f"descriptors more after {calls:,} calls", more, "", most=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--json", type=Path, help="a file to write the rows to")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve()
    else:
        measure(given.calls, given.json)


def measure(calls: int, file: Path | None) -> None:
    """Print every row, and write them to a file as JSON."""
    rows: list[Row] = []
    print(f"{'':<62}{'':>10} {'':<10}{'floor':>8}  goal")
    with tempfile.TemporaryDirectory(prefix="daemon-bench-") as folder:
        env, root = environ(Path(folder) / "h"), shop(Path(folder) / "shop")
        Path(env["HOME"]).mkdir()
        run(env, "load", "checkout", cwd=root)
        with daemon(env) as process:
            parts = (starts(env, root), relayed(env, root), loaded(env, root, process, calls))
            for row in chain.from_iterable(parts):
                rows.append(row)
                print(row, flush=True)
    if file:
        about = [asdict(row) | {"is_met": row.is_met} for row in rows]
        file.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
