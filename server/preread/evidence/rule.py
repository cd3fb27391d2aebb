"""A rule: a name, its place in the dossier, its share of the budget, and a function."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from preread.evidence.view import View


class Found(NamedTuple):
    """One fact found by a rule. Rules yield facts in reading order."""

    text: str
    sources: tuple[str, ...] = ()
    score: float = 0.5  # 0 to 1: the lowest are cut first; 0 only fills room that is left
    section: str = ""  # a heading of its own: a file's path, instead of the rule's heading
    fence: tuple[str, ...] = ()  # lines of code, whole, from the first source
    about: str = ""  # what it is about, if it stays the same fact while its details change


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `weight` is its share of a dossier, relative to those of the others."""

    name: str
    file: str
    heading: str
    weight: float
    find: Callable[[View], Iterable[Found]]
    example: str
    for_thin: bool = False  # whether it also reports on a feature that the project hardly mentions
