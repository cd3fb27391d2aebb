"""How much a name or a text is about a request."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from preread.evidence.relevance import Relevance
from preread.models import Request
from preread.ranking.query import query_of

WORDS = ("login", "token", "retry")  # what files of the project contain


def relevance(feature: str, description: str = "", **rarities: float) -> Relevance:
    query = query_of(Request(feature=feature, description=description), "")
    return Relevance(query, {word: rarities.get(word, 1.0) for word in WORDS})


@pytest.mark.parametrize(
    "text", ["login", "LoginPage", "do_login", "LOGINS", "a sentence on the login"]
)
def test_a_text_with_the_feature_s_word_is_about_it_in_every_spelling(text: str) -> None:
    assert relevance("login").of(text) == 1.0


@pytest.mark.parametrize("text", ["", "paint", "blogging", "log in", "日本"])
def test_a_text_without_the_words_is_about_something_else(text: str) -> None:
    assert relevance("login").of(text) == 0.0


def test_texts_count_together_and_each_word_once() -> None:
    known = relevance("login-token")
    assert 0 < known.of("login") < known.of("login", "token") == 1.0
    assert known.of("login login login") == known.of("login")


def test_a_rare_word_says_more_than_a_frequent_one() -> None:
    known = relevance("login-token", login=0.1, token=2.0)
    assert known.of("token") > known.of("login") > 0


def test_the_feature_s_words_say_more_than_the_description_s() -> None:
    known = relevance("login", "Nothing. What happens after a retry of it")
    assert known.of("login") > known.of("retry") > 0


def test_a_name_in_one_word_is_the_feature_s() -> None:
    known = relevance("login-token")
    assert known.has_feature("logintoken_page")
    assert known.has_feature("login", "token")
    assert not known.has_feature("login")


def bodies(text: str) -> Callable[[int, int], float]:
    return relevance("login-token").bodies(SimpleNamespace(lines=text.split("\n")))


def test_only_what_is_between_two_lines_counts() -> None:
    body = bodies("def login():\n    pass\n    return token(login)")
    assert body(2, 2) == 0.0
    assert 0 < body(1, 1) == body(1, 2) < body(3, 3) < body(1, 3)


def test_further_occurrences_in_a_body_count_less_and_less() -> None:
    body = bodies("login\n" * 50)
    once, twice, often = (body(1, n) for n in (1, 2, 50))
    assert 0 < once < twice < often < 1.0
    assert twice - once < once
