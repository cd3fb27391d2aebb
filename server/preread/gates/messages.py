"""What the gates say to the model and to the person.

A message to the model starts with the exact call to make, then says to retry, then why.
"""

from __future__ import annotations

from preread.gates import dossiers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from preread.gates.rules import Rules

TOOL = "mcp__plugin_preread_preread__load_context"
WRONG = (
    'mcp__plugin_preread_preread__context_operation with {"method": "context.wrong", '
    '"params": {"fact": "ID or text"}}'
)
FIND = "(if it is not among your tools yet, wait a few seconds and search them for load_context)"
ASK = "tell the person what you would change and let them do it, then go on"
OFF = (
    "To switch the gates off: /preread:gates off 2h, or preread gates off --for 2h, "
    "or PREREAD_GATES=off, or `mode off` in .project/gates."
)
READ_FIRST = ": the feature's proven patterns, traps and helpers have to be read before the "


def call(feature: str, more: str = "") -> str:
    """The call for the model to make; a feature name needs no JSON escapes."""
    return TOOL + ' with {"feature": "' + feature + '"' + more + "}"


def for_person(what: str) -> str:
    """What the person reads when a call is blocked."""
    return "preread: " + what + ". " + OFF


def reason(feature: str, rules: Rules, roots: list[str]) -> str:
    """Why a dossier cannot be used; empty when it can."""
    problems = [dossiers.problem(root, feature) for root in roots]
    if "" in problems:
        return ""
    for problem in problems:
        if problem != dossiers.NONE:
            return "the dossier of " + feature + " is incomplete (" + problem + ")"
    why = "there is no dossier for " + feature + " yet"
    if any(dossiers.folders(root) for root in roots):
        from preread.gates import near_names

        why += near_names.hint(feature, rules, roots)
    return why


def _is_building(feature: str, roots: list[str]) -> bool:
    return any(dossiers.is_building(root, feature) for root in roots)


def demand(feature: str, roots: list[str], then: str, why: str) -> str:
    """The missing call, what to do after it, and why."""
    if _is_building(feature, roots):
        how = " again: its dossier is being built, and the call joins that build; then "
    else:
        how = " " + FIND + ", then "
    return "Call " + call(feature) + how + then + ". Why: " + why


def new_file(name: str, feature: str, why: str, roots: list[str], tool: str) -> str:
    why = name + " is a new file for the feature " + feature + ", and " + why
    return demand(feature, roots, "retry this " + tool, why + READ_FIRST + "file is written.")


def existing_file(name: str, feature: str, why: str, roots: list[str], tool: str) -> str:
    why = name + " is gated, and " + why + "."
    then = "go on with this " + tool
    if _is_building(feature, roots):
        return demand(feature, roots, then, why)
    return "Call " + call(feature) + " before you " + then + ". Why: " + why


def new_agent(name: str, feature: str, why: str, roots: list[str]) -> str:
    why = name + " works on the feature " + feature + ", and " + why
    return demand(feature, roots, "retry this dispatch", why + READ_FIRST + "agent starts.")


def let_through(feature: str, why: str, noun: str) -> str:
    """For a call that is not blocked only because this session cannot get the dossier."""
    start = "This " + noun + " goes on without the dossier of " + feature + ": tell the person so"
    return start + ". Why: " + why + "."


def _stale(feature: str, why: str) -> str:
    start = "The dossier of " + feature + " is stale: call " + call(feature)
    return start + " to refresh it. Why: " + why


def stale_file(name: str, feature: str) -> str:
    return _stale(feature, name + " is gated, and what its dossier cites or counts has changed.")


def stale_agent(name: str, feature: str) -> str:
    return _stale(feature, name + " works from it, and what it cites or counts has changed.")


def refreshed(feature: str) -> str:
    """For a dossier of which a refresh has changed facts since the session read it."""
    start = "What the dossier of " + feature + " says has changed since you read it, because the "
    return start + "code has: before you rely on it, call " + call(feature) + "."


def own_file(name: str, feature: str, removes: bool) -> str:
    """For a file that only people and Preread write; `feature` when it is part of a dossier."""
    if not feature:
        verb = "Do not " + ("remove " if removes else "write ") + name + " yourself: " + ASK
        return verb + ". Why: it belongs to the person and to Preread, and the gates rely on it."
    verb = "Do not " + ("remove " if removes else "edit ") + name + ": call "
    how = " to have it built again, or " + WRONG + " for a fact that is wrong."
    why = " Why: a dossier is checked when it is built, and changes made by hand are not."
    return verb + call(feature, ', "force": true') + how + why


def switching_off() -> str:
    start = "Do not run preread gates off yourself: " + ASK
    return start + ". Why: only the person decides whether the gates are on."


def unknown_feature(name: str, names: list[str]) -> str:
    """For an agent whose prompt names no feature; `names` are the features with a dossier."""
    listed = " (there are dossiers of " + ", ".join(names[:5]) + ")" if names else ""
    why = "the prompt does not name one feature, so it is not known which dossier " + name
    start = "Say feature: <name> in the prompt of this agent" + listed
    return start + ", then retry this dispatch. Why: " + why + " needs."
