"""`pre-retry-gate`: advice and limits on running the same failing tests again. docs/gates.md, "Running tests"."""

from __future__ import annotations

from gatelib import events, results, rules, runners, scene, sessions, testruns, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gatelib.scene import Scene

RESEARCH, ANALYSIS, ENOUGH = 2, 12, 25
LONGEST_MESSAGE = 160


class Streak:
    """The failures in a row of what is about to be run, all of one kind."""

    __slots__ = ("count", "first", "kind", "last")

    def __init__(self, last: dict[str, Any]) -> None:
        self.last = self.first = last
        self.kind = last.get("kind")
        self.count = 1


def decide(event: dict[str, Any], environ: Mapping[str, str]) -> events.Answer:
    """Block or remark on a run of tests that goes on failing, or that nobody has read for."""
    found = testruns.runs_of(event)
    if not found:
        return None
    try:
        where = scene.scene(event, environ, [run.folder for run in found])
    except rules.Broken as error:
        raise events.Odd(str(error)) from None
    if where is None or where.mode == "off" or not where.session:
        return None
    about = _About(found, where)
    streak = streak_of(results.of_session(where.root, where.session[:100]), about)
    text = _limit(where, about, streak) if streak is not None else None
    if text is None or streak is None:
        remark = _unread(where, about)
        return None if remark is None else events.with_notes(events.remark(remark), where.notes)
    person = f"{about.shown} failed {streak.count} times in a row in the same way, and its next run was held back"
    answer = events.block(text, texts.person(person))
    return events.with_notes(answer if where.mode == "block" else events.remark(text), where.notes)


class _About:
    """What is about to be run, as records of earlier runs know it."""

    __slots__ = ("command", "features", "shown", "targets")

    def __init__(self, found: list[runners.Run], where: Scene) -> None:
        self.command = testruns.command_of(found)
        self.targets = testruns.targets_of(found, where)
        self.features = testruns.features_of(found, where)
        named = self.targets or [self.command]
        self.shown = events.shown(named[0]) + (
            f" and {len(named) - 1} more" if len(named) > 1 else ""
        )

    def is_of(self, record: dict[str, Any]) -> bool:
        """Whether a recorded run was on the same: the same targets, features, or the same command without any."""
        targets, features = set(_words(record, "targets")), set(_words(record, "features"))
        if self.features and rules.PROJECT not in self.features and features == set(self.features):
            return True
        return targets == set(self.targets) and (
            bool(targets) or record.get("command") == self.command
        )

    def is_covered_by(self, record: dict[str, Any]) -> bool:
        """Whether a run that passed had all of this in it."""
        targets = _words(record, "targets")
        return (
            self.is_of(record)
            or not targets
            or (bool(self.targets) and set(targets) >= set(self.targets))
        )


def _words(record: dict[str, Any], key: str) -> list[str]:
    value = record.get(key)
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


def streak_of(records: list[dict[str, Any]], about: _About) -> Streak | None:
    """The failures in a row at the end of these records; a pass, or a failure of another kind, ends them."""
    streak = None
    for record in reversed(records):
        if record.get("outcome") == "passed":
            if about.is_covered_by(record):
                break
        elif about.is_of(record):
            if streak is None:
                streak = Streak(record)
            elif record.get("kind") != streak.kind:
                break
            else:
                streak.count += 1
                streak.first = record
    return streak


def _limit(where: Scene, about: _About, streak: Streak) -> str | None:
    """What to do before the next run; None where it may go on."""
    if streak.count >= ENOUGH:
        return _enough(about, streak)
    for limit, text in ((ANALYSIS, _analysis), (RESEARCH, _research)):
        if streak.count >= limit:
            name = f"retry {limit} {streak.first.get('id')}"  # a new streak is told anew
            return (
                text(where, about, streak)
                if sessions.mark(where.root, where.session, name)
                else None
            )
    return None


def _why(about: _About, streak: Streak) -> str:
    message = streak.last.get("message")
    said = (
        ": " + events.shown(message, LONGEST_MESSAGE)
        if isinstance(message, str) and message
        else ""
    )
    kind = events.shown(str(streak.kind), 20)
    return f"{about.shown} failed {streak.count} times in a row in the same way ({kind}{said})"


def _feature(about: _About, streak: Streak) -> str:
    """The feature to read for: of what was named, else of what failed."""
    features = about.features or _words(streak.last, "features")
    return next((name for name in features if rules.is_feature(name)), rules.PROJECT)


def _research(_: Scene, about: _About, streak: Streak) -> str:
    return (
        f'Call {texts.call(_feature(about, streak))} and what failed as its "description" {texts.FIND}, and read the '
        f"code that the failure points to, then retry this command. Why: {_why(about, streak)}: what you know does not "
        "explain it, and another try costs more than reading."
    )


def _analysis(_: Scene, about: _About, streak: Streak) -> str:
    feature = _feature(about, streak)
    return (
        f"Dispatch the agent preread:failure-classifier with `feature: {feature}` in its prompt (without a tool to "
        "dispatch agents, do its work yourself: find out whether test, environment or code is wrong), write the cause "
        f"down under ## FIX in .project/runs/{feature}.md, then retry this command. Why: {_why(about, streak)}: it "
        "wants an analysis, not one more change."
    )


def _enough(about: _About, streak: Streak) -> str:
    run = events.shown(str(streak.last.get("id")), 40)
    return (
        f"Do not run {about.shown} again: leave what fails out with its reason beside it (skip the test, name run:{run}"
        "), tell the person what fails and what you found, then go on with the rest. "
        f"Why: {_why(about, streak)}, and {ENOUGH} are the most."
    )


def _unread(where: Scene, about: _About) -> str | None:
    """A remark on the first run of a session on something without a dossier."""
    missing = next((name for name in about.features if not where.stands(name)), None)
    if missing is None or not sessions.mark(where.root, where.session, "unread"):
        return None
    why = f"this command tests the feature {missing}, and {where.lacks(missing)}; the run itself goes on"
    return texts.demand(missing, where.roots, "change or write tests of it", why + ".")
