import pytest

from shop.errors import NotLoggedIn
from shop.sessions import SESSION_TTL_S


def test_login_keeps_the_guest_cart_and_changes_the_token(sessions):
    guest = sessions.open()
    guest.cart.add("mug-blue")
    session = sessions.login(guest, "Ada@example.test", "correct horse")
    assert session.token != guest.token
    assert session.require_login() == "ada@example.test"
    assert session.cart.subtotal_cents == 1290


@pytest.mark.parametrize(
    ("email", "password"),
    [("ada@example.test", "wrong"), ("nobody@example.test", "correct horse"), ("", "")],
)
def test_login_refuses_without_saying_which_part_is_wrong(sessions, email, password):
    with pytest.raises(NotLoggedIn, match="wrong e-mail or password"):
        sessions.login(sessions.open(), email, password)


def test_guest_must_log_in(sessions):
    with pytest.raises(NotLoggedIn, match="please log in first"):
        sessions.open().require_login()


def test_old_session_is_replaced(sessions, clock):
    session = sessions.open()
    clock.advance(SESSION_TTL_S)
    assert sessions.open(session.token) is not session


def test_logout_forgets_the_token(sessions):
    session = sessions.login(sessions.open(), "ada@example.test", "correct horse")
    sessions.logout(session)
    assert sessions.open(session.token).email is None
