"""Fixtures for the API tests. Build on these instead of making services by hand."""

from __future__ import annotations

import pytest

from shop.cart import Cart
from shop.catalog import Catalog
from shop.coupons import CouponBook
from shop.sessions import Accounts, Sessions


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
    accounts.add("ada@example.test", "correct horse")
    return Sessions(catalog, accounts, now=clock)
