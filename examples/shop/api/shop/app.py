"""The shop's services in one object, and the JSON that its routes answer with."""

from __future__ import annotations

from typing import Any

from .cart import Cart
from .catalog import Catalog, Product, Sort
from .checkout import Checkout, CheckoutOptions
from .coupons import CouponBook
from .errors import BadRequest
from .idempotency import IdempotencyKeys
from .orders import Order, OrderBook
from .payment import FakeGateway
from .sessions import Accounts, Session, Sessions
from .stock import Stock

Json = dict[str, Any]


class Shop:
    def __init__(self, options: CheckoutOptions = CheckoutOptions()) -> None:
        self.catalog = Catalog()
        self.stock = Stock()
        self.orders = OrderBook()
        self.gateway = FakeGateway()
        self.checkout = Checkout(self.stock, CouponBook(), self.orders, self.gateway, options)
        self.accounts = Accounts()
        self.accounts.add("ada@example.test", "correct horse")
        self.accounts.add("bob@example.test", "battery staple")
        self.sessions = Sessions(self.catalog, self.accounts)
        self.keys = IdempotencyKeys()

    def list_products(self, session: Session, body: Json, query: dict[str, str]) -> Json:
        try:
            sort = Sort(query.get("sort", Sort.TITLE.value))
        except ValueError:
            raise BadRequest(f"cannot sort by {query['sort']!r}") from None
        found = self.catalog.search(query.get("q", ""), query.get("category"), sort)
        return {"products": [self._product(product) for product in found], "categories": self.catalog.categories()}

    def show_session(self, session: Session, body: Json, query: dict[str, str]) -> Json:
        email = session.email
        return {"email": email, "saved_card": email is not None and self.checkout.has_saved_card(email)}

    def show_cart(self, session: Session, body: Json, query: dict[str, str]) -> Json:
        return cart_json(session.cart)

    def put_line(self, session: Session, body: Json, query: dict[str, str], sku: str) -> Json:
        quantity = body.get("quantity")
        if not isinstance(quantity, int):
            raise BadRequest("quantity must be a whole number")
        session.cart.set_quantity(sku, quantity)
        return cart_json(session.cart)

    def clear_cart(self, session: Session, body: Json, query: dict[str, str]) -> Json:
        session.cart.clear()
        return cart_json(session.cart)

    def quote(self, session: Session, body: Json, query: dict[str, str]) -> Json:
        quote = self.checkout.quote(session.email or "", session.cart, body.get("coupon"))
        return {
            "discount_cents": sum(quote.discounts),
            "shipping_cents": quote.shipping_cents,
            "total_cents": quote.total_cents,
        }

    def place_order(self, session: Session, body: Json, query: dict[str, str]) -> Json:
        email = session.require_login()
        card, coupon, remember = body.get("card", ""), body.get("coupon"), bool(body.get("remember"))
        order = self.keys.run(
            f"{email}:{required_key(body)}",
            f"{card}|{coupon}",
            lambda: self.checkout.place_order(email, session.cart, card, coupon, remember),
        )
        return order_json(order)

    def place_express_order(self, session: Session, body: Json, query: dict[str, str]) -> Json:
        email = session.require_login()
        order = self.keys.run(
            f"{email}:{required_key(body)}",
            "express",
            lambda: self.checkout.place_express_order(email, session.cart),
        )
        return order_json(order)

    def show_order(self, session: Session, body: Json, query: dict[str, str], order_id: str) -> Json:
        return order_json(self.checkout.reconcile(order_id, session.require_login()))

    def _product(self, product: Product) -> Json:
        return {
            "sku": product.sku,
            "title": product.title,
            "price_cents": product.price_cents,
            "category": product.category,
            "available": self.stock.available(product.sku),
        }


def required_key(body: Json) -> str:
    if key := body.get("key"):
        return key
    raise BadRequest("an Idempotency-Key header is needed")


def cart_json(cart: Cart) -> Json:
    lines = [
        {
            "sku": line.product.sku,
            "title": line.product.title,
            "quantity": line.quantity,
            "total_cents": line.total_cents,
        }
        for line in cart.lines()
    ]
    return {"lines": lines, "subtotal_cents": cart.subtotal_cents}


def order_json(order: Order) -> Json:
    return {
        "id": order.id,
        "state": order.state.value,
        "lines": [{"title": line.product.title, "quantity": line.quantity} for line in order.lines],
        "discount_cents": sum(order.discounts),
        "shipping_cents": order.shipping_cents,
        "total_cents": order.total_cents,
    }
