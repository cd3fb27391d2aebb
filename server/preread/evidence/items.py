"""Items: the things that a passage says, each with what it stands under, and which of them say nothing."""

import re
from collections import defaultdict
from typing import NamedTuple

from preread.evidence import decisions, effects, guards
from preread.evidence.decisions import Decision
from preread.evidence.passages import Passage

LEAVES = re.compile(r"`+\s?(?:return|yield|throw|raise|panic)\b")
MEMBER = re.compile(r"[\w.]+\s*={2,3}\s*[\w.]+[.:](\w+)$")
MADE = re.compile(r"\b(\w+)\(")
ALIKE = 3  # cases of a choice that each lead to what is called as they are
SPARE = 100  # characters beyond what is told for the conditions that things stand under


class Item(NamedTuple):
    """One thing a passage says: a text that stands there, its line, what it is, and how likely it matters."""

    line: int
    text: str
    kind: str  # "decision", "plain" if it says little, "statement", "remark", "strong" or "weak" if it warns,
    # "purpose" if a name says it
    likely: float = 0.0


def guarded(passage: Passage, chosen: list[Item], most: int) -> list[Item]:
    """The items, each with what it stands under where that is not told; what does not fit is left out, and what leaves
    the function for a reason that cannot be told. `most` is how many characters are told without that."""
    left = most + SPARE - sum(len(item.text) + 2 for item in chosen)
    lines = {item.line for item in chosen if item.kind in {"decision", "plain"}}
    told = []
    for item in chosen:
        line, condition = 0, ""
        if item.kind in {"decision", "plain", "statement"}:
            line, condition = guards.guard(
                passage.file, max(passage.start, passage.symbol.start), item.line
            )
        leaves = (
            line
            and not condition
            and LEAVES.match(item.text)
            and not effects.MESSAGE.search(item.text)
        )
        if decisions.ASKS_LOG.search(condition) or leaves:
            continue
        if condition and line not in lines:
            text = _under(condition, item)
            left -= len(text) - len(item.text)
            if left < 0:
                left += len(text) + 2
                continue
            item = item._replace(text=text)  # noqa: PLW2901
        told.append(item)
    return _unequal(told)


def _under(condition: str, item: Item) -> str:
    if item.kind == "statement":
        return f"{condition}: {item.text}"
    is_both = condition.startswith("if ") and item.text.startswith("if ")
    return (
        f"{condition} and {item.text.removeprefix('if ')}"
        if is_both
        else f"{condition}, {item.text}"
    )


def _unequal(told: list[Item]) -> list[Item]:
    """Without conditions that lead now here, now there: what makes the difference is not told."""
    leads: dict[str, set[str]] = defaultdict(set)
    for item in told:
        leads[item.text.partition("`: ")[0]].add(item.text)
    is_clear = {head: len(texts) == 1 or "`" not in head for head, texts in leads.items()}
    found = [
        item
        for item in told
        if item.kind not in {"decision", "plain"} or is_clear[item.text.partition("`: ")[0]]
    ]
    return list({item.text: item for item in reversed(found)}.values())[::-1]


def is_dispatch(one: Decision) -> bool:
    """Whether a condition asks for a member of an enumeration and leads to what is called like that member."""
    asked, made = MEMBER.match(one.condition), MADE.search(one.effect)
    return asked is not None and made is not None and _plain(asked[1]) in _plain(made[1])


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
