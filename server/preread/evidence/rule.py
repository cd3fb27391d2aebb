"""What a rule is: a name, its place in a dossier, its share of the budget, and a function."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from preread.evidence.view import View


class Found(NamedTuple):
    """One fact that a rule found. Rules yield their facts in the order in which they are read."""

    text: str
    sources: tuple[str, ...] = ()
    score: float = 0.5  # 0 to 1: what scores least is cut first
    section: str = ""  # a heading of its own: a file's path, instead of the rule's heading
    fence: tuple[str, ...] = ()  # lines of code, whole, from the first source


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `weight` is its share of a dossier, relative to those of the others."""

    name: str
    file: str
    heading: str
    weight: float
    find: Callable[[View], Iterable[Found]]
    example: str
