"""Namespaces: the project roots that a person allowed; over TCP, no others can be opened."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from preread.daemon.stored import Stored
from preread.errors import PrereadError
from preread.operations.registry import root_of

ALLOW = "`preread serve allow DIR` allows a project's folder."


def unknown(wanted: str) -> PrereadError:
    """The error for a namespace that a caller cannot open, whether or not there is one."""
    return PrereadError("E_NOT_FOUND", f"There is no namespace {wanted[:80]!a}.", ALLOW)


class Namespaces:
    """The allowed roots of one user."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._stored = Stored(environ, "namespaces", _parsed, f"Move it away. {ALLOW}")

    def allow(self, folder: Path) -> Path:
        """Allow the project around a folder; returns its root. Raises E_PROJECT_DIR."""
        root = root_of(folder)
        with self._stored.changing():
            self._write({*self.allowed(), root})
        return root

    def forbid(self, folder: Path) -> Path:
        """Revoke the permission for a project; returns its root. Raises E_NOT_FOUND."""
        root = next((each for each in self.allowed() if each == folder.absolute()), None)
        root = root or root_of(folder)
        with self._stored.changing():
            if root not in self.allowed():
                raise PrereadError("E_NOT_FOUND", f"{root} was not allowed.")
            self._write(set(self.allowed()) - {root})
        return root

    def allowed(self) -> tuple[Path, ...]:
        """The allowed roots. Raises E_READ if their file cannot be used."""
        return self._stored.value()

    def find(self, wanted: str, *, only: str = "") -> Path:
        """The allowed root with this path or name; without one, the only allowed root.

        If `only` is set, the caller may open no other root, and E_NOT_FOUND does not reveal whether
        another exists.
        """
        roots = [root for root in self.allowed() if only in {"", str(root)}]
        found = [root for root in roots if wanted in {"", str(root), root.name}]
        if len(found) == 1:
            return found[0]
        if len(found) > 1:
            which = "Name one" if not wanted else "Give the path of one"
            raise PrereadError("E_NOT_FOUND", f"There are {len(found)} namespaces. {which}.")
        raise unknown(wanted)

    def _write(self, roots: set[Path]) -> None:
        self._stored.write(sorted(map(str, roots)))


def _parsed(data: list[Any]) -> tuple[Path, ...]:
    return tuple(Path(each) for each in data)
