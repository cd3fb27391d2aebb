"""HTTP: the JSON routes under /api/ and, when asked to, the built front end."""

from __future__ import annotations

import json
import mimetypes
import re
from http import HTTPStatus
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from .app import Json, Shop
from .errors import BadRequest, NotFound, ShopError

COOKIE = "shop_session"
MAX_BODY = 64 * 1024

# Method, path, name of the method of `Shop`. Log-in and log-out set cookies: see `_answer`.
ROUTES = [
    (method, re.compile(pattern), name)
    for method, pattern, name in [
        ("GET", r"/api/products", "list_products"),
        ("GET", r"/api/session", "show_session"),
        ("GET", r"/api/cart", "show_cart"),
        ("DELETE", r"/api/cart", "clear_cart"),
        ("PUT", r"/api/cart/(?P<sku>[\w-]+)", "put_line"),
        ("POST", r"/api/checkout/quote", "quote"),
        ("POST", r"/api/checkout", "place_order"),
        ("POST", r"/api/checkout/express", "place_express_order"),
        ("GET", r"/api/orders/(?P<order_id>[\w-]+)", "show_order"),
    ]
]


class Handler(BaseHTTPRequestHandler):
    server: ShopServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if urlsplit(self.path).path.startswith("/api/"):
            self._api()
        else:
            self._static()

    def do_POST(self) -> None:
        self._api()

    do_PUT = do_DELETE = do_POST

    def log_message(self, format: str, *args: object) -> None:
        if self.server.verbose:
            super().log_message(format, *args)

    def _api(self) -> None:
        try:
            self._answer()
        except ShopError as error:
            self._reply(error.status, {"error": {"code": error.code, "message": str(error)}})

    def _answer(self) -> None:
        body = self._body()
        url = urlsplit(self.path)
        shop = self.server.shop
        session = shop.sessions.open(self._token())
        if (self.command, url.path) == ("POST", "/api/login"):
            session = shop.sessions.login(session, body.get("email", ""), body.get("password", ""))
            self._reply(200, {"email": session.email}, session.token)
            return
        if (self.command, url.path) == ("POST", "/api/logout"):
            shop.sessions.logout(session)
            self._reply(200, {"email": None}, "")
            return
        for method, pattern, name in ROUTES:
            match = pattern.fullmatch(url.path)
            if match and method == self.command:
                query = dict(parse_qsl(url.query))
                reply = getattr(shop, name)(session, body, query, **match.groupdict())
                self._reply(200, reply, session.token)
                return
        raise NotFound(f"no route {self.command} {url.path}")

    def _body(self) -> Json:
        length = int(self.headers.get("Content-Length") or 0)
        if length > MAX_BODY:
            self.close_connection = True
            raise BadRequest("the request body is too large")
        raw = self.rfile.read(length)
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            raise BadRequest("the request body is not JSON") from None
        if not isinstance(body, dict):
            raise BadRequest("the request body must be an object")
        if key := self.headers.get("Idempotency-Key"):
            body["key"] = key
        return body

    def _token(self) -> str | None:
        morsel = SimpleCookie(self.headers.get("Cookie", "")).get(COOKIE)
        return morsel.value if morsel else None

    def _reply(self, status: int, payload: Json, token: str | None = None) -> None:
        data = json.dumps(payload).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if token is not None:
            age = "" if token else "; Max-Age=0"
            self.send_header("Set-Cookie", f"{COOKIE}={token}; Path=/; HttpOnly; SameSite=Lax{age}")
        self.end_headers()
        self.wfile.write(data)

    def _static(self) -> None:
        root = self.server.web_root
        path = unquote(urlsplit(self.path).path).lstrip("/")
        if root is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        file = (root / path).resolve()
        if not (file.is_file() and file.is_relative_to(root)):
            file = root / "index.html"  # the front end routes by itself
        data = file.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", mimetypes.guess_type(file.name)[0] or "application/octet-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class ShopServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, shop: Shop, port: int = 0, web_root: Path | None = None, verbose: bool = False) -> None:
        self.shop = shop
        self.web_root = web_root.resolve() if web_root else None
        self.verbose = verbose
        super().__init__(("127.0.0.1", port), Handler)
