"""How the replies about worktrees look to a person."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from preread.cli.terminal import Block, Table

if TYPE_CHECKING:
    from preread.operations.worktree.create import CreateReply
    from preread.operations.worktree.list import ListReply
    from preread.operations.worktree.merge import MergeReply
    from preread.operations.worktree.prune import PruneReply
    from preread.operations.worktree.remove import RemoveReply
    from preread.worktrees.compare import Compared
    from preread.worktrees.listing import Worktree


def created(reply: "CreateReply") -> Iterator[Block]:
    yield f"{reply.path} on {reply.branch}, from {reply.base} ({reply.commit[:12]})"
    yield f"It has its own dossiers and gates, and shares {', '.join(reply.shared)}."
    yield from (f"note: {note}" for note in reply.notes)


def listed(reply: "ListReply") -> Iterator[Block]:
    columns = ("name", "branch", "state", "changes", "ahead", "behind", "agent", "dossier", "path")
    yield Table(columns, [_row(one) for one in reply.worktrees])


def _row(one: "Worktree") -> tuple[str, ...]:
    state = f"{one.under_way} under way" if one.under_way else one.state
    counts = (str(len(one.dirty)), str(one.ahead), str(one.behind))
    return (one.name or "-", one.branch, state, *counts, one.agent, one.dossier, one.path)


def compared(reply: "Compared") -> Iterator[Block]:
    yield from reply.commits
    yield from (f"not committed: {path}" for path in reply.uncommitted)
    yield f"\n{reply.diff}" if reply.diff else "No tracked file has changed."
    if reply.truncated:
        yield "… the rest was cut off."


def merged(reply: "MergeReply") -> Iterator[Block]:
    yield f"{reply.status.replace('_', ' ')}: {reply.name} {reply.commit[:12]}".rstrip()
    yield from (f"{one.path}: {one.kind}" for one in reply.conflicts)
    yield reply.next


def removed(reply: "RemoveReply") -> Iterator[Block]:
    yield f"Removed {reply.name}." + (f" Its work is in {reply.kept}." if reply.kept else "")
    yield reply.next


def repaired(reply: "PruneReply") -> Iterator[Block]:
    yield from reply.repaired or ("Nothing needs repair.",)


VIEWS: dict[str, Callable[[Any], Iterator[Block]]] = {
    "create": created,
    "list": listed,
    "diff": compared,
    "merge": merged,
    "remove": removed,
    "prune": repaired,
}
