"""A shopper's cart: quantities by product, priced from the catalog at the moment of asking."""

from __future__ import annotations

from dataclasses import dataclass

from .catalog import Catalog, Product
from .errors import InvalidQuantity

MAX_QUANTITY = 20


@dataclass(frozen=True)
class Line:
    product: Product
    quantity: int

    @property
    def total_cents(self) -> int:
        return self.product.price_cents * self.quantity


class Cart:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._quantities: dict[str, int] = {}

    def add(self, sku: str, quantity: int = 1) -> None:
        self.set_quantity(sku, self._quantities.get(sku, 0) + quantity)

    def set_quantity(self, sku: str, quantity: int) -> None:
        """Zero removes the line."""
        product = self._catalog.get(sku)
        if quantity < 0:
            raise InvalidQuantity("quantity must not be negative")
        if quantity > MAX_QUANTITY:
            raise InvalidQuantity(f"at most {MAX_QUANTITY} of {product.title!r} in one order")
        if quantity == 0:
            self._quantities.pop(sku, None)
        else:
            self._quantities[sku] = quantity

    def lines(self) -> list[Line]:
        return [Line(self._catalog.get(sku), quantity) for sku, quantity in self._quantities.items()]

    @property
    def subtotal_cents(self) -> int:
        return sum(line.total_cents for line in self.lines())

    def clear(self) -> None:
        self._quantities.clear()

    def __bool__(self) -> bool:
        return bool(self._quantities)
