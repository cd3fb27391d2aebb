"""The typed shapes that steps and faces hand to each other: evidence, facts, manifests, replies."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from preread.settings import Level

State = Literal["quoted", "computed", "external", "located"]
Status = Literal["ok", "building", "partial", "degraded", "error"]
How = Literal["built", "cached", "refreshed", "extended", "joined"]
LEVELS: tuple[Level, ...] = ("light", "standard", "full")


class Model(BaseModel):
    """A shape that crosses a face: unknown keys are an error, values do not change."""

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
        description="For each line range the names of the definitions it belongs to; empty outside of all.",
    )


class Finding(Model):
    """One fact that a rule found, with its place in a dossier."""

    rule: str = Field(description="The rule that found it; the same tree gives the same finding.")
    file: str = Field(description="The dossier's file that it belongs to.")
    section: str = Field(description="The heading of its section; a path for what is in one file.")
    text: str
    sources: tuple[str, ...]
    score: float = Field(description="0 to 1; what scores least is cut first.")
    fence: tuple[str, ...] = Field((), description="Lines of code from the first source, whole.")


class Evidence(Model):
    """Everything that was found for one request: ranked, bounded, sourced."""

    feature: str
    words: tuple[str, ...] = Field(description="What was searched for.")
    files: tuple[Ranked, ...] = ()
    tests: tuple[Ranked, ...] = ()
    docs: tuple[Ranked, ...] = Field((), description="Documents of the project.")
    findings: tuple[Finding, ...] = ()
    thin: bool = Field(False, description="The project says next to nothing about the feature.")
    used: dict[str, str] = Field(
        default_factory=dict,
        description="Digest of each ticket, knowledge file and report that went in.",
    )
    notes: tuple[str, ...] = Field((), description="What could not be read or was left out.")


# -- the dossier


@dataclass(frozen=True, slots=True)
class Fact:
    """One bullet of a dossier. `sources` are canonical references; `line` is where it stands in its file."""

    text: str
    sources: tuple[str, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Fence:
    """A block of code in a dossier, quoted from its section's source."""

    language: str
    lines: tuple[str, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Section:
    """One `##` section: its facts and fences in their order, and the source that serves those without one."""

    heading: str
    items: tuple[Fact | Fence, ...]
    source: str = ""
    line: int = 0

    @property
    def facts(self) -> tuple[Fact, ...]:
        return tuple(item for item in self.items if isinstance(item, Fact))


@dataclass(frozen=True, slots=True)
class Draft:
    """One file of a dossier as sections of facts; what `dossier.parse` reads and `dossier.render` writes."""

    name: str
    feature: str
    sections: tuple[Section, ...] = ()

    @property
    def facts(self) -> tuple[Fact, ...]:
        return tuple(fact for section in self.sections for fact in section.facts)


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken rule, on one line: printed as `path:line: code message`."""

    path: str
    line: int
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.code} {self.message}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What checking made of one fact."""

    file: str
    section: str
    fact: Fact
    state: State
    confidence: float


@dataclass(frozen=True, slots=True)
class Checked:
    """What passed, what was found wrong, and the digest of every cited span."""

    drafts: tuple[Draft, ...]
    verdicts: tuple[Verdict, ...] = ()
    problems: tuple[Problem, ...] = ()
    dropped: int = 0  # facts whose sources did not hold
    cut: int = 0  # facts that held, cut to the budget; and what was too doubtful
    spans: dict[str, str] = field(default_factory=dict)


class Fault(Model):
    """Why a builder could not finish: a code of the table of errors, the reason in words, what to do."""

    code: str
    reason: str
    hint: str = ""


class Request(Model):
    """What a dossier is asked for, names checked and level resolved."""

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
    extend: tuple[str, ...] = Field(
        (), description="Files that the model is to draft; the others stand."
    )


class Manifest(Model):
    """`manifest.json`: what was asked, what answered, and the digests that say whether it still holds."""

    schema_version: int = 1
    feature: str
    ticket: str = ""
    description: str = ""
    scope: str = ""
    level: Level = "light"
    builder: str = "static"
    model: str = ""
    status: Literal["ok", "partial", "degraded"] = "ok"
    fault: Fault | None = Field(None, description="Why it is not whole.")
    drafted: tuple[str, ...] = Field(
        (), description="Files that a model drafted; the static builder wrote the others."
    )
    missing: tuple[str, ...] = Field(
        (), description="Files that a model was to draft and the static builder wrote."
    )
    recipe: str = Field(
        "", description="Digest of the template or rules, and of the settings, that shaped it."
    )
    used: dict[str, str] = Field(default_factory=dict)
    files: dict[str, str] = Field(
        default_factory=dict, description="Digest of each file, as written."
    )
    spans: dict[str, str] = Field(default_factory=dict, description="Digest of each cited span.")
    facts: tuple[str, ...] = Field(
        (), description="Ids of the facts written; others were added by people."
    )
    thin: bool = Field(False, description="The project says next to nothing about the feature.")


# -- what a builder's run came to


class Outcome(Model):
    """How a builder's run went, besides its drafts. The static builder's is the empty one."""

    model: str = Field("", description="The model that answered, as the service names it.")
    version: str = Field("", description="The version of the Claude Code program.")
    turns: int = 0
    tokens: dict[str, int] = Field(
        default_factory=dict, description="input, output, cache_read, cache_creation."
    )
    cost_usd: float | None = Field(0.0, description="Null when the run was cut before it told.")
    seconds: float = Field(0.0, description="The child's own, from its start to its end.")
    denials: tuple[str, ...] = Field((), description="Calls that its permissions refused.")
    prompt: str = Field("", description="Digest of the prompt.")
    stderr: str = Field("", description="The end of what it wrote to standard error.")
    fault: Fault | None = None
    warnings: tuple[str, ...] = Field(
        (), description="What went on without something: a server that did not answer."
    )
    external: tuple[str, ...] = Field(
        (),
        exclude=True,
        description="What configured MCP servers answered in this run: external sources stand there.",
    )


def _no_review(_answers: Iterable[str]) -> str:
    return ""


def _not_written_down(_outcome: Outcome) -> None:
    """What is spent is nobody's concern."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a builder is asked to draft: these files, into this folder."""

    request: Request
    evidence: Evidence
    staging: Path
    files: tuple[str, ...]
    prompt: Callable[[], str] = str  # the same text each time, asked for while the program starts
    # What is wrong with the drafts so far, given what MCP servers answered, in words for who drafted them; empty when
    # nothing is worth another turn.
    review: Callable[[Iterable[str]], str] = _no_review
    # Takes what each run of a program used, once for each, as soon as it is known or given up.
    spent: Callable[[Outcome], None] = _not_written_down


# -- the reply of `load`


class Stats(Model):
    """Counts and costs of the dossier in the reply."""

    facts: int = 0
    quoted: int = 0
    computed: int = 0
    external: int = 0
    located: int = 0
    dropped: int = 0
    cut: int = 0
    tokens: int = Field(0, description="An estimate: 4 characters each.")
    seconds: float = 0.0
    turns: int = 0
    cost_usd: float = 0.0
    cost_today_usd: float = 0.0


class LoadReply(Model):
    """A dossier, or what stands in its way; `next` says what to do now."""

    status: Status
    path: str = ""
    files: tuple[str, ...] = ()
    state: How | None = None
    builder: str = ""
    level: Level | None = None
    dossier: str = Field("", description="The dossier itself, so that no further read is due.")
    missing: tuple[str, ...] = Field(
        (), description="Files that a `partial` dossier lacks, each with the reason."
    )
    thin: bool = Field(False, description="The project says next to nothing about the feature.")
    warnings: tuple[str, ...] = ()
    next: str = ""
    stats: Stats | None = Field(
        None, description="Counts of facts by state, dropped, cut; tokens (estimated); seconds."
    )
    code: str | None = None
    message: str | None = None
    hint: str | None = None
    details: dict[str, Any] | None = None
