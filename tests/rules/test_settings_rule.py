"""What the feature reads from its surroundings."""

from pathlib import Path

import pytest
from _own import make_thin, texts

from _evidence_project import write

# Without a definition, one line about a bare name does not make its file about it.
DEFINED = {"lib/login.py": "def login(): ...\n"}


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("src/app.py", 'limit = os.environ["LOGIN_LIMIT"]'),
        ("src/app.py", 'limit = os.environ.get("LOGIN_LIMIT", "3")'),
        ("src/app.py", 'limit = os.getenv("LOGIN_LIMIT")'),
        ("src/app.py", '@option("-l", envvar="LOGIN_LIMIT")\ndef login(): ...'),
        ("src/app.js", "const limit = process.env.LOGIN_LIMIT;"),
        ("src/app.ts", "const limit = import.meta.env.LOGIN_LIMIT;"),
        ("src/app.go", 'var limit = os.Getenv("LOGIN_LIMIT")'),
        ("src/app.rs", 'let limit = std::env::var("LOGIN_LIMIT");'),
        ("src/app.rb", 'limit = ENV.fetch("LOGIN_LIMIT")'),
    ],
)
def test_variables_are_found_in_every_language(tmp_path: Path, path: str, line: str) -> None:
    root = write(tmp_path, {path: f"{line}\n", **DEFINED})
    assert f"`LOGIN_LIMIT` {path}:1" in texts(root, "settings")[0]


def test_keys_of_the_configuration_are_found(tmp_path: Path) -> None:
    code = "def login():\n    return config['timeout'], settings.get('login.limit')\n"
    root = write(tmp_path, {"src/app.py": code})
    assert texts(root, "settings") == ["`timeout` src/app.py:2, `login.limit` :2"]


def test_options_of_the_command_line_are_found(tmp_path: Path) -> None:
    code = 'parser.add_argument("--login-as")\nparser.add_argument("--other")\n'
    root = write(tmp_path, {"src/app.py": code, **DEFINED})
    assert texts(root, "settings") == ["`--login-as` src/app.py:1"]


def test_what_other_features_read_is_left_out(tmp_path: Path) -> None:
    code = 'def login(): ...\n\n\ndef pay():\n    return os.environ["CART_LIMIT"]\n'
    assert texts(write(tmp_path, {"src/app.py": code}), "settings") == []


def test_comments_read_nothing(tmp_path: Path) -> None:
    code = 'def login():\n    # os.environ["LOGIN_LIMIT"]\n    return 1\n'
    assert texts(write(tmp_path, {"src/app.py": code}), "settings") == []


def test_a_name_is_told_for_the_first_file_only(tmp_path: Path) -> None:
    code = 'def login():\n    return os.environ["LOGIN_LIMIT"]\n'
    root = write(tmp_path, {"src/login.py": code, "src/login_again.py": code})
    assert len(texts(root, "settings")) == 1


def test_a_feature_the_project_hardly_mentions_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = 'def login():\n    return os.environ["LOGIN_LIMIT"]\n'
    make_thin(monkeypatch)
    assert texts(write(tmp_path, {"src/login.py": code}), "settings") == []


@pytest.mark.parametrize("extra", ["`", "``` (x) [y]", "名前" * 400, "src/a.py:3)"])
def test_hostile_lines_check_out(tmp_path: Path, extra: str) -> None:
    code = f'def login():\n    return os.environ["LOGIN_LIMIT"], "{extra}"\n'
    assert len(texts(write(tmp_path, {"src/login.py": code}), "settings")) == 1


def test_an_attribute_of_the_settings_is_one(tmp_path: Path) -> None:
    code = "def login():\n    return settings.LOGIN_LIMIT, settings.reload\n"
    assert texts(write(tmp_path, {"src/app.py": code}), "settings") == [
        "`LOGIN_LIMIT` src/app.py:2"
    ]
