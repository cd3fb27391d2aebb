"""Tests that are skipped or not trusted are told with their mark as written."""

from pathlib import Path

from _evidence_project import found, write

CODE = "def login(name):\n    return name\n"
SKIP = '@pytest.mark.skip(reason="The gateway is away")'


def told(root: Path, tests: str, name: str = "tests/test_login.py") -> list[str]:
    write(root, {"login.py": CODE, name: tests})
    return [finding.text for finding in found(root, "skipped", "login")]


def test_a_skipped_test_is_told_with_its_reason_as_written(tmp_path: Path) -> None:
    tests = f"import pytest\n\n\n{SKIP}\ndef test_login():\n    pass\n"
    assert told(tmp_path, tests) == [f"`{SKIP}` on `test_login` tests/test_login.py:5"]


def test_tests_of_one_mark_are_told_together_in_the_order_of_their_lines(tmp_path: Path) -> None:
    tests = "import pytest\n" + "".join(
        f"\n\n@pytest.mark.xfail\ndef test_login_{name}():\n    pass\n" for name in "ab"
    )
    assert told(tmp_path, tests) == [
        "`@pytest.mark.xfail` on `test_login_a` tests/test_login.py:5, `test_login_b` :10"
    ]


def test_a_mark_over_several_lines_is_quoted_whole(tmp_path: Path) -> None:
    mark = '@pytest.mark.skipif(\n    WIN,\n    reason="no pipes",\n)'
    tests = f"import pytest\n\n\n{mark}\ndef test_login():\n    pass\n"
    (text,) = told(tmp_path, tests)
    assert text.startswith('`@pytest.mark.skipif( WIN, reason="no pipes", )` on')


def test_a_mark_that_is_too_long_goes_by_its_name(tmp_path: Path) -> None:
    mark = f'@pytest.mark.skip(reason="{"very " * 60}long")'
    tests = f"import pytest\n\n\n{mark}\ndef test_login():\n    pass\n"
    assert told(tmp_path, tests) == ["`@pytest.mark.skip` on `test_login` tests/test_login.py:5"]


def test_a_test_that_skips_itself_is_told_with_the_condition(tmp_path: Path) -> None:
    tests = (
        "package login\n\nfunc TestLogin(t *testing.T) {\n\tif noNetwork {\n"
        '\t\tt.Skip("no network here")\n\t}\n}\n'
    )
    write(tmp_path, {"login.go": "package login\n\nfunc Login() {}\n"})
    (text,) = told(tmp_path, tests, "login_test.go")
    assert text == (
        '`t.Skip("no network here")` under `if noNetwork` login_test.go:4'
        " on `TestLogin` login_test.go:3"
    )


def test_a_mark_of_rust_behind_a_condition_is_told(tmp_path: Path) -> None:
    tests = (
        "#[test]\n#[cfg_attr(all(miri, unix), ignore)] // too slow\nfn login() {}\n\n"
        '#[test]\n#[cfg_attr(feature = "ignore", should_panic)]\nfn login_panics() {}\n'
    )
    assert told(tmp_path, tests, "tests/login.rs") == [
        "`#[cfg_attr(all(miri, unix), ignore)]` on `login` tests/login.rs:3"
    ]


def test_other_marks_and_what_is_given_to_them_say_nothing(tmp_path: Path) -> None:
    tests = (
        "import pytest\n\n\n"
        '@pytest.mark.parametrize("skip", ["todo", "ignore"])\n'
        '@pytest.mark.filterwarnings("ignore:flaky")\n'
        "def test_login(skip):\n    pass\n"
    )
    assert told(tmp_path, tests) == []


def test_hostile_reasons_check_out(tmp_path: Path) -> None:
    reasons = ("a `tick` (login.py:1)", "```", "ünïcode «»", "x) (", "[a](b)", "'" * 9)
    tests = "import pytest\n" + "".join(
        f"\n\n@pytest.mark.skip(reason={reason!r})\ndef test_login_{n}():\n    pass\n"
        for n, reason in enumerate(reasons)
    )
    assert len(told(tmp_path, tests)) == len(reasons)
