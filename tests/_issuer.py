"""An authorization server for tests, on loopback: the SDK's, whose access tokens are signed here."""

import json
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric import ec
from mcp.server.auth.provider import AuthorizationCode, construct_redirect_uri
from mcp.server.auth.routes import build_metadata, create_auth_routes
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


class AuthorizationServer:
    """Agrees to whatever a client asks for; `asked` is what it was."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.keys = {"one": ec.generate_private_key(ec.SECP256R1())}
        self.asked: list[Any] = []
        self.fetches = 0
        self._clients: dict[str, Any] = {}
        self._codes: dict[str, AuthorizationCode] = {}

    def token(self, audience: str, scope: str, key: str = "one", **claims: Any) -> str:
        now = int(time.time())
        given = {
            "iss": self.url, "aud": audience, "scope": scope, "sub": "ada", "exp": now + 60,
            "client_id": "c", **claims,
        }  # fmt: skip
        given = {name: value for name, value in given.items() if value is not None}
        return jwt.encode(given, self.keys[key], "ES256", {"kid": key, "typ": "at+jwt"})

    async def get_client(self, client_id: str) -> Any:
        return self._clients.get(client_id)

    async def register_client(self, client_info: Any) -> None:
        self._clients[client_info.client_id] = client_info

    async def authorize(self, client: Any, params: Any) -> str:
        self.asked.append(params)
        code = secrets.token_urlsafe(24)
        self._codes[code] = AuthorizationCode(
            code=code, scopes=params.scopes or [], expires_at=time.time() + 60,
            client_id=client.client_id, code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri, resource=params.resource,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
        )  # fmt: skip
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(self, _client: Any, code: str) -> Any:
        return self._codes.get(code)

    async def exchange_authorization_code(self, client: Any, code: Any) -> OAuthToken:
        scope = " ".join(code.scopes)
        token = self.token(code.resource, scope, client_id=client.client_id)
        return OAuthToken(access_token=token, token_type="Bearer", expires_in=60, scope=scope)

    async def _keys(self, _request: Request) -> JSONResponse:
        self.fetches += 1
        found = []
        for name, key in self.keys.items():
            about = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key()))
            found.append({**about, "kid": name, "use": "sig", "alg": "ES256"})
        found += [{"kty": "oct", "kid": "shared", "k": "c2VjcmV0"}, {"kid": "odd"}, None]
        return JSONResponse({"keys": found})

    def app(self) -> Starlette:
        url, options = AnyHttpUrl(self.url), ClientRegistrationOptions(enabled=True)
        about = build_metadata(url, None, options, RevocationOptions())
        whole = about.model_dump(mode="json", exclude_none=True)
        whole |= {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}

        async def metadata(_request: Request) -> JSONResponse:
            return JSONResponse(whole)

        own = [
            Route("/.well-known/oauth-authorization-server", metadata),
            Route("/keys", self._keys),
        ]
        rest = create_auth_routes(self, url, client_registration_options=options)  # type: ignore[arg-type]
        return Starlette(routes=[*own, *rest])


@contextmanager
def serving() -> Iterator[AuthorizationServer]:
    """One that runs in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        found = AuthorizationServer(f"http://127.0.0.1:{listening.getsockname()[1]}")
        config = uvicorn.Config(found.app(), lifespan="off", log_config=None)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            yield found
        finally:
            server.should_exit = True
            thread.join()
