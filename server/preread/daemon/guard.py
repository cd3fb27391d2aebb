"""What stands before every route: Host, Origin, size, rate, and who is asking."""

import json
import os
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from preread import sessions
from preread.daemon.logins import Logins, Visitor, cookie_of
from preread.daemon.tokens import Scope, Tokens
from preread.errors import PrereadError
from preread.operations.shared_state import failure_of

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

MAX_BODY = 4 * 2**20  # bytes
RATE, BURST = 2000.0, 4000.0  # calls of one token from one address: each second, and at once
GUESSES = 10.0  # requests without a valid token, from one address
MAX_BUCKETS = 10_000
OPEN = frozenset({"/health"})  # says nothing of any project
STATIC = "/static/"  # the page's own files, which come with the package
RESOURCE = "/mcp"  # what an authorization server gives access tokens for
METADATA = f"/.well-known/oauth-protected-resource{RESOURCE}"
READS = frozenset({"GET", "HEAD"})
CHALLENGE = 'Bearer realm="preread"'
HTTP_STATUS = {400: "E_USAGE", 401: "E_NOT_ALLOWED", 403: "E_NOT_ALLOWED", 404: "E_NOT_FOUND",
    405: "E_USAGE", 413: "E_USAGE", 421: "E_NOT_ALLOWED", 429: "E_RATE_LIMIT"}  # fmt: skip


def status_of(code: str) -> int:
    """The HTTP status of an answer that is nothing but an error."""
    return {"E_NOT_FOUND": 404, "E_USAGE": 400, "E_NOT_ALLOWED": 403}.get(code, 500)


@dataclass(frozen=True)
class Peer:
    """Who is asking, and what it may do."""

    identity: sessions.Identity
    scope: Scope
    only: str = ""  # the one root that it may open
    is_local: bool = False  # a process of this user, on a Unix socket: it may open any folder
    is_visitor: bool = False  # somebody who looks at the page
    # Whether its token or its visit has ended since: a stream or a WebSocket asks again.
    has_ended: Callable[[], bool] = lambda: False
    # Counts so many calls against its limit. Raises Refused.
    spend: Callable[[int], None] = lambda _calls: None


class Issues(Protocol):
    """An authorization server whose access tokens count for RESOURCE."""

    def challenge(self, origin: str, error: str = "") -> str: ...
    async def peer(self, shown: str, origin: str) -> Peer | None: ...


@dataclass
class Rates:
    """Token buckets by key; `per_second` fills them, up to `burst`."""

    per_second: float
    burst: float
    _left: dict[str, tuple[float, float]] = field(default_factory=dict)

    def wait(self, key: str, count: int = 1) -> float:
        """Take so many; 0, or the seconds until they are there.

        More than there can be are taken from a full bucket, which then owes the rest.
        """
        now = time.monotonic()
        left, at = self._left.pop(key, (self.burst, now))
        left = min(self.burst, left + (now - at) * self.per_second)
        if len(self._left) >= MAX_BUCKETS:  # the one that was used the longest ago
            del self._left[next(iter(self._left))]
        missing = max(0.0, min(count, self.burst) - left)
        self._left[key] = (left if missing else left - count, now)
        return missing / self.per_second


class Refused(Exception):  # noqa: N818 - an answer
    """An HTTP status with its reason."""

    def __init__(
        self, status: int, message: str, hint: str = "", details: dict[str, Any] | None = None,
        **headers: str,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.status, self.headers = status, {k.replace("_", "-"): v for k, v in headers.items()}
        self.error = PrereadError(HTTP_STATUS.get(status, "E_USAGE"), message, hint, details)


class Guard:
    """Lets requests through to the app that may be answered. TCP and Unix sockets have one each."""

    def __init__(self, app: App, *, count: Callable[[int], object] = lambda _: None) -> None:
        self.app, self.count = app, count
        self._rates = Rates(RATE, BURST)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            return await self.app(scope, receive, send)
        headers = _Headers(scope["headers"])
        try:
            peer = await self.admit(scope, headers)
            if peer is not None:
                scope.setdefault("state", {})["peer"] = peer
                sessions.CALLER.set(peer.identity)
            _check_size(headers)
        except Refused as refused:
            self.count(refused.status)
            return await _refuse(scope, receive, send, refused)
        return await self.app(scope, _Bounded(receive), send)

    async def admit(self, scope: MutableMapping[str, Any], headers: "_Headers") -> Peer | None:
        """Who is asking; None on a path that is open to all. Raises Refused."""
        raise NotImplementedError

    def limited(self, peer: Peer, key: str) -> Peer:
        """A peer whose request was counted, and whose further calls are. Raises Refused."""
        spend = partial(_spend, self._rates, key)
        spend(1)
        return replace(peer, spend=spend)


class SocketGuard(Guard):
    """For Unix sockets. Who connects was checked by the protocol; a browser is never there."""

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
        pages: Callable[[str], bool] = lambda _path: False, issuer: "Issues | None" = None,
        count: Callable[[int], object] = lambda _: None,
    ) -> None:  # fmt: skip
        """`pages` says which paths show a way to log in to whoever has not."""
        super().__init__(app, count=count)
        self._tokens, self._logins, self._pages = tokens, logins, pages
        self._issuer = issuer
        self._hosts = frozenset(hosts)
        self._guesses = Rates(1.0, GUESSES)

    async def admit(self, scope: MutableMapping[str, Any], headers: "_Headers") -> Peer | None:
        hosts = self._hosts | {_reached(scope)}
        if headers.one("host") not in hosts:
            raise Refused(421, "This server has another name.", "Use its address and its port.")
        origin = headers.one("origin")
        if origin and origin.partition("://")[2] not in hosts:
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
        """How to get a token, for whoever shows none that is valid."""
        if self._issuer is None or scope["path"] != RESOURCE:
            return CHALLENGE
        error = "invalid_token" if headers.one("authorization") else ""
        return self._issuer.challenge(origin_of(scope, headers.one("host")), error)

    async def _peer(self, scope: MutableMapping[str, Any], headers: "_Headers") -> Peer | None:
        """Whoever shows a valid token or cookie."""
        kind, _, value = headers.one("authorization").partition(" ")
        if kind:
            shown = value.strip() if kind.lower() == "bearer" else ""
            token = self._tokens.check(shown)
            if token is None:
                return await self._issued(scope, headers, shown)
            identity = sessions.Identity(name=f"token {token.id}", pid=os.getpid(), part=token.id)
            ended = partial(self._has_ended, shown)
            return Peer(identity, token.scope, token.namespace, has_ended=ended)
        found = self._visitor(scope, headers)
        if found is None:
            return None
        identity = sessions.Identity(name=f"page {found.id}", pid=os.getpid(), part=found.id)
        ended = partial(self._logins.has_left, found)
        return Peer(identity, found.scope, found.namespace, is_visitor=True, has_ended=ended)

    def _has_ended(self, shown: str) -> bool:
        try:
            return self._tokens.check(shown) is None
        except PrereadError:  # the file is damaged: nobody has a valid token
            return True

    async def _issued(
        self, scope: MutableMapping[str, Any], headers: "_Headers", shown: str
    ) -> Peer | None:
        if self._issuer is None or scope["path"] != RESOURCE or not shown:
            return None
        return await self._issuer.peer(shown, origin_of(scope, headers.one("host")))

    def _visitor(self, scope: MutableMapping[str, Any], headers: "_Headers") -> Visitor | None:
        """Whose cookie it is, unless another page may have made the browser send it.

        `SameSite` keeps it from other sites; other ports of this machine are the same site.
        """
        if headers.one("sec-fetch-site") not in {"", "none", "same-origin"}:
            return None
        if scope.get("method") not in READS and not headers.one("origin"):
            return None  # a WebSocket has no method, and browsers send its origin
        cookie = cookie_of(headers.one("cookie"), headers.one("host"))
        return self._logins.visitor(cookie)


def _spend(rates: Rates, key: str, calls: int = 1) -> None:
    if seconds := rates.wait(key, calls):
        wait = int(seconds) + 1
        hint, details = f"Call again in {wait} s.", {"retry_after": wait}
        raise Refused(429, "Too many requests.", hint, details, retry_after=str(wait))


def _reached(scope: MutableMapping[str, Any]) -> str:
    """The address at which a connection came in. A page's own name for it is never that."""
    host, port = scope.get("server") or ("", 0)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def origin_of(scope: MutableMapping[str, Any], host: str) -> str:
    """The address under which a client knows this server; its Host has been checked."""
    return f"{scope['scheme']}://{host}"


class _Headers:
    """A request's headers, of which each that matters may come once."""

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._raw = list(raw)

    def one(self, name: str) -> str:
        found = [value for key, value in self._raw if key == name.encode()]
        if len(found) > 1:
            raise Refused(400, f"There is more than one header {name}.")
        return found[0].decode("latin-1") if found else ""


def _check_size(headers: _Headers) -> None:
    length = headers.one("content-length")
    if length and (not length.isdecimal() or len(length) > 12 or int(length) > MAX_BODY):
        raise Refused(413, f"The body is longer than {MAX_BODY} bytes.")


class _Bounded:
    """A `receive` that ends a body that is too long, also one without a length."""

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
