"""`hook.py --explain`: what the gate on files makes of one path, for people's tools; nothing is written.

In, on stdin: {"target": PATH, "cwd": FOLDER, "tool": "Write"}; `tool` may be left out. Out, one JSON object:

    target      the absolute path                          exists    whether something is there
    project     the project that decided, or null          gates     its gates file, or null where there is none
    broken      null, or {"line": 3, "why": "…"}           notes     switches that are ignored, and why
    mode        block, warn, off; null without rules       mode_from where that comes from: `line 2`, `CI`, …
    off_until   epoch seconds where `mode` off has an end, else null
    candidates  in their order: {"project", "path", "line", "rule", "gates", "captured"}; three are null where no rule
                matches, and `gates` is false for an exemption
    own         whether it is one of the project's own files
    line, rule  of the rule that gated it, or that exempted it where none did; null without one
    captured    the text of {feature}, "" without one
    feature     the feature of that text, or null          served_by the feature whose dossier counts, after aliases
    dossiers    where it is looked for: {"project", "files": {"summary.md": "there", …}, "stands", "building", "stale"};
                a file is `there`, `missing`, `empty` or `no file`
    near        names near to it, where it does not stand
    decision    block, remark, failure or pass             text, person  what the model and the person would be told
"""

from __future__ import annotations

import os

from gatelib import events, near, places, rules, switches, writes
from gatelib.gate import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def decide(event: events.Event, environ: Mapping[str, str]) -> events.Answer:
    """The explanation. Raises events.Odd."""
    call = Call(event, environ, str(event.get("tool") or "Write"))
    path = places.absolute(events.text_of(event, "target"), call.cwd)
    told = {
        "target": path,
        "exists": os.path.exists(path),
        "project": None,
        "gates": None,
        "broken": None,
    }
    told.update(
        mode=None,
        mode_from="",
        off_until=None,
        notes=[],
        candidates=[],
        own=False,
        line=None,
        rule=None,
    )
    told.update(captured="", feature=None, served_by=None, dossiers=[], near=[])
    try:
        _look(call, path, told)
    except rules.Broken as broken:
        told["broken"] = {"line": broken.line, "why": broken.why}
    told.update(_verdict(call, path))
    return told


def _look(call: Call, path: str, told: dict[str, Any]) -> None:
    """Fill in what the rules, the switches and the dossiers say. Raises rules.Broken."""
    deciding: rules.Rule | None = None
    for root, relative in places.candidates(path, ""):
        found = call.rules(root)
        if told["gates"] is None:
            told["project"], told["gates"] = (
                root,
                os.path.join(root, ".project", "gates") if found else None,
            )
        rule, captured = found.find(relative) if found is not None else (None, "")
        told["candidates"].append(
            {
                "project": root,
                "path": relative,
                "line": rule.line if rule else None,
                "rule": rule.text if rule else None,
                "gates": rule.gates if rule else None,
                "captured": captured,
            }
        )
        told["own"] = told["own"] or (found is not None and writes.is_own(relative))
        if (
            rule is not None
            and found is not None
            and (deciding is None or (rule.gates and not deciding.gates))
        ):
            deciding = rule
            _decided(call, told, root, found, rule, captured)
    if told["project"] is not None and told["mode"] is None:
        found = call.rules(told["project"])
        if found is not None:
            _switch(call, told, told["project"], found)


def _decided(
    call: Call, told: dict[str, Any], root: str, found: rules.Rules, rule: rules.Rule, captured: str
) -> None:
    told.update(project=root, gates=os.path.join(root, ".project", "gates"))
    told.update(line=rule.line, rule=rule.text, captured=captured)
    _switch(call, told, root, found)
    if rule.gates:
        roots = call.roots(root)
        feature = rules.feature_for(rule, captured)
        served = found.served_by(feature)
        dossiers = [_dossier(each, served) for each in roots]
        told.update(feature=feature, served_by=served, dossiers=dossiers)
        told["near"] = (
            [] if any(each["stands"] for each in dossiers) else near.names(served, found, roots)
        )


def _switch(call: Call, told: dict[str, Any], root: str, found: rules.Rules) -> None:
    switch = switches.switch(found, call.roots(root), call.environ)
    told.update(
        mode=switch.mode, mode_from=switch.source, off_until=switch.until, notes=switch.notes
    )


def _dossier(root: str, feature: str) -> dict[str, Any]:
    folder = os.path.join(root, ".project", "context", feature)
    return {
        "project": root,
        "files": {
            name: places.file_state(os.path.join(folder, name)) or "there"
            for name in places.REQUIRED
        },
        "stands": not places.problem(root, feature),
        "building": places.building(root, feature),
        "stale": places.stale(root, feature),
    }


def _verdict(call: Call, path: str) -> dict[str, str]:
    verdict = writes.judge(call, path)
    answer = verdict.answer or {}
    said = answer.get("hookSpecificOutput", {})
    text = said.get("permissionDecisionReason") or said.get("additionalContext") or ""
    return {"decision": verdict.kind, "text": text, "person": answer.get("systemMessage", "")}
