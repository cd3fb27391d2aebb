"""Coupons and what they take off each line of a cart."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from .cart import Line
from .errors import CouponError
from .money import percent_of, split

NOT_DISCOUNTABLE = frozenset({"gift"})


@dataclass(frozen=True)
class Coupon:
    code: str
    percent: int
    minimum_cents: int = 0
    expires_at: float | None = None
    first_order_only: bool = False


SEED = (
    Coupon("WELCOME10", 10, first_order_only=True),
    Coupon("TENOFF", 10),
    Coupon("THIRD", 33),
    Coupon("BIG20", 20, minimum_cents=10_000),
    Coupon("SUMMER23", 15, expires_at=1_693_500_000.0),
)


class CouponBook:
    def __init__(self, coupons: Iterable[Coupon] = SEED, now: Callable[[], float] = time.time) -> None:
        self._coupons = {coupon.code: coupon for coupon in coupons}
        self._now = now

    def redeem(self, code: str, lines: Sequence[Line], *, has_ordered: bool = False) -> list[int]:
        """Discount in cents for each line, in the order of `lines`."""
        coupon = self._coupons.get(code.strip().upper())
        if coupon is None:
            raise CouponError(f"no coupon {code!r}")
        if coupon.expires_at is not None and coupon.expires_at <= self._now():
            raise CouponError(f"coupon {coupon.code} has expired")
        if coupon.first_order_only and has_ordered:
            raise CouponError(f"coupon {coupon.code} is for a first order only")
        subtotal = sum(line.total_cents for line in lines)
        if subtotal < coupon.minimum_cents:
            raise CouponError(f"coupon {coupon.code} needs a larger order")
        return discounts(coupon, lines)


def discounts(coupon: Coupon, lines: Sequence[Line]) -> list[int]:
    # Round once, for the whole basket, then share it out. Rounding each line was wrong
    # by up to half a cent a line, which mixed baskets add up (#31, #47).
    weights = [0 if line.product.category in NOT_DISCOUNTABLE else line.total_cents for line in lines]
    return split(percent_of(sum(weights), coupon.percent), weights)
