import pytest

from shop.errors import IdempotencyConflict, PaymentDeclined
from shop.idempotency import IdempotencyKeys


@pytest.fixture
def keys():
    return IdempotencyKeys()


def test_second_call_gets_the_first_outcome(keys):
    calls = []
    action = lambda: calls.append(1) or len(calls)
    assert [keys.run("k", "same", action), keys.run("k", "same", action)] == [1, 1]


def test_an_error_is_remembered_too(keys):
    def decline():
        raise PaymentDeclined("the card was declined")

    for _ in range(2):
        with pytest.raises(PaymentDeclined):
            keys.run("k", "same", decline)


def test_key_of_another_request_is_a_conflict(keys):
    keys.run("k", "one", lambda: 1)
    with pytest.raises(IdempotencyConflict, match="key 'k' was used for another request"):
        keys.run("k", "two", lambda: 2)
