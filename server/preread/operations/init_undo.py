"""`init --undo`: remove what `init` wrote; files that were changed since are backed up first."""

from collections.abc import Mapping
from pathlib import Path

from preread import backups, git_rules
from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.layout import Layout

DERIVED = frozenset({".cache"})  # may be deleted at any time
OWN = frozenset({".state", "context"})  # what a load makes, also before `init`
IGNORES = ".gitignore"
WITH_HEADER = frozenset({"config.toml", "gates"})  # people change these, but not their first lines


def is_of_init(name: str, data: bytes | None, text: str) -> bool:
    """Whether `init`, which would write `text` now, wrote a file that has these bytes today."""
    if data is not None and name in WITH_HEADER:
        return data.partition(b"\n")[0] == text.encode().partition(b"\n")[0]
    return data == text.encode()


def undo(layout: Layout, texts: Mapping[str, str]) -> tuple[list[str], list[str], list[str]]:
    """Remove the files of `texts` that `init` wrote: name -> what it would write now.

    Returns the removed files, the kept ones, and notes. `.gitignore` stays while files are left; if
    those are only what a load makes, it gets the text from before `init` back. Raises E_WRITE.
    """
    removed, notes = [], []
    for name, text in texts.items():
        path = layout.project / name
        data = plain_bytes(path)
        if data is None or name == IGNORES or not is_of_init(name, data, text):
            continue
        if data != text.encode():
            copy = _copy(layout, path.name, data)
            notes.append(f"{layout.relative(path)} differed, so a copy is {copy}")
        atomic.remove(path)
        removed.append(layout.relative(path))
    ignores = layout.project / IGNORES
    left = _entries(layout.project) - DERIVED
    if git_rules.is_own(plain_bytes(ignores)):
        left -= {IGNORES}
    if not left and layout.project.is_dir():
        atomic.remove(layout.project)
        return [*removed, f"{layout.relative(layout.project)}/"], [], notes
    kept = sorted(layout.relative(layout.project / name) for name in left)
    if left and left <= OWN and plain_bytes(ignores) == texts[IGNORES].encode():
        atomic.write(ignores, git_rules.PROVISIONAL)
    if kept:
        notes.append("Delete .project/ yourself if you want to lose the rest as well.")
    return removed, kept, notes


def _copy(layout: Layout, name: str, data: bytes) -> str:
    """Copy a file's bytes into the backups, in a folder for `init`; returns the copy's path."""
    folder = layout.all_backups / backups.INIT
    number = 1
    while (folder / f"{name}.{number}").exists():
        number += 1
    copy = folder / f"{name}.{number}"
    atomic.write(copy, data, durable=True)
    return layout.relative(copy)


def _entries(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()
