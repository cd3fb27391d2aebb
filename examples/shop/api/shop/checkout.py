"""From a cart to a paid order."""

from __future__ import annotations

from dataclasses import dataclass

from .cart import Cart, Line
from .coupons import CouponBook
from .errors import CheckoutError, OutOfStock, PaymentError, PaymentTimeout
from .orders import Order, OrderBook, OrderState
from .payment import FakeGateway
from .stock import Stock

FAILED = frozenset({OrderState.DECLINED, OrderState.CANCELLED})


@dataclass(frozen=True)
class CheckoutOptions:
    payment_timeout_s: float = 10.0
    reservation_ttl_s: float = 900.0
    free_shipping_from_cents: int = 5_000
    shipping_cents: int = 490
    max_lines: int = 30


@dataclass(frozen=True)
class Quote:
    lines: list[Line]
    discounts: list[int]
    shipping_cents: int

    @property
    def total_cents(self) -> int:
        return sum(line.total_cents for line in self.lines) - sum(self.discounts) + self.shipping_cents


class Checkout:
    def __init__(
        self,
        stock: Stock,
        coupons: CouponBook,
        orders: OrderBook,
        gateway: FakeGateway,
        options: CheckoutOptions = CheckoutOptions(),
    ) -> None:
        self._stock = stock
        self._coupons = coupons
        self._orders = orders
        self._gateway = gateway
        self._options = options
        self._saved_cards: dict[str, str] = {}

    def quote(self, email: str, cart: Cart, coupon_code: str | None = None) -> Quote:
        lines = cart.lines()
        if not lines:
            raise CheckoutError("the cart is empty")
        if len(lines) > self._options.max_lines:
            raise CheckoutError(f"at most {self._options.max_lines} different products in one order")
        discounts = [0] * len(lines)
        if coupon_code:
            has_ordered = any(order.state not in FAILED for order in self._orders.of(email))
            discounts = self._coupons.redeem(coupon_code, lines, has_ordered=has_ordered)
        goods_cents = sum(line.total_cents for line in lines) - sum(discounts)
        free = goods_cents >= self._options.free_shipping_from_cents
        return Quote(lines, discounts, 0 if free else self._options.shipping_cents)

    def place_order(
        self,
        email: str,
        cart: Cart,
        card_number: str,
        coupon_code: str | None = None,
        remember_card: bool = False,
    ) -> Order:
        quote = self.quote(email, cart, coupon_code)
        order = self._orders.open(email, quote.lines, quote.discounts, quote.shipping_cents)
        # NOTE: don't move the charge above the reservation. Two shoppers raced for the
        # last rug, both were charged and one got nothing (#18).
        try:
            self._stock.reserve(order.id, quote.lines, self._options.reservation_ttl_s)
        except OutOfStock:
            order.move_to(OrderState.CANCELLED)
            raise
        try:
            self._gateway.charge(order.total_cents, card_number, order.id, self._options.payment_timeout_s)
        except PaymentTimeout:
            # The bank may still book it: the goods stay held until `reconcile` knows (#39).
            order.move_to(OrderState.PAYMENT_UNKNOWN)
            raise
        except PaymentError:
            self._stock.release(order.id)
            order.move_to(OrderState.DECLINED)
            raise
        self._stock.commit(order.id)
        order.move_to(OrderState.PAID)
        if remember_card:
            self._saved_cards[email] = self._gateway.save(card_number)
        cart.clear()
        return order

    def has_saved_card(self, email: str) -> bool:
        return email in self._saved_cards

    def place_express_order(self, email: str, cart: Cart) -> Order:
        """One click: the saved card, no coupon."""
        card = self._saved_cards.get(email)
        if card is None:
            raise CheckoutError("there is no saved card for express checkout")
        quote = self.quote(email, cart)
        order = self._orders.open(email, quote.lines, quote.discounts, quote.shipping_cents)
        try:
            for line in quote.lines:
                self._stock.reserve_one(order.id, line)
        except OutOfStock:
            self._stock.release(order.id)
            order.move_to(OrderState.CANCELLED)
            raise
        try:
            self._gateway.charge(order.total_cents, card, order.id, self._options.payment_timeout_s)
        except PaymentError:
            self._stock.release(order.id)
            order.move_to(OrderState.DECLINED)
            raise
        self._stock.commit(order.id)
        order.move_to(OrderState.PAID)
        cart.clear()
        return order

    def reconcile(self, order_id: str, email: str) -> Order:
        """Ask the gateway what became of a payment that had timed out."""
        order = self._orders.get(order_id, email)
        if order.state is OrderState.PAYMENT_UNKNOWN:
            if self._gateway.lookup(order.id):
                self._stock.commit(order.id)
                order.move_to(OrderState.PAID)
            else:
                self._stock.release(order.id)
                order.move_to(OrderState.DECLINED)
        return order
