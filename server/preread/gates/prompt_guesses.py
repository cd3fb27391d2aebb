"""Which feature a prompt names when it has no `feature: NAME`: steps 2 to 6 of
docs/gates-reference.md, "Agents"."""

from __future__ import annotations

import re

from preread.gates import near_names, paths
from preread.gates.feature_names import PROJECT, is_feature, slug
from preread.gates.stop_words import STOP_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from preread.gates.rules import Rules

NOUNS = (
    "flow|page|feature|screen|form|dialog|module|endpoint|api|component|view|wizard|journey|story"
)
AROUND = "\"'`()<>,;:!?*"
WORD = r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*"
NAME = "(" + WORD + r"(?:\s+" + WORD + "){0,2})"


def features(prompt: str, rules: Rules, roots: list[str]) -> set[str]:
    """The features that the first successful step finds."""
    known = frozenset([*near_names.with_dossiers(roots), *rules.aliases])
    steps: list[Callable[[], Iterable[str]]] = [
        lambda: [word for word in _quoted(prompt) if word in known],
        lambda: _gated(prompt, rules, roots),
        lambda: _mentioned(prompt, known),
        lambda: [word for word in _quoted(prompt) if _may_be_feature(word)],
        lambda: _described(prompt),
    ]
    for step in steps:
        found = {rules.served_by_name(name) for name in step()}
        if found:
            return found
    return set()


def _may_be_feature(word: str) -> bool:
    return is_feature(word) and word not in STOP_WORDS and word != PROJECT


def _quoted(prompt: str) -> list[str]:
    """The texts between two equal quotes or backticks on one line."""
    return [
        found.group(2) for found in re.finditer(r"""(?<!\w)(["'`])([^"'`\n]+)\1(?!\w)""", prompt)
    ]


def _gated(prompt: str, rules: Rules, roots: list[str]) -> Iterable[str]:
    """The features of the paths in a prompt that a rule gates, in the session's project."""
    for text in dict.fromkeys([*_quoted(prompt), *prompt.split()]):
        path = _without_line(text.lstrip(AROUND).rstrip(AROUND + "."))
        if ("/" in path or re.search(r"\.[A-Za-z0-9]+$", path)) and paths.is_path(path):
            named = paths.candidates(path, roots[0])
            features = [rules.feature_of(relative) for root, relative in named if root == roots[0]]
            yield from [feature for feature in features if feature is not None][:1]


def _without_line(path: str) -> str:
    """`a.ts` of `a.ts:12` and `a.ts:12:3`."""
    return re.sub(r":\d+(:\d+)?$", "", path)


def _mentioned(prompt: str, known: Iterable[str]) -> Iterable[str]:
    """Known names as whole words, the longest first; it hides the shorter ones in it."""
    names = sorted(
        [name for name in known if name not in STOP_WORDS], key=lambda name: (-len(name), name)
    )
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
            if STOP_WORDS.isdisjoint(found.group(1).lower().split()) and slug(found.group(1)):
                yield slug(found.group(1))
