"""The feature that an agent's prompt names. The steps are those of docs/gates.md, "Dispatching an agent"."""

from __future__ import annotations

from gatelib.rules import PROJECT, Rules, feature_of_text, slug

LONGEST = 200_000  # characters of a prompt that are looked at
STOP = frozenset(
    """
a an the this that these those it its they them their we us our you your i me my he she his her who which what whose
of in on at to from for with without by into onto over under about after before between through during per via as and
or but not nor so if when while then than is are be was were been do does did has have had can could should would will
may must all each every any some no none both other another same such new existing old current following above below
first last next one two more most only also test tests testing tested plan plans planning planner spec specs suite case
cases scenario scenarios coverage write add create make generate run fix update feature features flow flows page pages
screen screens form forms dialog dialogs module modules endpoint endpoints api component components view views wizard
wizards journey journeys story stories unit e2e integration end-to-end regression smoke code file files folder project
app application please here there
""".split()
)
QUOTES = "\"'`"
BARE = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_.-")
SMALL_LETTERS = dict(zip(range(ord("A"), ord("Z") + 1), "abcdefghijklmnopqrstuvwxyz"))


def feature_in(prompt: str, rules: Rules, roots: list[str]) -> str | None:
    """The feature that serves what a prompt names; None where that is nothing, or several things."""
    prompt = prompt[:LONGEST]
    found = {served(name, rules) for name in explicit(prompt)}
    if not found:
        # The explicit form is the usual one; what finds the others is slow to load.
        from gatelib import prompts

        found = prompts.features(prompt, rules, roots)
    return found.pop() if len(found) == 1 else None


def served(name: str, rules: Rules) -> str:
    """The feature that serves a name of a prompt."""
    return rules.served_by(name if name == PROJECT else feature_of_text(name))


def explicit(prompt: str) -> list[str]:
    """The names of `feature: login`, `"feature": "login"`, `**Feature:** login`, …"""
    small = prompt.translate(SMALL_LETTERS)
    found = []
    at = small.find("feature")
    while at >= 0:
        start = _value(small, at)
        quoted, end = _text(small, start) if start else ("", 0)
        name = PROJECT if quoted.strip(QUOTES) == PROJECT else slug(quoted.strip(QUOTES))
        if name and (quoted[0] in QUOTES or name not in STOP):
            found.append(name)
        at = small.find("feature", max(end, at + 1))
    return found


def _value(text: str, at: int) -> int:
    """Where the value of a `feature` begins that stands at `at`; 0 where it has none."""
    if at and (text[at - 1].isalnum() or text[at - 1] == "_"):
        return 0
    at += len("feature")
    at = _past(text, at + (text[at : at + 1] in tuple(QUOTES)), " \t*")
    return _past(text, at + 1, " \t*") if text[at : at + 1] in (":", "=") else 0


def _past(text: str, at: int, what: str) -> int:
    while at < len(text) and text[at] in what:
        at += 1
    return at


def _text(text: str, start: int) -> tuple[str, int]:
    """The value that begins at `start`, with its quotes, and where it ends."""
    end = start
    if text[start : start + 1] in tuple(QUOTES):
        end += 1
        while end < len(text) and text[end] not in QUOTES + "\n":
            end += 1
        is_closed = end > start + 1 and text[end : end + 1] == text[start]
        return (text[start : end + 1], end + 1) if is_closed else ("", 0)
    while end < len(text) and text[end] in BARE:
        end += 1
    return text[start:end], end
