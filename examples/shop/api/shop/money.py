"""Money is an `int` of cents everywhere; nothing here returns a float."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal


def format_cents(cents: int) -> str:
    sign = "-" if cents < 0 else ""
    return f"{sign}€{abs(cents) // 100}.{abs(cents) % 100:02d}"


def percent_of(cents: int, percent: int) -> int:
    """Half a cent goes up, as on every receipt; `round` would go to the even neighbour."""
    return int((Decimal(cents) * percent / 100).quantize(Decimal(1), ROUND_HALF_UP))


def split(cents: int, weights: Sequence[int]) -> list[int]:
    """Parts of `cents` in proportion to `weights` that add up to `cents` exactly.

    Left-over cents go to the parts that lost most by being cut (largest remainder).
    """
    total = sum(weights)
    if total == 0:
        return [0] * len(weights)
    parts = [cents * weight // total for weight in weights]
    by_loss = sorted(range(len(weights)), key=lambda i: cents * weights[i] % total, reverse=True)
    for i in by_loss[: cents - sum(parts)]:
        parts[i] += 1
    return parts
