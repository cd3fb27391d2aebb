"""The gate on agents: `pre-task-gate`. It also remembers the feature of each dispatch."""

from __future__ import annotations

from preread.gates import dossiers, events, rules
from preread.gates.verdict import PASS, Call, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

OUR_AGENTS = frozenset(
    ("test-planner", "test-generator", "test-healer", "failure-classifier", "pattern-learner")
)


def decide(event: events.Event, environ: Mapping[str, str]) -> events.Answer:
    """The decision on one dispatch. Raises events.InvalidEvent."""
    tool = event.get("tool_name")
    if not isinstance(tool, str):
        raise events.InvalidEvent("the event has no tool_name")
    if tool not in ("Agent", "Task"):
        return None
    given = events.input_of(event)
    agent, prompt = given.get("subagent_type"), given.get("prompt")
    if not isinstance(agent, str) or not agent:
        return None
    call = Call(event, environ, "dispatch")
    try:
        return _dispatch(call, agent, prompt if isinstance(prompt, str) else "").answer
    except rules.Broken as broken:
        return events.failure(str(broken))


def _dispatch(call: Call, agent: str, prompt: str) -> Verdict:
    """The verdict on an agent. Raises rules.Broken."""
    root = call.session
    found = call.rules(root) if root is not None else None
    if root is None or found is None:
        return PASS
    is_gated = found.gated_agent(agent)
    if not is_gated and agent.rpartition(":")[2] not in OUR_AGENTS:
        return PASS
    from preread.gates import prompts

    feature = prompts.feature_in(prompt, found, [root])
    if not is_gated:
        verdict = PASS
    elif feature is None:
        verdict = _unknown_feature(call, agent, found, root)
    else:
        verdict = _known_feature(call, agent, feature, found, root)
    if verdict.kind != "block":
        _remember(call, agent, feature, root)
    return verdict


def _known_feature(call: Call, agent: str, feature: str, found: rules.Rules, root: str) -> Verdict:
    from preread.gates import messages

    name, roots = events.shown(agent), call.roots(root)
    if dossiers.is_complete(roots, feature):
        news = call.news_of(feature, found, root)
        if not news:
            return PASS
        is_stale = news == "stale"
        text = messages.stale_agent(name, feature) if is_stale else messages.refreshed(feature)
        return call.remarked(text, found, root)
    text = messages.new_agent(name, feature, messages.reason(feature, found, roots), roots)
    person = name + " waits for the dossier of " + feature
    return call.demanded(feature, text, person, found, root)


def _unknown_feature(call: Call, agent: str, found: rules.Rules, root: str) -> Verdict:
    """A block the first time in a session, a remark after that."""
    from preread.gates import messages, near_names, sessions

    name = events.shown(agent)
    text = messages.unknown_feature(name, near_names.with_dossiers([root]))
    session = call.event.get("session_id")
    if not isinstance(session, str) or not session:
        return call.remarked(text, found, root)
    person = "the prompt of " + name + " does not say which feature it is about"
    verdict = call.blocked(text, person, found, root)
    if verdict.kind == "block" and not sessions.first_time(root, session, "feature-asked"):
        return call.remarked(text, found, root)
    return verdict


def _remember(call: Call, agent: str, feature: str | None, root: str) -> None:
    """Record the dispatch for `subagent-start`, whose event does not contain the prompt."""
    session, tool_use = call.event.get("session_id"), call.event.get("tool_use_id")
    if isinstance(session, str) and session and isinstance(tool_use, str) and tool_use:
        from preread.gates import sessions

        sessions.add_dispatch(root, session, tool_use, agent, feature)
