"""Digests: what a passage decides, does and remarks, in the words of its own lines."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from preread.dossier import code
from preread.evidence import decisions, phrases, saying
from preread.evidence.passages import Passage, passages
from preread.evidence.view import View, once
from preread.models import Finding

STATEMENT = re.compile(r"^(?:return|yield|throw|raise|panic|await|del)\b|[(=]")
LITERAL = re.compile(r"[\"'`][^\"'`]{2,}[\"'`]")
ENDS = re.compile(r"^(?:return|yield|throw|raise|panic)\b")
CHANGES = re.compile(
    r"\.(?:append|pop|push|set|delete|remove|add|clear|cancel|emit|send\w*|count|split|strip|lstrip|replace)\("
)
SETS = re.compile(r"^(?:[\w.]+\[.*\]|(?:self|this|[a-z])\.\w+)\s*=(?!=)")
SAYS = re.compile(r"\b(?:t|_|print|echo|console\.\w+|log\w*|logger\.\w+)\(")
DULL = re.compile(
    r"^(?:return|yield|raise|throw)?\s*(?:[\w.]*|[\[({]*[\])}]*|[\"'`]{2}|-?\d+)$"
    r"|^(?:import|from|export|def|class|func|fn|async def|function|assert)\b|^\w+\.(\w+) = \1$"
    r"|=>$|\($|^[\"'@*>.?:&|)}\]]"
)
LONGEST, MOST_SAID, MOST_ITEMS, MOST, LEAST = 90, 260, 5, 18, 1.6
REMARK = 150


class Item(NamedTuple):
    """One thing a passage says: a text that stands there, its line, and how much it tells."""

    worth: float
    line: int
    text: str


@once
def inside(view: View) -> Iterator[Finding]:
    """What the passages nearest to the feature decide, do and remark."""
    found = []
    for passage in passages(view)[: 4 * MOST]:
        chosen = _chosen(_items(view, passage))
        worth = sum(item.worth for item in chosen)
        if worth >= LEAST:
            found.append((passage.near * (4 + worth), passage, chosen))
    found.sort(key=lambda one: -one[0])
    told: set[str] = set()
    best = found[0][0] if found else 1.0
    for worth, passage, chosen in found:
        said = "; ".join(item.text for item in chosen)
        if said in told or len(told) >= MOST:
            continue
        told.add(said)
        name = passage.symbol.name
        yield Finding(
            rule="inside",
            kind="inside",
            text=f"{code(name) if phrases.provable(name) else name}: {said}",
            sources=(passage.file.cite(passage.start, passage.end),),
            reason="conditions, effects and remarks of a passage near the feature",
            score=0.6 + 0.35 * worth / best,
        )


def _chosen(items: list[Item]) -> list[Item]:
    """The items that tell most and fit, in their order."""
    chosen: list[Item] = []
    left = MOST_SAID
    for item in sorted(items, key=lambda one: (-one.worth, one.line)):
        again = any(item.text in other.text for other in chosen)  # what a condition leads to is a statement, too
        if item.worth > 0.8 and len(item.text) + 2 <= left and not again and len(chosen) < MOST_ITEMS:
            chosen.append(item)
            left -= len(item.text) + 2
    return sorted(chosen, key=lambda one: one.line)


def _items(view: View, passage: Passage) -> list[Item]:
    decided = list(_decisions(passage))
    taken = {line for item in decided for line in (item.line, item.line + 1)}
    done = [item for item in _statements(passage) if item.line not in taken]
    found = [*decided, *_remarks(passage), *done]
    return [item._replace(worth=item.worth + 1.5 * min(1.0, view.relevance(item.text))) for item in found]


def _decisions(passage: Passage) -> Iterator[Item]:
    for one in decisions.decisions(passage.file, passage.start, passage.end):
        yield Item(one.worth, one.line, decisions.said(one))


def _remarks(passage: Passage) -> Iterator[Item]:
    for comment in passage.file.details.comments:
        if passage.start < comment.start <= passage.end:
            said, worth = saying.worth_saying(passage.file, comment)
            if said:
                yield Item(worth, comment.start, phrases.quote(said, REMARK))


def _statements(passage: Passage) -> Iterator[Item]:
    """Statements on one line that return, change or name something in full."""
    for number in _body(passage):
        line = passage.file.lines[number - 1].strip()
        if not line or len(line) > LONGEST or not STATEMENT.search(line) or decisions.COMMENT.match(line):
            continue
        line = re.sub(r"\s*[{;,]$", "", line)
        if DULL.match(line) or decisions.CONDITION.match(line) or not phrases.balanced(line):
            continue
        worth = (
            1.0 * bool(LITERAL.search(line))
            + 0.5 * bool(ENDS.match(line))
            + 0.7 * bool(CHANGES.search(line))
            + 0.5 * bool(SETS.match(line))
            - 1.0 * bool(SAYS.search(line))
        )
        if worth > 0 and phrases.provable(line):
            yield Item(worth, number, phrases.quote(line, LONGEST))


def _body(passage: Passage) -> Iterator[int]:
    """The lines of a passage behind its function's head, without docstrings."""
    lines, number = passage.file.lines, passage.start
    if number == passage.symbol.start:
        head = lines[number - 1]
        while not phrases.balanced(head) and number < passage.end:
            number += 1
            head += lines[number - 1]
        number += 1
    inside = False
    for n in range(number, passage.end + 1):
        marks = lines[n - 1].count('"""') if passage.file.path.endswith((".py", ".pyi")) else 0
        if not inside and not marks:
            yield n
        inside ^= marks % 2 == 1
