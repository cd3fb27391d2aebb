"""Errors that the shop raises on purpose; the HTTP layer turns each into a JSON reply."""

from __future__ import annotations


class ShopError(Exception):
    """Root of every expected failure. `code` is stable, the message is for people."""

    code = "shop_error"
    status = 400


class NotFound(ShopError):
    code = "not_found"
    status = 404


class InvalidQuantity(ShopError):
    code = "invalid_quantity"
    status = 422


class NotLoggedIn(ShopError):
    code = "not_logged_in"
    status = 401


class CouponError(ShopError):
    code = "coupon"
    status = 422
