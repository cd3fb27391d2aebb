"""What builds with a child leave behind when they are cut at random instants: processes, files,
locks, memory.

    PYTHONPATH=server python bench/headless_cuts.py [--cuts 200] [--seed N]

Each way of cutting meets builds by a program in Claude Code's place, which is quick. Of its runs
some are done in time, some work until they are asked to end, and some ignore signals and have
relatives in sessions of their own. A few cuts meet the real program with a scripted model, where
tests have it installed (or PREREAD_TEST_CLAUDE names it).
"""

import argparse
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "server")]

from filelock import FileLock, Timeout  # noqa: E402

from _claude import claude_environ, installed  # noqa: E402
from _fake_claude import STUBBORN, WORKING, FakeClaude  # noqa: E402
from _headless import PATTERNS, output  # noqa: E402
from _messages_api import MessagesAPI, Request, Turn, tool  # noqa: E402
from _processes import processes_in, small  # noqa: E402
from conftest import child_environ  # noqa: E402
from preread.layout import Layout  # noqa: E402

PATIENCE = 10.0  # seconds within which the most stubborn must be gone
SOME = f"""
chance = os.urandom(1)[0]
if chance < 8:
{STUBBORN}
elif chance < 128:
{WORKING}
else:
    begin()
    for name in ("patterns.md", "codebase.md", "existing-tests.md", "summary.md"):
        time.sleep(0.05)
        write(name)
    result()
    sys.stdin.read()
"""
LOAD = {"feature": "login", "level": "standard", "force": True}


class Place:
    """A project, a folder for private files, and who builds there."""

    def __init__(self, folder: Path, env: dict[str, str], fake: FakeClaude | None = None) -> None:
        self.project, self.fake = small(folder / "project"), fake
        self.layout, self.ended = Layout(self.project), 0
        self.private = folder / "private"
        self.private.mkdir()
        self.env = {**env, "TMPDIR": str(self.private), "PREREAD_TIMEOUT": "30"}

    def start(self, *arguments: str, **options: object) -> "subprocess.Popen[bytes]":
        argv = [sys.executable, "-m", "preread", *arguments]
        return subprocess.Popen(argv, cwd=self.project, env=child_environ(self.env), **options)

    def programs(self) -> list[int]:
        """The programs that run, and their relatives."""
        if self.fake:
            self.ended += self.fake.forget()
            return list(self.fake.left())
        return [
            p.pid
            for p in psutil.process_iter(["cmdline"])
            if "--max-budget-usd" in (p.info["cmdline"] or ())
        ]

    def processes(self) -> list[str]:
        """What runs here: programs, their relatives, supervisors (which stand in `/`)."""
        found = [f"program {pid}" for pid in self.programs()] + processes_in(self.project)
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                line = process.cmdline()
                if (
                    any(str(self.private) in word for word in line)
                    and process.status() != psutil.STATUS_ZOMBIE
                ):
                    found.append(" ".join(line)[:100])
        return found

    def files(self) -> list[str]:
        """Staging folders, hints, half-written files, private files, held locks."""
        cache = self.layout.cache
        found = [
            *cache.glob("staging/*"),
            *cache.glob("building/*"),
            *self.private.glob("preread-*"),
        ]
        names = [str(path) for path in found]
        names += [
            name
            for *_, files in os.walk(self.layout.project)
            for name in files
            if name.endswith(".part")
        ]
        for path in cache.glob("locks/*.lock"):
            try:
                with FileLock(path, timeout=0):
                    pass
            except Timeout:
                names.append(f"held: {path}")
        return names


def until(holds: Callable[[], object], seconds: float = PATIENCE) -> float | None:
    """Seconds until something held; None for never."""
    begun = time.monotonic()
    while not holds():
        if time.monotonic() - begun > seconds:
            return None
        time.sleep(0.01)
    return time.monotonic() - begun


class Clock:
    """Random instants: half of them anywhere in a build, half of them while its program runs."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def wait(self, place: Place, is_over: Callable[[], object], seconds: float) -> bool:
        """Wait until such an instant, or the build's end; whether its program runs then."""
        if self._chance.random() < 0.5:
            until(is_over, self._chance.uniform(0, seconds))
        else:
            until(lambda: is_over() or place.programs(), PATIENCE)
            until(is_over, self._chance.uniform(0, 0.4))
        return bool(place.programs())


class Server:
    """A real server and one client, line by line."""

    def __init__(self, place: Place) -> None:
        self.process = place.start(
            "mcp", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._numbers = itertools.count(1)
        self.answered: set[int] = set()
        threading.Thread(target=self._read, daemon=True).start()
        client = {"name": "claude-code", "version": "1"}
        begun = self.send(
            "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client
        )
        assert until(lambda: begun in self.answered) is not None
        self._write({"method": "notifications/initialized"})

    def _read(self) -> None:
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" not in message:
                self.answered.add(message["id"])

    def _write(self, message: dict[str, object]) -> None:
        with suppress(OSError):
            self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self.process.stdin.flush()

    def send(self, method: str, **params: object) -> int:
        number = next(self._numbers)
        self._write({"id": number, "method": method, "params": params})
        return number

    def load(self) -> int:
        return self.send("tools/call", name="load_context", arguments=LOAD)

    def cancel(self, number: int) -> None:
        self._write({"method": "notifications/cancelled", "params": {"requestId": number}})

    def ended(self, number: int) -> Callable[[], bool]:
        return lambda: number in self.answered

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(PATIENCE)


def kill_one(process: "subprocess.Popen[bytes]", *, supervisor: bool) -> None:
    """SIGKILL to the supervisor of a build of this process, or to the program under it, if they
    are there.
    """
    with suppress(psutil.Error):
        for found in psutil.Process(process.pid).children():
            if any(word.endswith("supervisor.py") for word in found.cmdline()):
                for victim in [found] if supervisor else found.children():
                    victim.kill()


class Tally:
    """What was seen of one way of cutting."""

    def __init__(self) -> None:
        self.cuts, self.running, self.left, self.slowest = 0, 0, 0, 0.0

    def add(self, running: bool, took: float | None) -> None:
        """One cut: whether a program ran then, and the seconds until nothing was left; None for
        never.
        """
        self.cuts += 1
        self.running += running
        self.left += took is None
        self.slowest = max(self.slowest, took or 0.0)

    def row(self, way: str, files: list[str]) -> str:
        return f"| {way} | {self.cuts} | {self.running} | {self.slowest:.1f} | {self.left} | {len(files)} |"


def of_commands(place: Place, number: int, cuts: int, clock: Clock) -> Tally:
    tally = Tally()
    for _ in range(cuts):
        process = place.start(
            "load", "login", "--level", "standard", "--force", stdout=-3, stderr=-3
        )
        running = clock.wait(place, lambda process=process: process.poll() is not None, 2.0)
        process.send_signal(number)
        tally.add(
            running,
            until(lambda process=process: process.poll() is not None and not place.processes()),
        )
    return tally


def of_servers(place: Place, end: Callable[[Server], object], cuts: int, clock: Clock) -> Tally:
    tally = Tally()
    for _ in range(cuts):
        server = Server(place)
        running = clock.wait(place, server.ended(server.load()), 1.5)
        end(server)
        tally.add(
            running,
            until(
                lambda server=server: server.process.poll() is not None and not place.processes()
            ),
        )
    return tally


def of_one_server(
    server: Server,
    end: Callable[[int], object],
    place: Place,
    cuts: int,
    clock: Clock,
    *,
    answered: bool = True,
) -> Tally:
    """Builds of one server that goes on; also those whose program or supervisor is killed have to
    end.
    """
    tally = Tally()
    for _ in range(cuts):
        number = server.load()
        is_over = server.ended(number)
        running = clock.wait(place, is_over, 1.0)
        end(number)
        is_over = is_over if answered else lambda: True
        tally.add(
            running,
            until(
                lambda is_over=is_over: is_over() and not place.programs() and not place.files(), 40
            ),
        )
    return tally


def state(server: Server) -> tuple[float, int, int]:
    """Memory in MiB, open files, threads."""
    process = psutil.Process(server.process.pid)
    return process.memory_info().rss / 2**20, process.num_fds(), process.num_threads()


def next_start(place: Place) -> list[str]:
    """What is left when the next server has started."""
    server = Server(place)
    until(lambda: not place.files())
    server.close()
    return place.files()


@contextmanager
def real(folder: Path) -> Iterator[Place | None]:
    """A place where the real program works without end; none where it is not installed."""
    program = installed()
    if program is None:
        yield None
        return

    def script(request: Request) -> Turn:
        write = tool("Write", file_path=str(output(request) / "patterns.md"), content=PATTERNS)
        return Turn([write if request.turn == 0 else tool("Read", file_path="login.py")], pause=0.2)

    (folder / "home").mkdir(parents=True)
    with MessagesAPI() as api:
        api.play(script)
        yield Place(
            folder, {**claude_environ(api, folder / "home"), "PREREAD_CLAUDE": str(program)}
        )


def close(server: Server) -> None:
    server.process.stdin.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--cuts", type=int, default=200, help="of one server's builds; half as many of commands"
    )
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    clock, cuts = Clock(given.seed), given.cuts
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        fake = FakeClaude(folder / "fake", SOME)
        place = Place(folder, {"PREREAD_CLAUDE": str(fake.path)}, fake)
        print(
            "| cut by | cuts | of these with a running program | slowest end, s | not ended | "
            "files left |"
        )
        print("| --- | --- | --- | --- | --- | --- |")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            tally = of_commands(place, number, cuts // 6, clock)
            print(tally.row(f"{number.name} to `preread load`", next_start(place)), flush=True)
        ends = [
            (number.name, lambda s, n=number: s.process.send_signal(n))
            for number in (signal.SIGTERM, signal.SIGKILL)
        ]
        for word, end in [*ends, ("end of input", close)]:
            tally = of_servers(place, end, cuts // 10, clock)
            print(tally.row(f"{word} to `preread mcp`", next_start(place)), flush=True)
        server = Server(place)
        ways = {
            "cancellation": server.cancel,
            "SIGKILL to the program": lambda _: kill_one(server.process, supervisor=False),
            "SIGKILL to its supervisor": lambda _: kill_one(server.process, supervisor=True),
        }
        of_one_server(
            server, server.cancel, place, cuts // 10, clock, answered=False
        )  # it warms up
        grown = [state(server)]
        for word, end in ways.items():
            is_cancelled = word == "cancellation"
            number = cuts if is_cancelled else cuts // 10
            tally = of_one_server(server, end, place, number, clock, answered=not is_cancelled)
            print(tally.row(f"{word}, one server", place.files()), flush=True)
            grown.append(state(server))
        server.close()
        with real(folder / "real") as true:
            if true is not None:
                tally = of_servers(true, lambda s: s.process.kill(), max(3, cuts // 40), clock)
                print(
                    tally.row("SIGKILL to `preread mcp`, real program", next_start(true)),
                    flush=True,
                )
                tally = of_commands(true, signal.SIGINT, max(3, cuts // 40), clock)
                print(
                    tally.row("SIGINT to `preread load`, real program", next_start(true)),
                    flush=True,
                )
        print("\nThe one server, after a warm-up and after each of its three rows:")
        for memory, files, threads in grown:
            print(f"{memory:.1f} MiB, {files} open files, {threads} threads")
        lines = (place.layout.spending).read_text().splitlines()
        print(f"{place.ended} processes of programs in all; {len(lines)} lines in the ledger")


if __name__ == "__main__":
    main()
