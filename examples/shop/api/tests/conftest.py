"""Fixtures for the API tests. Build on these instead of making services by hand."""

from __future__ import annotations

import pytest

from shop.cart import Cart
from shop.catalog import Catalog
from shop.checkout import Checkout
from shop.coupons import CouponBook
from shop.orders import OrderBook
from shop.payment import FakeGateway
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
