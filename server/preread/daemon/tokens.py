"""Bearer tokens: shown once, stored as hashes, checked in constant time."""

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Mapping
from typing import Any, get_args

from preread.daemon.stored import Stored
from preread.errors import PrereadError
from preread.models import Model
from preread.settings import Effect

Scope = Effect  # each scope includes the ones before it
SCOPES: tuple[Scope, ...] = get_args(Effect)
PREFIX = "prd"
SHAPE = re.compile(rf"{PREFIX}_([0-9a-f]{{8}})_([\w-]{{20,80}})", re.ASCII)
DURATION = re.compile(r"(\d{1,5})([smhd])")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Token(Model):
    """The stored record of a token."""

    id: str
    digest: str
    scope: Scope
    namespace: str = ""  # the only root that it may open; empty for all allowed
    created: float
    expires: float | None = None

    @property
    def is_expired(self) -> bool:
        return self.expires is not None and time.time() >= self.expires


NOBODY = Token(id="", digest=hashlib.sha256(b"").hexdigest(), scope="read", created=0, expires=0)


def includes(scope: Scope, needed: Scope) -> bool:
    """Whether a scope includes the required one."""
    return SCOPES.index(scope) >= SCOPES.index(needed)


def seconds(text: str) -> float:
    """The seconds of a duration like `30d`. Raises E_USAGE."""
    found = DURATION.fullmatch(text)
    if found is None or not int(found[1]):
        raise PrereadError("E_USAGE", f"{text[:40]!a} is not a duration.", "Like 12h or 30d.")
    return float(int(found[1]) * SECONDS[found[2]])


class Tokens:
    """The tokens of one user."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._stored = Stored(environ, "tokens", _parsed, "Move it away, and make new tokens.")

    def new(self, scope: Scope, namespace: str = "", lifetime: float | None = None) -> str:
        """Create a token and store only its hash. `lifetime` is in seconds."""
        ident, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        shown, now = f"{PREFIX}_{ident}_{secret}", time.time()
        token = Token(
            id=ident, digest=_digest(shown), scope=scope, namespace=namespace, created=now,
            expires=None if lifetime is None else now + lifetime,
        )  # fmt: skip
        with self._stored.changing():
            self._write([*self.all(), token])
        return shown

    def revoke(self, ident: str) -> Token:
        """Revoke a token; returns its record. Raises E_NOT_FOUND."""
        with self._stored.changing():
            tokens = self._stored.value()
            if ident not in tokens:
                hint = "`preread token list` lists them."
                raise PrereadError("E_NOT_FOUND", f"There is no token {ident[:40]!a}.", hint)
            self._write([token for token in tokens.values() if token.id != ident])
        return tokens[ident]

    def all(self) -> list[Token]:
        """All tokens, including expired ones. Raises E_READ if the file cannot be used."""
        return list(self._stored.value().values())

    def check(self, presented: str) -> Token | None:
        """The record of a caller's token; None if it is unknown, revoked or expired."""
        parts, tokens = SHAPE.fullmatch(presented), self._stored.value()
        token = tokens.get(parts[1], NOBODY) if parts else NOBODY
        is_right = hmac.compare_digest(_digest(presented), token.digest)
        return token if is_right and not token.is_expired else None

    def _write(self, tokens: list[Token]) -> None:
        self._stored.write([token.model_dump(mode="json", exclude_none=True) for token in tokens])


def _parsed(data: list[Any]) -> dict[str, Token]:
    return {each["id"]: Token.model_validate(each) for each in data}


def _digest(shown: str) -> str:
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()
