"""`agent.execute` for a coordinator: its order, its reply, and what is remembered of a run."""

import hashlib
import time
from contextlib import suppress
from dataclasses import replace

from preread.agents import coordinate, notes, project_tests
from preread.agents.order import MAX_ID, Order, Result
from preread.agents.project_tests import Suite
from preread.builders import untrusted
from preread.errors import PrereadError
from preread.gates.feature_names import is_feature
from preread.operations.agent.shapes import Change, ExecuteReply, ExecuteRequest, Failed
from preread.operations.memory.decide import DecideRequest, decide
from preread.operations.memory.learn import LearnRequest, learn
from preread.operations.registry import Context, in_thread
from preread.records import spending
from preread.services import Services
from preread.settings import Settings
from preread.worktrees import compare, removal
from preread.worktrees.repository import Repository, failed, open_repository

HINT = (
    "A person allows it: PREREAD_TEST_COMMAND in their environment, `--test-command` in their "
    "terminal, or a yes when they are asked."
)
MAX_QUESTION = 1000


async def suite(context: Context, services: Services, given: str | None) -> Suite:
    """The test suite that a person allowed to be run. Raises E_NOT_ALLOWED, E_USAGE.

    A command that is detected in the repository would run with the person's rights, so it is used
    only if the person agrees.
    """
    if (own := allowed(context, services, given)) is not None:
        return own
    found = await in_thread(context, services, project_tests.detected)
    if found is None:
        raise PrereadError("E_NOT_ALLOWED", "It is not known how this project is tested.", HINT)
    own, proof = found
    question = (
        f"{proof.proof.path}, line {proof.proof.start}, says that the tests are run by "
        f"`{own.shown}`. Run that, with your rights, on what the agents write?"
    )
    asked = untrusted.clean(question, MAX_QUESTION)  # names of files can contain anything
    if context.caller.ask is not None and await context.caller.ask(asked):
        return own
    message = f"Nobody has allowed the project's tests, `{own.shown}`, to be run."
    raise PrereadError("E_NOT_ALLOWED", message, HINT, {"test_command": own.shown})


def allowed(context: Context, services: Services, given: str | None) -> Suite | None:
    """The test suite that a person has set. Raises E_NOT_ALLOWED if an agent tries to set one."""
    if given is not None and context.is_agent:
        raise PrereadError("E_NOT_ALLOWED", "`test_command` is for people to set.", HINT)
    command = given or services.settings.test_command
    return project_tests.parsed(command) if command else None


def order(
    repository: Repository,
    settings: Settings,
    request: ExecuteRequest,
    task: str,
    feature: str,
    known: dict[str, str],
    tests: Suite,
) -> Order:
    """The coordinator's order for a request. Raises E_WORKTREE, E_USAGE."""
    base = repository.out("symbolic-ref", "-q", "HEAD")
    if request.into:
        base = f"refs/heads/{request.into}"
    if not base or not repository.commit_of(base):
        raise failed("There is no branch to merge into.", "Name one with `into`.")
    issue = None if request.issue is None else int(request.issue)
    digest = hashlib.sha256(f"{feature}\n{task}".encode()).hexdigest()[:7]
    name = (
        f"issue-{issue}" if issue is not None else f"{feature.strip('_')[:20].strip('-')}-{digest}"
    )
    chosen = request.id or name
    if not is_feature(chosen) or chosen.startswith("_"):
        raise PrereadError(
            "E_USAGE", f"{chosen[:60]!a} is not a valid run id.",
            f"Lower-case letters, digits and single hyphens, at most {MAX_ID} characters.",
        )  # fmt: skip
    return Order(
        id=chosen, task=task, feature=feature, known=known, suite=tests,
        concurrency=request.concurrency, seconds=request.timeout_seconds, usd=settings.max_usd,
        base=base, links=request.link_in, issue=issue,
    )  # fmt: skip


async def carry_out(
    context: Context, services: Services, wanted: Order, begun: float
) -> ExecuteReply:
    """The reply of a run. Raises its errors; E_TIMEOUT has the partial reply in its details."""
    result = await in_thread(context, services, _carried_out, wanted)
    if not result.joined:
        for lesson in (*notes.lessons(wanted, result), *notes.failures(wanted, result)):
            await _keep(context, lesson)
    reply = await in_thread(context, services, _reply, wanted, result, begun)
    if result.is_late:
        raise PrereadError(
            "E_TIMEOUT",
            f"The run {wanted.id} did not finish within {wanted.seconds:g} s: "
            f"{reply.tasks_done} of {reply.tasks_created} tasks are merged.",
            "Call again with the same id: finished tasks are not repeated.",
            reply.model_dump(mode="json", exclude={"diffs"}, exclude_none=True),
        )
    return reply


def _carried_out(services: Services, wanted: Order) -> Result:
    if not spending.allows(services):
        raise spending.refused(services)
    try:
        result = coordinate.coordinate(services, wanted)
        if not result.joined:
            notes.write_log(services, wanted, result)
    except PrereadError as error:
        error.details.setdefault("id", wanted.id)
        raise
    return result


async def _keep(context: Context, lesson: notes.Lesson) -> None:
    """Store a lesson as an agent's, for this person only, not as the project's knowledge."""
    context = replace(context, by="mcp:agent")
    with suppress(PrereadError):  # what may not be stored, like a secret, stays in the journal only
        if lesson.is_decision:
            request = DecideRequest(decision=lesson.text, topic=lesson.topic, personal=True)
            await decide(context, request)
        else:
            await learn(
                context, LearnRequest(lesson=lesson.text, topic=lesson.topic, personal=True)
            )


def _reply(services: Services, wanted: Order, result: Result, begun: float) -> ExecuteReply:
    repository = open_repository(services)
    run_state, failures = result.run_state, result.all_failures()
    merged = sum(bool(state.merged) for state in run_state.tasks.values())
    kept = {
        name: removal.kept(repository, state.worktrees) for name, state in run_state.tasks.items()
    }
    limit = compare.MAX_DIFF // max(1, len(run_state.tasks))
    diffs = [
        Change(
            task=name, merged=bool(state.merged), commit=state.merged or state.commit,
            summary=state.report.summary if state.report else "",
            findings=state.verdict.findings if state.verdict else (), tests=state.tested,
            diff=services.credentials.without(
                compare.between(repository, state.begun_at, state.commit, limit=limit)
            ),
            kept=kept[name],
        )
        for name, state in run_state.tasks.items() if state.commit
    ]  # fmt: skip
    return ExecuteReply(
        status="incomplete" if failures else "done",
        kind="coordinator",
        id=wanted.id,
        joined=result.joined,
        tasks_created=len(run_state.tasks),
        tasks_done=merged,
        execution_time_ms=round((time.monotonic() - begun) * 1000),
        worktrees_created=len(run_state.worktrees),
        cost_usd=round(run_state.cost_usd, 6),
        diffs=tuple(diffs),
        failures=tuple(
            Failed.model_validate({**failure._asdict(), "kept": kept[failure.task]})
            for failure in failures
        ),
        next=f"Call again with the same params, or the id {wanted.id}, to retry what failed; "
        "what is merged is not done again." if failures
        else "Everything is merged. Read the findings of the reviews.",
    )  # fmt: skip
