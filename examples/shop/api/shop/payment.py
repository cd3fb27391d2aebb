"""A payment gateway that behaves like a real one, without a network and without waiting."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from .errors import PaymentDeclined, PaymentError, PaymentTimeout

# The gateway itself stops waiting for the bank after this many seconds.
GATEWAY_LIMIT_S = 12.0


@dataclass(frozen=True)
class Charge:
    reference: str
    amount_cents: int
    last4: str


@dataclass(frozen=True)
class _Card:
    answer: str = "approved"
    latency_s: float = 0.8


CARDS = {
    "4242424242424242": _Card(),
    "4000000000000002": _Card("the card was declined"),
    "4000000000009995": _Card("the card has insufficient funds"),
    "4000000000000069": _Card("the card has expired"),
    "4000000000000259": _Card(latency_s=60.0),
}


class FakeGateway:
    def __init__(self) -> None:
        self.charges: dict[str, Charge] = {}
        self.refunds: list[str] = []
        self._saved: dict[str, str] = {}

    def save(self, card_number: str) -> str:
        """A token that pays like the card; only the gateway ever keeps the number."""
        token = f"card_{secrets.token_hex(8)}"
        self._saved[token] = card_number
        return token

    def charge(self, amount_cents: int, card_number: str, reference: str, timeout_s: float) -> Charge:
        number = self._saved.get(card_number, card_number).replace(" ", "")
        card = CARDS.get(number)
        if card is None:
            raise PaymentError("the card number is not valid")
        if card.answer != "approved":
            raise PaymentDeclined(card.answer)
        charge = Charge(reference, amount_cents, number[-4:])
        # A slow bank books the charge although nobody waits for its answer any more.
        self.charges[reference] = charge
        if card.latency_s > min(timeout_s, GATEWAY_LIMIT_S):
            raise PaymentTimeout(f"no answer from the payment gateway within {timeout_s:g} s")
        return charge

    def lookup(self, reference: str) -> Charge | None:
        return self.charges.get(reference)

    def refund(self, reference: str) -> None:
        if reference not in self.charges:
            raise PaymentError(f"nothing was charged for {reference!r}")
        self.refunds.append(reference)
