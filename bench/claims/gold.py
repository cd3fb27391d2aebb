"""The hand-written dossiers: what `manifest.toml` lists, each parsed by Preread's own reader of dossiers.

Features of the split `read` have none: only what is built for them is judged by readers.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from preread import dossier
from preread.layout import Layout
from preread.models import Problem
from preread.project.tree import Tree
from preread.services import Services
from preread.settings import load

HERE = Path(__file__).parent
KINDS = frozenset(
    """
    trap revert default-back repeated-fix docs-vs-code warning deprecated gap test-to-extend idiom avoids shape flow
    helper command
    """.split()
)


@dataclass(frozen=True)
class Case:
    """One feature of one public repository at one commit; `name` is its file without the suffix."""

    name: str
    repository: str
    commit: str
    feature: str
    description: str
    split: str
    language: str

    @property
    def clone(self) -> str:
        """The folder a clone of the repository is looked for in."""
        return self.repository.rstrip("/").rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Gold:
    """One hand-written fact: its kind is the heading it stands under."""

    kind: str
    text: str
    sources: tuple[str, ...]
    line: int


def cases() -> list[Case]:
    rows = tomllib.loads((HERE / "manifest.toml").read_text())["dossier"]
    return [Case(**row) for row in rows]


def read(case: Case) -> tuple[list[Gold], list[Problem]]:
    """The facts of a dossier, and what is wrong with its form."""
    if case.split == "read":
        return [], []
    name = f"{case.name}.md"
    draft, problems = dossier.parse("summary.md", case.feature, (HERE / name).read_text())
    found = []
    for section in draft.sections:
        if section.heading not in KINDS:
            problems.append(
                Problem(name, section.line, "E_KIND", f"`{section.heading}` is no kind of fact")
            )
        found += [
            Gold(section.heading, fact.text, fact.sources, fact.line) for fact in section.facts
        ]
    return found, problems


def tree_of(root: Path) -> Tree:
    layout = Layout(root.resolve())
    return Services(layout, load(layout, {}, {})).tree
