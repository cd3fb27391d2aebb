import pytest

from shop.errors import CouponError
from shop.money import split


def test_percentage_of_one_line(cart, coupons):
    cart.add("rug-grey")
    assert coupons.redeem("TENOFF", cart.lines()) == [890]


@pytest.mark.parametrize(
    ("quantity", "discount"),
    [(2, [67]), (5, [167]), (15, [500])],
)
def test_discount_is_rounded_and_not_cut(cart, coupons, quantity, discount):
    """#31"""
    cart.add("pen-set", quantity)
    assert coupons.redeem("TENOFF", cart.lines()) == discount


def test_mixed_basket_is_rounded_once(cart, coupons):
    """#47"""
    cart.add("pen-set", 5)
    cart.add("lamp-desk", 5)
    cart.add("gift-card-25")
    discount = coupons.redeem("TENOFF", cart.lines())
    assert discount == [167, 2499, 0]
    assert sum(discount) == 2666


@pytest.mark.parametrize(
    ("cents", "weights", "parts"),
    [(100, [1, 1, 1], [34, 33, 33]), (5, [0, 10], [0, 5]), (0, [3, 4], [0, 0]), (7, [0, 0], [0, 0])],
)
def test_split_adds_up(cents, weights, parts):
    assert split(cents, weights) == parts


def test_code_is_forgiving_about_case_and_blanks(cart, coupons):
    cart.add("rug-grey")
    assert coupons.redeem(" tenoff ", cart.lines()) == [890]


def test_gift_cards_are_never_discounted(cart, coupons):
    cart.add("gift-card-25")
    cart.add("rug-grey")
    assert coupons.redeem("TENOFF", cart.lines()) == [0, 890]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("NOPE", "no coupon 'NOPE'"),
        ("SUMMER23", "coupon SUMMER23 has expired"),
        ("BIG20", "coupon BIG20 needs a larger order"),
    ],
)
def test_refused_coupons_say_why(cart, coupons, code, message):
    cart.add("mug-blue")
    with pytest.raises(CouponError, match=message):
        coupons.redeem(code, cart.lines())
