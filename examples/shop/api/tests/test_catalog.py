import pytest

from shop.catalog import Sort
from shop.errors import NotFound


def test_get_unknown_product_names_the_sku(catalog):
    with pytest.raises(NotFound, match="no product 'mug-green'"):
        catalog.get("mug-green")


@pytest.mark.parametrize(
    ("text", "skus"),
    [("mug", ["mug-blue", "mug-red"]), ("RED mug", ["mug-red"]), ("sofa", [])],
)
def test_search_needs_every_word(catalog, text, skus):
    assert [product.sku for product in catalog.search(text)] == skus


def test_search_in_a_category_by_price(catalog):
    found = catalog.search(category="home", sort=Sort.PRICE)
    assert [product.sku for product in found] == ["lamp-desk", "rug-grey"]


def test_categories_are_sorted(catalog):
    assert catalog.categories() == ["gift", "home", "kitchen", "office"]
