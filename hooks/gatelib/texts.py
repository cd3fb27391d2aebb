"""What the model and the person are told: the texts of docs/gates.md."""

from __future__ import annotations

from gatelib import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gatelib.rules import Rules

CALL = "mcp__plugin_preread_preread__load_context"
FIND = "(if it is not among your tools, search them for load_context)"
TELL = "tell the person what you would change and let them do it, then go on"
OFF = "To switch the gates off: preread gates off --for 2h, or PREREAD_GATES=off, or `mode off` in .project/gates."


def call(feature: str, more: str = "") -> str:
    """The call that the model is to make; a feature holds nothing that JSON escapes."""
    return CALL + ' with {"feature": "' + feature + '"' + more + "}"


def person(what: str) -> str:
    """What the person reads beside a block."""
    return "preread: " + what + ". " + OFF


def reason(feature: str, rules: Rules, roots: list[str]) -> str:
    """Why a dossier does not hold; nothing where it stands."""
    problems = [places.problem(root, feature) for root in roots]
    if "" in problems:
        return ""
    for problem in problems:
        if problem != "none":
            return "the dossier of " + feature + " is incomplete (" + problem + ")"
    why = "there is no dossier for " + feature + " yet"
    if any(places.dossiers(root) for root in roots):
        from gatelib import near

        why += near.hint(feature, rules, roots)
    return why


def demand(feature: str, roots: list[str], then: str, why: str) -> str:
    """The call that is missing, and what follows it."""
    if any(places.building(root, feature) for root in roots):
        how = " again: its dossier is being built, and the call joins that build; then "
    else:
        how = " " + FIND + ", then "
    return "Call " + call(feature) + how + then + ". Why: " + why


def new_file(name: str, feature: str, why: str, roots: list[str], tool: str) -> str:
    why = name + " is a new file for the feature " + feature + ", and " + why
    why += ": its proven patterns, traps and helpers have to be read before it is written."
    return demand(feature, roots, "retry this " + tool, why)


def existing_file(name: str, feature: str, why: str, roots: list[str], tool: str) -> str:
    why = name + " is gated, and " + why + "."
    then = "go on with this " + tool
    if any(places.building(root, feature) for root in roots):
        return demand(feature, roots, then, why)
    return "Call " + call(feature) + " before you " + then + ". Why: " + why


def stale(feature: str, why: str) -> str:
    return (
        "The dossier of "
        + feature
        + " is stale: call "
        + call(feature)
        + " to refresh it. Why: "
        + why
    )


def stale_file(name: str, feature: str) -> str:
    return stale(feature, name + " is gated, and what its dossier cites has changed.")


def own_file(name: str, dossier: str, removes: bool) -> str:
    """`dossier` is the feature whose dossier the file is in, if it is in one."""
    if dossier:
        again = call(dossier, ', "force": true')
        verb = "Do not " + ("remove " if removes else "edit ") + name
        how = " to have it built again, or run preread wrong FACT for a fact that is wrong. Why: a dossier is checked "
        return (
            verb
            + ": call "
            + again
            + how
            + "when it is built, and what is written into it by hand is not."
        )
    verb = "Do not " + ("remove " if removes else "write ") + name + " yourself: " + TELL
    return verb + ". Why: it belongs to the person and to Preread, and the gates are built on it."


def switch() -> str:
    return (
        "Do not run preread gates off yourself: "
        + TELL
        + ". Why: whether the gates hold is the person's to say."
    )


def agent(name: str, feature: str, why: str, roots: list[str]) -> str:
    why = name + " works on the feature " + feature + ", and " + why
    why += ": its proven patterns, traps and helpers have to be read before it starts."
    return demand(feature, roots, "retry this dispatch", why)


def stale_agent(name: str, feature: str) -> str:
    return stale(feature, name + " works from it, and what it cites has changed.")


def unknown(name: str, names: list[str]) -> str:
    listed = " (there are dossiers of " + ", ".join(names[:5]) + ")" if names else ""
    why = (
        "the prompt does not name one feature, so the dossier that " + name + " needs is not known."
    )
    say = "Say feature: <name> in the prompt of this agent" + listed
    return say + ", then retry this dispatch. Why: " + why
