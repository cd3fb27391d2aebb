import threading

import pytest

from shop.cart import Line
from shop.errors import OutOfStock


@pytest.fixture
def rug(catalog):
    return Line(catalog.get("rug-grey"), 1)


def test_reserved_items_are_not_available(stock, rug):
    stock.reserve("S-1", [rug])
    assert stock.available("rug-grey") == 0
    assert stock.held("S-1") == {"rug-grey": 1}


def test_release_puts_back_and_may_be_repeated(stock, rug):
    stock.reserve("S-1", [rug])
    stock.release("S-1")
    stock.release("S-1")
    assert stock.available("rug-grey") == 1


def test_committed_items_do_not_come_back(stock, rug):
    stock.reserve("S-1", [rug])
    stock.commit("S-1")
    stock.release("S-1")
    assert stock.available("rug-grey") == 0


def test_all_lines_are_held_or_none(stock, catalog, rug):
    """#55"""
    lines = [Line(catalog.get("mug-blue"), 2), Line(catalog.get("lamp-desk"), 6), rug]
    with pytest.raises(OutOfStock, match="only 5 of 'Desk lamp' left"):
        stock.reserve("S-1", lines)
    assert stock.available("mug-blue") == 40
    assert stock.held("S-1") == {}


def test_reserve_one_is_deprecated(stock, rug):
    with pytest.warns(DeprecationWarning, match="use Stock.reserve"):
        stock.reserve_one("S-1", rug)


def test_one_of_many_shoppers_gets_the_last_item(stock, rug):
    """#18"""
    start, won = threading.Barrier(8), []

    def shop(name: str) -> None:
        start.wait()
        try:
            stock.reserve(name, [rug])
            won.append(name)
        except OutOfStock:
            pass

    threads = [threading.Thread(target=shop, args=(f"S-{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
