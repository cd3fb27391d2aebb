"""Words of identifiers and sentences, and which of them count as one."""

import pytest

from preread.index import words


@pytest.mark.parametrize(
    "same",
    [
        ("cookie", "cookies"),
        ("setting", "settings", "set"),
        ("mapping", "mappings"),
        ("retry", "retries", "retried"),
        ("validate", "validates", "validation", "validator"),
        ("serialize", "serializer", "serialization"),
        ("delete", "deletion"),
        ("round", "rounded", "rounding"),
        ("status", "statuses"),
    ],
    ids=lambda same: same[0],
)
def test_forms_of_a_word_are_one(same: tuple[str, ...]) -> None:
    assert len({words.stem(word) for word in same}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [("string", "str"), ("user", "use"), ("theme", "them"), ("class", "clas"), ("import", "port")],
)
def test_other_words_are_kept_apart(one: str, other: str) -> None:
    assert words.stem(one) != words.stem(other)


def test_the_parts_of_an_identifier_are_stemmed() -> None:
    assert words.stems("storeCookies") == words.stems("cookie_store")
    assert words.stems("größe") == {"größe"}


def test_a_plural_of_capitals_is_one_word() -> None:
    assert words.parts("listURLsOfAPIs") == ("list", "urls", "of", "apis")
    assert words.parts("HTTPServer") == ("http", "server")
    assert words.stems("userIDs") == words.stems("user_id")
