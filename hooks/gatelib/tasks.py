"""The gate on agents: `pre-task-gate`. It also remembers which feature an agent was sent off for."""

from __future__ import annotations

from gatelib import events, places, rules
from gatelib.gate import PASS, Call, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

OURS = ("test-planner", "test-generator", "test-healer", "failure-classifier", "pattern-learner")


def decide(event: events.Event, environ: Mapping[str, str]) -> events.Answer:
    """The decision on one dispatch. Raises events.Odd."""
    tool = event.get("tool_name")
    if not isinstance(tool, str):
        raise events.Odd("the event has no tool_name")
    if tool not in ("Agent", "Task"):
        return None
    given = events.input_of(event)
    agent, prompt = given.get("subagent_type"), given.get("prompt")
    if not isinstance(agent, str) or not agent:
        return None
    try:
        return _dispatch(
            Call(event, environ, "dispatch"), agent, prompt if isinstance(prompt, str) else ""
        ).answer
    except rules.Broken as broken:
        return events.note(str(broken))


def _dispatch(call: Call, agent: str, prompt: str) -> Verdict:
    """The verdict on an agent; raises rules.Broken."""
    root = call.session
    found = call.rules(root) if root is not None else None
    if root is None or found is None:
        return PASS
    gated = found.gated_agent(agent)
    if not gated and agent.rpartition(":")[2] not in OURS:
        return PASS
    from gatelib import names

    feature = names.feature_in(prompt, found, [root])
    if not gated:
        verdict = PASS
    elif feature is None:
        verdict = _unknown(call, agent, found, root)
    else:
        verdict = _known(call, agent, feature, found, root)
    if verdict.kind != "block":
        _remember(call, agent, feature, root)
    return verdict


def _known(call: Call, agent: str, feature: str, found: rules.Rules, root: str) -> Verdict:
    from gatelib import texts

    name, roots = events.shown(agent), call.roots(root)
    if places.standing(roots, feature):
        return (
            call.remarked(texts.stale_agent(name, feature), found, root)
            if call.stale(feature, root)
            else PASS
        )
    text = texts.agent(name, feature, texts.reason(feature, found, roots), roots)
    return call.blocked(text, name + " waits for the dossier of " + feature, found, root)


def _unknown(call: Call, agent: str, found: rules.Rules, root: str) -> Verdict:
    """The feature is not named: a block once a session, then a remark."""
    from gatelib import near, sessions, texts

    name = events.shown(agent)
    text = texts.unknown(name, near.standing([root]))
    session = call.event.get("session_id")
    if not isinstance(session, str) or not session:
        return call.remarked(text, found, root)
    verdict = call.blocked(text, name + " waits to be told its feature", found, root)
    if verdict.kind == "block" and not sessions.mark(root, session, "feature-asked"):
        return call.remarked(text, found, root)
    return verdict


def _remember(call: Call, agent: str, feature: str | None, root: str) -> None:
    """Write down what `subagent-start` will not be told; a session without a name has nothing to be found by."""
    session, tool_use = call.event.get("session_id"), call.event.get("tool_use_id")
    if isinstance(session, str) and session and isinstance(tool_use, str) and tool_use:
        from gatelib import sessions

        sessions.dispatched(root, session, tool_use, agent, feature)
