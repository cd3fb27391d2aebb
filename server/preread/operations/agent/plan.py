"""What `agent.execute` would run, without running anything."""

from collections.abc import Iterator
from typing import NamedTuple

from preread.agents import kinds, project_tests, run, work
from preread.agents.kinds import Policy
from preread.agents.project_tests import Suite
from preread.dossier import published
from preread.dossier.fact_text import tokens
from preread.operations.agent.shapes import ExecuteRequest
from preread.operations.registry import Preview
from preread.records import spending
from preread.services import Services
from preread.settings import Settings
from preread.worktrees import records
from preread.worktrees.repository import Repository


class ResolvedRequest(NamedTuple):
    """A valid request, with what it refers to."""

    request: ExecuteRequest
    repository: Repository
    task: str
    feature: str
    settings: Settings  # with the limits of this run


def preview(services: Services, resolved: ResolvedRequest, tests: Suite | None) -> Preview:
    """What the call would start, where, and within which limits; `tests` are already allowed."""
    policy = kinds.policy(resolved.request.kind)
    notes = [
        _who(resolved),
        _may(resolved, policy),
        _where(resolved),
        *_prompt(resolved),
        _cost(services, resolved),
    ]
    if resolved.request.kind == "coordinator":
        notes.append(_tests(services, tests))
    return Preview(notes=tuple(notes))


def _who(resolved: ResolvedRequest) -> str:
    request, model = resolved.request, resolved.settings.model
    if request.kind != "coordinator":
        return (
            f"The agent {request.kind} would work on the feature {resolved.feature}, model {model}."
        )
    return (
        f"A coordinator would split the task, with the model {model}; at most "
        f"{request.concurrency} agents would write and review at the same time."
    )


def _may(resolved: ResolvedRequest, policy: Policy) -> str:
    if resolved.request.kind == "coordinator":
        return "The coordinator and reviews may only read; codegen may write its worktree."
    if policy.proposes:
        allowed = ", ".join(f"`{one}`" for one in resolved.request.commands) or "none of them"
        return f"It may read its worktree, and proposes commands; {allowed} would be run."
    may = "read and write" if policy.writes else "read"
    return f"It may {may} its worktree; no commands, no network."


def _where(resolved: ResolvedRequest) -> str:
    """The worktree and its branch. Raises E_WORKTREE if the named one does not exist."""
    repository, request = resolved.repository, resolved.request
    if request.worktree:
        record = records.need(repository, request.worktree)
        return (
            f"It would continue in .worktrees/{record.name}, branch {records.short(record.branch)}."
        )
    head = repository.commit_of("HEAD")[:12]
    name = f"{request.kind}-<random>"
    if request.kind == "coordinator":
        base = request.into or records.short(repository.out("symbolic-ref", "-q", "HEAD"))
        return f"Each task gets a worktree from {head}; what passes is merged into {base}."
    branch = f"{records.BRANCHES}{name}"
    return f"A worktree .worktrees/{name} would be made from {head}, with the branch {branch}."


def _prompt(resolved: ResolvedRequest) -> Iterator[str]:
    layout = resolved.repository.layout
    found = published.read(layout, resolved.feature)
    known = work.known(layout, resolved.feature, "\n".join(found.texts.values()) if found else "")
    text = run.prompt(layout, resolved.request.kind, resolved.task, known)
    parts = ", ".join(f"{name.lower()} {tokens(said):,}" for name, said in known.items() if said)
    yield f"Its prompt would have about {tokens(text):,} tokens{f': {parts}' if parts else ''}."
    if found is None:
        yield f"The dossier of {resolved.feature} would be built first; a model may draft it."


def _cost(services: Services, resolved: ResolvedRequest) -> str:
    seconds, usd = resolved.request.timeout_seconds, resolved.settings.max_usd
    limits = f"It may take {seconds:g} s and cost {usd:.2f} dollars"
    if spending.allows(services):
        return f"{limits}."
    return f"{limits}, but would be refused: {spending.refusal(services).reason}."


def _tests(services: Services, tests: Suite | None) -> str:
    if tests is not None:
        return f"Before each merge, `{tests.shown}` would be run with your rights."
    found = project_tests.detected(services)
    if found is None:
        return "It would be refused: it is not known how this project is tested."
    return f"You would be asked whether `{found[0].shown}` may be run before each merge."
