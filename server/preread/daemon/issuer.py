"""Verifies the access tokens of an OAuth authorization server, for `/mcp`.

Imported only if the daemon has an issuer.
"""

import hashlib
import os
import time
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import jwt

from preread.daemon.guard import RESOURCE
from preread.daemon.peers import Peer, Refused
from preread.daemon.tokens import SCOPES
from preread.errors import PrereadError
from preread.mcp import authorization
from preread.records import sessions

WANTED = "write"  # the scope that clients should request: building a dossier needs it
# Only asymmetric algorithms: with a shared key, a verifier could also sign.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512",
    "EdDSA")  # fmt: skip
CLAIMS = ["iss", "aud", "exp", "sub"]
LEEWAY_SECONDS, FETCH_SECONDS = 30, 5.0
KEYS_SECONDS, REFETCH_SECONDS = 3600.0, 30.0  # lifetime of keys; minimum between two fetches
MAX_ANSWER = 2**20  # bytes


class Issuer:
    """One authorization server. Anyone with its access token for `/mcp` may use that."""

    def __init__(self, url: str) -> None:
        """Raises E_USAGE if the URL cannot be an issuer."""
        try:
            authorization.check_issuer(url)
        except ValueError as error:
            message = f"{url[:200]!a} is not a valid issuer."
            hint = "An issuer is an https:// address without a query, exactly as in its metadata."
            raise PrereadError("E_USAGE", message, hint) from error
        self.url = url
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched = -KEYS_SECONDS
        self._fetching = anyio.Lock()

    def metadata(self, origin: str) -> dict[str, Any]:
        """The protected resource metadata of RFC 9728."""
        return authorization.resource_metadata(origin + RESOURCE, self.url, SCOPES)

    def challenge(self, origin: str, error: str = "") -> str:
        """The `WWW-Authenticate` of a refusal."""
        at = authorization.resource_metadata_url(origin + RESOURCE)
        first = f'error="{error}"' if error else 'realm="preread"'
        return f'Bearer {first}, scope="{WANTED}", resource_metadata="{at}"'

    async def peer(self, token: str, origin: str) -> Peer | None:
        """The peer of an access token; None if it is not valid. Raises Refused."""
        claims = await self._claims(token, origin + RESOURCE)
        if claims is None:
            return None
        given = claims.get("scope", claims.get("scp", ""))
        names = given.split() if isinstance(given, str) else given
        scopes = [scope for scope in SCOPES if isinstance(names, list) and scope in names]
        if not scopes:
            challenge = self.challenge(origin, "insufficient_scope")
            hint = f"Ask {self.url} for one of: {', '.join(SCOPES)}."
            raise Refused(
                403, "The access token has no scope of this server.", hint,
                www_authenticate=challenge,
            )  # fmt: skip
        # A client acts for a subject. Neither name is shown: they were chosen by others.
        who = f"{claims['sub']} {claims.get('client_id', claims.get('azp', ''))}"
        ident = hashlib.sha256(who.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        identity = sessions.Identity(name=f"issued {ident}", pid=os.getpid(), part=ident)
        until = float(claims["exp"]) + LEEWAY_SECONDS
        return Peer(identity, scopes[-1], has_ended=lambda: time.time() > until)

    async def _claims(self, token: str, resource: str) -> dict[str, Any] | None:
        try:
            header = jwt.get_unverified_header(token)
            key = await self._key(str(header.get("kid", "")))
            if key is None or header["alg"] not in ALGORITHMS:
                return None
            found: dict[str, Any] = jwt.decode(
                token, key, algorithms=[header["alg"]], audience=resource, issuer=self.url,
                leeway=LEEWAY_SECONDS, options={"require": CLAIMS},
            )  # fmt: skip
        except (jwt.PyJWTError, KeyError, TypeError, ValueError):
            return None
        return found

    async def _key(self, name: str) -> jwt.PyJWK | None:
        """The issuer's key by its id; fetches the keys if they are old or the id is unknown."""
        async with self._fetching:
            age = time.monotonic() - self._fetched
            if age > KEYS_SECONDS or (name not in self._keys and age > REFETCH_SECONDS):
                await self._fetch()
        return self._keys.get(name)

    async def _fetch(self) -> None:
        """Fetch the keys. If the issuer does not answer, the old ones stay."""
        self._fetched = time.monotonic()
        urls = authorization.issuer_metadata_urls(self.url)
        async with httpx2.AsyncClient(timeout=FETCH_SECONDS) as client:
            for url in urls:
                about = await _json(client, url)
                if about.get("issuer") == self.url and _is_safe(about.get("jwks_uri")):
                    keys = await _json(client, about["jwks_uri"])
                    self._keys = _keys(keys.get("keys")) or self._keys
                    return


async def _json(client: httpx2.AsyncClient, url: str) -> dict[str, Any]:
    """The JSON object at a URL; empty if there is none."""
    try:
        with anyio.fail_after(FETCH_SECONDS):
            async with client.stream("GET", url) as answer:
                data = b""
                async for chunk in answer.aiter_bytes():
                    data += chunk
                    if len(data) > MAX_ANSWER:
                        return {}
        found = httpx2.Response(answer.status_code, content=data).json()
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, RecursionError, TimeoutError):
        return {}
    return found if isinstance(found, dict) and answer.is_success else {}


def _is_safe(url: object) -> bool:
    """Whether nobody can tamper with the response on the way."""
    if not isinstance(url, str):
        return False
    parts = urlsplit(url)
    return parts.scheme == "https" or parts.hostname in {"localhost", "127.0.0.1", "::1"}


def _keys(given: object) -> dict[str, jwt.PyJWK]:
    """The signing keys by id."""
    found = {}
    for one in given if isinstance(given, list) else []:
        if not isinstance(one, dict) or one.get("kty") == "oct" or one.get("use") == "enc":
            continue
        try:
            found[str(one.get("kid", ""))] = jwt.PyJWK.from_dict(one)
        except jwt.PyJWTError:
            continue
    return found
