"""How the feature's tests call it."""

from pathlib import Path

import pytest
from _own import make_thin, texts

from _evidence_project import write

SOURCE = {"src/login.py": "def login(name): ...\n\n\ndef logout(): ...\n"}


def project_with(*bodies: str) -> dict[str, str]:
    tests = (f"def test_login_{n}():\n    {body}\n\n\n" for n, body in enumerate(bodies))
    return {**SOURCE, "tests/test_login.py": "".join(tests)}


def test_a_call_into_the_project_is_counted_and_shown_by_its_shortest_line(
    tmp_path: Path,
) -> None:
    root = write(tmp_path, project_with('assert login("annabelle")', 'login("bo")', "check(1)"))
    assert texts(root, "calls") == ['`login` in 2 of 3 tests: `login("bo")` tests/test_login.py:6']


def test_calls_of_the_test_library_are_left_out(tmp_path: Path) -> None:
    root = write(tmp_path, project_with("expect(1)", "expect(2)"))
    assert texts(root, "calls") == []


def test_a_call_of_a_single_test_is_no_custom(tmp_path: Path) -> None:
    root = write(tmp_path, project_with("login(1)", "check(1)", "check(2)"))
    assert texts(root, "calls") == []


def test_calls_of_what_the_runner_passes_are_left_out(tmp_path: Path) -> None:
    source = "package a\n\nfunc Login() {\n}\n\nfunc (s *Set) Parallel() {\n}\n"
    test = "".join(
        f"func TestLogin{n}(t *testing.T) {{\n\tt.Parallel()\n\tLogin()\n}}\n\n" for n in "AB"
    )
    files = {"login.go": source, "login_test.go": f'package a\n\nimport "testing"\n\n{test}'}
    assert texts(write(tmp_path, files), "calls") == [
        "`Login` in 2 of 2 tests: `Login()` login_test.go:7"
    ]


def test_calls_of_a_package_that_the_project_does_not_have_are_left_out(tmp_path: Path) -> None:
    test = "".join(
        f"func TestLogin{n}(t *testing.T) {{\n\tLogin(errors.New(t.Name()))\n}}\n\n" for n in "AB"
    )
    files = {
        "login.go": "package a\n\nfunc Login(err error) {\n}\n\nfunc New() {\n}\n",
        "login_test.go": f'package a\n\nimport (\n\t"errors"\n\t"testing"\n)\n\n{test}',
    }
    [found] = texts(write(tmp_path, files), "calls")
    assert "errors.New` in" not in found
    assert found.startswith("`Login` in 2 of 2 tests: ")


def test_a_line_that_is_part_of_a_statement_is_not_shown(tmp_path: Path) -> None:
    body = "pair = [\n        login(1),\n    ]"
    assert texts(write(tmp_path, project_with(body, body)), "calls") == []


def test_a_method_of_a_class_that_the_project_does_not_have_is_left_out(tmp_path: Path) -> None:
    root = write(tmp_path, project_with("Other.login(1)", "Other.login(2)"))
    assert texts(root, "calls") == []


def test_a_method_is_neither_a_builtin_function_nor_a_class(tmp_path: Path) -> None:
    source = "class Login:\n    def dict(self): ...\n\n    def Equal(self): ...\n"
    body = "Login().dict()\n    dict(login=1)\n    Equal.to(1)"
    files = project_with(body, body) | {"src/login.py": source}
    assert texts(write(tmp_path, files), "calls") == [
        "`Login` in 2 of 2 tests: `Login().dict()` tests/test_login.py:2"
    ]


def test_a_feature_the_project_hardly_mentions_gets_the_projects_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write(tmp_path, project_with("logout()", "logout()"))
    make_thin(monkeypatch)
    assert texts(root, "calls") == ["`logout` in 2 of 2 tests: `logout()` tests/test_login.py:2"]


@pytest.mark.parametrize("value", ["a`b", "``", ") (", "名前", "(tests/a.py:3)", "x" * 300])
def test_hostile_lines_check_out_or_are_left_out(tmp_path: Path, value: str) -> None:
    root = write(tmp_path, project_with(*[f'login("{value}")'] * 2))
    assert len(texts(root, "calls")) == (value not in {"``", "x" * 300})


def test_what_the_runner_gives_to_a_test_is_no_call_into_the_project(tmp_path: Path) -> None:
    source = "export function login(name) {}\nexport function done() {}\n"
    test = "".join(
        f'it("logs in {n}", function (done) {{\n  login("bo");\n  done();\n}});\n' for n in range(3)
    )
    root = write(tmp_path, {"src/login.js": source, "tests/login.test.js": test})
    assert texts(root, "calls") == ['`login` in 3 of 3 tests: `login("bo");` tests/login.test.js:2']


def test_a_method_of_what_another_call_returns_is_left_out(tmp_path: Path) -> None:
    root = write(tmp_path, project_with("get(1).logout()", "get(2).logout()"))
    assert texts(root, "calls") == []
