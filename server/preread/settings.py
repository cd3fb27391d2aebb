"""The settings: each key with its default and a line of documentation, and how they are loaded."""

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from preread.errors import PrereadError
from preread.layout import Layout

if TYPE_CHECKING:
    from pydantic import JsonValue

Level = Literal["light", "standard", "full"]
LEFT_OUT = ("generated", "vendored", "minified", "lock")  # files evidence excludes by default
# Marks of a key that changes the content of dossiers: of any, or of those a model drafted. After
# such a change, existing dossiers no longer cover a request.
CONTENT: "dict[str, JsonValue]" = {"content": "any"}
DRAFTED: "dict[str, JsonValue]" = {"content": "drafted"}
# Mark of a key that only the environment sets, because the file may come with a repository.
PERSONAL: "dict[str, JsonValue]" = {"personal": True}
# Seconds that a build has after its child's deadline: to end it, fill in, check and publish.
FINISHING = 60.0
MODEL = r"[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]*"


class Settings(BaseModel):
    """What a project can set in `.project/config.toml`, or the environment as `PREREAD_<KEY>`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    level: Literal["auto", "light", "standard", "full"] = Field(
        "auto",
        description="How deep a dossier goes; `auto` picks the deepest level possible here.",
    )
    max_facts: int = Field(
        60,
        ge=1,
        le=1000,
        description="Maximum number of facts in one dossier.",
        json_schema_extra=CONTENT,
    )
    max_tokens: int = Field(
        2000,
        ge=200,
        le=100_000,
        description="Maximum tokens in one dossier, estimated at 4 characters each.",
        json_schema_extra=CONTENT,
    )
    inline_tokens: int = Field(
        2500,
        ge=0,
        le=100_000,
        description="How much of a dossier a reply includes, in estimated tokens.",
    )
    timeout: float = Field(180, gt=0, le=3600, description="Seconds that one build may take.")
    timeouts: dict[Level, Annotated[float, Field(gt=0, le=3600)]] = Field(
        default_factory=dict,
        description="Timeouts of single levels, overriding `timeout`, like `{ full = 300 }`.",
    )
    deepen: Literal["wait", "background"] = Field(
        "wait",
        description="`background` replies with a static dossier at once and lets the headless "
        "builder replace it later.",
    )
    claude: str = Field(
        "",
        description="The Claude Code program: empty finds `claude` on PATH, `off` never runs it. "
        "Environment only.",
        json_schema_extra=PERSONAL,
    )
    model: str = Field(
        "sonnet",
        pattern=f"^{MODEL}$",
        description="The headless builder's model.",
        json_schema_extra=DRAFTED,
    )
    fallback_model: str = Field(
        "haiku",
        pattern=f"^({MODEL})?$",
        description="The model to use while `model` is overloaded; empty for none.",
    )
    max_turns: int = Field(
        60, ge=1, le=1000, description="Maximum turns of the model in one build."
    )
    max_usd: float = Field(1.0, gt=0, le=1000, description="Maximum dollars one build may cost.")
    month_usd: float = Field(
        0,
        ge=0,
        description="Dollars per calendar month above which a build asks before spending more; "
        "0 never asks.",
    )
    mcp: list[str] = Field(
        default_factory=list,
        description="Names of MCP servers that the headless builder may search, from `.mcp.json` "
        "or Claude Code's own settings.",
        json_schema_extra=DRAFTED,
    )
    mcp_tools: list[str] = Field(
        default_factory=list,
        description="Read-only tools of those servers that it may call, as `server.tool`.",
        json_schema_extra=DRAFTED,
    )
    reply_within: float = Field(
        50,
        gt=0,
        le=3600,
        description="Seconds after which a call replies `building` instead of waiting longer.",
    )
    max_builds: int = Field(
        4, ge=1, le=64, description="How many features one server builds at the same time."
    )
    degraded_for: float = Field(
        600,
        ge=0,
        description="Seconds that a degraded dossier covers a request before the next attempt.",
    )
    reports: list[str] = Field(
        default_factory=lambda: [
            "reports/**/*.xml",
            "reports/**/*.json",
            "reports/**/*.jsonl",
            "test-results/**/*.xml",
            "test-results/**/*.json",
            "build/test-results/**/*.xml",
            "target/surefire-reports/*.xml",
            "playwright-report/*.json",
            "playwright-report/*.xml",
            "junit*.xml",
            "TEST-*.xml",
            "*report*.json",
            "*report*.jsonl",
            "*results*.json",
        ],
        description="Globs of test reports, relative to the root: JUnit XML, and the JSON of "
        "pytest's plug-ins, Playwright, Jest and Vitest.",
        json_schema_extra=CONTENT,
    )
    exclude: list[str] = Field(
        default_factory=list,
        description="Globs of files to exclude from evidence.",
        json_schema_extra=CONTENT,
    )
    include: list[str] = Field(
        default_factory=list,
        description="Files to include in evidence that it excludes by default: `generated`, "
        "`vendored`, `minified`, `lock`, or globs of such files.",
        json_schema_extra=CONTENT,
    )
    share: bool = Field(
        False, description="Whether dossiers are committed; `init` writes git rules to match."
    )

    @field_validator("include")
    @classmethod
    def _kinds_or_globs(cls, value: list[str]) -> list[str]:
        for item in value:
            if item not in LEFT_OUT and not set(item) & set("*?/."):
                raise ValueError(f"`{item}` is neither a glob nor one of {', '.join(LEFT_OUT)}")
        return value

    def child_seconds(self, level: Level) -> float:
        """Seconds until a build of this level ends its child process; or itself, without one."""
        return self.timeouts.get(level, self.timeout)

    def build_seconds(self, level: Level, *, auto: bool = False, extends: bool = False) -> float:
        """Seconds that a build of this level may take in all; `auto` may still raise it to full."""
        if level == "light" and not extends:
            return self.child_seconds(level)
        return FINISHING + max(self.child_seconds(level), self.child_seconds("full") if auto else 0)


def personal_keys() -> list[str]:
    """The keys that only the environment sets."""
    fields = Settings.model_fields.items()
    return [key for key, field in fields if field.json_schema_extra == PERSONAL]


def _suggestion(key: str) -> str:
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
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise PrereadError(
            "E_SETTINGS",
            f"{layout.config} is not TOML: {error}.",
            "Fix that line, or delete the file.",
        ) from error
    for key in found:
        if key in personal_keys():
            raise PrereadError(
                "E_SETTINGS",
                f"{layout.config} sets `{key}`, which only the environment may set.",
                f"Remove it, and set PREREAD_{key.upper()} in your environment.",
            )
    return found


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, field in Settings.model_fields.items():
        raw = environ.get(f"PREREAD_{key.upper()}")
        if raw is None:
            continue
        parts = [part for part in raw.split(os.pathsep) if part]
        if field.annotation == list[str]:
            found[key] = parts
        elif key == "timeouts":
            found[key] = dict(part.partition("=")[::2] for part in parts)
        else:
            found[key] = raw
    return found


def load(
    layout: Layout, environ: Mapping[str, str], arguments: Mapping[str, Any] | None = None
) -> Settings:
    """Merge the settings: file < environment < arguments, where None means not given.

    Raises E_SETTINGS.
    """
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
                    f"{place} sets `{key}`, which is not a setting.{_suggestion(key)}",
                    f"Settings: {known}.",
                )
        merged |= values
        try:
            settings = Settings.model_validate(merged)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(str(part) for part in first["loc"])
            message = f"{place} sets `{name}` to an invalid value: {first['msg']}."
            raise PrereadError("E_SETTINGS", message) from error
    return settings


def content_key(settings: Settings, level: Level) -> str:
    """The settings that change the content of a dossier of this level, as canonical JSON."""
    values = settings.model_dump(mode="json")
    marks = [CONTENT] if level == "light" else [CONTENT, DRAFTED]
    fields = Settings.model_fields.items()
    content = {key: values[key] for key, field in fields if field.json_schema_extra in marks}
    return json.dumps(content, sort_keys=True, ensure_ascii=True)
