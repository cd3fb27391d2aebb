"""`hook.py --explain`: what the gate on files decides on one path, and why; nothing is written.

In, on stdin: {"target": PATH, "cwd": FOLDER, "tool": "Write"}; `tool` is optional. Out, one object:

    target       the absolute path
    exists       whether anything exists there
    project      the project that decided, or null
    gates        its gates file, or null when there is none
    broken       null, or {"line": 3, "why": "…"}
    notes        switches that are ignored, and why
    mode         block, warn or off; null without rules
    mode_from    what set the mode: `line 2`, `CI`, …
    off_until    epoch seconds at which `mode` off ends, or null
    candidates   in order: {"project", "path", "line", "rule", "gates", "captured"}; `line`, `rule`
                 and `gates` are null when no rule matches, and `gates` is false for an exemption
    own          whether only people and Preread may write it
    line, rule   of the rule that gated it, else of the rule that exempted it, else null
    captured     the text of {feature}; "" without one
    feature      the feature of that text, or null
    served_by    the feature whose dossier is needed, after aliases
    dossiers     where it is looked for: {"project", "files": {"summary.md": "there", …}, "stands",
                 "building", "stale"}; a file is `there`, `missing`, `empty` or `no file`
    near         names near to it, when it has no complete dossier
    decision     block, remark, failure or pass
    text, person what the model and the person would read
"""

from __future__ import annotations

import os

from preread.gates import dossiers, events, file_gate, near_names, paths, rules
from preread.gates.verdict import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def decide(event: events.Event, environ: Mapping[str, str]) -> events.Answer:
    """The explanation. Raises events.InvalidEvent."""
    call = Call(event, environ, str(event.get("tool") or "Write"))
    path = paths.absolute(events.text_of(event, "target"), call.cwd)
    explained: dict[str, Any] = {
        "target": path,
        "exists": os.path.exists(path),
        **dict.fromkeys(("project", "gates", "broken", "mode")),
        "mode_from": "",
        "off_until": None,
        "notes": [],
        "candidates": [],
        "own": False,
        "line": None,
        "rule": None,
        "captured": "",
        "feature": None,
        "served_by": None,
        "dossiers": [],
        "near": [],
    }
    try:
        _explain(call, path, explained)
    except rules.Broken as broken:
        explained["broken"] = {"line": broken.line, "why": broken.why}
    explained.update(_verdict(call, path))
    return explained


def _explain(call: Call, path: str, explained: dict[str, Any]) -> None:
    """Fill in what the rules, the mode and the dossiers are. Raises rules.Broken."""
    deciding: rules.Rule | None = None
    for root, relative in paths.candidates(path, ""):
        found = call.rules(root)
        if explained["gates"] is None:
            gates = os.path.join(root, ".project", "gates") if found else None
            explained.update(project=root, gates=gates)
        rule, captured = found.find(relative) if found is not None else (None, "")
        explained["candidates"].append(_candidate(root, relative, rule, captured))
        if found is None:
            continue
        explained["own"] = explained["own"] or file_gate.is_own(relative)
        # The first gate decides, or the first exemption when there is no gate.
        if rule is not None and (deciding is None or (rule.gates and not deciding.gates)):
            deciding = rule
            explained.update(_decided(call, root, found, rule, captured))
    if deciding is None and explained["gates"] is not None:
        root = explained["project"]
        explained.update(_mode(call, root, call.rules(root)))


def _candidate(root: str, relative: str, rule: rules.Rule | None, captured: str) -> dict[str, Any]:
    return {
        "project": root,
        "path": relative,
        "line": rule.line if rule else None,
        "rule": rule.text if rule else None,
        "gates": rule.gates if rule else None,
        "captured": captured,
    }


def _decided(
    call: Call, root: str, found: rules.Rules, rule: rules.Rule, captured: str
) -> dict[str, Any]:
    """What follows from the rule that decides."""
    explained = {
        "project": root,
        "gates": os.path.join(root, ".project", "gates"),
        "line": rule.line,
        "rule": rule.text,
        "captured": captured,
        **_mode(call, root, found),
    }
    if rule.gates:
        roots = call.roots(root)
        feature = rules.feature_for(rule, captured)
        served = found.served_by(feature)
        states = [_dossier(each, served) for each in roots]
        is_complete = any(state["stands"] for state in states)
        near = [] if is_complete else near_names.near(served, found, roots)
        explained.update(feature=feature, served_by=served, dossiers=states, near=near)
    return explained


def _mode(call: Call, root: str, found: rules.Rules | None) -> dict[str, Any]:
    if found is None:
        return {}
    mode = call.mode(found, root)
    return {
        "mode": mode.mode,
        "mode_from": mode.source,
        "off_until": mode.until,
        "notes": mode.notes,
    }


def _dossier(root: str, feature: str) -> dict[str, Any]:
    folder = dossiers.folder(root, feature)
    return {
        "project": root,
        "files": {
            name: dossiers.file_state(os.path.join(folder, name)) or "there"
            for name in dossiers.REQUIRED
        },
        "stands": not dossiers.problem(root, feature),
        "building": dossiers.is_building(root, feature),
        "stale": dossiers.is_stale(root, feature),
    }


def _verdict(call: Call, path: str) -> dict[str, str]:
    verdict = file_gate.judge(call, path)
    answer = verdict.answer or {}
    output = answer.get("hookSpecificOutput", {})
    text = output.get("permissionDecisionReason") or output.get("additionalContext") or ""
    return {"decision": verdict.kind, "text": text, "person": answer.get("systemMessage", "")}
