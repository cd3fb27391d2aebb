"""Files excluded by default (generated, vendored, minified, lock files), and the ones included
anyway.
"""

from collections.abc import Iterable

from preread.index.reader import Treatment
from preread.project.globs import glob_pattern
from preread.project.ignores import Attributes
from preread.roles import left_out, own_role
from preread.settings import LEFT_OUT


class Exclusions:
    """One request's exclusions, from the setting `include` and the project's `.gitattributes`."""

    def __init__(self, include: Iterable[str], attributes: Attributes) -> None:
        included = list(include)
        self._kinds = frozenset(LEFT_OUT) & set(included)
        self._globs = [glob_pattern(glob) for glob in included if glob not in LEFT_OUT]
        self._attributes = attributes
        # When this changes, every file is classified again.
        self.key = repr((sorted(included), attributes.key))
        self._by_text = "".join(kind[0] for kind in LEFT_OUT if kind not in self._kinds)

    def treatment(self, path: str) -> Treatment:
        """How to index a file, as far as its path decides it."""
        kind, is_own = self._classified(path)
        if any(glob.fullmatch(path) for glob in self._globs) or kind in self._kinds:
            role = own_role(path)
            return Treatment("source" if role in {"data", "config"} else role, "+")
        if kind:
            return Treatment("generated", "-")
        return Treatment(own_role(path), "+" if is_own else self._by_text)

    def _classified(self, path: str) -> tuple[str, bool]:
        """The kind of an excluded file, else "", and whether the project declares it its own."""
        kind = left_out(path)
        if not self._attributes:
            return kind, False
        declared = self._attributes.of(path)
        by_path = "" if declared.get(kind) is False else kind
        by_attribute = next((name for name, is_set in declared.items() if is_set), "")
        return by_attribute or by_path, False in declared.values()
