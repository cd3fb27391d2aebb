"""Logins to the page: a one-time code is exchanged for a cookie. Both end with the daemon."""

import hashlib
import secrets
import time
from dataclasses import dataclass, field

from preread.daemon.tokens import Scope
from preread.errors import PrereadError

CODE_SECONDS = 300.0
VISIT_SECONDS = 12 * 3600.0  # since the last request
MAX_CODES, MAX_VISITORS = 20, 200
SCOPES: tuple[Scope, ...] = ("read", "write")  # the page runs no programs


@dataclass(frozen=True)
class Visitor:
    """Somebody who logged in with a code, and what they may do."""

    id: str
    scope: Scope
    namespace: str = ""  # the only root that they may open; empty for all allowed


@dataclass
class _Kept:
    visitor: Visitor
    until: float  # by time.monotonic()


@dataclass
class Logins:
    """Codes and cookies, kept as hashes, so that a memory dump lets nobody in."""

    _codes: dict[str, _Kept] = field(default_factory=dict)
    _visitors: dict[str, _Kept] = field(default_factory=dict)

    def code(self, scope: str, namespace: str = "") -> str:
        """Create a one-time code. Raises E_USAGE."""
        chosen = next((each for each in SCOPES if each == scope), None)
        if chosen is None:
            raise PrereadError("E_USAGE", f"The page has no scope {scope[:20]!a}.", "read or write")
        shown = secrets.token_urlsafe(32)
        visitor = Visitor(secrets.token_hex(4), chosen, namespace)
        _keep(self._codes, shown, _Kept(visitor, time.monotonic() + CODE_SECONDS), MAX_CODES)
        return shown

    def redeem(self, code: str) -> str | None:
        """Exchange a code for a cookie; None if the code is not valid."""
        kept = self._codes.pop(_digest(code), None)
        if kept is None or kept.until < time.monotonic():
            return None
        cookie, until = secrets.token_urlsafe(32), time.monotonic() + VISIT_SECONDS
        _keep(self._visitors, cookie, _Kept(kept.visitor, until), MAX_VISITORS)
        return cookie

    def visitor(self, cookie: str) -> Visitor | None:
        """The visitor of a cookie; None if it is not valid."""
        kept = self._visitors.get(_digest(cookie)) if cookie else None
        if kept is None or kept.until < time.monotonic():
            return None
        kept.until = time.monotonic() + VISIT_SECONDS
        return kept.visitor

    def has_left(self, visitor: Visitor) -> bool:
        """Whether a visitor has logged out, or has been idle for too long."""
        now = time.monotonic()
        return not any(k.visitor == visitor and k.until >= now for k in self._visitors.values())

    def leave(self, cookie: str) -> None:
        self._visitors.pop(_digest(cookie), None)


def _keep(kept: dict[str, _Kept], shown: str, one: _Kept, limit: int) -> None:
    """Add a code or cookie; the oldest ones make room."""
    while len(kept) >= limit:
        del kept[next(iter(kept))]
    kept[_digest(shown)] = one


def _digest(shown: str) -> str:
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()


def cookie_name(host: str) -> str:
    """The cookie's name contains the port, because browsers send cookies to all ports of a host."""
    return f"preread-{host.rpartition(':')[2].strip(']')}"


def cookie_of(header: str, host: str) -> str:
    """The page's cookie in a `Cookie` header; empty unless it occurs exactly once."""
    pairs = [one.strip().partition("=") for one in header.split(";")]
    found = [value for name, _, value in pairs if name == cookie_name(host)]
    return found[0] if len(found) == 1 else ""
