"""What rules look at: a feature's definitions and tests, each list best first."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from _evidence_project import request, services, write
from preread.evidence import collect
from preread.evidence.view import MAX_MAIN, View
from preread.index import indexer
from preread.infra import db

T = TypeVar("T")
FILES = {
    "src/login.py": (
        "LOGIN_LIMIT = 3\n\n\ndef login_user(name):\n    def inner():\n        return login\n\n"
        "    return inner()\n\n\nclass Paint:\n    def red(self):\n        return 1\n"
    ),
    "tests/test_login.py": (
        "def test_login_works():\n    assert login_user('a')\n\n\ndef test_it():\n    assert 1\n"
    ),
    "tests/test_paint.py": (
        "def test_paint():\n    assert Paint()\n\n\ndef test_paint_after_login():\n"
        "    assert login_user('b')\n"
    ),
}


def seen(root: Path, look: Callable[[View], T], feature: str = "login", description: str = "") -> T:
    """What is seen of the view of a feature."""
    asked = services(root)
    indexer.update(asked)
    return db.use(
        asked.layout,
        lambda connection: look(collect.viewed(asked, request(feature, description), connection)),
    )


def test_definitions_come_by_score_without_what_is_inside_functions(tmp_path: Path) -> None:
    found = seen(write(tmp_path, FILES), lambda view: [one.full_name for one in view.definitions])
    assert set(found) == {"login_user", "LOGIN_LIMIT", "Paint", "Paint.red"}
    assert set(found[:2]) == {"login_user", "LOGIN_LIMIT"}


def test_the_main_definitions_are_those_that_the_feature_is_about(tmp_path: Path) -> None:
    root = write(tmp_path, FILES)
    assert set(seen(root, lambda view: [one.full_name for one in view.mains])) == {
        "login_user",
        "LOGIN_LIMIT",
    }


def test_what_a_header_declares_counts_less_than_what_defines_it(tmp_path: Path) -> None:
    header = "class Login {\n  bool check_login(int tries);\n  bool is_login();\n};\n"
    code = "bool Login::check_login(int tries) {\n  return tries > 0;\n}\n"
    root = write(tmp_path, {"src/login.h": header, "src/login.cc": code})
    found = seen(root, lambda view: [(o.symbol.name, o.file.path) for o in view.mains])
    assert ("check_login", "src/login.cc") in found
    assert ("check_login", "src/login.h") not in found
    assert ("is_login", "src/login.h") in found


def test_there_are_only_so_many_main_definitions(tmp_path: Path) -> None:
    text = "\n\n".join(f"def login_{n}():\n    return {n}\n" for n in range(30))
    root = write(tmp_path, {"src/login.py": text})
    assert seen(root, lambda view: len(view.mains)) == MAX_MAIN


def test_a_definition_cites_its_lines(tmp_path: Path) -> None:
    root = write(tmp_path, FILES)
    cited = seen(root, lambda view: {one.full_name: one.cite for one in view.definitions})
    assert cited["login_user"] == "src/login.py:4-8"


def test_main_tests_are_those_with_the_words_and_all_of_a_file_named_after_it(
    tmp_path: Path,
) -> None:
    root = write(tmp_path, FILES)
    names = seen(root, lambda view: [one.case.name for one in view.main_cases])
    assert set(names) == {"test_login_works", "test_it", "test_paint_after_login"}
    assert names[0] == "test_login_works"
    assert seen(root, lambda view: [file.path for file in view.test_files])[0] == (
        "tests/test_login.py"
    )


def test_the_index_says_which_files_define_a_name_and_which_may_hold_it(tmp_path: Path) -> None:
    root = write(tmp_path, FILES)
    assert seen(root, lambda view: view.defining("login_user")) == ["src/login.py"]
    assert seen(root, lambda view: view.candidates("login_user", ("test",))) == [
        "tests/test_login.py",
        "tests/test_paint.py",
    ]
    for odd in ("", "_", '"', "no_such_name"):
        assert seen(root, lambda view, odd=odd: view.defining(odd)) == []
        assert seen(root, lambda view, odd=odd: view.candidates(odd, ("source",))) == []


def test_what_rules_share_is_worked_out_once(tmp_path: Path) -> None:
    calls: list[View] = []

    def work(view: View) -> int:
        calls.append(view)
        return len(calls)

    assert seen(write(tmp_path, FILES), lambda view: (view.once(work), view.once(work))) == (1, 1)


def test_a_module_that_only_wraps_a_class_is_no_definition_of_its_own(tmp_path: Path) -> None:
    body = "".join(f"    def login_{n}\n      {n}\n    end\n" for n in range(6))
    files = {"lib/login.rb": f"module Shop\n  class Login\n{body}  end\nend\n"}
    found = seen(write(tmp_path, files), lambda view: {one.full_name for one in view.definitions})
    assert "Shop.Login" in found
    assert "Shop.Login.login_0" in found
    assert "Shop" not in found


def test_what_a_large_class_contains_is_not_all_about_the_feature(tmp_path: Path) -> None:
    methods = "".join(f"    def m{n}(self):\n        return login\n\n" for n in range(9))
    code = f"class App:\n    colour = 1\n{methods}"
    root = write(tmp_path, {"src/app.py": code})

    def look(view: View) -> tuple[bool, bool, bool]:
        is_main = "App" in [one.full_name for one in view.mains]
        return is_main, view.is_in_main(view.sources[0], 2), view.is_in_main(view.sources[0], 4)

    assert seen(root, look) == (True, False, True)


def test_tests_with_words_of_the_description_alone_have_to_be_better(tmp_path: Path) -> None:
    def look(view: View) -> set[str]:
        return {one.case.name for one in view.main_cases}

    about = "The browser keeps the session of the person"
    own = "def test_login_of_person():\n    login()\n"
    weak = "def test_browser():\n    assert browser()\n"
    files = {"login.py": "def login(): ...\n", "tests/test_a.py": own, "tests/test_b.py": weak}
    root = write(tmp_path, files)
    assert seen(root, look, description=about) == {"test_login_of_person"}
    (root / "tests/test_a.py").write_text("def test_cart(): ...\n", encoding="utf-8")
    assert seen(root, look, description=about) == {"test_browser"}
    strong = f"{weak}    assert session_of_person()\n"
    (root / "tests/test_b.py").write_text(strong, encoding="utf-8")
    (root / "tests/test_a.py").write_text(own, encoding="utf-8")
    assert "test_browser" in seen(root, look, description=about)
