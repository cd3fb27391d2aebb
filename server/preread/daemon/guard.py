"""Checks before every route: Host, Origin, size, rate, and authentication."""

import json
import os
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol
from urllib.parse import unquote

from preread.daemon.logins import Logins, Visitor, cookie_of
from preread.daemon.peers import Peer, Refused
from preread.daemon.tokens import Tokens
from preread.errors import PrereadError
from preread.operations.states import failure_of
from preread.records import sessions

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

MAX_BODY, MAX_HEAD = 4 * 2**20, 2**15  # bytes
MAX_CALLS = 500  # per message
RATE, BURST = 2000.0, 4000.0  # calls with one token from one address: per second, in a burst
GUESSES = 10.0  # requests without a valid token from one address; after these, one a second
MAX_BUCKETS = 10_000
OPEN = frozenset({"/health"})  # reveals nothing about any project
STATIC = "/static/"  # the page's own files, which come with the package
RESOURCE = "/mcp"  # the path for which an authorization server's access tokens are valid
METADATA = f"/.well-known/oauth-protected-resource{RESOURCE}"
READS = frozenset({"GET", "HEAD"})
DEFAULT_PORTS = {"http": 80, "https": 443}
CHALLENGE = 'Bearer realm="preread"'


class AuthorizationServer(Protocol):
    """Its access tokens are valid for RESOURCE."""

    def challenge(self, origin: str, error: str = "") -> str: ...
    async def peer(self, token: str, origin: str) -> Peer | None: ...


@dataclass
class Rates:
    """A token bucket for each key, refilled at `per_second` up to `burst`."""

    per_second: float
    burst: float
    _left: dict[str, tuple[float, float]] = field(default_factory=dict)

    def wait(self, key: str, count: int = 1) -> float:
        """Take `count` tokens, at most the burst, and return 0.

        If there are too few, take none, and return the seconds until there are enough.
        """
        now = time.monotonic()
        left, at = self._left.pop(key, (self.burst, now))
        left = min(self.burst, left + (now - at) * self.per_second)
        if len(self._left) >= MAX_BUCKETS:  # evict the least recently used
            del self._left[next(iter(self._left))]
        missing = max(0.0, count - left)
        self._left[key] = (left if missing else left - count, now)
        return missing / self.per_second


class Guard:
    """Passes permitted requests on to the app. There is one for TCP and one for Unix sockets."""

    def __init__(self, app: App, *, count: Callable[[int], object] = lambda _: None) -> None:
        self.app, self.count = app, count
        self._rates = Rates(RATE, BURST)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            return await self.app(scope, receive, send)
        try:
            _to_origin_form(scope)
            headers = _Headers(scope["headers"])
            peer = await self.admit(scope, headers)
            if peer is not None:
                scope.setdefault("state", {})["peer"] = peer
                sessions.CALLER.set(peer.identity)
            _check_size(scope, headers)
        except Refused as refused:
            self.count(refused.status)
            return await _refuse(scope, receive, send, refused)
        return await self.app(scope, _Bounded(receive), send)

    async def admit(self, scope: MutableMapping[str, Any], headers: "_Headers") -> Peer | None:
        """Authenticate a request; None on a public path. Raises Refused."""
        raise NotImplementedError

    def limited(self, peer: Peer, key: str) -> Peer:
        """Rate-limit a peer: counts this request, and its further calls. Raises Refused."""
        spend = partial(_spend, self._rates, key)
        spend(1)
        return replace(peer, spend=spend)


class SocketGuard(Guard):
    """For Unix sockets. `BoundedProtocol` has checked the user; browsers cannot connect."""

    async def admit(self, scope: MutableMapping[str, Any], headers: "_Headers") -> Peer | None:
        if headers.one("origin"):
            raise Refused(403, "Requests of web pages are refused here.")
        _, pid = scope.get("client") or ("", 0)
        identity = sessions.Identity(name="socket", pid=pid or os.getpid())
        return self.limited(Peer(identity, "execute", is_local=True), f"process {pid}")


class TcpGuard(Guard):
    """For TCP: a known Host, no foreign Origin, a token or the page's cookie."""

    def __init__(
        self, app: App, tokens: Tokens, logins: Logins, hosts: Iterable[str], *,
        pages: Callable[[str], bool] = lambda _path: False,
        issuer: AuthorizationServer | None = None,
        count: Callable[[int], object] = lambda _: None,
    ) -> None:  # fmt: skip
        """`pages` are the paths that show callers without a login how to log in."""
        super().__init__(app, count=count)
        self._tokens, self._logins, self._pages = tokens, logins, pages
        self._issuer = issuer
        self._hosts = frozenset(hosts)
        self._guesses = Rates(1.0, GUESSES)

    async def admit(self, scope: MutableMapping[str, Any], headers: "_Headers") -> Peer | None:
        host, hosts = headers.one("host"), self._hosts | {_local_address(scope)}
        if host not in hosts and f"{host}:{DEFAULT_PORTS[_scheme(scope)]}" not in hosts:
            message = "This server does not have the host name in the request."
            raise Refused(421, message, "Use its address and port.")
        # Even this server's other names, and the other scheme, are foreign: any process may have
        # served that page.
        if headers.one("origin") not in {"", origin_of(scope, host)}:
            raise Refused(403, "Requests of other web pages are refused.")
        address = str((scope.get("client") or ("",))[0])
        peer = None if scope["path"] in OPEN else await self._peer(scope, headers)
        if peer is not None:
            return self.limited(peer, f"{peer.identity.part} {address}")
        if self._is_open(scope):
            _spend(self._rates, f"open {address}")
            return None
        _spend(self._guesses, address)
        hint = "`preread token new` makes a token; send it as `Authorization: Bearer …`."
        challenge = self._challenge(scope, headers)
        raise Refused(401, "A valid token is needed.", hint, www_authenticate=challenge)

    def _is_open(self, scope: MutableMapping[str, Any]) -> bool:
        path = scope["path"]
        if path in OPEN or path.startswith(STATIC):
            return True
        if self._issuer is not None and path == METADATA:
            return True
        return scope.get("method") in READS and self._pages(path)

    def _challenge(self, scope: MutableMapping[str, Any], headers: "_Headers") -> str:
        """How to get a token, for a request without a valid one."""
        if self._issuer is None or scope["path"] != RESOURCE:
            return CHALLENGE
        error = "invalid_token" if headers.one("authorization") else ""
        return self._issuer.challenge(origin_of(scope, headers.one("host")), error)

    async def _peer(self, scope: MutableMapping[str, Any], headers: "_Headers") -> Peer | None:
        """The caller with a valid token or cookie."""
        kind, _, value = headers.one("authorization").partition(" ")
        if kind:
            presented = value.strip() if kind.lower() == "bearer" else ""
            token = self._tokens.check(presented)
            if token is None:
                return await self._issued_peer(scope, headers, presented)
            identity = sessions.Identity(name=f"token {token.id}", pid=os.getpid(), part=token.id)
            ended = partial(self._has_ended, presented)
            return Peer(identity, token.scope, token.namespace, has_ended=ended)
        found = self._visitor(scope, headers)
        if found is None:
            return None
        identity = sessions.Identity(name=f"page {found.id}", pid=os.getpid(), part=found.id)
        ended = partial(self._logins.has_left, found)
        return Peer(identity, found.scope, found.namespace, has_ended=ended)

    def _has_ended(self, presented: str) -> bool:
        try:
            return self._tokens.check(presented) is None
        except PrereadError:  # the file is damaged, so no token is valid
            return True

    async def _issued_peer(
        self, scope: MutableMapping[str, Any], headers: "_Headers", presented: str
    ) -> Peer | None:
        """The caller with an access token of the authorization server."""
        if self._issuer is None or scope["path"] != RESOURCE or not presented:
            return None
        return await self._issuer.peer(presented, origin_of(scope, headers.one("host")))

    def _visitor(self, scope: MutableMapping[str, Any], headers: "_Headers") -> Visitor | None:
        """The visitor of the cookie, unless another page may have made the browser send it.

        `SameSite` protects it from other sites, but other ports of this host are the same site.
        """
        if headers.one("sec-fetch-site") not in {"", "none", "same-origin"}:
            return None
        if scope.get("method") not in READS and not headers.one("origin"):
            return None  # a WebSocket has no method; browsers always send its origin
        cookie = cookie_of(headers.one("cookie"), headers.one("host"))
        return self._logins.visitor(cookie)


def _spend(rates: Rates, key: str, calls: int = 1) -> None:
    if seconds := rates.wait(key, calls):
        wait = int(seconds) + 1
        hint, details = f"Call again in {wait} s.", {"retry_after": wait}
        raise Refused(429, "Too many requests.", hint, details, retry_after=str(wait))


def _local_address(scope: MutableMapping[str, Any]) -> str:
    """The server's IP address and port in a connection; unlike a host name, no page can fake it."""
    host, port = scope.get("server") or ("", 0)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def origin_of(scope: MutableMapping[str, Any], host: str) -> str:
    """The origin of this server as its client knows it; `host` has been checked."""
    return f"{_scheme(scope)}://{host}"


def _scheme(scope: MutableMapping[str, Any]) -> str:
    return "https" if scope["scheme"] in {"https", "wss"} else "http"


def _to_origin_form(scope: MutableMapping[str, Any]) -> None:
    """Rewrite a request target that is a whole URL; its host replaces Host (RFC 9112, 3.2.2).

    Raises Refused.
    """
    scheme, separator, rest = scope["raw_path"].partition(b"://")
    if not separator or b"/" in scheme:
        return
    if scheme.lower() != _scheme(scope).encode():
        raise Refused(421, "This server has another scheme.", f"Use {_scheme(scope)}.")
    host, _, path = rest.partition(b"/")
    scope["raw_path"] = b"/" + path
    scope["path"] = unquote(scope["raw_path"].decode("ascii"))
    others = [(name, value) for name, value in scope["headers"] if name != b"host"]
    scope["headers"] = [(b"host", host), *others]


class _Headers:
    """A request's headers; those that we read may occur only once."""

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._raw = list(raw)

    def one(self, name: str) -> str:
        found = [value for key, value in self._raw if key == name.encode()]
        if len(found) > 1:
            raise Refused(400, f"There is more than one header {name}.")
        return found[0].decode("latin-1") if found else ""


def _check_size(scope: MutableMapping[str, Any], headers: _Headers) -> None:
    # h11 checks its limit only while the head is incomplete.
    target = len(scope["raw_path"]) + len(scope["query_string"])
    if target + sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEAD:
        raise Refused(431, f"The headers are longer than {MAX_HEAD} bytes.")
    length = headers.one("content-length")
    if length and (not length.isdecimal() or len(length) > 12 or int(length) > MAX_BODY):
        raise Refused(413, f"The body is longer than {MAX_BODY} bytes.")


class _Bounded:
    """A `receive` that refuses a body that is too long, even without a Content-Length."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._size = receive, 0

    async def __call__(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._size += len(message.get("body", b""))
            if self._size > MAX_BODY:
                raise Refused(413, f"The body is longer than {MAX_BODY} bytes.")
        return message


async def _refuse(
    scope: MutableMapping[str, Any], receive: Receive, send: Send, refused: Refused
) -> None:
    kind = "http"
    if scope["type"] == "websocket":
        await receive()  # websocket.connect
        kind = "websocket.http"
    body = json.dumps({"error": failure_of(refused.error)}).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)),
        "connection": "close", **refused.headers}  # fmt: skip
    raw = [(key.encode(), value.encode("latin-1")) for key, value in headers.items()]
    await send({"type": f"{kind}.response.start", "status": refused.status, "headers": raw})
    await send({"type": f"{kind}.response.body", "body": body})
