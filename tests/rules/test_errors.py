"""The errors that the feature raises, with their messages."""

from pathlib import Path

import pytest
from _own import make_thin, texts

from _evidence_project import write


def test_messages_of_one_kind_of_error_are_one_fact(tmp_path: Path) -> None:
    code = (
        "def login(name):\n    if not name:\n        raise ValueError('name is missing')\n"
        "    if len(name) > 9:\n        raise ValueError(\n"
        "            'name is too long'\n        )\n"
    )
    root = write(tmp_path, {"src/auth.py": code})
    assert texts(root, "errors") == [
        "`ValueError`: `name is missing` src/auth.py:3, `name is too long` :5-6"
    ]


def test_different_errors_are_facts_of_their_own(tmp_path: Path) -> None:
    code = (
        "def login(name):\n    if not name:\n        raise ValueError('name is missing')\n"
        "    raise TypeError('name is no text')\n"
    )
    root = write(tmp_path, {"src/auth.py": code})
    assert texts(root, "errors") == [
        "`ValueError`: `name is missing` src/auth.py:3",
        "`TypeError`: `name is no text` src/auth.py:4",
    ]


def test_the_literal_part_of_a_formatted_message_is_quoted(tmp_path: Path) -> None:
    code = "def login(name):\n    raise ValueError(f'no such user {name}')\n"
    root = write(tmp_path, {"src/auth.py": code})
    assert texts(root, "errors") == ["`ValueError`: `no such user` src/auth.py:2"]


def test_what_belongs_to_a_placeholder_is_left_out(tmp_path: Path) -> None:
    code = (
        "def login(name):\n    if name:\n"
        "        raise ValueError(f'`{name}` is not known, not even `{1}`')\n"
        "    raise ValueError(E_CODE, 'E_LOGIN')\n"
    )
    root = write(tmp_path, {"src/auth.py": code})
    assert texts(root, "errors") == ["`ValueError`: `is not known, not even` src/auth.py:3"]


def test_the_same_message_is_told_once(tmp_path: Path) -> None:
    body = "    raise E('not possible')\n"
    code = f"def login():\n{body}\n\ndef login_again():\n{body}"
    root = write(tmp_path, {"src/auth.py": code})
    root = write(tmp_path, {"src/auth.py": code.replace("E(", "LoginError(")})
    assert texts(root, "errors") == ["`LoginError`: `not possible` src/auth.py:2"]


def test_errors_of_other_features_are_left_out(tmp_path: Path) -> None:
    code = "def login(): ...\n\n\ndef pay():\n    raise ValueError('amount is negative')\n"
    root = write(tmp_path, {"src/shop.py": code})
    assert texts(root, "errors") == []


def test_errors_that_tests_raise_are_left_out(tmp_path: Path) -> None:
    code = (
        "pub fn login() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn test_login() {\n"
        '        panic!("login should have failed");\n    }\n}\n'
    )
    root = write(tmp_path, {"src/login.rs": code})
    assert texts(root, "errors") == []


@pytest.mark.parametrize(
    "message", ["a `b` c (d)", "``` three ```", "[x](y) src/a.py:3", "Grüße 名前", "x" * 500]
)
def test_hostile_messages_check_out_or_are_left_out(tmp_path: Path, message: str) -> None:
    code = f'def login():\n    raise ValueError("{message} of login")\n'
    root = write(tmp_path, {"src/auth.py": code})
    assert all("of login" in text for text in texts(root, "errors"))


def test_a_feature_the_project_hardly_mentions_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "LOGIN_LIMIT = 3\n\n\ndef login():\n    raise ValueError('no such login')\n"
    root = write(tmp_path, {"src/auth.py": code})
    assert texts(root, "errors")
    make_thin(monkeypatch)
    assert texts(root, "errors") == []


def test_an_error_that_is_passed_on_counts_as_raised(tmp_path: Path) -> None:
    code = """class Login {
  Mono login() { return Mono.error(new LoginException("no such user here")); }
  User of(String name) { return login(name).orElseThrow(() -> new LoginError("not signed in")); }
  Note other() { return new Note("is no error at all"); }
}
"""
    told = texts(write(tmp_path, {"src/Login.java": code}), "errors")
    assert told == [
        "`LoginException`: `no such user here` src/Login.java:2",
        "`LoginError`: `not signed in` src/Login.java:3",
    ]


def test_the_quote_before_a_placeholder_is_no_part_of_a_message(tmp_path: Path) -> None:
    code = (
        "export function login(name) {\n"
        "  throw new TypeError(`Expected a login name, got \\`${name}\\``);\n}\n"
    )
    root = write(tmp_path, {"src/login.js": code})
    assert texts(root, "errors") == ["`TypeError`: `Expected a login name, got` src/login.js:2"]
