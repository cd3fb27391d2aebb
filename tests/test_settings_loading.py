"""Broken settings: their defaults apply, the warning says where and what to do, and no model is used."""

from pathlib import Path

import pytest

from _trees import write
from conftest import Cli
from preread import settings, settings_loading
from preread.errors import PrereadError
from preread.layout import Layout

GOOD = "max_facts = 10\n"
# What is wrong -> which line, and words of the warning.
FILES = {
    "max_facts = 10\nmax_fact = 3\n": (2, "Did you mean `max_facts`?"),
    'max_facts = 10\nlevel = "deep"\n': (2, "sets `level` to an invalid value"),
    "max_facts = 10\nlevel deep\n": (2, "is not TOML"),
    "max_facts = 10\nmonth_usd = [\n": (2, "is not TOML"),
    "max_facts = 10\nmax_facts = 11\n": (2, "is not TOML"),
    'max_facts = 10\nclaude = "/tmp/x"\n': (2, "only the environment may set"),
    "max_facts = 10\n[timeouts]\nfull = -1\n": (2, "sets `timeouts.full`"),
    "# a\n\n= 1\nmax_facts = 10\n": (3, "is not TOML"),
}


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    (tmp_path / ".project").mkdir()
    return Layout(tmp_path.resolve())


def test_settings_that_are_whole_are_those_of_a_strict_reader(layout: Layout) -> None:
    layout.config.write_text(GOOD)
    environ = {"PREREAD_LEVEL": "full"}
    found = settings_loading.load_repaired(layout, environ, {"max_usd": 2})
    assert found == settings_loading.load(layout, environ, {"max_usd": 2})
    assert found.broken == ()


@pytest.mark.parametrize("text", FILES)
def test_what_is_broken_gets_its_default_and_the_rest_is_kept(layout: Layout, text: str) -> None:
    layout.config.write_text(text)
    found = settings_loading.load_repaired(layout, {})
    line, words = FILES[text]
    assert found.model_dump() == settings.Settings(max_facts=10, claude="off").model_dump()
    (warning,) = found.broken
    assert f"{layout.config}, line {line}, " in warning
    assert words in warning
    assert warning.endswith("Until then its default applies, and no model is used.")


def test_each_broken_setting_has_a_warning(layout: Layout) -> None:
    layout.config.write_text("nonsense\nmax_fact = 1\nlevel = 3\nmax_tokens = 900\n")
    environ = {"PREREAD_TIMEOUT": "soon", "PREREAD_MAX_TURNS": "7"}
    found = settings_loading.load_repaired(layout, environ)
    assert (found.max_tokens, found.max_turns) == (900, 7)
    assert found.timeout == settings.Settings().timeout
    assert len(found.broken) == 4
    assert "the environment sets `timeout`" in found.broken[-1]


@pytest.mark.parametrize("data", [b"max_facts = 1 # \xff", b"[" * 5000, b"a = " + b"[" * 3000])
def test_a_file_without_a_valid_line_leaves_only_defaults(layout: Layout, data: bytes) -> None:
    layout.config.write_bytes(data)
    found = settings_loading.load_repaired(layout, {})
    assert found.model_dump() == settings.Settings(claude="off").model_dump()
    assert len(found.broken) == 1


def test_a_wrong_argument_is_still_an_error(layout: Layout) -> None:
    layout.config.write_text("max_fact = 1\n")
    with pytest.raises(PrereadError, match="the arguments"):
        settings_loading.load_repaired(layout, {}, {"max_facts": "many"})


def test_a_load_with_broken_settings_succeeds_and_says_what_to_fix(
    cli: Cli, tmp_path: Path
) -> None:
    root = write(tmp_path / "app", {"login.py": "def login():\n    pass\n"})
    write(root / ".project", {"config.toml": "max_facts = 10\nlevl = 'full'\n"})
    done = cli("load", "login", "--json", cwd=root)
    assert done.status == 0, done
    assert done.json["status"] == "ok", done
    assert "config.toml, line 2, sets `levl`" in done.json["warnings"][0]
    assert (root / ".project/context/login/summary.md").is_file()


def test_each_setting_is_shown_with_where_it_comes_from(cli: Cli, tmp_path: Path) -> None:
    text = "max_facts = 10\ntimeout = 7\nmax_usd = 900\nmax_tokens = -1\n"
    write(tmp_path, {".project/config.toml": text})
    env = {"PREREAD_TIMEOUT": "9", "PREREAD_ALLOW": "read:write:execute", "PREREAD_LEVEL": "deep"}
    reply = cli("settings", "--json", env=env).json
    found = {one["key"]: (one["value"], one["source"]) for one in reply["settings"]}
    assert found.keys() == settings.Settings.model_fields.keys()
    assert found["max_facts"] == (10, "file")
    assert found["timeout"] == (9, "environment")
    assert found["max_usd"] == (1, "default")  # the file asks for more than a project may
    assert found["max_tokens"] == (2000, "default")  # what the file says is invalid
    assert found["level"] == ("auto", "default")
    assert found["allow"] == (["read", "write", "execute"], "environment")
    assert len(reply["warnings"]) == 3
    one = cli("settings", "timeout", env=env).out
    assert one.startswith("timeout = 9.0  (environment)")
    unknown = cli("settings", "timeot")
    assert (unknown.status, "Did you mean `timeout`?" in unknown.err) == (1, True)
