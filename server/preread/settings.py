"""Settings: each key with its default and a line of doc; file, environment and arguments in rising order."""

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from preread.errors import PrereadError
from preread.layout import Layout

if TYPE_CHECKING:
    from pydantic import JsonValue

Level = Literal["light", "standard", "full"]
CONTENT: "dict[str, JsonValue]" = {"content": True}  # marks a key that changes what a dossier says: part of `covers`


class Settings(BaseModel):
    """What a project can set in `.project/config.toml`, or the environment as `PREREAD_<KEY>`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    level: Literal["auto", "light", "standard", "full"] = Field(
        "auto", description="How deep a dossier goes; auto takes the deepest that can be built here."
    )
    max_facts: int = Field(60, ge=1, le=1000, description="Most facts in one dossier.", json_schema_extra=CONTENT)
    max_tokens: int = Field(
        2000,
        ge=200,
        le=100_000,
        description="Most tokens in one dossier, estimated at 4 characters each.",
        json_schema_extra=CONTENT,
    )
    inline_tokens: int = Field(
        2500, ge=0, le=100_000, description="How much of a dossier a reply carries, in estimated tokens."
    )
    timeout: float = Field(180, gt=0, le=3600, description="Seconds that one build may take.")
    reply_within: float = Field(
        50, gt=0, le=3600, description="Seconds after which a call replies `building` instead of waiting on."
    )
    max_builds: int = Field(4, ge=1, le=64, description="How many features one server builds at the same time.")
    degraded_for: float = Field(
        600, ge=0, description="Seconds for which a degraded dossier covers a request before a new try."
    )
    reports: list[str] = Field(
        default_factory=lambda: [
            "reports/**/*.xml",
            "test-results/**/*.xml",
            "build/test-results/**/*.xml",
            "target/surefire-reports/*.xml",
            "junit*.xml",
            "TEST-*.xml",
        ],
        description="Globs of JUnit XML reports, relative to the root.",
        json_schema_extra=CONTENT,
    )
    exclude: list[str] = Field(
        default_factory=list,
        description="Globs of files that evidence leaves out.",
        json_schema_extra=CONTENT,
    )
    share: bool = Field(False, description="Dossiers are committed; `init` writes its git rules by it.")


def _nearest(key: str) -> str:
    import difflib

    near = difflib.get_close_matches(key, list(Settings.model_fields), n=1, cutoff=0.5)
    return f" Did you mean `{near[0]}`?" if near else ""


def _from_file(layout: Layout) -> dict[str, Any]:
    try:
        text = layout.config.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise PrereadError("E_SETTINGS", f"{layout.config} cannot be read: {error}.") from error
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise PrereadError(
            "E_SETTINGS",
            f"{layout.config} is not TOML: {error}.",
            "Mend the line it names, or delete the file.",
        ) from error


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, field in Settings.model_fields.items():
        raw = environ.get(f"PREREAD_{key.upper()}")
        if raw is None:
            continue
        is_list = field.annotation == list[str]
        found[key] = [part for part in raw.split(os.pathsep) if part] if is_list else raw
    return found


def load(layout: Layout, environ: Mapping[str, str], arguments: Mapping[str, Any] | None = None) -> Settings:
    """The settings in force: file < environment < arguments (None means not given). Raises E_SETTINGS."""
    places = (
        (str(layout.config), _from_file(layout)),
        ("the environment", _from_environment(environ)),
        ("the arguments", {k: v for k, v in (arguments or {}).items() if v is not None}),
    )
    merged: dict[str, Any] = {}
    for place, values in places:
        for key in values:
            if key not in Settings.model_fields:
                known = ", ".join(sorted(Settings.model_fields))
                raise PrereadError(
                    "E_SETTINGS",
                    f"{place} sets `{key}`, which is no setting.{_nearest(key)}",
                    f"Settings: {known}.",
                )
        merged |= values
        try:
            settings = Settings.model_validate(merged)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(str(part) for part in first["loc"])
            raise PrereadError(
                "E_SETTINGS", f"{place} gives `{name}` a value that it cannot have: {first['msg']}."
            ) from error
    return settings


def content_key(settings: Settings) -> str:
    """The settings that change what a dossier says, as one canonical text; part of `covers`."""
    values = settings.model_dump(mode="json")
    kept = {k: values[k] for k, f in Settings.model_fields.items() if f.json_schema_extra == CONTENT}
    return json.dumps(kept, sort_keys=True, ensure_ascii=True)
