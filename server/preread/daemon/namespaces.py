"""Namespaces: one per project root. Over TCP, only those that a person allowed can be opened."""

import json
from collections.abc import Mapping
from pathlib import Path

from preread.daemon import places
from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.locks import FileLock
from preread.operations.registry import root_of

ALLOW = "`preread serve allow DIR` allows a project's folder."


class Namespaces:
    """The allowed roots of one user, in a file that the daemon re-reads when it changes."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        folder = Path(places.state_folder(environ))
        self._file, self._lock = folder / "namespaces.json", folder / "namespaces.lock"
        self._seen: tuple[int, int] | None = None
        self._roots: tuple[Path, ...] = ()

    def allow(self, folder: Path) -> Path:
        """Allow the project around a folder; returns its root. Raises E_PROJECT_DIR."""
        root = root_of(folder)
        with self._changing():
            self._write({*self.allowed(), root})
        return root

    def forbid(self, folder: Path) -> Path:
        """Revoke that; returns the root. Raises E_NOT_FOUND."""
        root = next((each for each in self.allowed() if each == folder.absolute()), None)
        root = root or root_of(folder)
        with self._changing():
            if root not in self.allowed():
                raise PrereadError("E_NOT_FOUND", f"{root} was not allowed.")
            self._write(set(self.allowed()) - {root})
        return root

    def allowed(self) -> tuple[Path, ...]:
        """The allowed roots. Raises E_READ."""
        try:
            found = self._file.stat()
            state = found.st_mtime_ns, found.st_ino
            if state != self._seen:
                self._roots = tuple(Path(each) for each in json.loads(self._file.read_bytes()))
                self._seen = state
        except FileNotFoundError:
            self._roots, self._seen = (), None
        except (OSError, ValueError, TypeError) as error:
            self._roots, self._seen = (), None
            message = f"{self._file} is no list of folders."
            raise PrereadError("E_READ", message, f"Move it away. {ALLOW}") from error
        return self._roots

    def find(self, wanted: str, *, only: str = "") -> Path:
        """The allowed root of a path or a name; the default is the only allowed root.

        If `only` is set, the caller may open no other root. For it, other roots do not exist:
        E_NOT_FOUND says the same of both.
        """
        roots = [root for root in self.allowed() if only in {"", str(root)}]
        found = [root for root in roots if wanted in {"", str(root), root.name}]
        if len(found) == 1 and _is_root(found[0]):
            return found[0]
        if len(found) > 1:
            which = "Name one" if not wanted else "Give the path of one"
            raise PrereadError("E_NOT_FOUND", f"There are {len(found)} namespaces. {which}.")
        raise PrereadError("E_NOT_FOUND", f"There is no namespace {wanted[:80]!a}.", ALLOW)

    def _changing(self) -> FileLock:
        atomic.make_folder(self._file.parent)
        self._file.parent.chmod(0o700)
        return FileLock(self._lock, timeout=10)

    def _write(self, roots: set[Path]) -> None:
        data = json.dumps(sorted(map(str, roots)), indent=1)
        atomic.write(self._file, data.encode(), durable=True)


def _is_root(root: Path) -> bool:
    """Whether a root is still the folder that was allowed, and not a link to another."""
    try:
        return root_of(root) == root
    except PrereadError:
        return False
