"""Backups in `.state/backups/`: copies of files that were replaced, set aside or removed.

`<feature>/<file>.<number>` is a dossier's file that a person had edited and a build replaced.
`_sets/<time>-<why>/` contains the files that one call changed, by their paths below `.project/`,
and the digests that say whether they are still whole.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from pydantic import Field

from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.locks import FileLock
from preread.infra.reading import names_in, plain_bytes
from preread.layout import Layout
from preread.models import Model

PART = ".part"
LOCK = "_backups"  # held while a set is written
CONTENTS = ".contents.json"  # in a set: path -> SHA-256 of each of its files
INIT = "_init"  # the folder of `init --undo`: files of `.project/` itself


class Backup(Model):
    """Copies of one or more files, which `restore` puts back as a whole."""

    id: str
    at: float = Field(description="When the copies were made, in epoch seconds.")
    why: str
    files: tuple[str, ...] = Field(description="Where they belong, relative to the root.")
    size: int = Field(description="In bytes.")


def keep_file(layout: Layout, feature: str, name: str) -> None:
    """Copy a published file into the feature's backups, unless the same bytes are there already."""
    data = plain_bytes(layout.dossier(feature) / name)
    if data is None:
        return
    folder = layout.backups(feature)
    numbers = {file: file.rpartition(".") for file in names_in(folder)}
    copies = {
        int(number): folder / file
        for file, (of, _, number) in numbers.items()
        if of == name and number.isdecimal()
    }
    if not any(plain_bytes(file) == data for file in copies.values()):
        atomic.write(folder / f"{name}.{max(copies, default=0) + 1}", data, durable=True)


def keep(layout: Layout, why: str, paths: Iterable[Path], of: Layout | None = None) -> str:
    """Copy files of `.project/` into a new set; returns its id, empty if there is nothing to copy.

    Of a folder, the files in it are copied. `why` is part of the id: letters, digits and hyphens.
    `of` is the project whose files they are, by default the one that keeps the copies. Raises
    E_WRITE and E_READ.
    """
    owner = of or layout
    found = {file: plain_bytes(file) for path in paths for file in _files_of(path)}
    copies = {path: data for path, data in found.items() if data is not None}
    if not copies:
        return ""
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{why}"
    relative = {path.relative_to(owner.project): data for path, data in copies.items()}
    lock = FileLock(layout.lock(LOCK))
    atomic.make_folder(layout.lock(LOCK).parent)
    with atomic.write_errors(layout.lock(LOCK)):
        lock.acquire()
    try:
        return _write(layout.backup_sets, name, relative)
    finally:
        lock.release()


def _files_of(path: Path) -> Iterator[Path]:
    """A file, or the files in a folder."""
    if path.is_symlink() or not path.is_dir():
        yield path
    else:
        yield from (Path(place) / name for place, _, names in os.walk(path) for name in names)


def _write(sets: Path, name: str, copies: Mapping[Path, bytes]) -> str:
    """Write a new set, by the files' paths in it; returns its id. Requires the lock."""
    id_ = _unused(sets, name)
    part = sets / f".{id_}{PART}"
    contents = {path.as_posix(): _digest(data) for path, data in copies.items()}
    try:
        for path, data in copies.items():
            atomic.write(part / path, data, durable=True)
        atomic.write(part / CONTENTS, json.dumps(contents, indent=1).encode(), durable=True)
        atomic.replace(part, sets / id_)
    except BaseException:
        with suppress(PrereadError):
            atomic.remove(part)
        raise
    atomic.sync_folder(sets)
    return id_


def _unused(sets: Path, name: str) -> str:
    candidates = (name if n == 1 else f"{name}-{n}" for n in range(1, 10_000))
    taken = {*names_in(sets)}  # includes the unfinished sets of killed calls
    return next(one for one in candidates if not taken & {one, f".{one}{PART}"})


def list_all(layout: Layout) -> list[Backup]:
    """All backups, the latest first. Raises Unreadable."""
    found = [*_sets(layout), *_files(layout)]
    return sorted(found, key=lambda one: (-one.at, one.id))


def find(layout: Layout, id_: str) -> Backup:
    """The backup with this id. Raises E_NOT_FOUND."""
    for found in list_all(layout):
        if found.id == id_:
            return found
    message = f"There is no backup {id_[:80]!a}."
    raise PrereadError("E_NOT_FOUND", message, "List them: `preread backups`")


def copies(layout: Layout, backup: Backup) -> dict[Path, bytes]:
    """A backup's intact files: where each one belongs -> its bytes. Raises Unreadable."""
    return _checked(layout, backup.id)[0]


def damaged(layout: Layout, backup: Backup) -> dict[str, str]:
    """What is wrong with a backup's files: path relative to the root -> why. Raises Unreadable."""
    return _checked(layout, backup.id)[1]


def _checked(layout: Layout, id_: str) -> tuple[dict[Path, bytes], dict[str, str]]:
    """The files of a backup that are as they were written, and what is wrong with the others."""
    found = {path: plain_bytes(place) for path, place in _places(layout, id_).items()}
    intact = {path: data for path, data in found.items() if data is not None}
    if "/" in id_:
        return intact, {}
    recorded = plain_bytes(layout.backup_sets / id_ / CONTENTS)
    if recorded is None:  # from before contents were recorded
        return intact, {}
    contents = _contents(recorded)
    if contents is None:
        return intact, {CONTENTS: "cannot be read, so nothing says whether the others are whole"}
    wrong = {}
    for name, digest in contents.items():
        path, shown = layout.project / name, f"{layout.relative(layout.project)}/{name}"
        if path not in intact:
            wrong[shown] = "is missing"
        elif _digest(intact[path]) != digest:
            del intact[path]
            wrong[shown] = "is damaged"
    return intact, wrong


def _contents(data: bytes) -> dict[str, str] | None:
    with suppress(ValueError, RecursionError):
        found = json.loads(data)
        if isinstance(found, dict) and all(isinstance(one, str) for one in found.values()):
            return found
    return None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def remove(layout: Layout, backup: Backup) -> None:
    """Remove a backup for good. Raises E_WRITE."""
    is_set = "/" not in backup.id
    atomic.remove((layout.backup_sets if is_set else layout.all_backups) / backup.id)


def leftovers(layout: Layout) -> list[Path]:
    """Sets that a killed call did not finish, or, without the lock, that a call is writing."""
    sets = layout.backup_sets
    return [sets / name for name in names_in(sets) if name.endswith(PART)]


def remove_leftovers(layout: Layout) -> None:
    """Remove the sets that killed calls did not finish. Requires the lock. Raises E_WRITE."""
    for path in leftovers(layout):
        atomic.remove(path)


def _sets(layout: Layout) -> Iterator[Backup]:
    for name in names_in(layout.backup_sets):
        if not name.startswith("."):
            why = name.split("-", 2)[-1]
            yield _described(layout, name, why, layout.backup_sets / name)


def _files(layout: Layout) -> Iterator[Backup]:
    for folder in names_in(layout.all_backups):
        if folder == layout.backup_sets.name:
            continue
        why = "init --undo" if folder == INIT else "edited or damaged, then replaced"
        for name in names_in(layout.all_backups / folder):
            if name.rpartition(".")[2].isdecimal():
                place = layout.all_backups / folder / name
                yield _described(layout, f"{folder}/{name}", why, place)


def _described(layout: Layout, id_: str, why: str, place: Path) -> Backup:
    places = _places(layout, id_)
    return Backup(
        id=id_,
        at=place.lstat().st_mtime,
        why=why,
        files=tuple(layout.relative(path) for path in places),
        size=sum(path.lstat().st_size for path in places.values()),
    )


def _places(layout: Layout, id_: str) -> dict[Path, Path]:
    """Where each file of a backup belongs -> its copy."""
    folder, is_file, name = id_.partition("/")
    if is_file:
        owner = layout.project if folder == INIT else layout.context / folder
        return {owner / name.rpartition(".")[0]: layout.all_backups / folder / name}
    start = layout.backup_sets / id_
    walked = {Path(place) / name for place, _, names in os.walk(start) for name in names}
    walked -= {start / CONTENTS}
    return {layout.project / path.relative_to(start): path for path in sorted(walked)}
