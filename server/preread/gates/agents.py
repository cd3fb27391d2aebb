"""Preread's own agents: which feature each works on, the dossier that it starts with, and what it
must have written when it stops.

An agent's start event has no prompt, and several agents may start in any order. So `pre-task-gate`
records each dispatch, and `post-task`, milliseconds after that agent's start, the agent it became.
"""

from __future__ import annotations

import os
import time

from preread.gates import (
    attention,
    dossier_text,
    events,
    feature_names,
    fence,
    paths,
    refreshes,
    rules,
    run_log,
    sessions,
    state_files,
    workspace,
)
from preread.gates.agent_gate import OUR_AGENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from preread.gates.workspace import Workspace

PATIENCE, PAUSE = 1.5, 0.02  # seconds to wait for `post-task`
MAX_DRAFTS = 5_000


def _workspace(event: dict[str, Any], environ: Mapping[str, str]) -> Workspace | None:
    try:
        found = workspace.find(event, environ)
    except rules.Broken:
        return None  # the gate on files reports it
    return found if found is not None and found.session else None


# -- post-task


def finished(event: dict[str, Any], environ: Mapping[str, str]) -> events.Answer:
    """Record the agent that a dispatch became, or its failure; after a load, the dossier in use."""
    where = _workspace(event, environ)
    if where is None:
        return None
    failed = event.get("hook_event_name") != "PostToolUse"
    if str(event.get("tool_name")).endswith("__load_context"):
        if not failed:
            _loaded(event, where)
        return None
    response = event.get("tool_response")
    agent_id = response.get("agentId") if isinstance(response, dict) else None
    if failed or not isinstance(agent_id, str):
        sessions.drop_dispatch(where.root, where.session, event.get("tool_use_id"))
    else:
        sessions.launched(where.root, where.session, event.get("tool_use_id"), agent_id)
    return None


def _loaded(event: dict[str, Any], where: Workspace) -> None:
    name = events.input_of(event).get("feature")
    feature = feature_names.feature_of_argument(name) if isinstance(name, str) else ""
    if feature:
        feature = where.rules.served_by(feature)
        sessions.use_dossier(where.root, where.session, feature)
        refreshes.note_read(where.root, where.session, feature)


# -- subagent-start


def started(event: dict[str, Any], environ: Mapping[str, str]) -> events.Answer:
    """The dossier of the feature that this agent was dispatched for; never that of another."""
    agent = events.text_of(event, "agent_type")
    where = _workspace(event, environ) if sessions.plain_agent(agent) in OUR_AGENTS else None
    if where is None or where.mode == "off":
        return None
    features, is_sure = feature_of(where, agent, events.text_of(event, "agent_id"))
    if not features:
        return None
    if not is_sure:
        return events.remark(_several(where, features), "SubagentStart")
    sessions.use_dossier(where.root, where.session, features[0])
    # The session itself may have read it earlier, and has to be told if it has changed since.
    refreshes.note_read(where.root, where.session, features[0], is_first=True)
    return events.remark(_dossier(where, features[0], event), "SubagentStart")


def _dossier(where: Workspace, feature: str, event: dict[str, Any]) -> str:
    """A feature's dossier, and the facts of others about what the session works on."""
    scores = attention.scores(attention.gather(where.root, event), time.time())
    facts = attention.relevant_facts(where.root, scores, [feature])
    also = ""
    if facts:
        also = "\nFrom other dossiers, about what is being worked on:\n"
        also += fence.block("\n".join(facts))
    return dossier_text.brief(where, feature, dossier_text.MAX_CONTEXT - len(also)) + also


def feature_of(where: Workspace, agent: str, agent_id: str) -> tuple[list[str], bool]:
    """The possible features of a starting agent, and whether they are certain: then at most one."""
    end = time.monotonic() + PATIENCE
    while True:
        # In this order, because claiming moves a dispatch from the first place to the second.
        unclaimed = sessions.unclaimed(where.root, where.session, agent)
        known = sessions.agent_feature(where.root, where.session, agent_id)
        if known is not None:
            return [known] if known else [], True
        if not unclaimed:
            return [], True
        features = set(unclaimed.values())
        named = sorted(features - {""})
        if len(features) > 1:
            if time.monotonic() > end:
                return named, False
        elif any(sessions.claim(where.root, where.session, use, agent_id) for use in unclaimed):
            return named, True
        time.sleep(PAUSE)


def _several(where: Workspace, features: list[str]) -> str:
    listed = []
    for feature in features:
        root = dossier_text.root_of(where, feature)
        place = dossier_text.shown_folder(where, root, feature) if root else "no dossier yet"
        listed.append(feature + ": " + place)
    return (
        "Several agents were dispatched at the same time. Yours is the dossier of the feature that "
        f"your task names ({'; '.join(listed)}). Read it first."
    )


# -- subagent-stop


def stopped(event: dict[str, Any], environ: Mapping[str, str]) -> events.Answer:
    """Ask an agent, once, for what the next agent needs from it."""
    agent = sessions.plain_agent(events.text_of(event, "agent_type"))
    missing = MISSING.get(agent)
    if missing is None or event.get("stop_hook_active"):
        return None
    where = _workspace(event, environ)
    if where is None or where.mode != "block":
        return None
    agent_id = events.text_of(event, "agent_id")
    feature = sessions.agent_feature(where.root, where.session, agent_id)
    text = missing(where, event, feature, agent_id) if feature else None
    if not text or not sessions.first_time(where.root, where.session, "stopped " + agent_id):
        return None
    return {"decision": "block", "reason": text}


def _roots(where: Workspace, event: dict[str, Any]) -> list[str]:
    """Where an agent may have left its work: the session's project, or the agent's own worktree."""
    cwd = event.get("cwd")
    roots = [where.root]
    if isinstance(cwd, str) and os.path.isabs(cwd):
        own = paths.project_of(os.path.join(cwd, "."))
        roots += [own] if own not in (None, where.root) else []
    return roots


def _has_stage(where: Workspace, event: dict[str, Any], feature: str, stage: str) -> bool:
    """Whether a stage of the feature's run log has a bullet."""
    for root in _roots(where, event):
        for name in where.names(feature):
            path = os.path.join(root, ".project", "runs", name + ".md")
            data = state_files.read_bytes(path, run_log.MAX_BYTES)
            found = run_log.stages(data).get(stage) if data is not None else None
            if found is not None and found.has_bullet:
                return True
    return False


def _no_plan(where: Workspace, event: dict[str, Any], feature: str, _: str) -> str | None:
    if _has_stage(where, event, feature, "PLAN"):
        return None
    return (
        f"Write the plan under ## PLAN in .project/runs/{feature}.md before you stop: one bullet "
        "for each test, ending with its source in round brackets. Why: test-generator "
        "works from that file, and there is no plan in it yet. If nothing needs a test, write one "
        "bullet that says why."
    )


def _no_drafts(where: Workspace, event: dict[str, Any], feature: str, agent_id: str) -> str | None:
    since = sessions.agent_began(where.root, where.session, agent_id)
    if any(_has_drafts(os.path.join(root, ".draft"), since) for root in _roots(where, event)):
        return None
    return (
        f"Write the planned tests of the feature {feature} below .draft/ before you stop, and "
        f"their paths as bullets of ## WRITE in .project/runs/{feature}.md. Why: you have written "
        "no file there yet. If one cannot be written, say in your reply which and why."
    )


def _has_drafts(folder: str, since: float) -> bool:
    """Whether a file below a folder was written since; assumed if there are too many files."""
    seen = 0
    for place, _, files in os.walk(folder):
        for name in files:
            seen += 1
            if seen > MAX_DRAFTS or state_files.modified(os.path.join(place, name)) >= since:
                return True
    return False


def _no_lesson(where: Workspace, event: dict[str, Any], feature: str, _: str) -> str | None:
    if _has_stage(where, event, feature, "LEARN"):
        return None
    return (
        f"Write ## LEARN in .project/runs/{feature}.md before you stop: the facts that you added "
        "to .project/knowledge.md, word for word, or `- nothing learned: <why>`. Why: the run log "
        "has no bullet there, so the work counts as unfinished."
    )


MISSING = {"test-planner": _no_plan, "test-generator": _no_drafts, "pattern-learner": _no_lesson}
