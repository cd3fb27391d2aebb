"""The edition of the parsing rules: files parsed by another edition are parsed again."""

import hashlib
import os
import sys
from functools import cache
from pathlib import Path

from preread.infra import assets


@cache
def edition() -> str:
    """A digest of the rules and of the installed grammars, so it changes when they do."""
    digest = hashlib.sha256()
    folder = Path(__file__).parent
    rules = sorted((*folder.glob("*.py"), *folder.glob("queries/*.scm")))
    for path in (*rules, folder.parent / "languages.py", folder.parent / "roles.py"):
        try:
            digest.update(path.name.encode() + b"\0" + assets.text(path).encode() + b"\0")
        except OSError:
            continue
    digest.update("\0".join(_grammars()).encode("utf-8", "replace"))
    return digest.hexdigest()[:12]


def _grammars() -> list[str]:
    """The grammars with their versions, by the names of their folders: metadata would cost an
    import.
    """
    found: set[str] = set()
    for folder in sys.path:
        try:
            with os.scandir(folder or ".") as entries:
                names = [entry.name for entry in entries]
        except OSError:
            continue
        found.update(
            name for name in names if name.startswith("tree_sitter") and name.endswith("-info")
        )
    return sorted(found)
