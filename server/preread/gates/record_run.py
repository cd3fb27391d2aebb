"""`post-test-run`: records how a run of tests by Bash went."""

from __future__ import annotations

import hashlib
import os
import time

from preread.gates import (
    content,
    events,
    paths,
    rules,
    run_log,
    run_records,
    runners,
    sessions,
    shell,
    state_files,
    switch,
    workspace,
)
from preread.gates.feature_names import PROJECT, is_feature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from preread.gates.runner_output import Outcome
    from preread.gates.runners import RunnerCommand
    from preread.gates.workspace import Workspace

MAX_COMMAND = 400
MAX_FEATURES = 8
TIMED_OUT = 124  # the exit status of `timeout`
# With these runners, a bare word selects files by a part of their path.
FILTERING = frozenset(("playwright", "vitest", "jest"))


def decide(event: dict[str, Any], environ: Mapping[str, str]) -> events.Answer:
    """Record the run; report a switch that the command wrote."""
    _record_run(event, environ)
    return switch.changed_by_command(event, environ)


def _record_run(event: dict[str, Any], environ: Mapping[str, str]) -> None:
    event = _with_start_folder(event, environ)
    found = runner_commands(event)
    ended = _ended(event) if found else None
    if not found or ended is None:
        return
    try:
        where = workspace.find(event, environ, [command.folder for command in found])
    except rules.Broken:
        return  # the gate on files reports it
    if where is None:
        return
    record = _record(event, where, found, *ended)
    if record is None:
        return
    with state_files.WhereWritable():
        run_records.append(where.root, record)
        for name in [name for feature in record["features"] for name in where.names(feature)]:
            run_log.add_run(where.root, name, bullet(record))


def _with_start_folder(event: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """The event, its `cwd` set to where the command started, if `pre-retry-gate` recorded that."""
    folder, session = event.get("cwd"), event.get("session_id")
    roots = [paths.session_root(event, environ)]
    while isinstance(folder, str) and os.path.isabs(folder) and folder != os.path.dirname(folder):
        roots.append(folder)
        folder = os.path.dirname(folder)
    for root in filter(None, roots):
        start = sessions.end_command(root, session, event.get("tool_use_id"))
        if start:
            return {**event, "cwd": start}
    return event


def runner_commands(event: dict[str, Any]) -> list[RunnerCommand]:
    """The commands in a Bash event that run tests."""
    given = events.input_of(event)
    command, cwd = given.get("command"), event.get("cwd")
    if not isinstance(command, str) or not isinstance(cwd, str) or not os.path.isabs(cwd):
        return []
    if given.get("run_in_background"):
        return []  # it has only begun
    return runners.runner_commands(shell.commands(command), cwd)


def _ended(event: dict[str, Any]) -> tuple[int, str] | None:
    """The exit status and output of a command; None if it did not run to its end."""
    if event.get("hook_event_name") == "PostToolUseFailure":
        error = event.get("error")
        is_usable = isinstance(error, str) and not event.get("is_interrupt")
        return _failed(str(error)) if is_usable else None
    response = event.get("tool_response")
    if not isinstance(response, dict):
        return None
    if response.get("interrupted") or response.get("backgroundTaskId"):
        return None
    outputs = (response.get("stdout"), response.get("stderr"))
    return 0, "\n".join(text for text in outputs if isinstance(text, str))


def _failed(error: str) -> tuple[int, str] | None:
    """The same, from the error of a failed Bash call: `Exit code 1`, then the output."""
    first, _, rest = error.partition("\n")
    words = first.split()
    if words[:2] == ["Exit", "code"] and len(words) == 3 and words[2].isdigit():
        return int(words[2][:6]), rest
    return (TIMED_OUT, error) if "timed out" in first else None


def _record(
    event: dict[str, Any], where: Workspace, found: list[RunnerCommand], status: int, output: str
) -> dict[str, Any] | None:
    from preread.gates import failure_kinds, runner_output, secrets

    read = runner_output.read(runner_output.cleaned(output))
    outcome = outcome_of(read, status, alone=len(found) == 1 and found[0].is_last)
    if not outcome:
        return None
    failed = outcome != "passed"
    features = features_of(found, where) or _failing(read, found, where) or [PROJECT]
    took = event.get("duration_ms")
    return {
        "id": run_records.new_id(),
        "at": int(time.time()),
        "session": where.session[:100],
        "outcome": outcome,
        "kind": failure_kinds.kind_of(read.message + "\n" + read.failure) if failed else "",
        "features": features,
        "command": command_line(found),
        "targets": targets_of(found, where),
        "named": named_by(found, where),
        "code": content.digest(where.root) if failed else "",
        "fix": fix_digest(where, features) if failed else "",
        "prompt": run_records.text_in(event, "prompt_id")[:100],
        "failed": [secrets.redacted(name) for name in read.names] if failed else [],
        "passed": max(0, read.passed),
        "failures": read.failed + read.errors,
        "message": secrets.redacted(read.message) if failed else "",
        "seconds": round(took / 1000, 1) if isinstance(took, (int, float)) else None,
    }


def outcome_of(read: Outcome, status: int, alone: bool) -> str:
    """`passed`, `failed`, `error` (nothing ran), or empty when it cannot be known.

    What the runner counted goes before the exit status: `npm test | tail` ends with the status of
    `tail`, and `pytest && deploy` with that of the last command. `alone`: the status is the run's.
    """
    if read.failed or (read.errors and read.passed > 0) or (read.names and not read.has_summary):
        return "failed"
    if read.errors:
        return "error"
    if status == 0:
        return "passed" if read.has_summary or alone else ""
    if read.passed > 0:
        return "failed" if alone else "passed"
    return "error"


def command_line(found: list[RunnerCommand]) -> str:
    """The commands on one line, without secrets."""
    from preread.gates import secrets

    return " && ".join(secrets.redacted_command(each.words) for each in found)[:MAX_COMMAND]


def targets_of(found: list[RunnerCommand], where: Workspace) -> list[str]:
    """The paths that were named inside the project, relative to it, without secrets."""
    from preread.gates import secrets

    below = where.root.rstrip(os.sep) + os.sep
    inside = [path for each in found for path in each.targets if path.startswith(below)]
    names = (secrets.redacted(paths.relative_to(where.root, path)) for path in inside)
    return list(dict.fromkeys(names))[: runners.MAX_TARGETS]


def named_by(found: list[RunnerCommand], where: Workspace) -> list[str]:
    """What exactly was to run: the targets, the tests in them, the filters, without secrets."""
    from preread.gates import secrets

    chosen = [word for each in found for word in (*each.places, *each.filters)]
    names = [*targets_of(found, where), *map(secrets.redacted, chosen)]
    return sorted(dict.fromkeys(names))[: runners.MAX_TARGETS]


def fix_digest(where: Workspace, features: Iterable[str]) -> str:
    """A digest of what the run logs of these features say under FIX."""
    names = [name for feature in features for name in where.names(feature)]
    texts = [run_log.text_of(where.root, name, "FIX") for name in names]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()[:16]


def features_of(found: list[RunnerCommand], where: Workspace) -> list[str]:
    """The features of what the command line names, sorted."""
    named = {where.feature_of(path) for each in found for path in each.targets}
    for each in found:
        if FILTERING.intersection(each.program[:1]):
            words = [word for word in each.program[1:] if is_feature(word) and word != PROJECT]
            served = [where.rules.served_by(word) for word in words]
            named.update(feature for feature in served if where.has_dossier(feature))
    return sorted(feature for feature in named if feature)[:MAX_FEATURES]


def _failing(read: Outcome, found: list[RunnerCommand], where: Workspace) -> list[str]:
    """The features of the files that contain the failing tests."""
    names = [os.path.join(each.folder, name) for name in read.files if name for each in found]
    features = {where.feature_of(os.path.normpath(name)) for name in names}
    return sorted(feature for feature in features if feature)[:MAX_FEATURES]


def bullet(record: dict[str, Any]) -> str:
    """A record as a bullet under RUN (docs/run-log.md)."""
    kind = " (" + record["kind"] + ")" if record["kind"] else ""
    message = ": " + record["message"] if record["message"] else ""
    return f"run:{record['id']} {record['outcome']}{kind}{message}"
