"""Dossiers whose name is near to one that is asked for."""

from __future__ import annotations

from gatelib import places
from gatelib.rules import PROJECT, is_feature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gatelib.rules import Rules

SHOWN = 2
EDITS = 2
SHORT = 4  # names of this length and less are near to far too much


def standing(roots: list[str]) -> list[str]:
    """The features whose dossiers stand, by name."""
    names = {
        name
        for root in roots
        for name in places.dossiers(root)
        if is_feature(name) or name == PROJECT
    }
    return sorted([name for name in names if places.standing(roots, name)])


def names(asked: str, rules: Rules, roots: list[str]) -> list[str]:
    """The names that are near to one, the nearest first."""
    if asked == PROJECT:
        return []
    there = standing(roots)
    known = {*there, *[left for left, right in rules.aliases.items() if right in there]} - {
        PROJECT,
        asked,
    }
    kinds = [(_kind(asked, name), name) for name in known]
    return [
        name
        for _, name in sorted([(kind, name) for kind, name in kinds if kind is not None])[:SHOWN]
    ]


def hint(asked: str, rules: Rules, roots: list[str]) -> str:
    """The near names, as they stand in a text; nothing where there is none."""
    found = names(asked, rules, roots)
    if not found:
        return ""
    line = "alias " + asked + " " + rules.served_by(found[0])
    start = (
        " (there is one for "
        + ", ".join(found)
        + ": if that is the feature, load that one and name the file for it, "
    )
    return start + 'or have the person add "' + line + '" to .project/gates)'


def _kind(asked: str, name: str) -> int | None:
    """How two names are near, the nearest kind first; None where they are not."""
    if asked.replace("-", "") == name.replace("-", ""):
        return 0
    if len(asked) > SHORT and len(name) > SHORT and _edits(asked, name) <= EDITS:
        return 1
    one, other = "-" + asked + "-", "-" + name + "-"
    return 2 if one in other or other in one else None


def _edits(one: str, other: str) -> int:
    """Insertions, deletions and replacements between two names; more than are counted where the lengths say so."""
    if abs(len(one) - len(other)) > EDITS:
        return EDITS + 1
    row = list(range(len(other) + 1))
    for i, char in enumerate(one, 1):
        above, row = row, [i]
        for j, against in enumerate(other, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (char != against)))
    return row[-1]
