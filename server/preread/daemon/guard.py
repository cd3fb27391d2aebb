"""What stands before every route: Host, Origin, size, rate, and who is asking."""

import json
import os
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from preread import sessions
from preread.daemon.tokens import Scope, Token, Tokens
from preread.errors import PrereadError
from preread.operations.shared_state import fields_of

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

MAX_BODY = 4 * 2**20  # bytes
RATE, BURST = 2000.0, 4000.0  # requests of one token from one address: each second, and at once
GUESSES = 10.0  # requests without a valid token, from one address
MAX_BUCKETS = 10_000
OPEN = frozenset({"/health"})  # says nothing of any project
CHALLENGE = 'Bearer realm="preread"'
HTTP_STATUS = {400: "E_USAGE", 401: "E_NOT_ALLOWED", 403: "E_NOT_ALLOWED", 404: "E_NOT_FOUND",
    405: "E_USAGE", 413: "E_USAGE", 421: "E_NOT_ALLOWED", 429: "E_RATE_LIMIT"}  # fmt: skip


@dataclass(frozen=True)
class Peer:
    """Who is asking, and what it may do."""

    identity: sessions.Identity
    scope: Scope
    only: str = ""  # the one root that it may open
    is_local: bool = False  # a process of this user, on a Unix socket: it may open any folder


@dataclass
class Rates:
    """Token buckets by key; `per_second` fills them, up to `burst`."""

    per_second: float
    burst: float
    _left: dict[str, tuple[float, float]] = field(default_factory=dict)

    def wait(self, key: str) -> float:
        """Take one; 0, or the seconds until there is one again."""
        now = time.monotonic()
        left, at = self._left.pop(key, (self.burst, now))
        left = min(self.burst, left + (now - at) * self.per_second)
        if len(self._left) >= MAX_BUCKETS:  # the one that was used the longest ago
            del self._left[next(iter(self._left))]
        self._left[key] = (max(0.0, left - 1), now) if left >= 1 else (left, now)
        return 0.0 if left >= 1 else (1 - left) / self.per_second


class Refused(Exception):  # noqa: N818 - an answer
    """An HTTP status with its reason."""

    def __init__(self, status: int, message: str, hint: str = "", **headers: str) -> None:
        super().__init__(message)
        self.status, self.headers = status, {k.replace("_", "-"): v for k, v in headers.items()}
        self.error = PrereadError(HTTP_STATUS.get(status, "E_USAGE"), message, hint)


class Guard:
    """Lets requests through to the app that may be answered. TCP and Unix sockets have one each."""

    def __init__(self, app: App, *, count: Callable[[int], object] = lambda _: None) -> None:
        self.app, self.count = app, count

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            return await self.app(scope, receive, send)
        headers = _Headers(scope["headers"])
        try:
            peer = self.admit(scope, headers)
            if peer is not None:
                scope.setdefault("state", {})["peer"] = peer
                sessions.CALLER.set(peer.identity)
            _check_size(headers)
        except Refused as refused:
            self.count(refused.status)
            return await _refuse(scope, receive, send, refused)
        return await self.app(scope, _Bounded(receive), send)

    def admit(self, scope: MutableMapping[str, Any], headers: "_Headers") -> Peer | None:
        """Who is asking; None on a path that is open to all. Raises Refused."""
        raise NotImplementedError


class SocketGuard(Guard):
    """For Unix sockets. Who connects was checked by the protocol; a browser is never there."""

    def admit(self, scope: MutableMapping[str, Any], headers: "_Headers") -> Peer | None:
        if headers.one("origin"):
            raise Refused(403, "Requests of web pages are refused here.")
        _, pid = scope.get("client") or ("", 0)
        identity = sessions.Identity(name="socket", pid=pid or os.getpid())
        return Peer(identity, "execute", is_local=True)


class TcpGuard(Guard):
    """For TCP: a known Host, no foreign Origin, a token."""

    def __init__(
        self, app: App, tokens: Tokens, hosts: Iterable[str], *,
        count: Callable[[int], object] = lambda _: None,
    ) -> None:  # fmt: skip
        super().__init__(app, count=count)
        self._tokens = tokens
        self._hosts = frozenset(hosts)
        self._rates, self._guesses = Rates(RATE, BURST), Rates(1.0, GUESSES)

    def admit(self, scope: MutableMapping[str, Any], headers: "_Headers") -> Peer | None:
        if headers.one("host") not in self._hosts:
            raise Refused(421, "This server has another name.", "Use 127.0.0.1 and its port.")
        origin = headers.one("origin")
        if origin and origin.partition("://")[2] not in self._hosts:
            raise Refused(403, "Requests of other web pages are refused.")
        address = str((scope.get("client") or ("",))[0])
        if scope["path"] in OPEN:
            self._limit(self._rates, f"open {address}")
            return None
        token = self._token(headers)
        if token is None:
            self._limit(self._guesses, address)
            hint = "`preread token new` makes a token; send it as `Authorization: Bearer …`."
            raise Refused(401, "A valid token is needed.", hint, www_authenticate=CHALLENGE)
        self._limit(self._rates, f"{token.id} {address}")
        identity = sessions.Identity(name=f"token {token.id}", pid=os.getpid(), part=token.id)
        return Peer(identity, token.scope, token.namespace)

    def _token(self, headers: "_Headers") -> Token | None:
        kind, _, value = headers.one("authorization").partition(" ")
        return self._tokens.check(value.strip()) if kind.lower() == "bearer" else None

    def _limit(self, rates: Rates, key: str) -> None:
        if seconds := rates.wait(key):
            wait = str(int(seconds) + 1)
            raise Refused(429, "Too many requests.", f"Wait {wait} s.", retry_after=wait)


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
    if scope["type"] == "websocket":
        await receive()  # websocket.connect
        await send({"type": "websocket.close", "code": 1008, "reason": str(refused)[:100]})
        return
    body = json.dumps({"error": fields_of(refused.error)}).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)),
        "connection": "close", **refused.headers}  # fmt: skip
    raw = [(key.encode(), value.encode("latin-1")) for key, value in headers.items()]
    await send({"type": "http.response.start", "status": refused.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
