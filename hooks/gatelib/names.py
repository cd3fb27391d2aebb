"""The feature that an agent's prompt names. The steps are those of docs/gates.md, "Dispatching an agent"."""

from __future__ import annotations

import re

from gatelib import near, places
from gatelib.rules import PROJECT, Rules, feature_of_text, is_feature, slug

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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
NOUNS = "flow|page|feature|screen|form|dialog|module|endpoint|api|component|view|wizard|journey|story"
AROUND = "\"'`()<>,;:!?*"
WORD = r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*"
NAME = "(" + WORD + r"(?:\s+" + WORD + "){0,2})"


def feature_in(prompt: str, rules: Rules, roots: list[str]) -> str | None:
    """The feature that serves what a prompt names; None where that is nothing, or several things."""
    prompt = prompt[:LONGEST]
    known = frozenset([*near.standing(roots), *rules.aliases])
    steps: list[Callable[[], Iterable[str]]] = [
        lambda: _explicit(prompt),
        lambda: [word for word in _quoted(prompt) if word in known],
        lambda: _gated(prompt, rules, roots),
        lambda: _mentioned(prompt, known),
        lambda: [word for word in _quoted(prompt) if is_feature(word) and word not in STOP],
        lambda: _described(prompt),
    ]
    for step in steps:
        found = {rules.served_by(name if name == PROJECT else feature_of_text(name)) for name in step()}
        if found:
            return found.pop() if len(found) == 1 else None
    return None


def _explicit(prompt: str) -> Iterable[str]:
    """`feature: login`, `"feature": "login"`, `**Feature:** login`, …"""
    value = r"""(?:(["'`])([^"'`\n]+)\1|([A-Za-z0-9_.-]+))"""
    for found in re.finditer(r"""(?<!\w)["'`]?feature["'`]?[ \t*]*[:=][ \t*]*""" + value, prompt, re.IGNORECASE):
        quoted, bare = found.group(2), found.group(3)
        name = PROJECT if PROJECT in (quoted, bare) else slug(quoted or bare)
        if name and (quoted or name not in STOP):
            yield name


def _quoted(prompt: str) -> list[str]:
    """What stands between two equal quotes or backticks on one line."""
    return [found.group(2) for found in re.finditer(r"""(?<!\w)(["'`])([^"'`\n]+)\1(?!\w)""", prompt)]


def _gated(prompt: str, rules: Rules, roots: list[str]) -> Iterable[str]:
    """The features of the paths in a prompt that a rule gates, in the session's project."""
    for text in dict.fromkeys([*_quoted(prompt), *prompt.split()]):
        path = _without_line(text.lstrip(AROUND).rstrip(AROUND + "."))
        if ("/" in path or re.search(r"\.[A-Za-z0-9]+$", path)) and places.is_path(path):
            named = places.candidates(path, roots[0])
            features = [rules.feature_of(relative) for root, relative in named if root == roots[0]]
            yield from [feature for feature in features if feature is not None][:1]


def _without_line(path: str) -> str:
    """`a.ts` of `a.ts:12` and `a.ts:12:3`."""
    return re.sub(r":\d+(:\d+)?$", "", path)


def _mentioned(prompt: str, known: Iterable[str]) -> Iterable[str]:
    """Known names as whole words, the longest first; it hides the shorter ones in it."""
    names = sorted([name for name in known if name not in STOP], key=lambda name: (-len(name), name))
    if not names:
        return
    forms = "|".join([re.escape(name).replace(r"\-", "[ _-]") for name in names])
    for found in re.finditer(r"(?<![\w-])(?:" + forms + r")(?![\w-])", prompt, re.IGNORECASE):
        text = found.group().lower()
        yield PROJECT if text == PROJECT else text.replace(" ", "-").replace("_", "-")


def _described(prompt: str) -> Iterable[str]:
    """`the login flow`, `test plan for the checkout page`."""
    end = r"\s*(?:[.,;:!?()\[\]{}\n]|$)"
    patterns = [
        r"\bthe\s+" + NAME + r"\s+(?:" + NOUNS + r")\b",
        r"\btests?(?:\s+(?:plan|cases))?\s+for\s+(?:the\s+)?" + NAME + end,
    ]
    for pattern in patterns:
        for found in re.finditer(pattern, prompt, re.IGNORECASE):
            if STOP.isdisjoint(found.group(1).lower().split()) and slug(found.group(1)):
                yield slug(found.group(1))
