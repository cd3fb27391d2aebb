"""What no test names: never wrong, whatever tests are made of."""

from pathlib import Path

import pytest
from _own import make_thin, own, texts

from _evidence_project import write

SOURCE = "def login_by_token(token): ...\n\n\ndef login(name): ...\n"
TEST = "from src.login import login\n\n\ndef test_login():\n    login('ann')\n"
FILES = {"src/login.py": SOURCE, "tests/test_login.py": TEST}
NAMED = "`login_by_token` src/login.py:1"


def test_a_public_name_that_no_test_has_comes_with_its_proof(tmp_path: Path) -> None:
    (finding,) = own(write(tmp_path, FILES), "unmentioned")
    assert finding.text == NAMED
    assert finding.sources == ('absent:tests/**~"login_by_token"',)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tests/test_other.py", "def test_it():\n    login_by_token(1)\n"),
        ("tests/support/users.py", "from src.login import login_by_token\n"),
        ("tests/test_cli.py", "def test_it():\n    run('--login-by-token')\n"),
        ("tests/test_cli.py", "def test_login_by_token(): ...\n"),
        ("tests/web.test.ts", "it('logs in', () => loginByToken());\n"),
        ("tests/data/calls.json", '{"call": "LoginByToken"}\n'),
        ("tests/data/calls.bin.txt", "login by token\n"),
        ("spec/login.feature", "When I login by token\n"),
        ("src/__snapshots__/login.snap", "login_by_token\n"),
        ("src/other.py", '"""\n>>> login_by_token(1)\n"""\n'),
        ("src/testing.py", "def check():\n    login_by_token(1)\n"),
        ("docs/login.md", "```\n>>> login_by_token(1)\n```\n"),
        ("tests/large.txt", "x" * 1_100_000 + "login_by_token"),
    ],
)
def test_wherever_tests_may_name_it_nothing_is_said(tmp_path: Path, path: str, text: str) -> None:
    assert texts(write(tmp_path, {**FILES, path: text}), "unmentioned") == []


@pytest.mark.parametrize(
    ("path", "text"),
    [("README.md", "Call `login_by_token`.\n"), ("src/app.py", "login_by_token(1)\n")],
)
def test_documents_and_callers_are_no_tests(tmp_path: Path, path: str, text: str) -> None:
    assert texts(write(tmp_path, {**FILES, path: text}), "unmentioned") == [NAMED]


@pytest.mark.parametrize(("callers", "told"), [(98, [NAMED]), (100, [])])
def test_what_very_many_sources_have_is_not_searched_for_tests_inside_them(
    tmp_path: Path, callers: int, told: list[str]
) -> None:
    files = {f"src/caller{n}.py": "login_by_token(1)\n" for n in range(callers)}
    assert texts(write(tmp_path, {**FILES, **files}), "unmentioned") == told


@pytest.mark.parametrize(
    "code",
    [
        "def _login_by_token(token): ...\n",
        "class _Hidden:\n    def login_by_token(self): ...\n",
        "class LoginView(View):\n    def login_by_token(self): ...\n",
        "class Login:\n    @override\n    def login_by_token(self): ...\n",
        "def login():\n    def login_by_token(): ...\n",
        "def post(): ...  # login\n",
    ],
)
def test_what_tests_cannot_be_expected_to_name_is_left_out(tmp_path: Path, code: str) -> None:
    test = "def test_login():\n    assert 'class Login' and 'LoginView'\n"
    files = {"src/login.py": code, "tests/test_login.py": test}
    assert texts(write(tmp_path, files), "unmentioned") == []


def test_modules_with_an_underscore_are_public_by_what_their_package_imports(
    tmp_path: Path,
) -> None:
    files = {"src/_login.py": SOURCE, "src/__init__.py": "", "tests/test_login.py": TEST}
    assert texts(write(tmp_path / "a", files), "unmentioned") == []
    files["src/__init__.py"] = "from src._login import login_by_token\n"
    found = texts(write(tmp_path / "b", files), "unmentioned")
    assert found == ["`login_by_token` src/_login.py:1"]


@pytest.mark.parametrize(
    ("path", "hidden", "public"),
    [
        ("src/login.go", "func loginByToken() {}\n", "func LoginByToken() {}\n"),
        ("src/login.rs", "pub(crate) fn login_by_token() {}\n", "pub fn login_by_token() {}\n"),
        ("src/login.ts", "function loginByToken() {}\n", "export function loginByToken() {}\n"),
        (
            "src/Login.java",
            "public class LoginPage {\n  void loginByToken() {}\n}\n",
            "public class LoginPage {\n  public void loginByToken() {}\n}\n",
        ),
        (
            "lib/login.rb",
            "class LoginPage\n  private\n\n  def login_by_token\n  end\nend\n",
            "class LoginPage\n  def login_by_token\n  end\nend\n",
        ),
    ],
)
def test_each_language_says_what_is_public(
    tmp_path: Path, path: str, hidden: str, public: str
) -> None:
    test = {"tests/test_login.py": "def test_login():\n    assert 'LoginPage'\n"}
    assert texts(write(tmp_path / "hidden", {path: hidden, **test}), "unmentioned") == []
    assert len(texts(write(tmp_path / "public", {path: public, **test}), "unmentioned")) == 1


def test_unit_tests_inside_a_source_count(tmp_path: Path) -> None:
    code = (
        "pub fn login_by_token() {}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n"
        "    fn helper() {\n        login_by_token();\n    }\n}\n"
    )
    files = {"src/login.rs": code, "tests/login.rs": "#[test]\nfn login() {}\n"}
    assert texts(write(tmp_path, files), "unmentioned") == []


def test_a_property_of_an_accessor_counts(tmp_path: Path) -> None:
    code = "class Login:\n    def get_attempts(self): ...\n"
    test = "def test_login():\n    assert Login().attempts\n"
    files = {"src/login.py": code, "tests/test_login.py": test}
    assert texts(write(tmp_path, files), "unmentioned") == []


def test_a_message_is_named_by_three_of_its_words(tmp_path: Path) -> None:
    code = (
        "def login(name):\n    if not name:\n"
        "        raise ValueError('the name of a user is empty')\n"
        "    raise ValueError('too many users at the same time')\n"
    )
    test = (
        "from src.login import login\n\n\ndef test_login():\n"
        "    with raises(ValueError, match='many users at'):\n        login('ann')\n"
    )
    files = {"src/login.py": code, "tests/test_login.py": test}
    assert texts(write(tmp_path, files), "unmentioned") == [
        "`the name of a user is empty` src/login.py:3"
    ]


def test_more_globs_than_three_are_no_proof(tmp_path: Path) -> None:
    places = ("a", "b", "c", "d")
    tests = {f"{place}/{place}_check.test.{place}s": "" for place in places}
    tests |= {f"{place}/test_{place}.py": TEST for place in places}
    sources = {f"{place}/{place}.py": "" for place in places}
    root = write(tmp_path, {"src/login.py": SOURCE, **tests, **sources})
    assert texts(root, "unmentioned") == [NAMED]
    odd = {f"{place}/conftest.py": "" for place in places}
    odd |= {"e/run_test.go": "", "f/FooTest.java": "", "g/x.spec.ts": ""}
    assert texts(write(tmp_path, odd), "unmentioned") == []


def test_the_more_proofs_a_name_needs_the_fewer_names_are_shown(tmp_path: Path) -> None:
    """Each proof takes room: with three for each name, two names, not four."""
    code = "\n\n".join(f"def login_{name}(x):\n    return x\n" for name in ("one", "two", "six"))
    tests = {"tests/a.py": TEST, "cart_test.py": TEST, "web/login.spec.ts": "it('x', () => {});\n"}
    (fact,) = own(
        write(tmp_path / "one", {"src/login.py": code, "tests/a.py": TEST}), "unmentioned"
    )
    assert fact.text.count("`login_") == len(fact.sources) == 3
    (fact,) = own(write(tmp_path / "three", {"src/login.py": code, **tests}), "unmentioned")
    assert fact.text.count("`login_") == 2
    assert len(fact.sources) == 6


def test_without_tests_nothing_is_said(tmp_path: Path) -> None:
    assert texts(write(tmp_path, {"src/login.py": SOURCE}), "unmentioned") == []


def test_a_feature_the_project_hardly_mentions_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_thin(monkeypatch)
    assert texts(write(tmp_path, FILES), "unmentioned") == []


@pytest.mark.parametrize(
    "message", ['say "no" to all', "a `b` c (d)", "~ (x) [y] z", "prüfe 名前 nun", "x " * 300]
)
def test_hostile_messages_check_out_or_are_left_out(tmp_path: Path, message: str) -> None:
    code = f"def login(name):\n    raise ValueError('''{message} of login''')\n"
    files = {"src/login.py": code, "tests/test_login.py": TEST}
    assert len(texts(write(tmp_path, files), "unmentioned")) <= 1


def test_a_module_that_is_private_by_convention_is_not_asked_for(tmp_path: Path) -> None:
    code = "mod private {\n    pub struct LoginService {}\n}\n"
    files = {"src/login.rs": code, "tests/login.rs": "#[test]\nfn login() {}\n"}
    assert texts(write(tmp_path / "a", files), "unmentioned") == []
    files["src/login.rs"] = code.replace("private", "public")
    assert texts(write(tmp_path / "b", files), "unmentioned") == ["`LoginService` src/login.rs:2"]


def test_a_name_that_a_class_and_a_member_share_is_said_once(tmp_path: Path) -> None:
    code = "pub struct LoginPager {}\n\npub enum Login {\n    LoginPager,\n}\n"
    test = "#[test]\nfn test_login() {\n    run();\n}\n"
    files = {"Cargo.toml": "[package]\n", "src/login.rs": code, "tests/login.rs": test}
    assert texts(write(tmp_path, files), "unmentioned") == ["`LoginPager` src/login.rs:1"]
