import pytest

from conftest import ADA, GOOD_CARD, SLOW_CARD
from shop.errors import CheckoutError, PaymentTimeout
from shop.orders import OrderState


@pytest.fixture
def saved_card(checkout, cart):
    """Ada has bought a mug and let the shop remember her card."""
    cart.add("mug-blue")
    checkout.place_order(ADA, cart, GOOD_CARD, remember_card=True)


def test_express_pays_with_the_saved_card(checkout, cart, gateway, saved_card):
    cart.add("lamp-desk")
    order = checkout.place_express_order(ADA, cart)
    assert order.state is OrderState.PAID
    assert gateway.charges[order.id].last4 == "4242"
    assert not cart


def test_express_needs_a_saved_card(checkout, cart):
    cart.add("mug-blue")
    with pytest.raises(CheckoutError, match="there is no saved card for express checkout"):
        checkout.place_express_order(ADA, cart)


@pytest.mark.xfail(reason="#61: express checkout puts the goods back on sale after a time-out", strict=True)
def test_express_time_out_keeps_the_goods(checkout, cart, orders, stock, gateway, saved_card, monkeypatch):
    monkeypatch.setitem(gateway._saved, checkout._saved_cards[ADA], SLOW_CARD)
    cart.add("rug-grey")
    with pytest.raises(PaymentTimeout):
        checkout.place_express_order(ADA, cart)
    assert orders.of(ADA)[-1].state is OrderState.PAYMENT_UNKNOWN
    assert stock.available("rug-grey") == 0
