"""Finds dossiers whose names are similar to a requested one."""

from __future__ import annotations

from preread.gates import dossiers
from preread.gates.feature_names import PROJECT, is_feature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from preread.gates.rules import Rules

MAX_SHOWN = 2
MAX_EDITS = 2
MIN_LENGTH = 5  # almost any two names shorter than this are two edits apart
SAME_NAME, SIMILAR, CONTAINED, OTHER = range(4)


def similarity(one: str, other: str) -> int:
    """How near two names are: SAME_NAME (but for hyphens), SIMILAR, CONTAINED or OTHER."""
    if one.replace("-", "") == other.replace("-", ""):
        return SAME_NAME
    if min(len(one), len(other)) >= MIN_LENGTH and _edits(one, other) <= MAX_EDITS:
        return SIMILAR
    first, second = "-" + one + "-", "-" + other + "-"
    return CONTAINED if first in second or second in first else OTHER


def _edits(one: str, other: str) -> int:
    """The Levenshtein distance, or some number above MAX_EDITS."""
    if abs(len(one) - len(other)) > MAX_EDITS:
        return MAX_EDITS + 1
    row = list(range(len(other) + 1))
    for i, char in enumerate(one, 1):
        above, row = row, [i]
        for j, against in enumerate(other, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (char != against)))
    return row[-1]


def with_dossiers(roots: list[str]) -> list[str]:
    """The features that have a complete dossier, by name."""
    names = {name for root in roots for name in dossiers.folders(root) if is_feature(name)}
    return sorted(name for name in names if dossiers.is_complete(roots, name))


def near(asked: str, rules: Rules, roots: list[str]) -> list[str]:
    """The names near `asked` that lead to a dossier, nearest first."""
    if asked == PROJECT:
        return []
    available = with_dossiers(roots)
    known = {*available, *[name for name, served in rules.aliases.items() if served in available]}
    ranked = sorted((similarity(asked, name), name) for name in known - {PROJECT, asked})
    return [name for rank, name in ranked if rank != OTHER][:MAX_SHOWN]


def hint(asked: str, rules: Rules, roots: list[str]) -> str:
    """The near names as part of a message; empty without any."""
    found = near(asked, rules, roots)
    if not found:
        return ""
    line = f"alias {asked} {rules.served_by(found[0])}"
    return (
        f" (there is one for {', '.join(found)}: if that is the same feature, load that dossier "
        f'and rename the file to match, or ask the person to add "{line}" to .project/gates)'
    )
