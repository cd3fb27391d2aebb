import pytest

from conftest import DECLINED_CARD, GOOD_CARD, SLOW_CARD
from shop.errors import PaymentDeclined, PaymentError, PaymentTimeout


def test_charge_keeps_the_last_four_digits_only(gateway):
    charge = gateway.charge(1290, GOOD_CARD, "S-1", timeout_s=10)
    assert (charge.amount_cents, charge.last4) == (1290, "4242")


@pytest.mark.parametrize(
    ("card", "message"),
    [(DECLINED_CARD, "the card was declined"), ("4000000000009995", "insufficient funds")],
)
def test_declined_card_is_not_charged(gateway, card, message):
    with pytest.raises(PaymentDeclined, match=message):
        gateway.charge(1290, card, "S-1", timeout_s=10)
    assert gateway.lookup("S-1") is None


def test_time_out_may_still_have_charged(gateway):
    with pytest.raises(PaymentTimeout, match="within 10 s"):
        gateway.charge(1290, SLOW_CARD, "S-1", timeout_s=10)
    assert gateway.lookup("S-1") is not None


def test_unknown_number_is_refused(gateway):
    with pytest.raises(PaymentError, match="not valid"):
        gateway.charge(1290, "1234", "S-1", timeout_s=10)
