"""Constants and families of the feature, as they are written."""

from pathlib import Path

import pytest
from _own import make_thin, own, texts

from _evidence_project import write


def test_constants_named_after_the_feature_are_one_fact_of_their_file(tmp_path: Path) -> None:
    code = 'LOGIN_LIMIT = 3  # tries\nLOGIN_PATH = "/login"\n\n\ndef login(): ...\n'
    root = write(tmp_path, {"src/auth.py": code})
    assert texts(root, "values") == ['`LOGIN_LIMIT = 3` src/auth.py:1, `LOGIN_PATH = "/login"` :2']


def test_a_constant_counts_when_a_main_definition_uses_it(tmp_path: Path) -> None:
    code = "PATIENCE = 30\nUNUSED = 31\n\n\ndef login():\n    return PATIENCE\n"
    root = write(tmp_path, {"src/auth.py": code})
    assert texts(root, "values") == ["`PATIENCE = 30` src/auth.py:1"]


def test_constants_of_other_features_are_left_out(tmp_path: Path) -> None:
    root = write(tmp_path, {"src/auth.py": "CART_LIMIT = 3\n\n\ndef login(): ...\n"})
    assert texts(root, "values") == []


def test_values_that_are_no_literals_or_go_on_below_are_left_out(tmp_path: Path) -> None:
    code = "LOGIN_A = other()\nLOGIN_B = [\n    1,\n]\n\n\ndef login(): ...\n"
    root = write(tmp_path, {"src/auth.py": code})
    assert texts(root, "values") == []


def test_patterns_and_empty_defaults_are_left_out(tmp_path: Path) -> None:
    code = (
        'import re\n\nLOGIN_NAME = re.compile("[a-z]+")\n\n\nclass Login:\n'
        '    tries: int = 3\n    name: str = ""\n    count: int = 0\n    done: bool = False\n'
    )
    root = write(tmp_path, {"src/auth.py": code})
    assert texts(root, "values") == ["`tries: int = 3` src/auth.py:7"]


def test_variables_that_scripts_assign_again_are_no_values(tmp_path: Path) -> None:
    code = "let loginCount = 0;\nexport const LOGIN_LIMIT = 3;\nexport function login() {}\n"
    root = write(tmp_path, {"src/auth.js": code})
    assert texts(root, "values") == ["`LOGIN_LIMIT = 3` src/auth.js:2"]


def test_a_family_is_one_fact_with_its_owner(tmp_path: Path) -> None:
    code = 'import enum\n\n\nclass LoginState(enum.Enum):\n    OPEN = "open"\n    SHUT = "shut"\n'
    root = write(tmp_path, {"src/auth.py": code})
    assert texts(root, "values") == ["`LoginState`: `OPEN` src/auth.py:5, `SHUT` :6"]


def test_members_with_the_whole_name_of_the_feature_are_its_own(tmp_path: Path) -> None:
    names = "".join(f"    CODE_{n} = {n}\n" for n in range(12))
    code = f"import enum\n\n\nclass Codes(enum.Enum):\n    LOGIN_DENIED = 1\n    LOGIN_OVER = 2\n{names}"
    use = "def login(): ...\n\n\ndef denied(codes): ...\n"
    root = write(tmp_path, {"src/codes.py": code, "src/auth.py": use})
    asked = "denied because of many codes of the browser"
    [said] = [one.text for one in own(root, "values", description=asked)]
    assert "`LOGIN_DENIED` src/codes.py:5, `LOGIN_OVER` :6" in said


def test_fields_with_the_name_of_the_feature_are_one_fact_of_their_type(tmp_path: Path) -> None:
    code = (
        "public struct Settings {\n  public var defaultCommand: Command?\n  var other: Command?\n"
        "  func run() { start(defaultCommand) }\n}\n"
    )
    root = write(tmp_path, {"Sources/Settings.swift": code})
    own_facts = texts(root, "values", "default-command")
    assert own_facts == ["`Settings`: `defaultCommand` Sources/Settings.swift:2"]


def test_of_a_long_family_only_the_members_with_the_words_are_shown(tmp_path: Path) -> None:
    names = "\n".join(f"    CODE_{n} = {n}" for n in range(12))
    code = f"import enum\n\n\nclass Codes(enum.Enum):\n    LOGIN_DENIED = 1\n{names}\n"
    root = write(tmp_path, {"src/codes.py": code, "src/auth.py": "def login(): ...\n"})
    assert "`Codes`: `LOGIN_DENIED` src/codes.py:5 and 12 more" in texts(root, "values")


def test_constants_inside_tests_are_left_out(tmp_path: Path) -> None:
    code = (
        "pub fn login() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn test_login() {\n"
        '        const LOGIN_NAME: &str = "ann";\n        super::login();\n    }\n}\n'
    )
    root = write(tmp_path, {"src/auth.rs": code})
    assert texts(root, "values") == []


@pytest.mark.parametrize(
    "value", ['"a`b"', '"a``b"', '"(x) [y]"', "'\\''", '"Grüße"', '"a.py:3"', f'"{"x" * 300}"']
)
def test_hostile_values_check_out_or_are_left_out(tmp_path: Path, value: str) -> None:
    root = write(tmp_path, {"src/auth.py": f"LOGIN_KEY = {value}\n\n\ndef login(): ...\n"})
    for text in texts(root, "values"):
        assert "LOGIN_KEY" in text
        assert len(text) < 150


def test_a_path_with_blanks_and_brackets_checks_out(tmp_path: Path) -> None:
    root = write(tmp_path, {"src (a)/the login.py": "LOGIN_KEY = 3\nLOGIN_OTHER = 4\n"})
    assert len(texts(root, "values")) == 1


def test_a_feature_the_project_hardly_mentions_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "LOGIN_LIMIT = 3\n\n\ndef login():\n    raise ValueError('no such login')\n"
    root = write(tmp_path, {"src/auth.py": code})
    assert texts(root, "values")
    make_thin(monkeypatch)
    assert texts(root, "values") == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("Login.cs", "LoginTries { get; set; } = 3"),
        ("Login.cs", "LoginWait { get; set; } = TimeSpan.FromSeconds(30)"),
        ("Login.java", "loginTries = 3"),
        ("Login.php", "loginTries = 3"),
    ],
)
def test_the_default_of_a_field_is_a_value(tmp_path: Path, path: str, line: str) -> None:
    dollar = "$" if path.endswith("php") else ""
    head = "<?php\n" if dollar else ""
    code = f"{head}class Login {{\n  public int {dollar}{line};\n}}\n"
    if path.endswith("cs"):
        code = code.replace(";\n}", "\n}") if "FromSeconds" not in line else code
        code = code.replace("int LoginWait", "TimeSpan LoginWait")
    (text,) = texts(write(tmp_path, {f"src/{path}": code}), "values")
    assert text.startswith(f"`{line}` src/{path}:")
