"""Values and options that documents have and the code does not, only where that is certain."""

from pathlib import Path

import pytest

from _evidence_project import found, write

CODE = "LOGIN_LIMIT = 20\n\n\ndef login(name, max_tries=3, mode='fast'):\n    return name\n"


def told(root: Path, doc: str, code: str = CODE, name: str = "docs/login.md") -> list[str]:
    write(root, {"login.py": code, name: f"# Login\n\n{doc}\n"})
    return [finding.text for finding in found(root, "disagreements", "login")]


@pytest.mark.parametrize(
    ("doc", "said"),
    [
        ("`LOGIN_LIMIT` defaults to 30.", "`LOGIN_LIMIT` is `30` docs/login.md:3, but `20` login.py:1"),
        ("`max_tries` (default: `5`)", "`max_tries` is `5` docs/login.md:3, but `3` login.py:4"),
        ("`mode` defaults to `'slow'`", "`mode` is `'slow'` docs/login.md:3, but `'fast'` login.py:4"),
        (
            "| name | default |\n| --- | --- |\n| `max_tries` | `5` |",
            "`max_tries` is `5` docs/login.md:5, but `3` login.py:4",
        ),
    ],
)  # fmt: skip
def test_a_default_that_differs_is_told_with_both_places(
    tmp_path: Path, doc: str, said: str
) -> None:
    assert told(tmp_path, doc) == [said]


@pytest.mark.parametrize(
    "doc",
    [
        "`LOGIN_LIMIT` defaults to 20.",
        '`mode` defaults to `"fast"`',
        "`max_tries` defaults to 5 seconds",  # another unit
        "Set `max_tries = 5` for slow ones.",  # what somebody may set it to
        "`max_tries` was 5, and a default of 3 came later.",
        "`mode` defaults to 5",  # not the same kind
        "`other` defaults to 5",
        "| name | value |\n| --- | --- |\n| `max_tries` | `5` |",
    ],
)
def test_what_agrees_or_is_not_certain_is_left_out(tmp_path: Path, doc: str) -> None:
    assert told(tmp_path, doc) == []


@pytest.mark.parametrize(("unit", "is_certain"), [("s", True), ("ms", False), ("", True)])
def test_a_unit_counts_only_if_the_name_ends_in_it(
    tmp_path: Path, unit: str, is_certain: bool
) -> None:
    doc = f"| name | default |\n| --- | --- |\n| `login_wait_s` | {f'30 {unit}'.strip()} |"
    assert (
        bool(told(tmp_path, doc, "LOGIN = 1\n\n\nclass Login:\n    login_wait_s: float = 10.0\n"))
        is is_certain
    )


def test_a_name_with_two_values_in_the_code_disagrees_with_nothing(tmp_path: Path) -> None:
    code = CODE + "\n\ndef login_again(name, max_tries=4):\n    return name\n"
    assert told(tmp_path, "`max_tries` defaults to 5.", code) == []


def test_documents_of_other_versions_are_not_held_to_this_one(tmp_path: Path) -> None:
    assert told(tmp_path, "`max_tries` defaults to 5.", name="docs/login-changes.md") == []


def options(*names: str) -> str:
    return "| option |\n| --- |\n" + "\n".join(f"| `{name}` |" for name in names)


def test_an_option_that_only_documents_have_is_told_beside_those_that_exist(
    tmp_path: Path,
) -> None:
    code = "def login(login_name, login_token, login_mode):\n    return login_name\n"
    doc = options("login_name", "login_token", "login_mode", "login_gone")
    write(tmp_path, {"login.py": code, "docs/login.md": f"# Login\n\n{doc}\n"})
    (finding,) = found(tmp_path, "disagreements", "login")
    assert finding.text == "`login_gone` is in no code, unlike the 3 other options of its table"
    assert finding.sources == ("docs/login.md:8", 'absent:**/*.py~"login_gone"')


def test_a_table_of_another_programs_options_is_left_alone(tmp_path: Path) -> None:
    doc = options("server_name", "server_token", "server_mode", "login_name")
    assert told(tmp_path, doc, "def login(login_name):\n    return login_name\n") == []
