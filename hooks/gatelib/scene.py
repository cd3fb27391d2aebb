"""Where a session's hook works: the project with a gates file, its rules, and whether anything is said."""

from __future__ import annotations

import os

from gatelib import places, rules, switches, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from gatelib.rules import Rules


class Scene:
    """One project as a hook sees it."""

    __slots__ = ("mode", "notes", "root", "roots", "rules", "session")

    def __init__(
        self, root: str, session: str, found: Rules, roots: list[str], environ: Mapping[str, str]
    ) -> None:
        switch = switches.switch(found, roots, environ)
        self.root = root  # where state is kept
        self.roots = roots  # where dossiers are looked for
        self.session = session
        self.rules = found
        self.mode = switch.mode
        self.notes = switch.notes

    def feature_of(self, path: str) -> str | None:
        """The feature whose dossier an absolute path needs by the rules of this project."""
        for root, relative in places.candidates(path, self.root):
            feature = self.rules.feature_of(relative) if root == self.root else None
            if feature is not None:
                return feature
        return None

    def names(self, feature: str) -> list[str]:
        """A feature and the names that it serves: a run log may be called by any of them."""
        return [
            feature,
            *sorted(name for name, served in self.rules.aliases.items() if served == feature),
        ]

    def lacks(self, feature: str) -> str:
        """What is missing of a feature's dossier, with the names that are near."""
        return texts.reason(feature, self.rules, self.roots)

    def stands(self, feature: str) -> bool:
        try:
            return places.standing(self.roots, feature)
        except OSError:
            return True  # what cannot be looked at is asked of nobody


def scene(
    event: Mapping[str, Any], environ: Mapping[str, str], folders: Iterable[str] = ()
) -> Scene | None:
    """The first project with a gates file: of these folders, then the session's. Raises rules.Broken.

    None in a dossier's own build, and where nobody wants gates.
    """
    if environ.get("PREREAD_CHILD"):
        return None
    own = places.session_root(event, environ)
    near = [places.project_of(os.path.join(folder, ".")) for folder in folders]
    roots = list(dict.fromkeys(root for root in (*near, own) if root is not None))
    session = event.get("session_id")
    for root in roots:
        found = rules.read(root)
        if found is not None:
            return Scene(root, session if isinstance(session, str) else "", found, roots, environ)
    return None
