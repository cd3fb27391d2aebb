"""Accounts and log-in sessions. A session exists before the log-in, so that guests have a cart too."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from .cart import Cart
from .catalog import Catalog
from .errors import NotLoggedIn

SESSION_TTL_S = 60 * 60 * 8
_HASH_ROUNDS = 20_000


@dataclass
class Session:
    token: str
    cart: Cart
    expires_at: float
    email: str | None = None

    def require_login(self) -> str:
        if self.email is None:
            raise NotLoggedIn("please log in first")
        return self.email


class Accounts:
    def __init__(self) -> None:
        self._hashes: dict[str, tuple[bytes, bytes]] = {}

    def add(self, email: str, password: str) -> None:
        salt = secrets.token_bytes(16)
        self._hashes[email.lower()] = (salt, self._hash(password, salt))

    def verify(self, email: str, password: str) -> bool:
        # An unknown address costs the same time as a wrong password.
        salt, expected = self._hashes.get(email.lower(), (b"\0" * 16, b""))
        return hmac.compare_digest(self._hash(password, salt), expected)

    @staticmethod
    def _hash(password: str, salt: bytes) -> bytes:
        return hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _HASH_ROUNDS)


class Sessions:
    def __init__(self, catalog: Catalog, accounts: Accounts, now: Callable[[], float] = time.time) -> None:
        self._catalog = catalog
        self._accounts = accounts
        self._now = now
        self._sessions: dict[str, Session] = {}

    def open(self, token: str | None = None) -> Session:
        """The session of this token, or a new guest session when it is unknown or over."""
        session = self._sessions.get(token or "")
        if session is None or session.expires_at <= self._now():
            session = self._start(Cart(self._catalog))
        return session

    def login(self, session: Session, email: str, password: str) -> Session:
        """The token changes at log-in; the cart comes along."""
        if not self._accounts.verify(email, password):
            raise NotLoggedIn("wrong e-mail or password")
        self._sessions.pop(session.token, None)
        fresh = self._start(session.cart)
        fresh.email = email.lower()
        return fresh

    def logout(self, session: Session) -> None:
        self._sessions.pop(session.token, None)

    def _start(self, cart: Cart) -> Session:
        session = Session(secrets.token_urlsafe(24), cart, self._now() + SESSION_TTL_S)
        self._sessions[session.token] = session
        return session
