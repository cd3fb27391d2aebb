import pytest

from conftest import ADA, DECLINED_CARD, GOOD_CARD, SLOW_CARD
from shop.cart import Cart
from shop.errors import CheckoutError, OutOfStock, PaymentDeclined, PaymentTimeout
from shop.orders import OrderState


def test_paid_order_takes_stock_and_empties_the_cart(checkout, cart, stock, gateway):
    cart.add("lamp-desk", 2)
    order = checkout.place_order(ADA, cart, GOOD_CARD)
    assert order.state is OrderState.PAID
    assert gateway.charges[order.id].amount_cents == 9998
    assert stock.available("lamp-desk") == 3
    assert not cart


@pytest.mark.parametrize(("sku", "shipping_cents"), [("mug-blue", 490), ("rug-grey", 0)])
def test_shipping_is_free_for_larger_orders(checkout, cart, sku, shipping_cents):
    cart.add(sku)
    assert checkout.quote(ADA, cart).shipping_cents == shipping_cents


def test_shipping_looks_at_the_price_after_the_discount(checkout, cart):
    cart.add("lamp-desk")
    cart.add("pen-set")
    assert checkout.quote(ADA, cart).shipping_cents == 0
    assert checkout.quote(ADA, cart, "TENOFF").shipping_cents == 490


def test_empty_cart_is_refused(checkout, cart):
    with pytest.raises(CheckoutError, match="the cart is empty"):
        checkout.place_order(ADA, cart, GOOD_CARD)


def test_nothing_is_charged_when_the_last_one_is_gone(checkout, catalog, cart, gateway, stock):
    """#18"""
    cart.add("rug-grey")
    other = Cart(catalog)
    other.add("mug-blue")
    other.add("rug-grey")
    checkout.place_order(ADA, cart, GOOD_CARD)
    with pytest.raises(OutOfStock, match="only 0 of 'Grey rug' left"):
        checkout.place_order("bob@example.test", other, GOOD_CARD)
    assert len(gateway.charges) == 1
    assert stock.available("mug-blue") == 40


def test_declined_payment_keeps_the_cart_and_puts_the_stock_back(checkout, cart, orders, stock):
    cart.add("mug-blue")
    with pytest.raises(PaymentDeclined):
        checkout.place_order(ADA, cart, DECLINED_CARD)
    assert [order.state for order in orders.of(ADA)] == [OrderState.DECLINED]
    assert cart.subtotal_cents == 1290
    assert stock.available("mug-blue") == 40


def test_time_out_keeps_the_goods_until_the_gateway_knows(checkout, cart, orders, stock):
    """#39"""
    cart.add("rug-grey")
    with pytest.raises(PaymentTimeout, match="within 10 s"):
        checkout.place_order(ADA, cart, SLOW_CARD)
    [order] = orders.of(ADA)
    assert order.state is OrderState.PAYMENT_UNKNOWN
    assert stock.held(order.id) == {"rug-grey": 1}
    assert checkout.reconcile(order.id, ADA).state is OrderState.PAID
    assert stock.held(order.id) == {}
    assert stock.available("rug-grey") == 0


def test_time_out_without_a_charge_puts_the_goods_back(checkout, cart, orders, stock, gateway):
    """#39"""
    cart.add("rug-grey")
    with pytest.raises(PaymentTimeout):
        checkout.place_order(ADA, cart, SLOW_CARD)
    [order] = orders.of(ADA)
    gateway.charges.clear()
    assert checkout.reconcile(order.id, ADA).state is OrderState.DECLINED
    assert stock.available("rug-grey") == 1
