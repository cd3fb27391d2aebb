"""The typed shapes that steps and faces pass to each other: evidence, facts, manifests, replies."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from preread.settings import Level

# `said`: somebody said it, and nothing else proves it. `unverified`: a person wrote it, but its
# sources no longer support it.
State = Literal["quoted", "computed", "external", "located", "said", "unverified"]
Status = Literal["ok", "building", "partial", "degraded", "error"]
How = Literal["built", "cached", "refreshed", "extended", "joined"]
LEVELS: tuple[Level, ...] = ("light", "standard", "full")


class Model(BaseModel):
    """Base of shapes that cross a face: immutable, and unknown keys are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# -- evidence: what the project itself says about a feature, without a model


class Ranked(Model):
    """One file chosen for a request: why, how strongly, and which of its lines matter."""

    path: str
    score: float = Field(description="Relative to the best file of its list, 0 to 1.")
    reasons: tuple[str, ...]
    lines: tuple[tuple[int, int], ...] = Field(
        (), description="Line ranges, 1-based, both ends included."
    )
    symbols: tuple[str, ...] = Field(
        (),
        description="For each range, the names of its definitions; empty outside of any.",
    )


class Finding(Model):
    """One fact that a rule found, with its place in a dossier."""

    rule: str = Field(description="The rule that found it; the same tree gives the same finding.")
    file: str = Field(description="The dossier's file that it belongs to.")
    section: str = Field(description="The heading of its section; a path for what is in one file.")
    text: str
    sources: tuple[str, ...]
    score: float = Field(description="0 to 1; the lowest are cut first.")
    fence: tuple[str, ...] = Field((), description="Lines of code from the first source, whole.")


class Evidence(Model):
    """Everything that was found for one request: ranked, bounded, sourced."""

    feature: str
    words: tuple[str, ...] = Field(description="What was searched for.")
    files: tuple[Ranked, ...] = ()
    tests: tuple[Ranked, ...] = ()
    docs: tuple[Ranked, ...] = Field((), description="Documents of the project.")
    findings: tuple[Finding, ...] = ()
    total: int = Field(0, description="How many findings there are, including any beyond a limit.")
    thin: bool = Field(False, description="The project says next to nothing about the feature.")
    used: dict[str, str] = Field(
        default_factory=dict,
        description="Digest of each ticket, knowledge file and report that was used.",
    )
    notes: tuple[str, ...] = Field((), description="What could not be read or was left out.")


# -- the dossier


@dataclass(frozen=True, slots=True)
class Fact:
    """One bullet of a dossier: its text, its sources in canonical form, its line in the file."""

    text: str
    sources: tuple[str, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Fence:
    """A block of code in a dossier, quoted from the source of its section."""

    language: str
    lines: tuple[str, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Section:
    """One `##` section: its items in order, and the source of those that name none."""

    heading: str
    items: tuple[Fact | Fence, ...]
    source: str = ""
    line: int = 0

    @property
    def facts(self) -> tuple[Fact, ...]:
        return tuple(item for item in self.items if isinstance(item, Fact))

    @property
    def fences(self) -> tuple[Fence, ...]:
        return tuple(item for item in self.items if isinstance(item, Fence))


@dataclass(frozen=True, slots=True)
class Draft:
    """One file of a dossier, as `markdown.parse` reads it and `markdown.render` writes it."""

    name: str
    feature: str
    sections: tuple[Section, ...] = ()

    @property
    def facts(self) -> tuple[Fact, ...]:
        return tuple(fact for section in self.sections for fact in section.facts)


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken rule. `str()` gives `path:line: code message`."""

    path: str
    line: int
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.code} {self.message}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A valid fact, with its state and confidence from 0 to 1."""

    file: str
    section: str
    fact: Fact
    state: State
    confidence: float


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check: the valid drafts, the problems, and the digest of every cited span."""

    drafts: tuple[Draft, ...]
    verdicts: tuple[Verdict, ...] = ()
    problems: tuple[Problem, ...] = ()
    dropped: int = 0  # facts that are invalid
    cut: int = 0  # valid facts beyond the budget, and those too uncertain to show
    spans: dict[str, str] = field(default_factory=dict)
    over_budget: tuple[Verdict, ...] = ()


class Fault(Model):
    """Why a builder could not finish: an error code, the reason in words, what to do about it."""

    code: str
    reason: str
    hint: str = Field("", description="`{feature}` stands for the feature until it is published.")


class Request(Model):
    """A resolved request for a dossier: valid names, and a definite level."""

    feature: str
    ticket: str = ""
    description: str = ""
    scope: str = Field(
        "", description="The folder whose files are ranked, relative to the root; empty for all."
    )
    level: Level = "light"
    auto: bool = Field(
        False, description="The level was left open: a history of failures raises it to full."
    )
    force: bool = False
    extend: tuple[str, ...] = Field((), description="The only files that the model shall draft.")


class Wording(Model):
    """Another description that a dossier serves, and what the map added to it for that one."""

    digest: str
    facts: tuple[str, ...] = Field((), description="Ids of the facts that were added.")


class SpanMark(Model):
    """The content of a source's lines, to find them again when they move.

    Digests are of text without white space, 12 hex digits of SHA-256.
    """

    size: int = Field(description="Characters of the lines, without white space.")
    digest: str
    before: str = Field(description="Digest of the nearest line before that is not blank.")
    after: str = Field(description="Digest of the nearest line after that is not blank.")
    symbol: str = Field("", description="The innermost definition or test around the lines.")
    ordinal: int = Field(1, description="Which of the equal runs of lines in the file it is.")
    copies: int = Field(1, description="How many equal runs of lines the file has.")
    lines: int = Field(1, description="How many lines, including blank ones at the end.")


class LostFact(Model):
    """A model's fact that has lost its sources."""

    file: str
    text: str
    is_changed: bool = Field(
        description="True if what it was about still exists, with other content; false if gone."
    )


class Manifest(Model):
    """`manifest.json`: the request, who built the dossier, and the digests that show staleness."""

    schema_version: int = 1
    feature: str
    ticket: str = ""
    description: str = ""
    scope: str = ""
    level: Level = "light"
    builder: str = "static"
    model: str = ""
    status: Literal["ok", "partial", "degraded"] = "ok"
    fault: Fault | None = Field(None, description="Why it is partial or degraded.")
    drafted: tuple[str, ...] = Field(
        (), description="Files that a model drafted; the static builder wrote the others."
    )
    missing: tuple[str, ...] = Field(
        (), description="Files that a model should have drafted; the static builder wrote them."
    )
    recipe: str = Field(
        "", description="Build key: digest of the template or rules, and of the content settings."
    )
    used: dict[str, str] = Field(default_factory=dict, description="Digest of each input.")
    cut: str = Field("", description="What the work tree left out: sparse, shallow, digests.")
    files: dict[str, str] = Field(default_factory=dict, description="Digest of each file.")
    spans: dict[str, str] = Field(default_factory=dict, description="Digest of each cited span.")
    marks: dict[str, SpanMark] = Field(
        default_factory=dict,
        description="What was at the lines of each source that a model or a person cited.",
    )
    facts: tuple[str, ...] = Field(
        (),
        description="Ids of the facts that the build wrote, in order; all others are people's.",
    )
    fences: tuple[str, ...] | None = Field(
        None, description="Ids of the fences that the build wrote; null if that is not known."
    )
    replaced: dict[str, str] = Field(
        default_factory=dict,
        description="Ids of a build's facts (also their lasting ids, without numbers) -> ids of "
        "people's versions of them, which count instead.",
    )
    by_hand: tuple[str, ...] = Field(
        (), description="Files that people edited: their order and other lines stay."
    )
    lost: tuple[LostFact, ...] = Field(
        (), description="The model's facts that are missing because the code changed."
    )
    wordings: tuple[Wording, ...] = Field(
        (), description="The other descriptions that the dossier serves, oldest first."
    )
    unverified: tuple[str, ...] = Field(
        (), description="Texts of people's facts whose sources no longer support them."
    )
    sought: dict[str, SpanMark] = Field(
        default_factory=dict,
        description="For these facts, by id and source: what was at the lines, to find it again.",
    )
    thin: bool = Field(False, description="The project says next to nothing about the feature.")


# -- a builder's order and outcome


class Outcome(Model):
    """How a builder's run went, besides its drafts. The static builder's is all defaults."""

    model: str = Field("", description="The model that answered, as the service names it.")
    version: str = Field("", description="The version of the Claude Code program.")
    turns: int = 0
    tokens: dict[str, int] = Field(
        default_factory=dict, description="input, output, cache_read, cache_creation."
    )
    cost_usd: float | None = Field(
        0.0, description="Null when the run ended before it reported its cost."
    )
    seconds: float = Field(0.0, description="How long the child process ran.")
    denials: tuple[str, ...] = Field((), description="Tool calls that its permissions denied.")
    prompt: str = Field("", description="Digest of the prompt.")
    stderr: str = Field("", description="The end of its standard error.")
    sent_back: bool = Field(
        False, description="Whether drafts that failed the check went back to be corrected."
    )
    fault: Fault | None = None
    warnings: tuple[str, ...] = Field(
        (), description="What it had to do without, such as a server that did not answer."
    )
    external: tuple[str, ...] = Field(
        (), exclude=True, description="Answers of configured MCP servers, for external sources."
    )


def _no_review(_answers: Iterable[str], /, *, in_own_run: bool) -> str:  # noqa: ARG001 - by name
    return ""


def _no_ledger(_outcome: Outcome) -> None:
    """Record no cost."""


def _ignore_delay(_fault: Fault) -> None:
    """Ignore delays."""


class Review(Protocol):
    """Returns the message that asks the model to correct its drafts; empty if there is none.

    `in_own_run`: the model corrects them in a run of its own, so the message says where they are.
    """

    def __call__(self, answers: Iterable[str], /, *, in_own_run: bool) -> str:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Order:
    """What a builder has to draft: `files`, into the folder `staging`."""

    request: Request
    evidence: Evidence
    staging: Path
    files: tuple[str, ...]
    prompt: Callable[[], str] = str  # pure; called while the program starts
    review: Review = _no_review  # takes the answers of MCP servers so far
    # Called once for each run of a program, as soon as its cost is known or lost.
    spent: Callable[[Outcome], None] = _no_ledger
    # Called once from the builder's thread when the model's service makes it wait, with the reason.
    delayed: Callable[[Fault], None] = _ignore_delay


# -- the reply of `load`


class Stats(Model):
    """Counts of the dossier's facts, and what its build took."""

    facts: int = 0
    quoted: int = 0
    computed: int = 0
    external: int = 0
    located: int = 0
    said: int = 0
    unverified: int = 0
    dropped: int = 0
    cut: int = 0
    tokens: int = Field(0, description="Estimated at 4 characters each.")
    seconds: float = 0.0
    turns: int = 0
    cost_usd: float = 0.0
    cost_today_usd: float = 0.0


class Refresh(Model):
    """What a refresh did to a dossier's sources and facts."""

    moved: int = Field(description="Sources that were found again elsewhere.")
    changed: tuple[str, ...] = Field(
        (), description="Facts that are gone because their lines say something else now."
    )
    gone: tuple[str, ...] = Field((), description="Facts whose sources are gone.")


class LoadReply(Model):
    """The dossier, or why there is none; `next` says what to do now."""

    status: Status
    path: str = ""
    files: tuple[str, ...] = ()
    state: How | None = None
    builder: str = ""
    level: Level | None = None
    dossier: str = Field("", description="The dossier itself, so that it need not be read again.")
    missing: tuple[str, ...] = Field(
        (), description="Files that a `partial` dossier lacks, each with the reason."
    )
    thin: bool = Field(False, description="The project says next to nothing about the feature.")
    warnings: tuple[str, ...] = ()
    next: str = ""
    refresh: Refresh | None = Field(None, description="What changed, if it was refreshed.")
    stats: Stats | None = None
    code: str | None = None
    message: str | None = None
    hint: str | None = None
    details: dict[str, Any] | None = None
