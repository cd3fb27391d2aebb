"""Feature names, and the slugs that other names become."""

from __future__ import annotations

PROJECT = "_project"  # the feature that means the whole project
MAX_LENGTH = 64
# Names that Windows reserves: no folder can be called so.
DEVICES = frozenset(
    [
        "con",
        "prn",
        "aux",
        "nul",
        *["com" + str(n) for n in range(1, 10)],
        *["lpt" + str(n) for n in range(1, 10)],
    ]
)
_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


def slug(text: str) -> str:
    """The slug of a name: lower case, each run of other characters one `-`; it may be empty."""
    words = "".join([char if char in _CHARACTERS else " " for char in text.lower()]).split()
    return "-".join(words)[:MAX_LENGTH].strip("-")


def is_feature(name: str) -> bool:
    """Whether `name` is a feature name; `_project` is one."""
    if name == PROJECT:
        return True
    return (
        len(name) <= MAX_LENGTH
        and name not in DEVICES
        and all(part and _CHARACTERS.issuperset(part) for part in name.split("-"))
    )


def feature_of_text(text: str) -> str:
    """The feature that free text means; `_project` if no name is left of it."""
    name = slug(text)
    return name if name and name not in DEVICES else PROJECT


def feature_of_argument(name: str) -> str:
    """The feature that a call names; empty when it has no slug."""
    return name if name == PROJECT else slug(name)
