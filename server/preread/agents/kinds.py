"""The kinds of agents: what each may do, and the file with its instructions."""

import re
from typing import NamedTuple

from preread.errors import PrereadError
from preread.infra import assets
from preread.infra.reading import plain_bytes
from preread.layout import Layout

MAX_BYTES = 100_000
FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


class Policy(NamedTuple):
    """What a kind may do besides reading its worktree. None runs commands or uses the network."""

    writes: bool
    proposes: bool = False  # its answer is a proposal that was not carried out


# A project's own instructions can change how an agent works, not what it may do.
POLICIES = {
    "coordinator": Policy(writes=False),
    "codegen": Policy(writes=True),
    "review": Policy(writes=False),
    "deployment": Policy(writes=False, proposes=True),
    "pr": Policy(writes=False, proposes=True),
    "issue": Policy(writes=False),
}
# What these agents of workflows may write; all others may write like codegen.
LOG = "/.project/runs/**"
OF_WORKFLOWS = {
    "test-planner": (LOG,),
    "failure-classifier": (LOG,),
    "pattern-learner": (LOG, "/.project/knowledge.md"),
}
EVERYTHING = ("/**",)
OWN = (".project/agents", ".claude/agents")  # where a project keeps its own; the first folder wins
# Files that no agent may change: they configure agents, or other programs run them.
KEPT = (
    "/.project/config.toml", "/.project/gates", "/.project/agents/**", "/.project/prompts/**",
    "/.project/workflows/**", "/.project/.state/**", "/.project/context/**", "/.claude/**",
    "/.mcp.json", "/.git", "/.git/**", "/.gitmodules", "/.vscode/**", "/.github/workflows/**",
    "/.husky/**",
)  # fmt: skip


def instructions(layout: Layout, kind: str) -> str:
    """The text of the project's own `<kind>.md`, or else the package's.

    Raises E_READ, and E_NOT_FOUND when there is neither.
    """
    for folder in OWN:
        own = plain_bytes(layout.real(layout.inside(f"{folder}/{kind}.md")), MAX_BYTES)
        if own is not None:
            return FRONT.sub("", own.decode("utf-8", "replace"))
    path = assets.folder("agents") / f"{kind}.md"
    if not path.is_file():
        raise PrereadError(
            "E_NOT_FOUND", f"There is no agent {kind}.", f"It would be {OWN[0]}/{kind}.md."
        )
    return FRONT.sub("", assets.text(path))


def policy(kind: str) -> Policy:
    """The policy of a kind. Raises E_USAGE for an unknown kind."""
    if kind in POLICIES:
        return POLICIES[kind]
    raise PrereadError(
        "E_USAGE", f"There is no kind of agent {kind[:60]!a}.", f"Kinds: {', '.join(POLICIES)}."
    )


def edits(kind: str) -> tuple[str, ...]:
    """Patterns of what a kind may write in its worktree, except KEPT."""
    if kind in POLICIES:
        return EVERYTHING if POLICIES[kind].writes else ()
    return OF_WORKFLOWS.get(kind, EVERYTHING)
