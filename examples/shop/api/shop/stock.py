"""How many of each product can still be sold, and what is held for orders that are being paid."""

from __future__ import annotations

import threading
import warnings
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
        self._held: dict[str, dict[str, int]] = {}
        self._lock = threading.Lock()

    def available(self, sku: str) -> int:
        """What is left to sell: held items are gone already."""
        return self._levels.get(sku, 0)

    def reserve(self, order_id: str, lines: Sequence[Line], ttl_s: float = 900.0) -> None:
        """Hold all lines for an order until `commit` or `release`, or none of them."""
        with self._lock:
            for line in lines:
                left = self.available(line.product.sku)
                if line.quantity > left:
                    raise OutOfStock(f"only {left} of {line.product.title!r} left")
            for line in lines:
                self._levels[line.product.sku] -= line.quantity
            self._held[order_id] = {line.product.sku: line.quantity for line in lines}

    def reserve_one(self, order_id: str, line: Line) -> None:
        """Deprecated: use `reserve`, which takes all lines of an order at once (#55)."""
        warnings.warn("Stock.reserve_one is deprecated, use Stock.reserve", DeprecationWarning, stacklevel=2)
        with self._lock:
            left = self.available(line.product.sku)
            if line.quantity > left:
                raise OutOfStock(f"only {left} of {line.product.title!r} left")
            self._levels[line.product.sku] -= line.quantity
            self._held.setdefault(order_id, {})[line.product.sku] = line.quantity

    def release(self, order_id: str) -> None:
        """Put back what the order held; harmless when it holds nothing."""
        with self._lock:
            for sku, quantity in self._held.pop(order_id, {}).items():
                self._levels[sku] += quantity

    def commit(self, order_id: str) -> None:
        """The goods are sold: nothing is held any more and nothing comes back."""
        with self._lock:
            self._held.pop(order_id, None)

    def held(self, order_id: str) -> dict[str, int]:
        return dict(self._held.get(order_id, {}))
