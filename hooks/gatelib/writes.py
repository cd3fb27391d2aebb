"""The gate on files: `pre-spec-write`."""

from __future__ import annotations

import os

from gatelib import events, places, rules
from gatelib.gate import PASS, Call, Verdict, failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

KEYS = {
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}
OWN_FILES = (".project/gates", ".project/config.toml")
OWN_FOLDERS = (".project/.state", ".project/context", ".project/.cache")
SEVERITY = ("block", "remark", "failure")


def decide(event: events.Event, environ: Mapping[str, str]) -> events.Answer:
    """The decision on one call. Raises events.Odd."""
    tool = event.get("tool_name")
    if not isinstance(tool, str):
        raise events.Odd("the event has no tool_name")
    if tool == "Bash":
        return _command(
            Call(event, environ, "command"), events.text_of(events.input_of(event), "command")
        ).answer
    if tool not in KEYS:
        return None
    call = Call(event, environ, tool)
    path = places.absolute(events.text_of(events.input_of(event), KEYS[tool]), call.cwd)
    return judge(call, path).answer


def judge(call: Call, path: str, removes: bool = False) -> Verdict:
    """The verdict on one absolute path that is written or removed; a gates file that is broken is a failure."""
    located = places.located(path)
    name = events.shown(located[0][1]) if located else ""
    try:
        verdict = _plugin_file(call, path, removes) or _own_file(call, path, name, removes)
        if verdict is None and not removes:
            verdict = _gated_file(call, path, name)
    except rules.Broken as broken:
        return failure(str(broken))
    return verdict or PASS


def _plugin_file(call: Call, path: str, removes: bool) -> Verdict | None:
    """The verdict on a file in the plugin's data folder, where a word that no server can start makes gates warn."""
    data = call.environ.get("CLAUDE_PLUGIN_DATA", "")
    if not data or not (path + "/").startswith(data.rstrip("/") + "/") or call.session is None:
        return None
    found = call.rules(call.session)
    if found is None:
        return None
    from gatelib import texts

    name = events.shown(path)
    text = texts.own_file(name, "", removes)
    return call.blocked(
        text, "the model's own change of " + name + " was stopped", found, call.session
    )


def _own_file(call: Call, path: str, name: str, removes: bool) -> Verdict | None:
    """The verdict on a file of the gates' own."""
    for variant in dict.fromkeys([path, os.path.realpath(path)]):
        for root, relative in _below_dot_project(variant):
            found = call.rules(root) if is_own(relative, removes) else None
            if found is not None:
                from gatelib import texts

                text = texts.own_file(name, dossier_of(relative), removes)
                return call.blocked(
                    text, "the model's own change of " + name + " was stopped", found, root
                )
    return None


def _below_dot_project(path: str) -> list[tuple[str, str]]:
    """(folder, rest from `.project` on) for each `.project` in a path, whatever its case.

    Not the nearest project alone: a `.git` that somebody makes inside `.project` would be one.
    """
    if ".project" not in path.lower():
        return []
    parts = (path if os.sep == "/" else path.replace(os.sep, "/")).split("/")
    return [
        ("/".join(parts[:place]) or "/", "/".join(parts[place:]))
        for place in range(len(parts) - 1, 0, -1)
        if parts[place].lower() == ".project"
    ]


def is_own(relative: str, removes: bool = False) -> bool:
    """Whether the model is to leave this path alone; on the way to such files it may write, but not remove."""
    lower = relative.lower()
    if lower in OWN_FILES or (removes and lower == ".project"):
        return True
    return any((lower + "/").startswith(folder + "/") for folder in OWN_FOLDERS)


def dossier_of(relative: str) -> str:
    """The feature whose dossier a path is in; nothing where it is in none."""
    parts = relative.split("/")
    if len(parts) < 3 or parts[1].lower() != "context":
        return ""
    return parts[2] if rules.is_feature(parts[2]) or parts[2] == rules.PROJECT else ""


def _gated_file(call: Call, path: str, name: str) -> Verdict | None:
    for root, relative in places.candidates(path, ""):
        found = call.rules(root)
        feature = found.feature_of(relative) if found is not None else None
        if found is not None and feature is not None:
            return _file(call, path, name, feature, found, root)
    return None


def _file(call: Call, path: str, name: str, feature: str, found: rules.Rules, root: str) -> Verdict:
    """The verdict on a file that needs the dossier of a feature."""
    roots = call.roots(root)
    if places.standing(roots, feature):
        if not call.stale(feature, root):
            return PASS
        from gatelib import texts

        return call.remarked(texts.stale_file(name, feature), found, root)
    from gatelib import texts

    why = texts.reason(feature, found, roots)
    if os.path.exists(path):
        return call.remarked(texts.existing_file(name, feature, why, roots, call.word), found, root)
    text = texts.new_file(name, feature, why, roots, call.word)
    return call.blocked(text, name + " waits for the dossier of " + feature, found, root)


def _command(call: Call, command: str) -> Verdict:
    """The verdict on a shell command: the gravest on what it writes, the first of several."""
    from gatelib import shell

    cwd = call.cwd if os.path.isabs(call.cwd) and places.is_path(call.cwd) else None
    worst = PASS
    for action, path in shell.actions(command, cwd):
        verdict = _switch(call, path) if action == "switch" else PASS
        if action != "switch" and places.is_path(path):
            verdict = judge(call, path, removes=action == "remove")
        if verdict.kind == "block":
            return verdict
        if verdict is not PASS and (
            worst is PASS or SEVERITY.index(verdict.kind) < SEVERITY.index(worst.kind)
        ):
            worst = verdict
    return worst


def _switch(call: Call, folder: str) -> Verdict:
    """The verdict on `preread gates off`, run in a folder."""
    here = places.project_of(os.path.join(folder, "x")) if folder else None
    try:
        for root in dict.fromkeys([here, call.session]):
            found = call.rules(root) if root is not None else None
            if root is not None and found is not None:
                from gatelib import texts

                return call.blocked(
                    texts.switch(), "the model's `preread gates off` was stopped", found, root
                )
    except rules.Broken as broken:
        return failure(str(broken))
    return PASS
