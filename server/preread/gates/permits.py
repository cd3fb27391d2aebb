"""`permit-load`: allows the one call that opens the gates, in every permission mode.

Without it, `claude -p` refuses the call, as it does in plan mode, and a gate stays closed forever.
A person's own rules still decide: a hook cannot allow what they deny or want to be asked about.
"""

from __future__ import annotations

from preread.gates import events, messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SERVER = {"name": "plugin:preread:preread", "source": "plugin"}
WHY = "Preread's look-up changes no file of yours: it only writes in .project/."


def decide(event: events.Event, _: Mapping[str, str]) -> events.Answer:
    """Allow `load_context` of the plugin's own server; not with `force`, which can cost money."""
    if event.get("tool_name") != messages.TOOL or not _is_own(event.get("mcp_server")):
        return None
    if events.input_of(event).get("force") not in (None, False):
        return None
    if event.get("hook_event_name") == "PreToolUse":
        return _answer("PreToolUse", permissionDecision="allow", permissionDecisionReason=WHY)
    if event.get("permission_mode") == "plan":  # in which Claude Code asks anyway
        return _answer("PermissionRequest", decision={"behavior": "allow"})
    return None


def _is_own(server: object) -> bool:
    """Whether it is the plugin's server, not a project's with a look-alike name.

    Older versions of Claude Code do not say which it is.
    """
    if not isinstance(server, dict):
        return server is None
    return all(server.get(key) == value for key, value in SERVER.items())


def _answer(hook: str, **decision: object) -> events.Answer:
    return {"hookSpecificOutput": {"hookEventName": hook, **decision}}
