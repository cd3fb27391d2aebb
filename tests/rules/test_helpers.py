"""The fixtures and helpers that the feature's tests share."""

from pathlib import Path

import pytest
from _own import make_thin, texts

from _evidence_project import write

SOURCE = {"src/login.py": "def login(name): ...\n"}
CONFTEST = "import pytest\n\n\n@pytest.fixture\ndef client(request):\n    return 1\n"


def project_with(body: str, *, head: str = "") -> dict[str, str]:
    return {**SOURCE, "tests/test_login.py": f"from src.login import login\n{head}\n\n{body}"}


def test_a_fixture_is_counted_and_points_to_its_conftest(tmp_path: Path) -> None:
    body = "".join(f"def test_login_{n}(client):\n    login(client)\n\n\n" for n in range(3))
    root = write(tmp_path, {**project_with(body), "tests/conftest.py": CONFTEST})
    assert texts(root, "helpers") == ["`client(request)` tests/conftest.py:5, in 3 of 3 tests"]


def test_fixtures_of_the_runner_itself_are_left_out(tmp_path: Path) -> None:
    body = "".join(f"def test_login_{n}(tmp_path):\n    login(tmp_path)\n\n\n" for n in range(3))
    assert texts(write(tmp_path, project_with(body)), "helpers") == []


def test_the_nearest_conftest_wins(tmp_path: Path) -> None:
    body = "".join(f"def test_login_{n}(client):\n    login(client)\n\n\n" for n in range(2))
    files = {**SOURCE, "tests/a/test_login.py": body}
    files |= {"tests/conftest.py": CONFTEST, "tests/a/conftest.py": f"# near\n{CONFTEST}"}
    files["tests/b/conftest.py"] = CONFTEST
    root = write(tmp_path, files)
    assert texts(root, "helpers") == ["`client(request)` tests/a/conftest.py:6, in 2 of 2 tests"]


def test_functions_of_the_test_file_are_helpers_and_those_under_test_are_not(
    tmp_path: Path,
) -> None:
    body = "def signed_in(name):\n    return login(name)\n\n\n"
    body += "".join(
        f"def test_login_{n}():\n    assert login(1)\n    assert signed_in(1)\n\n\n"
        for n in range(2)
    )
    root = write(tmp_path, project_with(body))
    assert texts(root, "helpers") == ["`signed_in(name)` tests/test_login.py:4, in 2 of 2 tests"]


@pytest.mark.parametrize("head", ["from support.users import make_user\n", "import support\n"])
def test_a_helper_of_another_file_is_found(tmp_path: Path, head: str) -> None:
    body = "".join(f"def test_login_{n}():\n    make_user(login)\n\n\n" for n in range(2))
    helper = {"tests/support/users.py": "def make_user(name): ...\n"}
    root = write(tmp_path, {**project_with(body, head=head), **helper})
    expected = "`make_user(name)` tests/support/users.py:1, in 2 of 2 tests"
    assert texts(root, "helpers") == [expected]


def test_a_helper_of_an_imported_module_of_swift_is_found(tmp_path: Path) -> None:
    tests = "".join(f"  func testLogin{n}() {{\n    assertUser(login())\n  }}\n" for n in range(2))
    files = {
        "Sources/Shop/Login.swift": "public func login() {}\n",
        "Sources/ShopTestHelpers/Helpers.swift": "public func assertUser(_ user: User) {}\n",
        "Tests/ShopTests/LoginTests.swift": "import ShopTestHelpers\n\n"
        f"final class LoginTests: XCTestCase {{\n{tests}}}\n",
    }
    assert texts(write(tmp_path, files), "helpers") == [
        "`assertUser(_ user: User)` Sources/ShopTestHelpers/Helpers.swift:1, in 2 of 2 tests"
    ]


def test_a_method_of_some_object_is_no_helper_of_that_name(tmp_path: Path) -> None:
    body = "def post(page):\n    return page\n\n\n"
    body += "".join(f"def test_login_{n}():\n    client.post(login)\n\n\n" for n in range(2))
    assert texts(write(tmp_path, project_with(body)), "helpers") == []


def test_what_few_of_many_tests_use_is_left_out(tmp_path: Path) -> None:
    body = "def rare():\n    pass\n\n\n"
    body += "".join(
        f"def test_login_{n}():\n    login({n})\n    {'rare()' if n < 2 else 'pass'}\n\n\n"
        for n in range(50)
    )
    assert texts(write(tmp_path, project_with(body)), "helpers") == []


def test_a_class_of_helpers_counts_by_its_calls(tmp_path: Path) -> None:
    files = {
        "src/login.ts": "export function login() {}\n",
        "tests/helpers/page.ts": "export class LoginPage {\n  static open() {}\n}\n",
        "tests/login.test.ts": 'import { LoginPage } from "./helpers/page";\n'
        + "".join(f'it("login {n}", () => {{\n  LoginPage.open();\n}});\n' for n in range(2)),
    }
    root = write(tmp_path, files)
    assert texts(root, "helpers") == ["`LoginPage` tests/helpers/page.ts:1, in 2 of 2 tests"]


def test_a_feature_the_project_hardly_mentions_gets_the_projects_helpers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "".join(f"def test_cart_{n}(client):\n    pay(client)\n\n\n" for n in range(3))
    files = {**SOURCE, "tests/test_cart.py": f"# login\n{body}", "tests/conftest.py": CONFTEST}
    root = write(tmp_path, files)
    make_thin(monkeypatch)
    assert texts(root, "helpers") == ["`client(request)` tests/conftest.py:5, in 3 of 3 tests"]


@pytest.mark.parametrize(
    "line", ["(name='a`b')", "(name=')')", "(name='``')", f"(n='{'x' * 200}')"]
)
def test_hostile_definitions_check_out(tmp_path: Path, line: str) -> None:
    body = f"def prüfen{line}:\n    pass\n\n\n"
    body += "".join(f"def test_login_{n}():\n    prüfen(login)\n\n\n" for n in range(2))
    (text,) = texts(write(tmp_path, project_with(body)), "helpers")
    assert "prüfen" in text
    assert len(text) < 150


def test_a_fixture_of_a_file_that_a_conftest_imports_is_found(tmp_path: Path) -> None:
    body = "".join(f"def test_login_{n}(client):\n    login(client)\n\n\n" for n in range(3))
    made = {"tests/conftest.py": "from tests.fixtures.clients import *\n"}
    made["tests/fixtures/clients.py"] = CONFTEST
    root = write(tmp_path / "one", {**project_with(body), **made})
    shown = "`client(request)` tests/fixtures/clients.py:5, in 3 of 3 tests"
    assert texts(root, "helpers") == [shown]
    elsewhere = {"tests/other/conftest.py": CONFTEST}
    assert texts(write(tmp_path / "two", {**project_with(body), **elsewhere}), "helpers") == []


def test_what_a_library_has_by_the_same_name_is_no_helper(tmp_path: Path) -> None:
    body = "".join(f"def test_login_{n}():\n    check_all(login)\n\n\n" for n in range(2))
    helper = {"tests/support/checks.py": "def check_all(name): ...\n"}
    files = {**project_with(body, head="from library.asserting import check_all\n"), **helper}
    assert texts(write(tmp_path, files), "helpers") == []


def test_the_class_that_the_tests_inherit_from_is_told(tmp_path: Path) -> None:
    body = "class LoginCase(BaseCase):\n"
    body += "".join(f"    def test_login_{n}(self):\n        login(self)\n\n" for n in range(2))
    base = "class BaseCase(TestCase):\n    def setUp(self): ...\n"
    files = project_with(body, head="from tests.base import BaseCase\n")
    root = write(tmp_path, {**files, "tests/base.py": base})
    assert texts(root, "helpers") == ["`BaseCase(TestCase)` tests/base.py:1, in 2 of 2 tests"]


def test_a_function_defined_inside_another_test_is_no_helper(tmp_path: Path) -> None:
    tests = "".join(
        f"test('login {n}', () => {{\n\tconst run = () => login();\n\trun();\n}});\n"
        for n in range(3)
    )
    files = {"src/login.ts": "export function login() {}\n", "test/login.ts": tests}
    assert texts(write(tmp_path, files), "helpers") == []


TABLE = """package a

import "testing"

func setUp(t *testing.T) *Login {
	return &Login{}
}

func TestLoginNames(t *testing.T) {
	for _, tc := range []struct{ name string }{
		{
			name: "ann",
		},
		{
			name: "bob",
		},
		{
			name: "eve",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			setUp(t).Open(tc.name)
		})
	}
}

func TestLoginOpens(t *testing.T) {
	setUp(t).Open("bo")
	t.Run("twice", func(t *testing.T) {
		setUp(t).Open("bo")
	})
}
"""


def test_the_rows_of_a_table_and_what_runs_them_are_one_test(tmp_path: Path) -> None:
    code = "package a\n\ntype Login struct {\n\tname string\n}\n\n"
    code += "func (l *Login) Open(name string) {}\n"
    root = write(tmp_path, {"login.go": code, "login_test.go": TABLE})
    assert texts(root, "helpers") == ["`setUp(t *testing.T)` login_test.go:5, in 2 of 2 tests"]
    assert texts(root, "calls") == [
        '`setUp` in 2 of 2 tests: `setUp(t).Open("bo")` login_test.go:30'
    ]
