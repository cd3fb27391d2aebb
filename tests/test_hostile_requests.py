"""Two hundred hostile requests to each interface: no crash, and nothing of another namespace."""

import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from _daemon import Daemon, daemon
from _trees import write
from conftest import child_environ, make_repository
from preread.daemon import paths

COUNT = 200
PATIENCE = 0.3  # seconds, before a connection is ended that nothing comes back on
SECRET = "the zebra of the other project is striped"
RECALL = {"method": "recall", "params": {"topic": "zebra"}}
STATUS = {"method": "context.status"}
# In the place of any value of a state.
ODD = (
    None, True, -1, 2**70, 1.5, "", "x" * 70_000, "\x00", "\ud800", "../../other", "/etc/passwd", "~",
    [], [[]], {}, {"": ""}, "\u2066a", "file:///etc/passwd", "'; DROP TABLE facts; --", "${HOME}", "{{7*7}}",
    "-" * 99, "con", "\n\r\n", ["a"] * 500,
)  # fmt: skip
# What no JSON library would write.
RAW = (
    b"", b"{", b"[]", b"null", b'"', b"[" * 50_000, b"\xff\xfe" * 50, b"1" * 5000, b'{"method": NaN}',
    b'{"method":"ops","method":1}', b'{"method":"ops","metadata":{"x":1e999}}', b"\x00" * 100,
    b'{"method":"context.status","then":' * 300 + b"1" + b"}" * 300, b"{}" * 20,
    b'{"jsonrpc":"2.0","id":1e999,"method":"ops"}',
)  # fmt: skip


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with daemon(tmp_path_factory.mktemp("d")) as found:
        yield found


def project(folder: Path, fact: str) -> Path:
    known = f"# Knowledge\n\n## Facts\n- {fact} (said:person@2026-11-01)\n"
    write(folder, {"src/a.py": "def total():\n    return 1\n", ".project/knowledge.md": known})
    make_repository(folder)
    return folder


@pytest.fixture(scope="module")
def root(running: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project that requests are for; beside it is another one, with a secret."""
    folder = tmp_path_factory.mktemp("p")
    for name, fact in (("own", "the zebra here is plain"), ("other", SECRET)):
        running.allow(project(folder / name, fact))
    return folder / "own"


@pytest.fixture(scope="module")
def token(running: Daemon, root: Path) -> str:
    """It may read one project. Anything else would be a leak."""
    wide = running.token("read")
    there = running.operation(RECALL, wide, Preread_Namespace=str(root.parent / "other"))
    assert SECRET in json.dumps(there)
    return running.token("read", "--namespace", str(root))


def bodies(root: Path, *, rpc: bool = False) -> Iterator[bytes]:
    """States that are wrong somewhere: one value or one byte changed, cut, nested, no JSON at all."""
    generator, other = random.Random(23), str(root.parent / "other")
    whole: list[dict[str, Any]] = [
        STATUS, RECALL, {"method": "context.show", "params": {"feature": "checkout"}},
        {"method": "knowledge.query", "params": {"kinds": ["fact"], "limit": 5}},
        {"batch": [RECALL, {**RECALL, "options": {"namespace": other}}], "options": {"timeout_ms": 9}},
        {**RECALL, "options": {"namespace": other, "limit": 3}, "metadata": {"request_id": "a"}},
        {**STATUS, "then": {**RECALL, "params": {"topic": {"$ref": "#/dossiers/0"}}}},
        {"method": "memory.remember", "params": {"content": "x"}, "options": {"dry_run": True}},
    ]  # fmt: skip
    yield from RAW
    for _ in range(COUNT - len(RAW)):
        state: Any = json.loads(json.dumps(generator.choice(whole)))
        if rpc:
            state = {"jsonrpc": "2.0", "id": 1, **state}
        place = state
        while True:
            key = generator.choice([*place, "version", "nosuch"])
            inner = place.get(key)
            if not isinstance(inner, dict) or not inner or generator.random() < 0.3:
                break
            place = inner
        place[key] = generator.choice(ODD)
        data = bytearray(json.dumps([state] if generator.random() < 0.1 else state).encode())
        if generator.random() < 0.2:
            data[generator.randrange(len(data))] = generator.randrange(256)
        yield bytes(data[: generator.randrange(len(data))] if generator.random() < 0.1 else data)


def said(address: tuple[str, int] | str, data: bytes, patience: float = PATIENCE) -> bytes:
    """What comes back for these bytes on a connection of their own."""
    kind = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    found = b""
    with socket.socket(kind) as connection, suppress(ConnectionError):
        connection.settimeout(30)
        connection.connect(address)
        connection.sendall(data)
        if not (patience and select.select([connection], [], [], patience)[0]):  # it waits for more
            connection.shutdown(socket.SHUT_WR)
        while chunk := connection.recv(65536):
            found += chunk
    return found


def check(answers: list[bytes]) -> None:
    """That each is an answer, or a hang-up: no failure of the server's own, and no secret."""
    assert len(answers) >= COUNT
    for answer in answers:
        assert b"striped" not in answer
        assert b"E_INTERNAL" not in answer, answer
        assert not answer.startswith(b"HTTP/1.1 5"), answer
        assert not answer or answer.startswith((b"HTTP/1.1 ", b"{", b"[", b"the "))


def still_right(running: Daemon, token: str) -> None:
    done = running.operation(RECALL, token)
    assert [one["text"] for one in done["result"]["entries"]] == ["the zebra here is plain"]


def request(path: bytes, body: bytes, *headers: bytes, method: bytes = b"POST") -> bytes:
    lines = (method + b" " + path + b" HTTP/1.1", *headers, b"Content-Length: %d" % len(body))
    return b"\r\n".join((*lines, b"Connection: close", b"", body))


def requests(host: bytes, root: Path, *known: bytes) -> Iterator[bytes]:
    """Requests whose path, headers or framing nobody should send; the last ones are whole but odd."""
    generator, other = random.Random(5), str(root.parent / "other").encode()
    targets = (b"/operation", b"/operation/../operation", b"//operation", b"/%2e%2e/etc/passwd", b"/%00", b"/stream%00", b"*", b"\xff",
             b"/static/../../app.py", b"/static/%2e%2e%2f%2e%2e%2fapp.py", b"/dossier/..%2f..%2fother", b"/search?q=" + b"%ff" * 99,
             b"/operation?namespace=" + other, b"/mcp", b"/mcp/" + b"a/" * 500, b"/graph?node=" + b"x" * 3000, b"/cancel/x", b"/code?scope=execute")  # fmt: skip
    odd = (b"Preread-Namespace: " + other, b"Preread-Namespace: " + other + b"/../other", b"Preread-Namespace: other", b"Preread-Namespace: \xff\xfe",
           b"Content-Length: 5", b"Content-Length: -1", b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked", b"Host: evil.example",
           b"Origin: null", b"Cookie: " + b"a=b; " * 900, b"X: " + b"y" * 40_000, b"Bad Header: 1", b": empty", b"Expect: 100-continue",
           b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 9", b"Mcp-Session-Id: ../x",
           b"Authorization: Bearer x", b"Sec-Fetch-Site: cross-site", b"Accept: \x00", b" folded: yes", b"Range: bytes=0-" + b"9" * 99)  # fmt: skip
    methods = (b"POST", b"GET", b"DELETE", b"PUT", b"TRACE", b"CONNECT", b"get", b"", b"A" * 300)
    hosts = (b"Host: " + host, b"Host: " + host, b"Host: evil", b"Host:", b"X-Host: a")
    for body in bodies(root):
        headers = (generator.choice(hosts), *known, *generator.sample(odd, generator.randrange(3)))
        path, method = generator.choice(targets), generator.choice(methods)
        yield request(path, body[:2000], *headers, method=method)
    yield from (
        b"GET\r\n\r\n",
        b"GET / HTTP/9\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"\r\n" * 99,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    )


def test_http(running: Daemon, root: Path, token: str) -> None:
    host, bearer = f"127.0.0.1:{running.port}".encode(), f"Authorization: Bearer {token}".encode()
    address = ("127.0.0.1", running.port)
    answers = [said(address, data) for data in requests(host, root, bearer)]
    own = (b"Host: " + host, bearer)
    answers += [said(address, request(b"/operation", data, *own)) for data in bodies(root)]
    targets = (b"*", b"x", b"?x", b"//metrics", b"/mcp/..;/")
    for target in targets:  # without a token
        answers.append(said(address, request(target, b"", b"Host: " + host, method=b"GET")))
        assert answers[-1][9:12] in {b"401", b"404"}, (target, answers[-1])
    check(answers)
    kinds = Counter(answer[9:12] for answer in answers)
    assert {b"200", b"400", b"404", b"405", b"421"} <= kinds.keys(), kinds
    still_right(running, token)


def test_rpc(running: Daemon, root: Path, token: str) -> None:
    own = (f"Host: 127.0.0.1:{running.port}".encode(), f"Authorization: Bearer {token}".encode())
    given = bodies(root, rpc=True)
    answers = [said(("127.0.0.1", running.port), request(b"/rpc", data, *own)) for data in given]
    check(answers)
    for answer in answers:
        body = answer.partition(b"\r\n\r\n")[2]
        assert not body or json.loads(body)
    still_right(running, token)


def test_the_http_socket(running: Daemon, root: Path, token: str) -> None:
    """Here every project is open to who names it: these requests name none but their own."""
    there = f"Preread-Namespace: {root}".encode()
    path = paths.http_socket(running.environ)
    named = str(root.parent / "other").encode()
    odd = [data for data in requests(b"x", root) if named not in data and b"other" not in data]
    answers = [said(path, data) for data in odd]
    own = [data for data in bodies(root) if named not in data]
    answers += [said(path, request(b"/operation", data, b"Host: x", there)) for data in own]
    answers.append(said(path, b"POST /leave HTTP/1.0\r\nContent-Length: 0\r\n\r\n"))
    assert answers[-1].startswith(b"HTTP/1.1 303"), answers[-1]
    check(answers)
    still_right(running, token)


def test_the_socket_of_relays(running: Daemon, root: Path, token: str) -> None:
    from preread import __version__

    generator, path = random.Random(7), paths.lines_socket(running.environ)
    hellos = (b"", b"\0", __version__.encode(), f"{__version__}\0relative".encode(), b"9\0/\0A=B",
              f"{__version__}\0{root}/nosuch\0A=\xff".encode("latin-1"), f"{__version__}\0{root}\0=\0PATH".encode(),
              f"{__version__}\0/\0HOME=/nosuch".encode(), b"\xff" * 99)  # fmt: skip
    lines = [*bodies(root, rpc=True)]
    answers = []
    for number in range(COUNT):
        hello = generator.choice(hellos)
        size = generator.choice((len(hello), len(hello), len(hello), 0, 2**32 - 1, 3))
        data = struct.pack("!I", size) + hello
        if generator.random() < 0.5:
            hello = f"{__version__}\0{root}\0HOME={running.environ['HOME']}".encode()
            data = (
                struct.pack("!I", len(hello)) + hello + lines[number].replace(b"\n", b" ") + b"\n"
            )
        answers.append(said(path, data, patience=0))
    check([answer.removeprefix(b"ok\n").lstrip(b"\n") for answer in answers])
    assert sum(answer.startswith(b"ok\n") for answer in answers) > 50
    assert sum(answer.startswith(b"the daemon has version") for answer in answers) > 5
    still_right(running, token)


def test_web_sockets(running: Daemon, root: Path, token: str) -> None:
    url = f"ws://127.0.0.1:{running.port}/stream"
    headers, last = {"Authorization": f"Bearer {token}"}, {**STATUS, "metadata": {"id": "last"}}
    answers, served = [], 0

    for data in bodies(root):
        with (
            connect(url, additional_headers=headers, max_size=None) as talking,
            suppress(ConnectionClosed),
        ):
            talking.send(text_of(data))
            talking.send(json.dumps(last))
            while b'"last"' not in (answer := str(talking.recv(30)).encode()):
                answers.append(answer)
            answers.append(answer)
            served += 1
    assert served > COUNT / 2
    frames = (b"\x81\x05hello", b"\x83\x80abcd", b"\xf1\x80abcd", b"\x81\xff" + b"\x7f" * 8 + b"abcd", b"\x89\xfe\x01\x00abcd" + b"x" * 256,
              b"\x01\x81abcdx\x81\x81abcdx", b"\x80\x80abcd", b"\x88\x81abcdx", b"\x88\x82abcd\x62\x63", b"\x81\x84abcd\xff\xff\xff\xff", b"\xc1\x80abcd", os.urandom(300))  # fmt: skip
    host = f"127.0.0.1:{running.port}".encode()
    upgrade = (b"Host: " + host, f"Authorization: Bearer {token}".encode(), b"Upgrade: websocket", b"Connection: Upgrade",
               b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", b"Sec-WebSocket-Version: 13")  # fmt: skip
    head = b"\r\n".join((b"GET /stream HTTP/1.1", *upgrade, b"", b""))
    address = ("127.0.0.1", running.port)
    answers += [said(address, head + frames[n % len(frames)], patience=0) for n in range(60)]
    check(answers)
    still_right(running, token)


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def is_json(data: bytes) -> bool:
    try:
        json.loads(text_of(data))
    except (ValueError, RecursionError):
        return False
    return True


def test_stdio(root: Path) -> None:
    """A server of its own, which serves one project whatever it is asked."""
    call = {"jsonrpc": "2.0", "method": "tools/call"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}  # fmt: skip
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}).encode()
    ]
    lines += [b'{"jsonrpc":"2.0","method":"notifications/initialized"}']
    for number, data in enumerate(bodies(root), 1):
        line = data.replace(b"\n", b" ")
        if number % 2 and is_json(data):
            params = {"name": "context_operation", "arguments": json.loads(text_of(data))}
            line = json.dumps({**call, "id": number, "params": params}).encode()
        lines.append(line)
    last = {**call, "id": "last", "params": {"name": "context_operation", "arguments": RECALL}}
    program = [sys.executable, "-m", "preread", "mcp", "--alone", "--project", str(root)]
    with subprocess.Popen(
        program, env=child_environ({"PREREAD_CLAUDE": "off"}), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        out, err = process.communicate(b"\n".join([*lines, json.dumps(last).encode(), b""]), 60)
    assert process.returncode == 0
    assert b"Traceback" not in err, err
    answers = out.splitlines()
    assert all(json.loads(answer)["jsonrpc"] == "2.0" for answer in answers)
    assert sum(b'"id":"last"' in answer for answer in answers) == 1
    assert b"the zebra here is plain" in out
    assert len(answers) > COUNT / 2
    assert b"striped" not in out
    assert b"E_INTERNAL" not in out
