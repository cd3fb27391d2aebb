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
# Files that no agent may change: they configure agents, or other programs run them.
KEPT = (
    "/.project/config.toml", "/.project/gates", "/.project/agents/**", "/.project/prompts/**",
    "/.project/.state/**", "/.project/context/**", "/.claude/**", "/.mcp.json", "/.git",
    "/.git/**", "/.gitmodules", "/.vscode/**", "/.github/workflows/**", "/.husky/**",
)  # fmt: skip


def instructions(layout: Layout, kind: str) -> str:
    """The text of `.project/agents/<kind>.md`, else the package's. Raises E_READ."""
    own = plain_bytes(layout.real(layout.inside(f".project/agents/{kind}.md")), MAX_BYTES)
    if own is not None:
        return FRONT.sub("", own.decode("utf-8", "replace"))
    return FRONT.sub("", assets.text(assets.folder("agents") / f"{kind}.md"))


def policy(kind: str) -> Policy:
    """The policy of a kind. Raises E_USAGE for an unknown kind."""
    if kind in POLICIES:
        return POLICIES[kind]
    raise PrereadError(
        "E_USAGE", f"There is no kind of agent {kind[:60]!a}.", f"Kinds: {', '.join(POLICIES)}."
    )


def may_write(kind: str) -> bool:
    """Whether it may write in its worktree; False for an unknown kind."""
    return kind in POLICIES and POLICIES[kind].writes
