"""The project that a session's hook works in: the nearest with a gates file, its rules and mode."""

from __future__ import annotations

import os

from preread.gates import dossiers, messages, modes, paths, rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from preread.gates.rules import Rules


class Workspace:
    """One project as a hook sees it."""

    __slots__ = ("mode", "notes", "root", "roots", "rules", "session")

    def __init__(
        self, root: str, session: str, found: Rules, roots: list[str], environ: Mapping[str, str]
    ) -> None:
        mode = modes.effective_mode(found, roots, environ)
        self.root = root  # where state is stored
        self.roots = roots  # where to look for dossiers
        self.session = session  # its id; may be empty
        self.rules = found
        self.mode = mode.mode
        self.notes = mode.notes

    def feature_of(self, path: str) -> str | None:
        """The feature whose dossier an absolute path needs by this project's rules."""
        for root, relative in paths.candidates(path, self.root):
            feature = self.rules.feature_of(relative) if root == self.root else None
            if feature is not None:
                return feature
        return None

    def names(self, feature: str) -> list[str]:
        """A feature and the names that it serves: a run log may use any of them."""
        aliases = self.rules.aliases.items()
        return [feature, *sorted(name for name, served in aliases if served == feature)]

    def missing(self, feature: str) -> str:
        """Why a feature's dossier cannot be used, with the names near it."""
        return messages.reason(feature, self.rules, self.roots)

    def has_dossier(self, feature: str) -> bool:
        try:
            return dossiers.is_complete(self.roots, feature)
        except OSError:
            return True  # never ask for what cannot be checked


def find(
    event: Mapping[str, Any], environ: Mapping[str, str], folders: Iterable[str] = ()
) -> Workspace | None:
    """The first project with a gates file, of these folders, then of the session.

    Raises rules.Broken. None when there is none, and inside a dossier's own build.
    """
    if environ.get("PREREAD_CHILD"):
        return None
    own = paths.session_root(event, environ)
    near = [paths.project_of(os.path.join(folder, ".")) for folder in folders]
    roots = list(dict.fromkeys(root for root in (*near, own) if root is not None))
    session = event.get("session_id")
    for root in roots:
        found = rules.read(root)
        if found is not None:
            name = session if isinstance(session, str) else ""
            return Workspace(root, name, found, roots, environ)
    return None
