"""`pre-retry-gate`: advice and limits on running the same failing tests again.

A block lasts until what it asks for is done, the code or a test has changed, the person has spoken,
or the tests pass. After a change it is only advice, once.
"""

from __future__ import annotations

from preread.gates import (
    content,
    events,
    fence,
    load_calls,
    messages,
    record_run,
    rules,
    run_records,
    runners,
    sessions,
    workspace,
)
from preread.gates.feature_names import PROJECT, is_feature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from preread.gates.run_records import Run
    from preread.gates.workspace import Workspace

# Consecutive similar failures after which the model has to read, to analyse, to give up.
READ, ANALYSE, GIVE_UP = 2, 12, 25
ANALYST = "failure-classifier"
MAX_MESSAGE = 160


class Streak:
    """The consecutive failures of one kind of what is about to run; the last one first."""

    __slots__ = ("exact", "runs")

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.exact = 0  # of them, runs of exactly the same tests

    @property
    def count(self) -> int:
        return len(self.runs)

    @property
    def last(self) -> Run:
        return self.runs[0]

    @property
    def first(self) -> Run:
        return self.runs[-1]

    def at_limit(self, limit: int) -> Run:
        """The failure that reached a limit."""
        return self.runs[-limit]


class Target:
    """What is about to run, as the records of earlier runs name it."""

    __slots__ = ("command", "features", "named", "shown", "targets")

    def __init__(self, found: list[runners.RunnerCommand], where: Workspace) -> None:
        self.command = record_run.command_line(found)
        self.targets = record_run.targets_of(found, where)
        self.named = record_run.named_by(found, where)
        self.features = record_run.features_of(found, where)
        shown = self.targets or [self.command]
        more = f" and {len(shown) - 1} more" if len(shown) > 1 else ""
        self.shown = events.shown(shown[0]) + more

    def matches(self, run: Run) -> bool:
        """Whether a run had the same features or targets or, if it named none, the same command."""
        is_named = bool(self.features) and PROJECT not in self.features
        if is_named and set(run.features) == set(self.features):
            return True
        if set(run.targets) != set(self.targets):
            return False
        return bool(run.targets) or run.command == self.command

    def is_same(self, run: Run) -> bool:
        """Whether a run was of exactly the same tests."""
        if not run.named and not self.named:
            return run.command == self.command
        return set(run.named or run.targets) == set(self.named)

    def is_part_of(self, run: Run) -> bool:
        """Whether a run included all of this."""
        if self.matches(run) or not run.targets:
            return True
        return bool(self.targets) and set(run.targets) >= set(self.targets)


def decide(event: dict[str, Any], environ: Mapping[str, str]) -> events.Answer:
    """Block or remark on tests that keep failing, or whose dossier nobody has read.

    Raises events.InvalidEvent.
    """
    found = record_run.runner_commands(event)
    if not found:
        return None
    try:
        where = workspace.find(event, environ, [command.folder for command in found])
    except rules.Broken as error:
        raise events.InvalidEvent(str(error)) from None
    if where is None or where.mode == "off" or not where.session:
        return None
    _remember_start(event, found, where)
    target = Target(found, where)
    streak = streak_of(run_records.of_session(where.root, where.session[:100]), target)
    text, blocks = _limit(event, where, target, streak) if streak.runs else ("", False)
    if not text:
        remark = _without_dossier(where, target)
        return events.with_notes(events.remark(remark), where.notes) if remark else None
    person = (
        f"{target.shown} failed {streak.count} times in a row in the same way, "
        "and its next run was stopped until the code or a test changes, or you send a message"
    )
    is_blocked = blocks and where.mode == "block"
    answer = events.block(text, messages.for_person(person)) if is_blocked else events.remark(text)
    return events.with_notes(answer, where.notes)


def _remember_start(
    event: dict[str, Any], found: list[runners.RunnerCommand], where: Workspace
) -> None:
    """Record where the command starts: `cwd` at its end is the folder that a `cd` led to."""
    cwd = str(event.get("cwd"))
    if any(command.folder != cwd for command in found):
        sessions.begin_command(where.root, where.session, event.get("tool_use_id"), cwd)


def streak_of(runs: list[Run], target: Target) -> Streak:
    """The failures in a row at the end of these runs.

    A pass ends them, and so does a failure of another kind.
    """
    streak = Streak()
    for run in reversed(runs):
        if run.outcome == "passed":
            if target.is_part_of(run):
                break
        elif target.matches(run):
            if streak.runs and run.kind != streak.last.kind:
                break
            streak.runs.append(run)
            streak.exact += target.is_same(run)
    return streak


def _limit(
    event: dict[str, Any], where: Workspace, target: Target, streak: Streak
) -> tuple[str, bool]:
    """What to do before the next run, and whether it is blocked; empty when it may proceed."""
    if streak.exact >= GIVE_UP:
        limit, text = GIVE_UP, _give_up(target, streak)
    elif streak.count >= ANALYSE:
        limit, text = ANALYSE, _analyse(target, streak)
    elif streak.count >= READ:
        limit, text = READ, _read(target, streak)
    else:
        return "", False
    if _has_changed(event, where, streak.last):
        mark = f"retry {limit} {streak.first.id}"  # once for each streak
        return (text if sessions.first_time(where.root, where.session, mark) else ""), False
    is_met = limit != GIVE_UP and _is_met(event, where, target, streak, limit)
    return ("", False) if is_met else (text, True)


def _has_changed(event: dict[str, Any], where: Workspace, last: Run) -> bool:
    """Whether a file changed, or the person spoke, since the last failure."""
    prompt = run_records.text_in(event, "prompt_id")[:100]
    if last.prompt and prompt and last.prompt != prompt:
        return True
    return bool(last.code) and last.code != content.digest(where.root, last.code)


def _is_met(
    event: dict[str, Any], where: Workspace, target: Target, streak: Streak, limit: int
) -> bool:
    """Whether what a limit asks for was done after it was reached, or cannot be done."""
    run = streak.at_limit(limit)
    if limit == ANALYSE:
        if sessions.last_dispatch(where.root, where.session, ANALYST) >= run.at > 0:
            return True
        return bool(run.fix) and run.fix != record_run.fix_digest(where, run.features)
    feature = where.rules.served_by(_feature(target, streak))
    if sessions.last_use(where.root, where.session) >= run.at > 0:
        return True
    return bool(
        load_calls.why_cannot_load(event, feature, where.rules)
        or load_calls.why_unknown(event, where.root, f"{feature} again")
    )


def _why(target: Target, streak: Streak) -> str:
    message = streak.last.message
    detail = ": " + fence.inline(events.shown(message, MAX_MESSAGE)) if message else ""
    kind = events.shown(streak.last.kind, 20)
    return f"{target.shown} failed {streak.count} times in a row in the same way ({kind}{detail})"


def _feature(target: Target, streak: Streak) -> str:
    """The feature to read about: of what was named, else of what failed."""
    features = target.features or streak.last.features
    return next((name for name in features if _is_one_feature(name)), PROJECT)


def _is_one_feature(name: str) -> bool:
    return name != PROJECT and is_feature(name)


def _read(target: Target, streak: Streak) -> str:
    return (
        f"Call {messages.call(_feature(target, streak))} and what failed as its "
        f'"description" {messages.FIND}, and read the code that the failure points to, then retry '
        f"this command. Why: {_why(target, streak)}: what you know does not explain it, and "
        "another try costs more than reading."
    )


def _analyse(target: Target, streak: Streak) -> str:
    feature = _feature(target, streak)
    return (
        f"Dispatch the agent preread:failure-classifier with `feature: {feature}` in its prompt "
        "(if you have no tool to dispatch agents, do its work yourself: find out whether the test, "
        "the environment or the code is wrong), write down the cause under ## FIX in "
        f".project/runs/{feature}.md, then retry this command. Why: {_why(target, streak)}: this "
        "needs an analysis, not one more change."
    )


def _give_up(target: Target, streak: Streak) -> str:
    run = events.shown(streak.last.id, 40)
    return (
        f"Do not run {target.shown} again: skip the failing test with the reason beside it, naming "
        f"run:{run}, tell the person what fails and what you found, then go on with the rest. It "
        "can run again once the test or the code has changed, or the person has answered. "
        f"Why: {_why(target, streak)}, and {GIVE_UP} is the limit."
    )


def _without_dossier(where: Workspace, target: Target) -> str | None:
    """A remark on a session's first run of tests of a feature without a dossier."""
    missing = next((name for name in target.features if not where.has_dossier(name)), None)
    if missing is None or not sessions.first_time(where.root, where.session, "unread"):
        return None
    why = (
        f"this command tests the feature {missing}, and {where.missing(missing)}; "
        "the run itself proceeds."
    )
    return messages.demand(missing, where.roots, "change or write tests of it", why)
