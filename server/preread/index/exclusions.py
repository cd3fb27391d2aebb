"""What evidence leaves out by default (generated, vendored, minified, lock files), and what of it
is asked for.
"""

from collections.abc import Iterable

from preread.index.reader import Way
from preread.languages import left_out, own_role
from preread.project.ignores import Attributes
from preread.project.tree import glob_pattern
from preread.settings import LEFT_OUT


class LeftOut:
    """The choice of one request: the setting `include`, and what the project's `.gitattributes`
    say.
    """

    def __init__(self, include: Iterable[str], attributes: Attributes) -> None:
        asked = list(include)
        self._kinds = frozenset(LEFT_OUT) & set(asked)
        self._globs = [glob_pattern(glob) for glob in asked if glob not in LEFT_OUT]
        self._attributes = attributes
        self.choice = repr(
            (sorted(asked), attributes.key)
        )  # ways of the same paths differ where this does
        self._by_text = "".join(kind[0] for kind in LEFT_OUT if kind not in self._kinds)

    def way(self, path: str) -> Way:
        """How to take a file, as far as its path says."""
        kind, own = left_out(path), False
        if self._attributes:
            said = self._attributes.of(path)
            kind, own = (
                _said(said) or ("" if said.get(kind) is False else kind),
                False in said.values(),
            )
        if any(glob.fullmatch(path) for glob in self._globs) or kind in self._kinds:
            role = own_role(path)
            return Way("source" if role in {"data", "config"} else role, "+")
        if kind:
            return Way("generated", "-")
        return Way(own_role(path), "+" if own else self._by_text)


def _said(said: dict[str, bool]) -> str:
    return next((kind for kind, holds in said.items() if holds), "")
