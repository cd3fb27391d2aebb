import pytest

from shop.cart import MAX_QUANTITY
from shop.errors import InvalidQuantity, NotFound
from shop.money import format_cents


def test_add_twice_sums_the_quantity(cart):
    cart.add("mug-blue")
    cart.add("mug-blue", 2)
    assert [(line.product.sku, line.quantity) for line in cart.lines()] == [("mug-blue", 3)]
    assert cart.subtotal_cents == 3870


def test_zero_removes_the_line(cart):
    cart.add("mug-blue")
    cart.set_quantity("mug-blue", 0)
    assert not cart


def test_quantity_has_a_ceiling(cart):
    cart.add("pen-set", MAX_QUANTITY)
    with pytest.raises(InvalidQuantity, match="at most 20 of 'Set of pens'"):
        cart.add("pen-set")
    assert cart.lines()[0].quantity == MAX_QUANTITY


def test_unknown_product_leaves_the_cart_empty(cart):
    with pytest.raises(NotFound):
        cart.add("mug-green")
    assert not cart


@pytest.mark.parametrize(("cents", "text"), [(0, "€0.00"), (1290, "€12.90"), (-5, "-€0.05")])
def test_format_cents(cents, text):
    assert format_cents(cents) == text
