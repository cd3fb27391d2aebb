"""`post-test-run`: writes down how a run of tests by Bash went. docs/gates.md, "Running tests"."""

from __future__ import annotations

import os
import time

from gatelib import events, places, results, rules, runners, scene, shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gatelib.outcomes import Outcome
    from gatelib.runners import Run
    from gatelib.scene import Scene

MAX_COMMAND = 400
MAX_FEATURES = 8
FILTERING = frozenset(
    ("playwright", "vitest", "jest")
)  # a bare word chooses files by a part of their path


def decide(event: dict[str, Any], environ: Mapping[str, str]) -> events.Answer:
    """Record the run; nothing is said."""
    found = runs_of(event)
    ended = _ended(event) if found else None
    if not found or ended is None:
        return None
    try:
        where = scene.scene(event, environ, [run.folder for run in found])
    except rules.Broken:
        return None  # the gate on files says so
    if where is None:
        return None
    record = _record(event, where, found, *ended)
    if record is not None:
        results.append(where.root, record)
        for name in [name for feature in record["features"] for name in where.names(feature)]:
            results.log(where.root, name, bullet(record))
    return None


def runs_of(event: dict[str, Any]) -> list[Run]:
    """The runs of tests in a Bash event."""
    given = events.input_of(event)
    command, cwd = given.get("command"), event.get("cwd")
    if not isinstance(command, str) or not isinstance(cwd, str) or not os.path.isabs(cwd):
        return []
    if given.get("run_in_background"):
        return []  # it has only begun
    return runners.runs(shell.commands(command), cwd)


def _ended(event: dict[str, Any]) -> tuple[int, str] | None:
    """Exit status and output of a command; None where it did not come to an end."""
    if event.get("hook_event_name") == "PostToolUseFailure":
        error = event.get("error")
        if not isinstance(error, str) or event.get("is_interrupt"):
            return None
        first, _, rest = error.partition("\n")
        words = first.split()
        if words[:2] == ["Exit", "code"] and len(words) == 3 and words[2].isdigit():
            return int(words[2][:6]), rest
        return (
            (124, error) if "timed out" in first else None
        )  # anything else is no end of a command
    response = event.get("tool_response")
    if (
        not isinstance(response, dict)
        or response.get("interrupted")
        or response.get("backgroundTaskId")
    ):
        return None
    said = [
        text for text in (response.get("stdout"), response.get("stderr")) if isinstance(text, str)
    ]
    return 0, "\n".join(said)


def _record(
    event: dict[str, Any], where: Scene, found: list[Run], status: int, output: str
) -> dict[str, Any] | None:
    from gatelib import kinds, outcomes, scrub

    read = outcomes.read(outcomes.cleaned(output))
    outcome = outcome_of(read, status, alone=len(found) == 1 and found[0].last)
    if not outcome:
        return None
    failed = outcome != "passed"
    took = event.get("duration_ms")
    return {
        "id": time.strftime("%Y%m%dT%H%M%S", time.gmtime()) + "-" + os.urandom(3).hex(),
        "at": int(time.time()),
        "session": where.session[:100],
        "outcome": outcome,
        "kind": kinds.kind_of(read.message + "\n" + read.failure) if failed else "",
        "features": features_of(found, where) or _failing(read, found, where) or [rules.PROJECT],
        "command": command_of(found),
        "targets": targets_of(found, where),
        "failed": [scrub.text(name) for name in read.names] if failed else [],
        "passed": max(0, read.passed),
        "failures": read.failed + read.errors,
        "message": scrub.text(read.message) if failed else "",
        "seconds": round(took / 1000, 1) if isinstance(took, (int, float)) else None,
    }


def outcome_of(read: Outcome, status: int, alone: bool) -> str:
    """`passed`, `failed`, `error` (nothing ran); empty where nobody can say.

    What the runner counted comes before the exit status: `npm test | tail` ends with the status of `tail`, and
    `pytest && deploy` with that of what came after. `alone`: the status is the run's own.
    """
    if read.failed or (read.errors and read.passed > 0) or (read.names and not read.summary):
        return "failed"
    if read.errors:
        return "error"
    if status == 0:
        return "passed" if read.summary or alone else ""
    if read.passed > 0:
        return "failed" if alone else "passed"
    return "error"


def command_of(found: list[Run]) -> str:
    """The runs as one line, without secrets."""
    from gatelib import scrub

    return " && ".join(scrub.command(run.words) for run in found)[:MAX_COMMAND]


def targets_of(found: list[Run], where: Scene) -> list[str]:
    """What was named, relative to the project, without secrets; what lies outside is left out."""
    from gatelib import scrub

    inside = [
        path
        for run in found
        for path in run.targets
        if path.startswith(where.root.rstrip(os.sep) + os.sep)
    ]
    named = dict.fromkeys(scrub.text(places.relative_to(where.root, path)) for path in inside)
    return list(named)[: runners.MAX_TARGETS]


def features_of(found: list[Run], where: Scene) -> list[str]:
    """The features of what was named on the command line, sorted."""
    named = {where.feature_of(path) for run in found for path in run.targets}
    for run in found:
        if FILTERING.intersection(run.program[:1]):
            words = [word for word in run.program[1:] if rules.is_feature(word)]
            named.update(
                where.rules.served_by(word)
                for word in words
                if where.stands(where.rules.served_by(word))
            )
    return sorted(feature for feature in named if feature)[:MAX_FEATURES]


def _failing(read: Outcome, found: list[Run], where: Scene) -> list[str]:
    """The features of the files that hold the failing tests."""
    files = {
        os.path.normpath(os.path.join(run.folder, file))
        for file in read.files
        if file
        for run in found
    }
    return sorted({feature for feature in map(where.feature_of, files) if feature})[:MAX_FEATURES]


def bullet(record: dict[str, Any]) -> str:
    """A record as docs/run-log.md has it under RUN."""
    kind = " (" + record["kind"] + ")" if record["kind"] else ""
    message = ": " + record["message"] if record["message"] else ""
    return f"run:{record['id']} {record['outcome']}{kind}{message}"
