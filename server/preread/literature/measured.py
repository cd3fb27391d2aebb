"""How often each rule was right, on labelled sentences and manuals that it was not tuned on.

`python bench/entities.py --write` measures and writes the counts.
"""

# Rule -> how many of its matches were right, and how many matches there were.
COUNTS: dict[str, tuple[int, int]] = {
    "metadata": (27, 27),
    "author": (1, 1),
    "reference": (12, 14),
    "schema": (12, 12),
    "method-and-path": (15, 15),
    "path": (1, 1),
    "error-code": (18, 19),
    "error-said": (10, 19),
    "option": (14, 15),
    "upper-case": (15, 24),
    "setting-said": (9, 14),
    "setting-called": (0, 0),
    "call": (20, 20),
    "code-span": (20, 21),
    "dotted": (12, 17),
    "camel-case": (14, 24),
    "snake-case": (16, 17),
    "organisation": (12, 16),
    "legal-form": (5, 6),
    "et-al": (4, 4),
    "cited": (18, 19),
    "thanked": (14, 15),
    "theory": (16, 18),
    "method": (11, 16),
    "method-used": (2, 3),
    "definition": (24, 25),
    "definition-said": (22, 25),
    "extends-said": (13, 23),
    "contradicts-said": (7, 8),
}  # fmt: skip
REFERENCE = "reference"  # finds cited works
UNKNOWN = 0.5  # for a rule that matched nothing there


def confidence(rule: str) -> float:
    """The measured precision of a rule."""
    right, found = COUNTS[rule]
    return round(right / found, 2) if found else UNKNOWN
