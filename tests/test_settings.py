"""Settings: defaults, where they come from, what is refused, and which of them shape a dossier."""

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from preread import settings, settings_loading
from preread.errors import PrereadError
from preread.layout import Layout
from preread.settings import Settings

# Another value for each key, so that a new key without one is noticed.
OTHER: dict[str, Any] = {
    "level": "full",
    "allow": ["read"],
    "tools": "full",
    "meaning": 0.25,
    "file_meaning": 0.5,
    "test_command": "make test",
    "max_debt": 3,
    "max_facts": 7,
    "max_tokens": 900,
    "inline_tokens": 1,
    "timeout": 9.5,
    "timeouts": {"full": 300.0},
    "deepen": "background",
    "claude": "/opt/claude",
    "model": "opus",
    "fallback_model": "",
    "max_turns": 5,
    "max_usd": 0.5,
    "month_usd": 20.0,
    "mcp": ["tracker"],
    "mcp_tools": ["tracker.get_issue"],
    "reply_within": 3,
    "max_builds": 2,
    "max_waiting": 7,
    "degraded_for": 1,
    "rebuild_after": 0.5,
    "reports": ["out/*.xml"],
    "exclude": ["gen/**"],
    "include": ["vendored", "gen/**"],
    "share": True,
    "watch": False,
}
SHAPING = {"max_facts", "max_tokens", "reports", "exclude", "include", "file_meaning"}
SHAPING_DRAFTED = SHAPING | {"model", "mcp", "mcp_tools"}


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    (tmp_path / ".project").mkdir()
    return Layout(tmp_path.resolve())


def refused(
    layout: Layout, environ: dict[str, str] | None = None, arguments: dict[str, Any] | None = None
) -> PrereadError:
    with pytest.raises(PrereadError) as caught:
        settings_loading.load(layout, environ or {}, arguments)
    assert caught.value.code == "E_SETTINGS"
    return caught.value


def test_without_a_file_every_key_has_its_default(layout: Layout) -> None:
    found = settings_loading.load(layout, {})
    assert found == Settings()
    assert (found.max_facts, found.max_tokens, found.inline_tokens, found.level) == (
        60,
        2000,
        2500,
        "auto",
    )


def test_every_key_has_a_line_of_doc() -> None:
    for key, field in Settings.model_fields.items():
        assert field.description, key
        assert "\n" not in field.description, key


def test_arguments_win_over_the_environment_and_that_over_the_file(layout: Layout) -> None:
    layout.config.write_text("max_facts = 10\nmax_tokens = 1000\ntimeout = 30\n")
    environ = {
        "PREREAD_MAX_TOKENS": "1100",
        "PREREAD_TIMEOUT": "40",
        "PREREAD_UNKNOWN": "x",
        "MAX_FACTS": "1",
    }
    found = settings_loading.load(layout, environ, {"timeout": 50, "max_facts": None})
    assert (found.max_facts, found.max_tokens, found.timeout) == (10, 1100, 50)


def test_a_list_in_the_environment_is_split_as_search_paths_are(layout: Layout) -> None:
    found = settings_loading.load(
        layout, {"PREREAD_EXCLUDE": os.pathsep.join(["gen/**", "", "**/*.min.js"])}
    )
    assert found.exclude == ["gen/**", "**/*.min.js"]


@pytest.mark.parametrize(
    ("key", "near"), [("max_fact", "max_facts"), ("timeoutt", "timeout"), ("exclud", "exclude")]
)
def test_an_unknown_key_is_rejected_with_the_nearest_one(
    layout: Layout, key: str, near: str
) -> None:
    layout.config.write_text(f"{key} = 1\n")
    error = refused(layout)
    assert f"`{key}`" in error.message
    assert f"`{near}`" in error.message
    assert str(layout.config) in error.message
    assert error.hint == "List them: `preread settings`."  # not all of them, in every reply


def test_a_key_unlike_any_other_is_rejected_with_the_list_of_all(layout: Layout) -> None:
    error = refused(layout, arguments={"zzz": 1})
    assert "Did you mean" not in error.message
    assert all(key in error.hint for key in Settings.model_fields)


@pytest.mark.parametrize(
    "text", ["max_facts = ", "= 1", "max_facts = 1\nmax_facts = 2", "[" * 5000, "a = " + "[" * 3000]
)
def test_a_file_that_is_not_toml_is_named(layout: Layout, text: str) -> None:
    layout.config.write_text(text)
    error = refused(layout)
    assert str(layout.config) in error.message
    assert error.hint


def test_a_settings_file_that_cannot_be_read_is_named(layout: Layout) -> None:
    layout.config.write_bytes(b"max_facts = 1 # \xff")
    assert str(layout.config) in refused(layout).message
    layout.config.unlink()
    layout.config.mkdir()
    assert str(layout.config) in refused(layout).message


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("max_facts", '"many"'),
        ("max_facts", "0"),
        ("max_facts", "1.5"),
        ("max_tokens", "199"),
        ("level", '"deep"'),
        ("level", "1"),
        ("timeout", "nan"),
        ("timeout", "0"),
        ("reply_within", "inf"),
        ("exclude", '"gen/**"'),
        ("reports", "[1]"),
        ("share", '"perhaps"'),
        ("degraded_for", "-1"),
        ("max_builds", "{a = 1}"),
        ("include", '["generatd"]'),
    ],
)
def test_an_invalid_value_is_rejected_with_its_key_and_file(
    layout: Layout, key: str, value: str
) -> None:
    layout.config.write_text(f"{key} = {value}\n")
    error = refused(layout)
    assert key in error.message
    assert str(layout.config) in error.message


def test_an_invalid_value_in_the_environment_names_the_environment(layout: Layout) -> None:
    layout.config.write_text("max_facts = 10\n")
    assert (
        "the environment sets `max_facts`" in refused(layout, {"PREREAD_MAX_FACTS": "ten"}).message
    )


@pytest.mark.parametrize(("level", "expected"), [("light", SHAPING), ("full", SHAPING_DRAFTED)])
def test_each_key_alone_can_be_set_and_changes_the_content_key_if_it_shapes_dossiers(
    level: settings.Level, expected: set[str]
) -> None:
    assert OTHER.keys() == Settings.model_fields.keys(), "give the new key another value above"
    default = settings.content_key(Settings(), level)
    shaping = set()
    for key, value in OTHER.items():
        changed = Settings(**{key: value})
        assert getattr(changed, key) != getattr(Settings(), key)
        if settings.content_key(changed, level) != default:
            shaping.add(key)
    assert shaping == expected


def test_a_repository_s_file_cannot_choose_the_program(layout: Layout) -> None:
    layout.config.write_text('claude = "./evil"\n')
    error = refused(layout)
    assert "which only the environment may set" in error.message
    assert "PREREAD_CLAUDE" in error.hint
    layout.config.write_text("")
    assert settings_loading.load(layout, {"PREREAD_CLAUDE": "/opt/claude"}).claude == "/opt/claude"


@pytest.mark.parametrize(
    ("text", "key", "used"),
    [
        ("max_usd = 1000", "max_usd", 1.0),
        ('max_usd = "1000"', "max_usd", 1.0),
        ("max_usd = 1.01", "max_usd", 1.0),
        ("max_usd = 0.2", "max_usd", 0.2),
        ("max_turns = 1000", "max_turns", 100),
        ("max_turns = 3", "max_turns", 3),
        ("max_builds = 64", "max_builds", 4),
        ("max_waiting = 101", "max_waiting", 100),
        ("max_waiting = 0", "max_waiting", 0),
        ('model = "opus"', "model", "sonnet"),
        ('model = "claude-opus-4-1-20250805"', "model", "sonnet"),
        ('model = "sonnet[1m]"', "model", "sonnet"),
        ('model = "opus-sonnet"', "model", "sonnet"),
        ('model = "claude-3-5-haiku-20241022"', "model", "claude-3-5-haiku-20241022"),
        ('model = "claude-sonnet-4-5"', "model", "claude-sonnet-4-5"),
        ('model = "haiku"', "model", "haiku"),
        ('fallback_model = "opus"', "fallback_model", "haiku"),
        ('fallback_model = ""', "fallback_model", ""),
    ],
)
def test_a_project_lowers_what_a_build_may_cost_and_never_raises_it(
    layout: Layout, text: str, key: str, used: object
) -> None:
    layout.config.write_text(f"{text}\n")
    found = settings_loading.load(layout, {})
    assert getattr(found, key) == used
    asked = Settings.model_validate(tomllib.loads(text))
    is_refused = getattr(asked, key) != used
    assert [f"PREREAD_{key.upper()}" in warning for warning in found.warnings] == [True][
        : int(is_refused)
    ]


def test_the_person_s_own_limits_are_used_as_they_are(layout: Layout) -> None:
    layout.config.write_text('max_usd = 900\nmodel = "opus"\nmax_turns = 900\n')
    own = {"PREREAD_MAX_USD": "5", "PREREAD_MODEL": "opus"}
    found = settings_loading.load(layout, own)
    assert (found.max_usd, found.model, found.max_turns) == (5, "opus", 100)
    [warning] = found.warnings
    assert warning == (
        ".project/config.toml asks for max_turns = 900, and 100 is used: a project cannot raise "
        "that. To allow it, set PREREAD_MAX_TURNS in your environment."
    )


def test_seconds_of_single_levels_go_before_the_general_ones(layout: Layout) -> None:
    layout.config.write_text("timeout = 100\ntimeouts = { full = 300 }\n")
    found = settings_loading.load(layout, {})
    assert [found.child_seconds(level) for level in ("light", "standard", "full")] == [
        100,
        100,
        300,
    ]
    assert (found.build_seconds("light"), found.build_seconds("full")) == (
        100,
        300 + settings.FINISHING,
    )
    assert settings_loading.load(
        layout, {"PREREAD_TIMEOUTS": f"full=20{os.pathsep}light=5"}
    ).timeouts == {
        "full": 20,
        "light": 5,
    }
    assert "`timeouts.deep`" in refused(layout, {"PREREAD_TIMEOUTS": "deep=1"}).message.replace(
        ".[key]", ""
    )


@pytest.mark.parametrize("model", ["--dangerously-skip-permissions", "", "a b", "x;y"])
def test_a_model_is_a_name_and_not_an_option(layout: Layout, model: str) -> None:
    assert "`model`" in refused(layout, {"PREREAD_MODEL": model}).message


def test_settings_do_not_change_once_loaded(layout: Layout) -> None:
    found = settings_loading.load(layout, {})
    with pytest.raises(ValueError):
        found.max_facts = 1  # type: ignore[misc]
