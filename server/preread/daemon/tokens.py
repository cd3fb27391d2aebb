"""Bearer tokens: made, shown once, stored as hashes, checked in constant time."""

import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from pydantic import ValidationError

from preread.daemon import places
from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.locks import FileLock
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
    """The tokens of one user, in a file that the daemon re-reads when it changes."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        folder = Path(places.state_folder(environ))
        self._file, self._lock = folder / "tokens.json", folder / "tokens.lock"
        self._seen: tuple[int, int] | None = None
        self._tokens: dict[str, Token] = {}

    def new(self, scope: Scope, namespace: str = "", lifetime: float | None = None) -> str:
        """Create a token, of which only a hash is stored. `lifetime` is in seconds."""
        ident, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        shown, now = f"{PREFIX}_{ident}_{secret}", time.time()
        token = Token(
            id=ident, digest=_digest(shown), scope=scope, namespace=namespace, created=now,
            expires=None if lifetime is None else now + lifetime,
        )  # fmt: skip
        with self._changing():
            self._write([*self.all(), token])
        return shown

    def revoke(self, ident: str) -> None:
        """Revoke a token. Raises E_NOT_FOUND."""
        with self._changing():
            left = [token for token in self.all() if token.id != ident]
            if len(left) == len(self.all()):
                hint = "`preread token list` lists them."
                raise PrereadError("E_NOT_FOUND", f"There is no token {ident[:40]!a}.", hint)
            self._write(left)

    def all(self) -> list[Token]:
        """All tokens, including expired ones. Raises E_READ if the file is damaged."""
        try:
            found = self._file.stat()
            state = found.st_mtime_ns, found.st_ino
            if state != self._seen:
                data = json.loads(self._file.read_bytes())
                self._tokens = {each["id"]: Token.model_validate(each) for each in data}
                self._seen = state
        except FileNotFoundError:
            self._tokens, self._seen = {}, None
        except (OSError, ValueError, TypeError, KeyError, ValidationError) as error:
            self._tokens, self._seen = {}, None
            hint = "Move it away, and make new tokens."
            raise PrereadError("E_READ", f"{self._file} is no list of tokens.", hint) from error
        return list(self._tokens.values())

    def check(self, shown: str) -> Token | None:
        """The record of a caller's token; None if it is unknown, revoked or expired."""
        self.all()
        parts = SHAPE.fullmatch(shown)
        token = self._tokens.get(parts[1], NOBODY) if parts else NOBODY
        is_right = hmac.compare_digest(_digest(shown), token.digest)
        return token if is_right and not token.is_expired else None

    def _changing(self) -> FileLock:
        atomic.make_folder(self._file.parent)
        self._file.parent.chmod(0o700)
        return FileLock(self._lock, timeout=10)

    def _write(self, tokens: list[Token]) -> None:
        data = [token.model_dump(mode="json", exclude_none=True) for token in tokens]
        atomic.write(self._file, json.dumps(data, indent=1).encode(), durable=True)


def _digest(shown: str) -> str:
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()
