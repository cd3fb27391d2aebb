"""Loads the settings: file < environment < arguments; invalid ones are replaced by defaults."""

import os
import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any, Literal, get_origin

from pydantic import ValidationError

from preread import personal_limits
from preread.errors import PrereadError, Unreadable
from preread.infra.reading import plain_bytes
from preread.layout import Layout
from preread.settings import Settings, personal_keys

# How errors name the sources other than the file.
ENVIRONMENT, ARGUMENTS = "the environment", "the arguments"
MAX_LINES = 50  # invalid lines to skip before the whole file is ignored
EFFECT = "Until then its default applies, and no model is used."
Values = dict[str, Any]
Report = Callable[[PrereadError], None]
Origin = Literal["default", "file", "environment"]


def load(
    layout: Layout, environ: Mapping[str, str], arguments: Mapping[str, Any] | None = None
) -> Settings:
    """Merge the settings, where an argument of None means not given. Raises E_SETTINGS."""
    return _merged(layout, _text(layout, _refuse), environ, arguments or {}, _refuse)


def load_repaired(
    layout: Layout, environ: Mapping[str, str], arguments: Mapping[str, Any] | None = None
) -> Settings:
    """Like `load`, with defaults instead of invalid values, and warnings in `broken`.

    The agent may not correct the file: an error would leave it in front of closed gates. But a
    limit on spending may be among what is broken, so no model is used meanwhile. Raises E_SETTINGS
    for arguments, which their caller can correct.
    """
    found: list[PrereadError] = []
    text = _text(layout, found.append)
    if arguments or found:
        return _repaired(layout, text, environ, arguments or {}, found)
    given = {name: environ[name] for name in _variables() if name in environ}
    return _repaired_cached(layout, text, tuple(given.items()))


@lru_cache(maxsize=64)  # every operation asks, some of them three times
def _repaired_cached(layout: Layout, text: str, environ: tuple[tuple[str, str], ...]) -> Settings:
    return _repaired(layout, text, dict(environ), {}, [])


def _repaired(
    layout: Layout, text: str, environ: Mapping[str, str], arguments: Mapping[str, Any],
    found: list[PrereadError],
) -> Settings:  # fmt: skip
    def report(error: PrereadError) -> None:
        if error.message.startswith(ARGUMENTS):
            raise error
        found.append(error)

    settings = _merged(layout, text, environ, arguments, report)
    if not found:
        return settings
    safe = settings.model_copy(update={"claude": "off"})
    broken = [f"{error.message} {error.hint} {EFFECT}" for error in found]
    return safe.with_warnings(settings.warnings, broken)


@cache
def _variables() -> dict[str, str]:
    """The environment variables of the settings, each with its key."""
    return {f"PREREAD_{key.upper()}": key for key in Settings.model_fields}


def origins(layout: Layout, environ: Mapping[str, str]) -> dict[str, Origin]:
    """Where each setting's value comes from: `default`, `file` or `environment`."""
    text = _text(layout, _ignore)
    values = _from_file(layout, text, _ignore)
    from_file = _added({}, values, f"{layout.config}", _ignore, text)
    overruled = personal_limits.excesses(
        Settings(**from_file).model_dump(), Settings().model_dump()
    )
    from_environment = _added({}, _from_environment(environ), ENVIRONMENT, _ignore)
    found: dict[str, Origin] = dict.fromkeys(Settings.model_fields, "default")
    found |= dict.fromkeys(from_file.keys() - overruled.keys(), "file")
    return found | dict.fromkeys(from_environment, "environment")


def _ignore(_: PrereadError) -> None:
    """Ignored here: the code that loads the settings reports their problems."""


def _refuse(error: PrereadError) -> None:
    raise error


def _merged(
    layout: Layout, text: str, environ: Mapping[str, str], arguments: Mapping[str, Any],
    report: Report,
) -> Settings:  # fmt: skip
    """The settings of the file's text, the environment and the arguments."""
    chosen = _added({}, _from_file(layout, text, report), f"{layout.config}", report, text)
    overruled = personal_limits.excesses(Settings(**chosen).model_dump(), Settings().model_dump())
    wanted = {key: chosen.get(key) for key in overruled}  # values of the file that are overruled
    given = {key: value for key, value in arguments.items() if value is not None}
    more = _added({}, _from_environment(environ), ENVIRONMENT, report)
    more = _added(more, given, ARGUMENTS, report)
    merged = {**chosen, **overruled, **more}
    wanted = {key: value for key, value in wanted.items() if key not in more}
    return Settings.model_validate(merged).with_warnings(
        personal_limits.warnings(wanted, merged), ()
    )


def _from_file(layout: Layout, text: str, report: Report) -> Values:
    """The keys of the settings file's text, without the lines that are not TOML."""
    lines = text.split("\n")
    for _ in range(MAX_LINES):
        error, values = _parsed(layout, "\n".join(lines))
        if error is None:
            return values
        at = min(error.details["line"], len(lines)) - 1
        if lines[at]:
            report(error)
        lines = [*lines[:at], "", *lines[at + 1 :]] if lines[at] else lines[:at]
    return {}


def _text(layout: Layout, report: Report) -> str:
    try:
        data = plain_bytes(layout.config, follows_links=True)
        if data is None and os.path.exists(layout.config):  # noqa: PTH110 - raises nothing
            report(PrereadError("E_SETTINGS", f"{layout.config} is not a file.", "Remove it."))
        return (data or b"").decode("utf-8")
    except (Unreadable, UnicodeDecodeError) as error:
        why = error.why if isinstance(error, Unreadable) else error
        message = f"{layout.config} cannot be read: {why}."
        hint = "Save it as UTF-8 text that you may read, or delete it."
        report(PrereadError("E_SETTINGS", message, hint))
        return ""


def _parsed(layout: Layout, text: str) -> tuple[PrereadError | None, Values]:
    """The keys of a TOML text, or the error with its `line`."""
    import tomllib

    try:
        return None, tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = re.search(r"\(at line (\d+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        message = f"{layout.config}, line {line}, is not TOML: {error}."
        hint = "Fix that line, or delete the file."
        return PrereadError("E_SETTINGS", message, hint, {"line": line}), {}


def _from_environment(environ: Mapping[str, str]) -> Values:
    found: Values = {}
    for name, key in _variables().items():
        raw = environ.get(name)
        if raw is None:
            continue
        parts = [part for part in raw.split(os.pathsep) if part]
        if get_origin(Settings.model_fields[key].annotation) is list:
            found[key] = parts
        elif key == "timeouts":
            found[key] = dict(part.partition("=")[::2] for part in parts)
        else:
            found[key] = raw
    return found


def _added(merged: Values, values: Values, place: str, report: Report, text: str = "") -> Values:
    """Valid settings merged with those of one more source; `text` is the file's text."""
    while True:
        error, key = _invalid(values, place, text)
        if error is None:
            return {**merged, **values}
        report(error)
        values = {name: value for name, value in values.items() if name != key}


def _invalid(values: Values, place: str, text: str) -> tuple[PrereadError | None, str]:
    """The first error among the settings of one place, and the key that it is about."""
    for key in values:
        where = f"{place}{_line_of(key, text)}"
        if key not in Settings.model_fields:
            meant = _suggestion(key)
            known = f"Settings: {', '.join(sorted(Settings.model_fields))}."
            hint = "List them: `preread settings`." if meant else known
            message = f"{where} sets `{key}`, which is not a setting.{meant}"
            return PrereadError("E_SETTINGS", message, hint), key
        if text and key in personal_keys():
            message = f"{where} sets `{key}`, which only the environment may set."
            hint = f"Remove it, and set PREREAD_{key.upper()} in your environment."
            return PrereadError("E_SETTINGS", message, hint), key
    try:
        Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name, key = ".".join(str(part) for part in first["loc"]), str(first["loc"][0])
        where = f"{place}{_line_of(key, text)}"
        message = f"{where} sets `{name}` to an invalid value: {first['msg']}."
        hint = "Correct the value, or remove the setting to get its default."
        return PrereadError("E_SETTINGS", message, hint), key
    return None, ""


def _line_of(key: str, text: str) -> str:
    """Where the settings file sets a key, like `, line 3,`; empty if that cannot be found."""
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(rf"\s*[\[\"']*{re.escape(key)}\b", line):
            return f", line {number},"
    return ""


def _suggestion(key: str) -> str:
    import difflib

    near = difflib.get_close_matches(key, list(Settings.model_fields), n=1, cutoff=0.5)
    return f" Did you mean `{near[0]}`?" if near else ""
