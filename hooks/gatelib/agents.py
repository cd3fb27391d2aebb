"""Preread's own agents: which feature each was sent off for, its dossier when it starts, what it leaves when it stops.

An agent starts without its prompt, and several start in any order. `pre-task-gate` writes down each dispatch, and
`post-task` which agent it became, within milliseconds of that agent's start; docs/gates.md, "Dispatching an agent".
"""

from __future__ import annotations

import os
import time

from gatelib import dossiers, events, places, results, rules, scene, sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gatelib.scene import Scene

OWN = frozenset(
    ("test-planner", "test-generator", "test-healer", "failure-classifier", "pattern-learner")
)
PATIENCE, PAUSE = 1.5, 0.02  # seconds
MAX_DRAFTS = 5_000


def _where(event: dict[str, Any], environ: Mapping[str, str]) -> Scene | None:
    try:
        found = scene.scene(event, environ)
    except rules.Broken:
        return None  # the gate on files says so
    return found if found is not None and found.session else None


# -- post-task


def finished(event: dict[str, Any], environ: Mapping[str, str]) -> events.Answer:
    """A dispatch went through, and became an agent; or it failed. Or a dossier was asked for, and is in use now."""
    where = _where(event, environ)
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
        sessions.forget(where.root, where.session, event.get("tool_use_id"))
    else:
        sessions.launched(where.root, where.session, event.get("tool_use_id"), agent_id)
    return None


def _loaded(event: dict[str, Any], where: Scene) -> None:
    asked = events.input_of(event).get("feature")
    feature = (
        asked if asked == rules.PROJECT else rules.slug(asked) if isinstance(asked, str) else ""
    )
    if feature:
        sessions.use(where.root, where.session, where.rules.served_by(feature))


# -- subagent-start


def started(event: dict[str, Any], environ: Mapping[str, str]) -> events.Answer:
    """The dossier of the feature that this agent was sent off for; never that of another."""
    agent = events.text_of(event, "agent_type")
    where = _where(event, environ) if sessions.plain(agent) in OWN else None
    if where is None or where.mode == "off":
        return None
    features, sure = feature_of(where, agent, events.text_of(event, "agent_id"))
    if not features:
        return None
    if not sure:
        return events.remark(_several(where, features), "SubagentStart")
    sessions.use(where.root, where.session, features[0])
    return events.remark(dossiers.brief(where, features[0], dossiers.MOST), "SubagentStart")


def feature_of(where: Scene, agent: str, agent_id: str) -> tuple[list[str], bool]:
    """The feature of an agent that starts (none where none was named) and True; or those it may be, and False."""
    end = time.monotonic() + PATIENCE
    while True:
        # In this order: a dispatch becomes an agent's in one step.
        waiting = sessions.waiting(where.root, where.session, agent)
        known = sessions.agent_feature(where.root, where.session, agent_id)
        named = sorted(set(waiting.values()) - {""})
        if known is not None:
            return [known] if known else [], True
        if len(set(waiting.values())) <= 1:
            if any(sessions.claim(where.root, where.session, use, agent_id) for use in waiting):
                return named, True
            if not waiting:
                return [], True
        elif time.monotonic() > end:
            return named, False
        time.sleep(PAUSE)


def _several(where: Scene, features: list[str]) -> str:
    places_ = []
    for feature in features:
        root = dossiers.root_of(where, feature)
        places_.append(
            feature + ": " + (dossiers.shown(where, root, feature) if root else "no dossier yet")
        )
    return (
        "Several agents were sent off at once. Your dossier is that of the feature that your task names "
        f"({'; '.join(places_)}). Read it first."
    )


# -- subagent-stop


def stopped(event: dict[str, Any], environ: Mapping[str, str]) -> events.Answer:
    """Ask an agent once for what the next one needs of it."""
    agent = sessions.plain(events.text_of(event, "agent_type"))
    missing = MISSING.get(agent)
    where = (
        _where(event, environ)
        if missing is not None and not event.get("stop_hook_active")
        else None
    )
    if missing is None or where is None or where.mode != "block":
        return None
    agent_id = events.text_of(event, "agent_id")
    feature = sessions.agent_feature(where.root, where.session, agent_id)
    if not feature:
        return None
    text = missing(where, event, feature, agent_id)
    if text is None or not sessions.mark(where.root, where.session, "stopped " + agent_id):
        return None
    return {"decision": "block", "reason": text}


def _roots(where: Scene, event: dict[str, Any]) -> list[str]:
    """Where an agent may have left its work: in the session's project, or in a worktree of its own."""
    cwd = event.get("cwd")
    own = (
        places.project_of(os.path.join(cwd, "."))
        if isinstance(cwd, str) and os.path.isabs(cwd)
        else None
    )
    return list(dict.fromkeys(root for root in (where.root, own) if root is not None))


def _has_stage(where: Scene, event: dict[str, Any], feature: str, stage: str) -> bool:
    """Whether a stage of the feature's run log holds a bullet."""
    for root in _roots(where, event):
        for name in where.names(feature):
            data = sessions.read_bytes(
                os.path.join(root, ".project", "runs", name + ".md"), results.MAX_LOG
            )
            if data is not None and results.stages(data).get(stage, (0, False))[1]:
                return True
    return False


def _no_plan(where: Scene, event: dict[str, Any], feature: str, _: str) -> str | None:
    if _has_stage(where, event, feature, "PLAN"):
        return None
    return (
        f"Write the plan under ## PLAN in .project/runs/{feature}.md before you stop: one bullet a test, each with its "
        "source in round brackets at its end. Why: test-generator works from that file, and nothing stands there yet. "
        "Where nothing is to be tested, write one bullet that says why."
    )


def _no_drafts(where: Scene, event: dict[str, Any], feature: str, agent_id: str) -> str | None:
    since = sessions.agent_began(where.root, where.session, agent_id)
    if any(_has_drafts(os.path.join(root, ".draft"), since) for root in _roots(where, event)):
        return None
    return (
        f"Write the planned tests of the feature {feature} below .draft/ before you stop, and their paths as bullets "
        f"of ## WRITE in .project/runs/{feature}.md. Why: no file there is yours yet. If one cannot be written, say in "
        "your reply which and why."
    )


def _has_drafts(folder: str, since: float) -> bool:
    """Whether a file below a folder was written since then; a bounded look."""
    looked = 0
    for place, _, files in os.walk(folder):
        for name in files:
            looked += 1
            try:
                if looked > MAX_DRAFTS or os.lstat(os.path.join(place, name)).st_mtime >= since:
                    return True
            except OSError:
                continue
    return False


def _no_lesson(where: Scene, event: dict[str, Any], feature: str, _: str) -> str | None:
    if _has_stage(where, event, feature, "LEARN"):
        return None
    return (
        f"Write ## LEARN into .project/runs/{feature}.md before you stop: the facts that you added to "
        ".project/knowledge.md, word for word, or `- nothing learned: <why>`. Why: the run log has no bullet there, so "
        "the work counts as unfinished."
    )


MISSING = {"test-planner": _no_plan, "test-generator": _no_drafts, "pattern-learner": _no_lesson}
