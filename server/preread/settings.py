"""The settings: each key with its default and a line of documentation."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator

if TYPE_CHECKING:
    from pydantic import JsonValue

Level = Literal["light", "standard", "full"]
Effect = Literal["read", "write", "execute"]
LEFT_OUT = ("generated", "vendored", "minified", "lock")  # files evidence excludes by default
# Marks of a key that changes the content of dossiers: of any, or of those a model drafted. After
# such a change, existing dossiers no longer cover a request.
CONTENT: "dict[str, JsonValue]" = {"content": "any"}
DRAFTED: "dict[str, JsonValue]" = {"content": "drafted"}
# Mark of a key that only the environment sets, because the file may come with a repository.
PERSONAL: "dict[str, JsonValue]" = {"personal": True}
# Seconds that a build has after its child's deadline: to end it, fill in, check and publish.
FINISHING = 60.0
# Share of a build's time, turns and money that is reserved for correcting drafts that failed the
# check. The prompt does not mention that time and those turns; drafting cannot spend that money.
RESERVED = 0.2
# What a level needs by default, measured with strong models.
SECONDS_OF: "dict[Level, float]" = {"full": 540}
TOKENS_OF: "dict[Level, int]" = {"full": 2500}
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
        description="Maximum tokens in one dossier, estimated at 4 characters each; 2500 at level "
        "`full` unless set.",
        json_schema_extra=CONTENT,
    )
    inline_tokens: int = Field(
        2500,
        ge=0,
        le=100_000,
        description="How much of a dossier a reply includes, in estimated tokens.",
    )
    timeout: float = Field(
        240,
        gt=0,
        le=3600,
        description="Seconds that one build may take; 540 at level `full` unless set.",
    )
    timeouts: dict[Level, Annotated[float, Field(gt=0, le=3600)]] = Field(
        default_factory=dict,
        description="Timeouts of single levels, overriding `timeout`, like `{ full = 300 }`.",
    )
    deepen: Literal["wait", "background"] = Field(
        "wait",
        description="`background` replies with a static dossier at once and lets the headless "
        "builder replace it later.",
    )
    watch: bool = Field(
        True,
        description="Whether a server watches the project's files, to say at once what is stale.",
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
        description="The headless builder's model; the file may name a haiku or a sonnet.",
        json_schema_extra=DRAFTED,
    )
    fallback_model: str = Field(
        "haiku",
        pattern=f"^({MODEL})?$",
        description="The model to use while `model` is overloaded; empty for none.",
    )
    max_turns: int = Field(
        100,
        ge=1,
        le=1000,
        description="Maximum turns of the model in one build; the file can only lower it.",
    )
    max_usd: float = Field(
        1.0,
        gt=0,
        le=1000,
        description="Maximum dollars one build may cost, a fifth of them for corrections; "
        "the file can only lower it.",
    )
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
        4,
        ge=1,
        le=64,
        description="How many features of a project one server builds at the same time; the file "
        "can only lower it.",
    )
    max_waiting: int = Field(
        100,
        ge=0,
        le=10_000,
        description="How many more builds of a project may wait there for their turn; the file "
        "can only lower it.",
    )
    degraded_for: float = Field(
        600,
        ge=0,
        description="Seconds that a degraded dossier covers a request before the next attempt.",
    )
    rebuild_after: float = Field(
        0.25,
        ge=0,
        le=1,
        description="Share of a model's facts that may lose their sources before it drafts again.",
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

    meaning: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Weight of meaning against words when remembered facts are recalled; needs "
        "the extra `preread[meaning]`. 0: only words.",
    )
    file_meaning: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Weight of meaning against words when files are ranked, by names; needs "
        "the extra `preread[meaning]`. 0: only words, which finds as much in most projects.",
        json_schema_extra=CONTENT,
    )
    test_command: str = Field(
        "",
        description="The command that has to pass before a coordinator merges what its agents "
        "wrote. Environment only.",
        json_schema_extra=PERSONAL,
    )
    max_debt: int = Field(
        10,
        ge=0,
        description="How many TODO, FIXME, HACK and XXX in added lines `ready` accepts.",
    )
    allow: list[Effect] = Field(
        default=["read", "write"],
        description="Effects of the operations that agents may run; the file cannot add to these. "
        "`load_context` is always allowed.",
    )
    tools: Literal["few", "full"] = Field(
        "few",
        description="`full` lists every operation as an MCP tool of its own.",
    )

    _warnings: tuple[str, ...] = PrivateAttr(())
    _broken: tuple[str, ...] = PrivateAttr(())

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about values in the project's file that only the person may set."""
        return self._warnings

    @property
    def broken(self) -> tuple[str, ...]:
        """Warnings about invalid settings, whose defaults are used."""
        return self._broken

    def with_warnings(self, warnings: Iterable[str], broken: Iterable[str]) -> "Settings":
        self._warnings, self._broken = tuple(warnings), tuple(broken)
        return self

    @field_validator("include")
    @classmethod
    def _kinds_or_globs(cls, value: list[str]) -> list[str]:
        for item in value:
            if item not in LEFT_OUT and not set(item) & set("*?/."):
                raise ValueError(f"`{item}` is neither a glob nor one of {', '.join(LEFT_OUT)}")
        return value

    def child_seconds(self, level: Level) -> float:
        """Seconds that a build gives its child process; at level light, without one, itself."""
        default = self.timeout if "timeout" in self.model_fields_set else None
        return self.timeouts.get(level) or default or SECONDS_OF.get(level, self.timeout)

    def tokens(self, level: Level) -> int:
        """Maximum tokens of a dossier of this level."""
        is_set = "max_tokens" in self.model_fields_set
        return self.max_tokens if is_set else TOKENS_OF.get(level, self.max_tokens)

    def build_seconds(self, level: Level, *, auto: bool = False, extends: bool = False) -> float:
        """Seconds that a whole build of this level may take; `auto` may still raise it to full."""
        if level == "light" and not extends:
            return self.child_seconds(level)
        return FINISHING + max(self.child_seconds(level), self.child_seconds("full") if auto else 0)


def personal_keys() -> list[str]:
    """The keys that only the environment sets."""
    fields = Settings.model_fields.items()
    return [key for key, field in fields if field.json_schema_extra == PERSONAL]


def content_key(settings: Settings, level: Level) -> str:
    """The settings that change the content of a dossier of this level, as canonical JSON."""
    values = settings.model_dump(mode="json") | {"max_tokens": settings.tokens(level)}
    marks = [CONTENT] if level == "light" else [CONTENT, DRAFTED]
    fields = Settings.model_fields.items()
    content = {key: values[key] for key, field in fields if field.json_schema_extra in marks}
    return json.dumps(content, sort_keys=True, ensure_ascii=True)
