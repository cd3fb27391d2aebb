"""Orders, their states, and which state may follow which."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from enum import Enum

from .cart import Line
from .errors import InvalidTransition, NotFound


class OrderState(Enum):
    PENDING = "pending"
    PAID = "paid"
    DECLINED = "declined"
    PAYMENT_UNKNOWN = "payment_unknown"
    SHIPPED = "shipped"
    CANCELLED = "cancelled"
    REFUNDED = "refunded"


TRANSITIONS = {
    OrderState.PENDING: {
        OrderState.PAID,
        OrderState.DECLINED,
        OrderState.PAYMENT_UNKNOWN,
        OrderState.CANCELLED,
    },
    OrderState.PAYMENT_UNKNOWN: {OrderState.PAID, OrderState.DECLINED},
    OrderState.PAID: {OrderState.SHIPPED, OrderState.REFUNDED},
    OrderState.SHIPPED: {OrderState.REFUNDED},
}


@dataclass
class Order:
    id: str
    email: str
    lines: list[Line]
    discounts: list[int]
    shipping_cents: int
    state: OrderState = OrderState.PENDING

    @property
    def total_cents(self) -> int:
        return sum(line.total_cents for line in self.lines) - sum(self.discounts) + self.shipping_cents

    def move_to(self, state: OrderState) -> None:
        if state not in TRANSITIONS.get(self.state, set()):
            raise InvalidTransition(f"order {self.id} cannot go from {self.state.value} to {state.value}")
        self.state = state


class OrderBook:
    def __init__(self) -> None:
        self._orders: dict[str, Order] = {}
        self._numbers = itertools.count(1001)

    def open(self, email: str, lines: list[Line], discounts: list[int], shipping_cents: int) -> Order:
        order = Order(f"S-{next(self._numbers)}", email, lines, discounts, shipping_cents)
        self._orders[order.id] = order
        return order

    def get(self, order_id: str, email: str) -> Order:
        """Somebody else's order does not exist, as far as this shopper can tell."""
        order = self._orders.get(order_id)
        if order is None or order.email != email:
            raise NotFound(f"no order {order_id!r}")
        return order

    def of(self, email: str) -> list[Order]:
        return [order for order in self._orders.values() if order.email == email]
