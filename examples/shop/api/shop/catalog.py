"""Products and how shoppers find them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from .errors import NotFound


class Sort(Enum):
    TITLE = "title"
    PRICE = "price"
    PRICE_DESC = "price-desc"


@dataclass(frozen=True)
class Product:
    sku: str
    title: str
    price_cents: int
    category: str


SEED = (
    Product("mug-blue", "Blue mug", 1290, "kitchen"),
    Product("mug-red", "Red mug", 1290, "kitchen"),
    Product("pan-small", "Small pan", 3450, "kitchen"),
    Product("lamp-desk", "Desk lamp", 4999, "home"),
    Product("rug-grey", "Grey rug", 8900, "home"),
    Product("pen-set", "Set of pens", 333, "office"),
    Product("gift-card-25", "Gift card €25", 2500, "gift"),
)


class Catalog:
    def __init__(self, products: Iterable[Product] = SEED) -> None:
        self._products = {product.sku: product for product in products}

    def get(self, sku: str) -> Product:
        try:
            return self._products[sku]
        except KeyError:
            raise NotFound(f"no product {sku!r}") from None

    def search(self, text: str = "", category: str | None = None, sort: Sort = Sort.TITLE) -> list[Product]:
        words = text.lower().split()
        found = [
            product
            for product in self._products.values()
            if all(word in product.title.lower() for word in words)
            and category in (None, product.category)
        ]
        if sort is Sort.TITLE:
            return sorted(found, key=lambda product: product.title)
        return sorted(found, key=lambda product: product.price_cents, reverse=sort is Sort.PRICE_DESC)

    def categories(self) -> list[str]:
        return sorted({product.category for product in self._products.values()})
