"""How many of each product can still be sold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .cart import Line
from .errors import OutOfStock

SEED = {
    "mug-blue": 40,
    "mug-red": 40,
    "pan-small": 12,
    "lamp-desk": 5,
    "rug-grey": 1,
    "pen-set": 200,
    "gift-card-25": 1000,
}


class Stock:
    def __init__(self, levels: Mapping[str, int] = SEED) -> None:
        self._levels = dict(levels)

    def available(self, sku: str) -> int:
        return self._levels.get(sku, 0)

    def take(self, lines: Sequence[Line]) -> None:
        for line in lines:
            left = self.available(line.product.sku)
            if line.quantity > left:
                raise OutOfStock(f"only {left} of {line.product.title!r} left")
        for line in lines:
            self._levels[line.product.sku] -= line.quantity
