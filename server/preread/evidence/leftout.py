"""What evidence leaves out by default (generated, vendored, minified, lock files), and what of it is asked for."""

from collections.abc import Iterable
from typing import NamedTuple

from preread.ignores import Attributes
from preread.languages import Role, left_out, left_out_by_text, own_role
from preread.settings import LEFT_OUT
from preread.tree import glob_pattern

UNREAD = frozenset({"generated", "data"})  # roles of files that are listed by path alone


class Way(NamedTuple):
    """How the index takes one file. Where the letters are others than last time, the file is read again."""

    role: Role
    letters: str  # "-" left out, "+" asked for, else the beginnings of the kinds that its text may still make it


class LeftOut:
    """The choice of one request: the setting `include`, and what the project's `.gitattributes` say."""

    def __init__(self, include: Iterable[str], attributes: Attributes) -> None:
        asked = list(include)
        self._kinds = frozenset(LEFT_OUT) & set(asked)
        self._globs = [glob_pattern(glob) for glob in asked if glob not in LEFT_OUT]
        self._attributes = attributes
        self.choice = repr((sorted(asked), attributes.key))  # ways of the same paths differ where this does
        self._by_text = "".join(kind[0] for kind in LEFT_OUT if kind not in self._kinds)

    def way(self, path: str) -> Way:
        """How to take a file, as far as its path says."""
        kind, own = left_out(path), False
        if self._attributes:
            said = self._attributes.of(path)
            kind, own = _said(said) or ("" if said.get(kind) is False else kind), False in said.values()
        if any(glob.fullmatch(path) for glob in self._globs) or kind in self._kinds:
            role = own_role(path)
            return Way("source" if role in {"data", "config"} else role, "+")
        if kind:
            return Way("generated", "-")
        return Way(own_role(path), "+" if own else self._by_text)

    def role_by_text(self, path: str, way: Way, text: str) -> Role:
        """The role of a file once it is read: what a generator wrote into it, or how long its lines are, may count."""
        if way.role not in {"source", "test", "support"} or way.letters == "+":
            return way.role
        kind = left_out_by_text(path, text)
        return "generated" if kind and kind[0] in way.letters else way.role


def _said(said: dict[str, bool]) -> str:
    return next((kind for kind, holds in said.items() if holds), "")
