"""`pre-retry-gate`: advice and limits on running the same failing tests again."""

from __future__ import annotations

from preread.gates import (
    events,
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

# Failures in a row, alike, after which the model is told to read, to analyse, to give up.
READ, ANALYSE, GIVE_UP = 2, 12, 25
MAX_MESSAGE = 160


class Streak:
    """The failures in a row, all of one kind, of what is about to run."""

    __slots__ = ("count", "first", "last")

    def __init__(self, last: Run) -> None:
        self.last = self.first = last
        self.count = 1


class Target:
    """What is about to run, as the records of earlier runs name it."""

    __slots__ = ("command", "features", "shown", "targets")

    def __init__(self, found: list[runners.RunnerCommand], where: Workspace) -> None:
        self.command = record_run.command_line(found)
        self.targets = record_run.targets_of(found, where)
        self.features = record_run.features_of(found, where)
        named = self.targets or [self.command]
        more = f" and {len(named) - 1} more" if len(named) > 1 else ""
        self.shown = events.shown(named[0]) + more

    def matches(self, run: Run) -> bool:
        """Whether a run was of the same targets or features, or of the same command without any."""
        is_named = bool(self.features) and PROJECT not in self.features
        if is_named and set(run.features) == set(self.features):
            return True
        if set(run.targets) != set(self.targets):
            return False
        return bool(run.targets) or run.command == self.command

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
    target = Target(found, where)
    streak = streak_of(run_records.of_session(where.root, where.session[:100]), target)
    text = _limit(where, target, streak) if streak is not None else None
    if text is None or streak is None:
        remark = _without_dossier(where, target)
        return events.with_notes(events.remark(remark), where.notes) if remark else None
    person = (
        f"{target.shown} failed {streak.count} times in a row in the same way, "
        "and its next run was stopped"
    )
    is_blocked = where.mode == "block"
    answer = events.block(text, messages.for_person(person)) if is_blocked else events.remark(text)
    return events.with_notes(answer, where.notes)


def streak_of(runs: list[Run], target: Target) -> Streak | None:
    """The failures in a row at the end of these runs.

    A pass ends them, and so does a failure of another kind.
    """
    streak = None
    for run in reversed(runs):
        if run.outcome == "passed":
            if target.is_part_of(run):
                break
        elif target.matches(run):
            if streak is None:
                streak = Streak(run)
            elif run.kind != streak.last.kind:
                break
            else:
                streak.count += 1
                streak.first = run
    return streak


def _limit(where: Workspace, target: Target, streak: Streak) -> str | None:
    """What to do before the next run; None when it may proceed."""
    if streak.count >= GIVE_UP:
        return _give_up(target, streak)
    for limit, text in ((ANALYSE, _analyse), (READ, _read)):
        if streak.count >= limit:
            mark = f"retry {limit} {streak.first.id}"  # once for each streak
            is_first = sessions.first_time(where.root, where.session, mark)
            return text(target, streak) if is_first else None
    return None


def _why(target: Target, streak: Streak) -> str:
    message = streak.last.message
    detail = ": " + events.shown(message, MAX_MESSAGE) if message else ""
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
        f"run:{run}, tell the person what fails and what you found, then go on with the rest. "
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
