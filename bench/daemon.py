"""The daemon under load: latency, throughput, memory, hostile requests, kills.

    python bench/daemon.py [calls] [--kills N] [--hostile N]

Prints one line per number. Runs a daemon in a temporary home, on a copy of the example shop. Times
are wall clock; beside each is the processor time of the daemon, which a busy machine changes less.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "server")]

from preread.client import Client  # noqa: E402
from preread.daemon import places, service  # noqa: E402

SHOW = {"method": "context.show", "params": {"feature": "checkout"}}
LOAD = {"method": "context.load", "params": {"feature": "checkout"}}
STATUS = {"method": "context.status"}
CLIENTS = 50


def environ(home: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREREAD_", "XDG_", "CLAUDE"))}
    return kept | {"HOME": str(home), "XDG_RUNTIME_DIR": str(home), "PREREAD_CLAUDE": "off"}


def run(env: Mapping[str, str], *arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "preread", *arguments], env=dict(env), cwd=cwd, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout.strip()


@contextmanager
def daemon(env: Mapping[str, str]) -> Iterator[psutil.Process]:
    """A running daemon; it is killed at the end if it has not ended by itself."""
    program = [sys.executable, "-m", "preread", "serve", "--port", "0"]
    process = subprocess.Popen(program, env=dict(env), cwd="/", stderr=subprocess.DEVNULL)
    try:
        while not ((found := service.status(env)) and found.answers):
            if process.poll() is not None:
                raise RuntimeError("the daemon did not start")
            time.sleep(0.05)
        yield psutil.Process(process.pid)
    finally:
        process.kill()
        process.wait()


def shop(folder: Path) -> Path:
    import shutil

    ignored = shutil.ignore_patterns(".cache", ".state", "context", "node_modules")
    root = Path(shutil.copytree(ROOT / "examples" / "shop", folder, ignore=ignored))
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "All"]):
        subprocess.run([*git, *arguments], cwd=root, check=True)
    return root


def request(path: str, body: bytes, root: Path) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nPreread-Namespace: {root}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def answered(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = int(head.partition("content-length: ")[2].split("\r\n")[0] or 0)
    return int(head.split()[1]), await reader.readexactly(length)


async def load(
    env: Mapping[str, str], root: Path, state: Any, calls: int
) -> tuple[list[float], int]:
    """Seconds of each call by CLIENTS clients on the Unix socket, and how many failed."""
    data, times, failed = request("/operation", json.dumps(state).encode(), root), [], 0

    async def client() -> None:
        nonlocal failed
        reader, writer = await asyncio.open_unix_connection(places.http_socket(env))
        for _ in range(calls // CLIENTS):
            begun = time.perf_counter()
            writer.write(data)
            status, body = await answered(reader)
            times.append(time.perf_counter() - begun)
            failed += status != 200 or b'"error": {' in body
        writer.close()

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return times, failed


def measure(
    name: str, env: Mapping[str, str], process: psutil.Process, root: Path, state: Any, calls: int
) -> None:
    asyncio.run(load(env, root, state, CLIENTS * 4))
    before, begun = process.cpu_times(), time.perf_counter()
    memory, descriptors = process.memory_info().rss, process.num_fds()
    times, failed = asyncio.run(load(env, root, state, calls))
    wall, after = time.perf_counter() - begun, process.cpu_times()
    cpu = after.user + after.system - before.user - before.system
    grown = (process.memory_info().rss - memory) / 2**20
    times.sort()
    print(
        f"{name}: {len(times)} calls by {CLIENTS} clients, {len(times) / wall:.0f}/s, "
        f"{len(times) / cpu:.0f} per second of its processor, median {statistics.median(times) * 1000:.1f} ms, "
        f"99th {times[int(len(times) * 0.99)] * 1000:.1f} ms, {failed} failed, "
        f"memory {grown:+.1f} MB, descriptors {process.num_fds() - descriptors:+d}"
    )


def relay(env: Mapping[str, str], root: Path, runs: int = 7) -> None:
    """The start of `preread mcp`, by itself and before the daemon: first answer, processor, memory."""
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}  # fmt: skip
    for name, more in (("relay", ()), ("alone", ("--alone",))):
        seconds, cpus, memory = [], [], 0
        for _ in range(runs):
            begun = time.perf_counter()
            program = [sys.executable, "-m", "preread", "mcp", *more]
            with subprocess.Popen(
                program, env=dict(env), cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            ) as process:
                assert process.stdin
                assert process.stdout
                process.stdin.write(json.dumps(hello).encode() + b"\n")
                process.stdin.flush()
                assert b'"result"' in process.stdout.readline()
                seconds.append(time.perf_counter() - begun)
                found = psutil.Process(process.pid)
                cpus.append(sum(found.cpu_times()[:2]))
                memory = max(memory, found.memory_info().rss)
                process.stdin.close()
        print(
            f"preread mcp, {name}: to the initialize reply {min(seconds) * 1000:.0f} ms at best, "
            f"{statistics.median(seconds) * 1000:.0f} ms median, own processor time {min(cpus) * 1000:.0f} ms, "
            f"{memory / 2**20:.1f} MB"
        )


def hostile(
    env: Mapping[str, str], root: Path, token: str, process: psutil.Process, count: int
) -> None:
    """Mutated requests on every interface. Counts answers of the 500s, leaks, and deaths."""
    from _daemon import Daemon

    found = service.status(env)
    assert found is not None
    running = Daemon(dict(env), process.pid, found.port)
    secret, generator = "zebra-of-the-other-project", random.Random(1)
    other = shop(root.parent / "other")
    run(env, "remember", f"the {secret} is striped", cwd=other)
    paths = ["/", "/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//operation", "/operation/..", "/%00", "/stream?namespace=/",
             f"/stream?namespace={other}", "/rpc?x=" + "a" * 9000, "/mcp/..%2f..", "/login?code=1", "/health/../operation"]  # fmt: skip
    names = [
        str(other),
        f"{root}/../other",
        "other",
        "..",
        "/",
        "/proc/self",
        "\x80",
        "~",
        f"{other}/.",
        "",
    ]
    bodies = [b"", b"{", b"[]", b"null", b"[" * 50_000, b'{"method":' + b'"a"' * 3 + b"}", b"\xff" * 99,
              json.dumps({"method": "recall", "params": {"topic": secret}}).encode(),
              json.dumps({"batch": [{"method": "recall", "params": {"topic": "zebra"}, "options": {"namespace": str(other)}}]}).encode(),
              json.dumps({"method": "context.show", "params": {"feature": "../../other"}}).encode(),
              b'{"method": "context.status", "then": ' * 40 + b"1" + b"}" * 40,
              b'{"jsonrpc":"2.0","id":1e999,"method":"ops"}', b'{"method":"ops","metadata":{"x":1e400}}', b"9" * 5000]  # fmt: skip
    for face, route in (
        ("operation", "/operation"),
        ("rpc", "/rpc"),
        ("mcp", "/mcp"),
        ("any path", ""),
    ):
        statuses: dict[int, int] = {}
        leaks = 0
        for _ in range(count):
            headers = {"Preread_Namespace": generator.choice(names), "Content_Type": generator.choice(["application/json", "x", ""]),
                       "Accept": generator.choice(["*/*", "application/json, text/event-stream"]),
                       "Mcp_Session_Id": generator.choice(["x", "../", "\x7f"])}  # fmt: skip
            if generator.random() < 0.2:
                headers["Host"] = generator.choice(["evil.example", "127.0.0.1", ""])
            path = route or generator.choice(paths)
            if "stream" in path:
                continue
            body = bytearray(generator.choice(bodies))
            if body and generator.random() < 0.3:
                body[generator.randrange(len(body))] = generator.randrange(256)
            with suppress(ValueError, UnicodeError):  # http.client refuses to send some of it
                answer = running.ask(
                    generator.choice(["POST", "GET", "DELETE", "TRACE", "PUT"]),
                    path,
                    bytes(body),
                    token,
                    **headers,
                )
                statuses[answer.status] = statuses.get(answer.status, 0) + 1
                leaks += f"the {secret} is striped".encode() in answer.body
        crashes = sum(n for status, n in statuses.items() if status >= 500)
        print(
            f"hostile, {face}: {sum(statuses.values())} requests, {crashes} answered 5xx, {leaks} leaks, {dict(sorted(statuses.items()))}"
        )
    raw = [
        b"\x00" * 100,
        b"GET\r\n\r\n",
        b"GET / HTTP/9\r\n\r\n",
        b"POST /rpc HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"A: b\r\n" * 99,
    ]
    for _ in range(count):
        with (
            suppress(OSError),
            socket.create_connection(("127.0.0.1", found.port), timeout=5) as connection,
        ):
            connection.sendall(
                generator.choice(raw) + generator.randbytes(generator.randrange(200)) + b"\r\n\r\n"
            )
            connection.recv(1000)
    with suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.connect(places.lines_socket(env))
        connection.sendall(b"\xff" * 10_000)
        connection.recv(10)
    print(
        f"hostile, raw bytes: {count} connections; it {'runs' if running.ask('GET', '/health').status == 200 else 'DIED'}"
    )


def kills(env: Mapping[str, str], root: Path, count: int) -> None:
    """Kill the daemon at random instants while clients remember and load; count what is lost."""
    generator, kept, torn = random.Random(2), [], 0
    for number in range(count):
        with daemon(env) as process:
            end = time.monotonic() + generator.uniform(0.05, 1.5)
            load_again = {"feature": "cart", "level": "light", "force": True}
            client = subprocess.Popen(
                [sys.executable, __file__, "--client", str(root), str(number)], env=dict(env), stdout=subprocess.PIPE, text=True
            )  # fmt: skip
            with suppress(Exception), Client.over_socket(root, environ=env) as preread:
                while time.monotonic() < end:
                    preread.send(
                        {"method": "load", "params": load_again, "options": {"timeout_ms": 200}}
                    )
            os.kill(process.pid, signal.SIGKILL)
            kept += client.communicate(timeout=60)[0].split()
        torn += (
            json.loads(run(env, "check", "cart", "--json", cwd=root)).get("ok") is not True
            if (root / ".project/context/cart").is_dir()
            else 0
        )
    text = "".join(path.read_text() for path in (root / ".project").glob("**/knowledge.md"))
    lost = [word for word in kept if word not in text]
    print(
        f"kills: {count}, {len(kept)} facts were confirmed, {len(lost)} lost, {torn} torn dossiers"
    )


def client(root: str, number: str) -> None:
    """Remembers facts until the daemon is gone; prints each that was confirmed."""
    with suppress(Exception), Client.over_socket(root) as preread:
        for count in range(10_000):
            word = f"marker-{number}-{count}"
            preread.memory.remember(f"fact {word} of the benchmark")
            print(word, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("calls", type=int, nargs="?", default=5000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--hostile", type=int, default=200)
    parser.add_argument("--client", nargs=2)
    given = parser.parse_args()
    if given.client:
        client(*given.client)
        return
    with tempfile.TemporaryDirectory(prefix="daemon-bench-") as folder:
        env, root = environ(Path(folder) / "h"), shop(Path(folder) / "shop")
        Path(env["HOME"]).mkdir()
        run(env, "load", "checkout", cwd=root)
        run(env, "serve", "allow", ".", cwd=root)
        token = run(env, "token", "new", "--scope", "read", "--namespace", ".", cwd=root)
        with daemon(env) as process:
            relay(env, root)
            for name, state in (
                ("context.load, cached", LOAD),
                ("context.show", SHOW),
                ("context.status", STATUS),
            ):
                measure(name, env, process, root, state, given.calls)
            hostile(env, root, token, process, given.hostile)
        kills(env, root, given.kills)


if __name__ == "__main__":
    main()
