"""A daemon with TLS and an authorization server: certificate files, metadata, access tokens."""

import ipaddress
import socket
import ssl
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import jwt
import psutil
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata, ProtectedResourceMetadata

import preread.daemon.issuer
from _daemon import Daemon, daemon
from _issuer import AuthorizationServer, serving
from _mcp_process import shop
from conftest import run_cli
from preread.daemon import service
from preread.daemon.issuer import Issuer

pytestmark = pytest.mark.anyio
STATUS = {"method": "context.status"}
DESCRIPTORS = 96
FEW = f"""
import resource
from preread.daemon import protocol
protocol.REQUEST_SECONDS = 2.0
resource.setrlimit(resource.RLIMIT_NOFILE, ({DESCRIPTORS}, {DESCRIPTORS}))
from preread.__main__ import main
main()
"""
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of this machine that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return paths


@pytest.fixture(scope="module")
def issuer() -> Iterator[AuthorizationServer]:
    with serving() as found:
        yield found


@pytest.fixture(scope="module")
def trusting(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, list[str]]:
    """What trusts the daemon's certificate, and the daemon's arguments for it."""
    files = certificate(tmp_path_factory.mktemp("tls"))
    context = ssl.create_default_context(cafile=str(files[0]))
    return context, ["--certificate", str(files[0]), "--key", str(files[1])]


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory, trusting: Any, issuer: AuthorizationServer
) -> Iterator[Daemon]:
    home = tmp_path_factory.mktemp("d")
    with daemon(home, "--http", *trusting[1], "--issuer", issuer.url) as found:
        root = shop(tmp_path_factory.mktemp("p") / "shop")
        found.allow(root)
        yield found


@pytest.fixture
def url(running: Daemon) -> str:
    return f"https://127.0.0.1:{running.port}"


def test_tls_by_certificate_files(running: Daemon, trusting: Any, url: str) -> None:
    assert url in running.cli("serve", "status").out
    status = running.cli("serve", "status", "--json").json
    assert (status["address"], status["answers"]) == (url, True)
    token = running.token("read")
    with httpx2.Client(verify=trusting[0], headers={"authorization": f"Bearer {token}"}) as asking:
        assert asking.post(f"{url}/operation", json=STATUS).json()["result"]["dossiers"] == []
        assert asking.get(f"{url}/", headers={"origin": "http://evil.example"}).status_code == 403
    with httpx2.Client() as stranger, pytest.raises(httpx2.ConnectError, match="self-signed"):
        stranger.get(f"{url}/health")
    assert b" 200 " not in running.raw(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")  # without TLS
    page = service.status(running.environ)
    assert page is not None
    assert page.address == url


def test_over_tls_the_login_of_the_page_is_sent_over_tls_only(
    tmp_path: Path, trusting: Any
) -> None:
    with daemon(tmp_path / "h", *trusting[1]) as found:
        address = service.page_address(found.environ, "read")
        with httpx2.Client(verify=trusting[0]) as asking:
            cookie = asking.get(address).headers["set-cookie"].lower().split("; ")
    assert {"secure", "httponly", "samesite=strict", "path=/"} < {*cookie}


def client_hello() -> bytes:
    """The first message of a TLS handshake."""
    sent = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), sent, server_hostname="x")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


@pytest.mark.skipif(sys.platform != "linux", reason="it counts descriptors in /proc")
def test_handshakes_that_never_end_leave_room_for_others_and_are_ended(
    tmp_path: Path, trusting: Any
) -> None:
    hello = client_hello()
    with daemon(tmp_path / "h", "--http", *trusting[1], program=("-c", FEW)) as found:
        process = psutil.Process(found.pid)
        url = f"https://127.0.0.1:{found.port}/health"

        def answers() -> None:
            with httpx2.Client(verify=trusting[0], timeout=20) as client:
                assert client.get(url).status_code == 200

        answers()
        while process.net_connections("tcp")[1:]:  # besides the listening one
            time.sleep(0.02)
        descriptors, memory = process.num_fds(), []
        for sent in (b"", hello[: len(hello) // 2], hello):
            with ExitStack() as stack:
                half = []
                for _ in range(2 * DESCRIPTORS):
                    one = socket.create_connection(("127.0.0.1", found.port), timeout=60)
                    half.append(stack.enter_context(one))
                    one.sendall(sent)
                answers()
                for one in half:  # they are ended while this end stays open
                    with suppress(ConnectionError):
                        while one.recv(65536):
                            pass
                while process.num_fds() > descriptors:
                    time.sleep(0.02)
                memory.append(process.memory_info().rss)
        assert memory[-1] - memory[0] < 32 * 2**20  # 384 handshakes that are kept have 40 or more
        assert "out of system resource" not in (tmp_path / "h" / "log").read_text()


def test_a_certificate_that_cannot_be_read_and_a_bad_issuer_are_said(tmp_path: Path) -> None:
    for arguments, code in (
        (("--certificate", str(tmp_path / "nosuch.pem")), "No such file"),
        (("--key", str(tmp_path / "nosuch.pem")), "no certificate"),
        (("--certificate", __file__, "--key", __file__), "E_DAEMON"),
        (("--issuer", "http://example.org"), "E_USAGE"),
        (("--issuer", "https://example.org/?x=1"), "E_USAGE"),
    ):
        done = run_cli("serve", "--port", "0", *arguments, cwd=tmp_path)
        assert (done.status != 0, code in done.err) == (True, True), done.err


async def test_a_client_finds_the_issuer_asks_it_for_a_token_and_works_with_it(
    running: Daemon, trusting: Any, url: str, issuer: AuthorizationServer
) -> None:
    class Kept:
        tokens: Any = None
        client: Any = None

        async def get_tokens(self) -> Any:
            return self.tokens

        async def set_tokens(self, tokens: Any) -> None:
            self.tokens = tokens

        async def get_client_info(self) -> Any:
            return self.client

        async def set_client_info(self, client_info: Any) -> None:
            self.client = client_info

    visited: list[str] = []

    async def visit(address: str) -> None:
        async with httpx2.AsyncClient() as browser:
            answer = await browser.get(address, follow_redirects=False)
            visited.append(answer.headers["location"])

    async def come_back() -> AuthorizationCodeResult:
        given = parse_qs(urlsplit(visited[0]).query)
        return AuthorizationCodeResult(code=given["code"][0], state=given["state"][0])

    about = OAuthClientMetadata(redirect_uris=["http://127.0.0.1:1/back"], client_name="a test")
    kept = Kept()
    auth = OAuthClientProvider(f"{url}/mcp", about, kept, visit, come_back)
    async with httpx2.AsyncClient(verify=trusting[0], auth=auth, timeout=30) as wire:
        transport = streamable_http_client(f"{url}/mcp", http_client=wire)
        async with Client(transport) as client:
            done = await client.call_tool("context_operation", STATUS)
            assert done.structured_content["result"]["dossiers"] == []
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "load_context" in names
    [asked] = issuer.asked
    assert (asked.resource, asked.scopes) == (f"{url}/mcp", ["write"])


async def test_who_has_no_token_is_told_where_to_get_one(
    running: Daemon, trusting: Any, url: str, issuer: AuthorizationServer
) -> None:
    types = {"accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(verify=trusting[0], base_url=url, headers=types) as asking:

        async def asked(shown: str, path: str = "/mcp") -> httpx2.Response:
            headers = {"authorization": f"Bearer {shown}"} if shown else {}
            return await asking.post(path, json=PING, headers=headers)

        found = await asking.get("/.well-known/oauth-protected-resource/mcp")
        metadata = ProtectedResourceMetadata.model_validate(found.json())
        assert str(metadata.resource) == f"{url}/mcp"
        assert [str(one) for one in metadata.authorization_servers] == [issuer.url]
        assert metadata.scopes_supported == ["read", "write", "execute"]
        none = await asked("")
        where = f'scope="write", resource_metadata="{found.url}"'
        assert none.status_code == 401
        assert none.headers["www-authenticate"] == f'Bearer realm="preread", {where}'
        assert "metadata" not in (await asked("", "/operation")).headers["www-authenticate"]

        good = issuer.token(f"{url}/mcp", "openid write")
        assert (await asked(good)).status_code not in {401, 403}
        assert (await asked(running.token("read"))).status_code not in {401, 403}
        assert (await asked(good, "/operation")).status_code == 401  # another resource
        bad = await asked(issuer.token(f"{url}/other", "write"))
        assert bad.status_code == 401
        assert bad.headers["www-authenticate"] == f'Bearer error="invalid_token", {where}'
        unscoped = await asked(issuer.token(f"{url}/mcp", "openid"))
        assert unscoped.status_code == 403
        said = unscoped.headers["www-authenticate"]
        assert said == f'Bearer error="insufficient_scope", {where}'


async def test_only_the_issuers_tokens_for_this_resource_are_taken(
    issuer: AuthorizationServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = Issuer(issuer.url)
    audience, now, fetched = "https://here/mcp", int(time.time()), issuer.fetches
    good = issuer.token(audience, "read write")
    claims = jwt.decode(good, options={"verify_signature": False})
    foreign = ec.generate_private_key(ec.SECP256R1())
    bad = {
        "of another audience": issuer.token("https://here/other", "write"),
        "of another issuer": issuer.token(audience, "write", iss="http://evil.example"),
        "expired": issuer.token(audience, "write", exp=now - 3600),
        "for ever": issuer.token(audience, "write", exp=None),
        "for nobody": issuer.token(audience, "write", sub=None),
        "not yet": issuer.token(audience, "write", nbf=now + 3600),
        "signed by another": jwt.encode(claims, foreign, "ES256", {"kid": "one"}),
        "signed by a secret": jwt.encode(claims, "secret" * 8, "HS256", {"kid": "shared"}),
        "of an unknown key": jwt.encode(claims, foreign, "ES256", {"kid": "three"}),
        "not signed": jwt.encode(claims, None, "none", {"kid": "one"}),
        "changed": good[:-8] + "AAAAAAAA",
        "no token": "x.y.z",
    }
    for what, token in bad.items():
        assert await ours.peer(token, "https://here") is None, what
    assert issuer.fetches == fetched + 1  # nobody makes the daemon ask for each bad token
    found = await ours.peer(good, "https://here")
    assert found is not None
    assert found.scope == "write"
    assert not found.has_ended()
    with monkeypatch.context() as later:
        later.setattr(time, "time", lambda: now + 7200)
        assert found.has_ended()  # what was opened with it ends with it
    other = await ours.peer(issuer.token(audience, "read", sub="bob"), "https://here")
    assert other is not None
    assert other.identity.part != found.identity.part

    monkeypatch.setattr(preread.daemon.issuer, "REFETCH_SECONDS", -1.0)
    issuer.keys["two"] = foreign
    new = issuer.token(audience, "execute", "two")
    again = await ours.peer(new, "https://here")
    assert again is not None
    assert again.scope == "execute"
    lonely = Issuer("http://127.0.0.1:1")  # nobody is there
    assert await lonely.peer(good, "https://here") is None


async def test_what_a_token_may_do_is_its_scope(
    running: Daemon, trusting: Any, url: str, issuer: AuthorizationServer
) -> None:
    for scope, works in (("read", False), ("read write", True)):
        headers = {"authorization": f"Bearer {issuer.token(f'{url}/mcp', scope)}"}
        async with httpx2.AsyncClient(verify=trusting[0], headers=headers, timeout=30) as wire:
            transport = streamable_http_client(f"{url}/mcp", http_client=wire)
            async with Client(transport) as client:
                said = {"method": "remember", "params": {"content": "tea is hot"}}
                done = await client.call_tool("context_operation", said)
                assert done.is_error != works, done.structured_content
