"""How the reply of an agent looks to a person: what failed first, then what was done."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from preread.cli.terminal import Block

if TYPE_CHECKING:
    from preread.operations.agent.shapes import Change, ExecuteReply
    from preread.operations.workflow import shapes as workflows


def executed(reply: "ExecuteReply") -> Iterator[Block]:
    seconds = f"{reply.execution_time_ms / 1000:.0f} s"
    cost = "cost unknown" if reply.cost_usd is None else f"${reply.cost_usd:.4f}"
    run = f" {reply.id}" if reply.id else ""
    yield f"{reply.status}: {reply.kind}{run}, {seconds}, {cost}"
    if reply.tasks_created is not None:
        yield f"{reply.tasks_done} of {reply.tasks_created} tasks are merged"
    for failure in reply.failures or ():
        kept = f" (its work: {failure.worktree})" if failure.worktree else ""
        yield f"{failure.task} failed in {failure.stage}: {failure.reason}{kept}"
        yield from _earlier(failure.kept)
    for change in reply.diffs or ():
        yield from _changed(change)
    yield from [f"\n{reply.text}"] if reply.text else []
    yield from (f"refused: {denial}" for denial in reply.denials)
    for step in reply.ran:
        yield f"ran {step.command}: {step.failure or 'passed'}\n{step.output}"
    if reply.worktree:
        files = ", ".join(one.path for one in reply.files)
        yield f"{reply.worktree}: {files or 'no file changed'}"
    yield reply.next


def workflow_executed(reply: "workflows.ExecuteReply") -> Iterator[Block]:
    seconds = f"{reply.execution_time_ms / 1000:.0f} s, ${reply.cost_usd:.4f}"
    joined = ", by another call" if reply.joined else ""
    yield f"{reply.status}: {reply.workflow} for {reply.feature}, {seconds}{joined}"
    for stage in reply.stages:
        cost = f", ${stage.cost_usd:.4f}" if stage.cost_usd else ""
        yield f"{stage.name}: done{cost}"
        for one in stage.runs:
            yield f"  {one.agent}: {one.text.strip().partition(chr(10))[0]}"
    yield f"{reply.worktree}: {', '.join(one.path for one in reply.files) or 'no file changed'}"
    yield reply.next


def _changed(change: "Change") -> Iterator[Block]:
    """The result of one task; `git show` and `worktree diff` show its lines."""
    how = f"merged as {change.commit[:12]}" if change.merged else "not merged"
    yield f"{change.task}: {how}: {change.summary}"
    yield from (f"  review: {finding}" for finding in change.findings)
    if last := change.tests.strip().rpartition("\n")[2]:
        yield f"  tests: {last}"
    yield from _earlier(change.kept) if change.merged else ()


def _earlier(refs: tuple[str, ...]) -> Iterator[Block]:
    yield from (f"  an earlier try is kept: {ref}" for ref in refs)
