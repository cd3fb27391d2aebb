"""Fixtures for the API tests. Build on these instead of making services by hand."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from shop.app import Shop
from shop.cart import Cart
from shop.catalog import Catalog
from shop.checkout import Checkout
from shop.coupons import CouponBook
from shop.orders import OrderBook
from shop.payment import FakeGateway
from shop.server import ShopServer
from shop.sessions import Accounts, Sessions
from shop.stock import Stock

ADA = "ada@example.test"
GOOD_CARD = "4242 4242 4242 4242"
DECLINED_CARD = "4000 0000 0000 0002"
SLOW_CARD = "4000 0000 0000 0259"


class Clock:
    """Time that moves only when a test says so: never sleep in a test."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def catalog() -> Catalog:
    return Catalog()


@pytest.fixture
def cart(catalog: Catalog) -> Cart:
    return Cart(catalog)


@pytest.fixture
def coupons(clock: Clock) -> CouponBook:
    return CouponBook(now=clock)


@pytest.fixture
def sessions(catalog: Catalog, clock: Clock) -> Sessions:
    accounts = Accounts()
    accounts.add(ADA, "correct horse")
    return Sessions(catalog, accounts, now=clock)


@pytest.fixture
def stock() -> Stock:
    return Stock()


@pytest.fixture
def orders() -> OrderBook:
    return OrderBook()


@pytest.fixture
def gateway() -> FakeGateway:
    return FakeGateway()


@pytest.fixture
def checkout(stock: Stock, coupons: CouponBook, orders: OrderBook, gateway: FakeGateway) -> Checkout:
    return Checkout(stock, coupons, orders, gateway)


class Client:
    """A browser of sorts: keeps the session cookie, speaks JSON."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=5)
        self._cookie = ""

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        if self._cookie:
            headers["Cookie"] = self._cookie
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, data, headers)
        response = self._connection.getresponse()
        if cookie := response.headers.get("Set-Cookie"):
            self._cookie = cookie.split(";")[0]
        return response.status, json.loads(response.read())

    def login(self, email: str = ADA, password: str = "correct horse") -> None:
        status, _ = self.call("POST", "/api/login", {"email": email, "password": password})
        assert status == 200

    def checkout(self, key: str, **body: Any) -> tuple[int, Any]:
        return self.call("POST", "/api/checkout", body, **{"Idempotency-Key": key})

    def express(self, key: str) -> tuple[int, Any]:
        return self.call("POST", "/api/checkout/express", {}, **{"Idempotency-Key": key})

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
def port(shop: Shop) -> Iterator[int]:
    server = ShopServer(shop)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def client(port: int) -> Iterator[Client]:
    client = Client(port)
    yield client
    client.close()
