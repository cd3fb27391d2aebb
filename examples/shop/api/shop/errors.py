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


class OutOfStock(ShopError):
    code = "out_of_stock"
    status = 409


class CheckoutError(ShopError):
    code = "checkout"
    status = 422


class PaymentError(ShopError):
    code = "payment"
    status = 402


class PaymentDeclined(PaymentError):
    code = "payment_declined"


class PaymentTimeout(PaymentError):
    """The outcome is unknown: the money may have moved."""

    code = "payment_timeout"
    status = 504


class InvalidTransition(ShopError):
    code = "invalid_transition"
    status = 409


class BadRequest(ShopError):
    code = "bad_request"


class IdempotencyConflict(ShopError):
    code = "idempotency_conflict"
    status = 409
