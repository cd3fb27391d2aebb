"""How the feature's tests are set up."""

from pathlib import Path

import pytest
from _own import make_thin, texts

from _evidence_project import write

SOURCE = {"src/login.py": "def login(name): ...\n"}
SCRIPT = {"src/login.ts": "export function login() {}\n"}
HOOKED = (
    'import { login } from "../src/login";\n\nbeforeEach(() => {\n  server.start();\n'
    '  seed("users");\n});\n\nafterEach(() => {\n  server.stop();\n});\n\n'
    'it("login works", () => {\n  login();\n});\n'
)


def test_a_hook_tells_what_it_calls_and_what_cleans_up_is_left_out(tmp_path: Path) -> None:
    root = write(tmp_path, {**SCRIPT, "tests/login.test.ts": HOOKED})
    assert texts(root, "setup") == [
        "`beforeEach` tests/login.test.ts:3 → `server.start` :4, `seed` :5"
    ]


def test_two_files_that_do_the_same_are_told_once(tmp_path: Path) -> None:
    files = {"tests/login.test.ts": HOOKED, "tests/login-again.test.ts": HOOKED}
    assert len(texts(write(tmp_path, {**SCRIPT, **files}), "setup")) == 1


def test_an_autouse_fixture_is_told_and_others_are_not(tmp_path: Path) -> None:
    conftest = (
        "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef fresh():\n    reset()\n\n\n"
        "@pytest.fixture\ndef client():\n    connect()\n"
    )
    test = "def test_login(client):\n    login(client)\n"
    files = {**SOURCE, "tests/conftest.py": conftest, "tests/test_login.py": test}
    root = write(tmp_path, files)
    assert texts(root, "setup") == ["`fresh` tests/conftest.py:5, autouse → `reset` :6"]


def test_what_several_tests_replace_is_told(tmp_path: Path) -> None:
    often, once = 'monkeypatch.setenv("USER", "ann")', 'monkeypatch.setenv("HOME", "x")'
    test = "".join(
        f"def test_login_{n}(monkeypatch):\n    {often}\n    {once if not n else 'pass'}\n"
        "    login(1)\n\n\n"
        for n in range(2)
    )
    root = write(tmp_path, {**SOURCE, "tests/test_login.py": test})
    assert texts(root, "setup") == [f"`{often}` tests/test_login.py:2, in 2 tests"]


@pytest.mark.parametrize(
    "call",
    ['patch("a.b")', 'mock.patch("a.b")', 'mocker.patch.object(a, "b")', 'vi.mock("./a")'],
)
def test_the_usual_libraries_are_known(tmp_path: Path, call: str) -> None:
    test = "".join(f"def test_login_{n}():\n    {call}\n\n\n" for n in range(2))
    root = write(tmp_path, {**SOURCE, "tests/test_login.py": test})
    assert texts(root, "setup") == [f"`{call}` tests/test_login.py:2, in 2 tests"]


@pytest.mark.parametrize("call", ['mock.login("a")', 'client.patch("/a")', "patch(login)"])
def test_calls_with_similar_names_replace_nothing(tmp_path: Path, call: str) -> None:
    test = "".join(f"def test_login_{n}():\n    {call}\n\n\n" for n in range(2))
    root = write(tmp_path, {**SOURCE, "tests/test_login.py": test})
    assert texts(root, "setup") == []


def test_a_feature_the_project_hardly_mentions_gets_the_projects_set_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"tests/cart.test.ts": "// login\n" + HOOKED.replace("login", "cart")}
    root = write(tmp_path, {**SCRIPT, **files})
    make_thin(monkeypatch)
    assert len(texts(root, "setup")) == 1


@pytest.mark.parametrize("value", ["a`b", "``", ") (", "名前", "x" * 300])
def test_hostile_calls_check_out(tmp_path: Path, value: str) -> None:
    line = f'monkeypatch.setenv("A", "{value}")'
    test = "".join(f"def test_login_{n}(x):\n    {line}\n\n\n" for n in range(2))
    root = write(tmp_path, {**SOURCE, "tests/test_login.py": test})
    assert len(texts(root, "setup")) == (value in {"a`b", ") (", "名前"})


def test_the_call_of_the_base_class_s_hook_is_left_out(tmp_path: Path) -> None:
    test = (
        "class LoginTest(BaseTest):\n    def setUp(self):\n        super().setUp()\n"
        "        seed('users')\n\n    def test_login(self):\n        login('ann')\n"
    )
    root = write(tmp_path, {**SOURCE, "tests/test_login.py": test})
    assert texts(root, "setup") == ["`setUp` tests/test_login.py:2 → `seed` :4"]


def test_xunit_sets_up_in_the_constructor_of_the_tests_class(tmp_path: Path) -> None:
    test = (
        "public class LoginTests : IDisposable\n{\n"
        "    public LoginTests() {\n        Seed(1);\n    }\n"
        "    public void Dispose() {\n        Clear();\n    }\n"
        "    [Fact]\n    public void Login_works() {\n        Login();\n    }\n}\n"
    )
    root = write(tmp_path, {"src/Login.cs": "class Login {}\n", "tests/LoginTests.cs": test})
    assert texts(root, "setup") == ["`LoginTests` tests/LoginTests.cs:3 → `Seed` :4"]
