"""Fixtures for the API tests. Build on these instead of making services by hand."""

from __future__ import annotations

import pytest

from shop.cart import Cart
from shop.catalog import Catalog


@pytest.fixture
def catalog() -> Catalog:
    return Catalog()


@pytest.fixture
def cart(catalog: Catalog) -> Cart:
    return Cart(catalog)
