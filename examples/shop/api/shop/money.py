"""Money is an `int` of cents everywhere; nothing here returns a float."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal


def format_cents(cents: int) -> str:
    sign = "-" if cents < 0 else ""
    return f"{sign}€{abs(cents) // 100}.{abs(cents) % 100:02d}"


def percent_of(cents: int, percent: int) -> int:
    """Half a cent goes up, as on every receipt; `round` would go to the even neighbour."""
    return int((Decimal(cents) * percent / 100).quantize(Decimal(1), ROUND_HALF_UP))
