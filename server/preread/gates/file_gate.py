"""The gate on files: `pre-spec-write`."""

from __future__ import annotations

import os

from preread.gates import dossiers, events, paths, rules
from preread.gates.feature_names import is_feature
from preread.gates.verdict import PASS, Call, Verdict, failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Tool -> the key of the path in its input.
PATH_KEYS = {
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}
OWN_FILES = (".project/gates", ".project/config.toml")
OWN_FOLDERS = (".project/.state", ".project/context", ".project/.cache")
SEVERITY = ("block", "remark", "failure", "pass")


def decide(event: events.Event, environ: Mapping[str, str]) -> events.Answer:
    """The decision on one call. Raises events.InvalidEvent."""
    tool = event.get("tool_name")
    if not isinstance(tool, str):
        raise events.InvalidEvent("the event has no tool_name")
    if tool == "Bash":
        command = events.text_of(events.input_of(event), "command")
        return _command(Call(event, environ, "command"), command).answer
    if tool not in PATH_KEYS:
        return None
    call = Call(event, environ, tool)
    path = paths.absolute(events.text_of(events.input_of(event), PATH_KEYS[tool]), call.cwd)
    return judge(call, path).answer


def judge(call: Call, path: str, removes: bool = False) -> Verdict:
    """The verdict on writing or removing one absolute path; a broken gates file is a failure."""
    located = paths.located(path)
    name = events.shown(located[0][1]) if located else ""
    try:
        verdict = _plugin_file(call, path, removes) or _own_file(call, path, name, removes)
        if verdict is None and not removes:
            verdict = _gated_file(call, path, name)
    except rules.Broken as broken:
        return failure(str(broken))
    return verdict or PASS


def _plugin_file(call: Call, path: str, removes: bool) -> Verdict | None:
    """The verdict on a file in the plugin's data folder: `unready` there would disarm the gates."""
    data = call.environ.get("CLAUDE_PLUGIN_DATA", "")
    if not data or not (path + "/").startswith(data.rstrip("/") + "/") or call.session is None:
        return None
    found = call.rules(call.session)
    if found is None:
        return None
    return _stopped(call, events.shown(path), "", removes, found, call.session)


def _own_file(call: Call, path: str, name: str, removes: bool) -> Verdict | None:
    """The verdict on a file that only people and Preread write; None for any other."""
    for variant in dict.fromkeys([path, os.path.realpath(path)]):
        for root, relative in _below_dot_project(variant):
            found = call.rules(root) if is_own(relative, removes) else None
            if found is not None:
                return _stopped(call, name, _dossier_of(relative), removes, found, root)
    return None


def _stopped(
    call: Call, name: str, feature: str, removes: bool, found: rules.Rules, root: str
) -> Verdict:
    from preread.gates import messages

    text = messages.own_file(name, feature, removes)
    return call.blocked(text, "the model's own change of " + name + " was stopped", found, root)


def _below_dot_project(path: str) -> list[tuple[str, str]]:
    """(folder, rest from `.project` on) for each `.project` in a path, innermost first, any case.

    Not only the nearest project: a `.git` inside `.project` would make that a project of its own.
    """
    if ".project" not in path.lower():
        return []
    parts = (path if os.sep == "/" else path.replace(os.sep, "/")).split("/")
    return [
        ("/".join(parts[:at]) or "/", "/".join(parts[at:]))
        for at in range(len(parts) - 1, 0, -1)
        if parts[at].lower() == ".project"
    ]


def is_own(relative: str, removes: bool = False) -> bool:
    """Whether the model may not change this path. It may not remove `.project` itself, either."""
    lower = relative.lower()
    if lower in OWN_FILES or (removes and lower == ".project"):
        return True
    return any((lower + "/").startswith(folder + "/") for folder in OWN_FOLDERS)


def _dossier_of(relative: str) -> str:
    """The feature whose dossier a path is part of; empty when it is part of none."""
    parts = relative.split("/")
    if len(parts) < 3 or parts[1].lower() != "context":
        return ""
    return parts[2] if is_feature(parts[2]) else ""


def _gated_file(call: Call, path: str, name: str) -> Verdict | None:
    for root, relative in paths.candidates(path, ""):
        found = call.rules(root)
        feature = found.feature_of(relative) if found is not None else None
        if found is not None and feature is not None:
            return _needs(call, path, name, feature, found, root)
    return None


def _needs(
    call: Call, path: str, name: str, feature: str, found: rules.Rules, root: str
) -> Verdict:
    """The verdict on a file that needs the dossier of `feature`."""
    roots = call.roots(root)
    complete = dossiers.is_complete(roots, feature)
    news = call.news_of(feature, found, root) if complete else ""
    if complete and not news:
        return PASS
    from preread.gates import messages

    if complete:
        is_stale = news == "stale"
        text = messages.stale_file(name, feature) if is_stale else messages.refreshed(feature)
        return call.remarked(text, found, root)
    why = messages.reason(feature, found, roots)
    if os.path.exists(path):
        from preread.gates import load_calls

        if load_calls.why_cannot_load(call.event, feature, found):
            return PASS
        text = messages.existing_file(name, feature, why, roots, call.noun)
        return call.remarked(text, found, root)
    text = messages.new_file(name, feature, why, roots, call.noun)
    person = name + " waits for the dossier of " + feature
    return call.demanded(feature, text, person, found, root)


def _command(call: Call, command: str) -> Verdict:
    """The verdict on a shell command: the most severe on what it writes, the first of several."""
    from preread.gates import shell

    cwd = call.cwd if os.path.isabs(call.cwd) and paths.is_path(call.cwd) else None
    worst = PASS
    for action, path in shell.actions(command, cwd):
        verdict = PASS
        if action == "switch":
            verdict = _switching_off(call, path)
        elif paths.is_path(path):
            verdict = judge(call, path, removes=action == "remove")
        if verdict.kind == "block":
            return verdict
        if SEVERITY.index(verdict.kind) < SEVERITY.index(worst.kind):
            worst = verdict
    return worst


def _switching_off(call: Call, folder: str) -> Verdict:
    """The verdict on `preread gates off`, run in a folder."""
    here = paths.project_of(os.path.join(folder, "x")) if folder else None
    try:
        for root in dict.fromkeys([here, call.session]):
            found = call.rules(root) if root is not None else None
            if root is not None and found is not None:
                from preread.gates import messages

                person = "the model's `preread gates off` was stopped"
                return call.blocked(messages.switching_off(), person, found, root)
    except rules.Broken as broken:
        return failure(str(broken))
    return PASS
