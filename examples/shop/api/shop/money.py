"""Money is an `int` of cents everywhere; nothing here returns a float."""

from __future__ import annotations


def format_cents(cents: int) -> str:
    sign = "-" if cents < 0 else ""
    return f"{sign}€{abs(cents) // 100}.{abs(cents) % 100:02d}"
