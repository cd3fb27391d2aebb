"""Drafts of a dossier's files, their facts, and what a check says about them."""

from dataclasses import dataclass, field
from typing import Literal

# `said`: somebody said it, and nothing else proves it. `unverified`: a person wrote it, but its
# sources no longer support it.
State = Literal["quoted", "computed", "external", "located", "said", "unverified"]


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

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


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
    by_person: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check: the valid drafts, the problems, and the digest of every cited span."""

    drafts: tuple[Draft, ...]
    verdicts: tuple[Verdict, ...] = ()
    problems: tuple[Problem, ...] = ()
    dropped: int = 0  # facts that are invalid
    cut: int = 0  # valid facts beyond the budget, and those too uncertain to show
    spans: dict[str, str] = field(default_factory=dict)
    over_budget: tuple[Verdict, ...] = ()  # the valid facts that had no room
    removed: tuple[Problem, ...] = ()  # why facts that people wrote are left out
