"""`init --undo`: remove what `init` wrote; what was changed since is copied first."""

from collections.abc import Mapping
from pathlib import Path

from preread import backups
from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.layout import Layout

DERIVED = frozenset({".cache"})  # may be deleted at any time
IGNORES = ".gitignore"


def undo(layout: Layout, texts: Mapping[str, str]) -> tuple[list[str], list[str], list[str]]:
    """Remove the files of `texts`: name -> what `init` would write now.

    Returns the removed files, the kept ones, and notes. `.gitignore` stays while there is
    something for it to ignore. Raises E_WRITE.
    """
    removed, notes = [], []
    for name, text in texts.items():
        path = layout.project / name
        data = plain_bytes(path)
        if data is None or name == IGNORES:
            continue
        if data != text.encode():
            notes.append(f"{layout.relative(path)} differed, so a copy is {_copy(layout, path)}")
        atomic.remove(path)
        removed.append(layout.relative(path))
    left = _entries(layout.project) - DERIVED - {IGNORES}
    if not left and layout.project.is_dir():
        atomic.remove(layout.project)
        return [*removed, f"{layout.relative(layout.project)}/"], [], notes
    kept = sorted(layout.relative(layout.project / name) for name in left)
    if kept:
        notes.append("Delete .project/ yourself if you want to lose the rest as well.")
    return removed, kept, notes


def _copy(layout: Layout, path: Path) -> str:
    """Copy a file into the backups; returns the copy's path. The folder is no feature's."""
    folder = layout.all_backups / backups.INIT
    number = 1
    while (folder / f"{path.name}.{number}").exists():
        number += 1
    copy = folder / f"{path.name}.{number}"
    atomic.write(copy, path.read_bytes(), durable=True)
    return layout.relative(copy)


def _entries(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()
