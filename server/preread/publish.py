"""Publish a staging folder file by file, and finish publishing after a crash.

A staging folder is complete once it is renamed with the suffix `.ready`. From then on, any process
can roll the publish forward; before that, nothing published has changed.
"""

import errno
import os
import tempfile
import time
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

from preread import backups
from preread.dossier import fact_history, published
from preread.dossier.published import MARK, READY, Ready, digest
from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.layout import BY_NAME, FILES, MANIFEST, REQUIRED, Layout
from preread.models import Manifest
from preread.names import feature_name
from preread.records import stale_hints
from preread.services import Services


def stage(services: Services, feature: str) -> Path:
    """Create an empty folder for drafts. Raises E_WRITE."""
    staging = services.layout.staging
    atomic.make_folder(staging)
    with atomic.write_errors(staging):
        return Path(tempfile.mkdtemp(dir=staging, prefix=f"{feature_name(feature)}."))


def put_staged(staging: Path, texts: Mapping[str, str]) -> None:
    """Replace the content of a staging folder with these files. Raises E_WRITE."""
    with atomic.write_errors(staging):
        remaining = [*staging.iterdir()]
    for path in remaining:
        atomic.remove(path)
    for name, text in texts.items():
        atomic.write(staging / name, text.encode())


def require_place(services: Services, feature: str) -> None:
    """Raise E_WRITE if a dossier cannot be published, before drafts for it are paid for."""
    layout = services.layout
    places = (layout.dossier(feature), layout.context, layout.project)
    place = next((path for path in places if os.path.lexists(path)), layout.root)
    with atomic.write_errors(place):
        if not place.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "it is not a folder")
        if not os.access(place, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "")


def publish(services: Services, staging: Path, manifest: Manifest, how: str = "built") -> None:
    """Publish the staged files, under the feature's lock. Fills in `manifest.files`.

    `how` is for the history of its facts.
    Raises E_CHECK if a required file is missing or a file is not plain, and E_WRITE if the disk
    cannot be written. Then nothing published has changed, or `recover` finishes the publish.
    """
    layout, feature = services.layout, manifest.feature
    if staging.parent != layout.staging or not staging.name.startswith(f"{feature}."):
        raise ValueError(f"{staging} is not a staging folder of {feature}")
    for earlier, folder in published.ready(layout, feature):
        _roll_forward(layout, earlier, folder)
    texts = _staged_texts(staging)
    digests = {name: digest(data) for name, data in texts.items()}
    manifest = manifest.model_copy(update={"files": digests})
    folder = _dossier_folder(layout, feature)
    old = published.parse_manifest(plain_bytes(folder / MANIFEST), feature)
    # Only known names: a manifest that came with a repository may list any path.
    before = {name: value for name, value in old.files.items() if name in BY_NAME} if old else {}
    ready = Ready(order=time.time_ns(), manifest=manifest, before=before)
    for name in (*manifest.files, *ready.remove):
        _back_up_edited(layout, ready, name)
    # Write the texts again, because a process that the builder left may have its files open.
    marks = {MANIFEST: published.manifest_bytes(manifest), MARK: ready.model_dump_json().encode()}
    atomic.write_all(staging, texts | marks)
    complete = staging.with_name(staging.name + READY)
    atomic.replace(staging, complete)
    atomic.sync_folder(layout.staging)
    entry = _history_entry(services, ready, texts, how)
    _roll_forward(layout, ready, complete)
    fact_history.record(services, entry)


def _history_entry(
    services: Services, ready: Ready, texts: dict[str, bytes], how: str
) -> fact_history.Publish:
    """What is about to be published and what it replaces, for the history of the facts."""
    layout, feature = services.layout, ready.manifest.feature
    return fact_history.Publish(
        before=published.in_place(layout, feature),
        after=fact_history.facts_in(
            {name: published.text_of(data) for name, data in texts.items()}, feature
        ),
        new=ready.manifest,
        how=how,
        why=stale_hints.reason(layout, feature),
    )


def recover(services: Services, feature: str) -> None:
    """Publish complete staging folders in order, and remove the others and temporary files.

    Requires the feature's lock. Raises E_WRITE.
    """
    for ready, staging in published.ready(services.layout, feature):
        _roll_forward(services.layout, ready, staging)
    for path in leftovers(services, feature):
        atomic.remove(path)


def leftovers(services: Services, feature: str) -> list[Path]:
    """What killed builds and writes of a feature left behind.

    Requires the feature's lock, or it may include files of a running build. Raises Unreadable.
    """
    layout = services.layout
    hint, run = layout.building(feature), layout.run_record(feature)
    folders = (layout.dossier(feature), layout.backups(feature))
    parts = [atomic.leftover_parts(folder) for folder in folders]
    parts += [
        atomic.leftover_parts(path.parent, path.name) for path in (hint, layout.stale(feature), run)
    ]
    hints = [hint] if os.path.lexists(hint) else []
    return [*published.staged(layout, feature), *chain.from_iterable(parts), *hints]


def _staged_texts(staging: Path) -> dict[str, bytes]:
    """The staged dossier files; other files are never published. Raises E_CHECK."""
    texts = {}
    for row in FILES:
        path = staging / row.name
        data = plain_bytes(path)
        if data is None and os.path.lexists(path):
            raise PrereadError("E_CHECK", f"The builder's {row.name} is not a plain file.")
        if row.name in REQUIRED and not (data or b"").strip():
            message = f"The builder left no {row.name}, which every dossier needs."
            raise PrereadError("E_CHECK", message)
        if data is not None:
            texts[row.name] = data
    return texts


def _dossier_folder(layout: Layout, feature: str) -> Path:
    """The dossier's folder, created if necessary; a link in its place is removed, not followed."""
    folder = layout.dossier(feature)
    layout.real(layout.context)
    if folder.is_symlink():
        atomic.remove(folder)
    if not folder.exists():
        atomic.make_folder(folder)
        atomic.sync_folder(folder.parent)
    return folder


def _back_up_edited(layout: Layout, ready: Ready, name: str) -> None:
    """Back up a published file that a person edited: it is neither the old nor the new one."""
    path = layout.dossier(ready.manifest.feature) / name
    if path.is_dir() and not path.is_symlink():
        raise PrereadError(
            "E_WRITE",
            f"{path} is a folder, where the dossier needs a file.",
            "Move it away, or let `preread repair` do that, then try again.",
        )
    data = plain_bytes(path)
    if data is None or digest(data) in {ready.before.get(name), ready.manifest.files.get(name)}:
        return
    backups.keep_file(layout, ready.manifest.feature, name)


def _roll_forward(layout: Layout, ready: Ready, staging: Path) -> None:
    """Move each file into place, the manifest last; then remove files that it no longer lists.

    Every step can be repeated after a crash: a file that is gone from staging is already in place.
    """
    folder = _dossier_folder(layout, ready.manifest.feature)
    if _is_intact(ready, staging):
        for name in ready.manifest.files:
            _move(layout, ready, staging, name)
        _move(layout, ready, staging, MANIFEST)
        for name in ready.remove:
            _back_up_edited(layout, ready, name)
            atomic.remove(folder / name)
        atomic.sync_folder(folder)  # before removing what a recovery would need
    stale_hints.clear(layout, ready.manifest.feature)
    atomic.remove(staging)


def _is_intact(ready: Ready, staging: Path) -> bool:
    """Whether the staged files match the mark; a power cut can lose them and leave the mark."""
    for name, value in ready.manifest.files.items():
        data = plain_bytes(staging / name)
        if digest(data or b"") != value and (data is not None or os.path.lexists(staging / name)):
            return False
    return True


def _move(layout: Layout, ready: Ready, staging: Path, name: str) -> None:
    """Replace a published file with the staged one, unless they are equal: git sees no change."""
    source, target = staging / name, layout.dossier(ready.manifest.feature) / name
    new, old = plain_bytes(source), plain_bytes(target)
    if new is None or (old is not None and digest(old) == digest(new)):
        return
    if name != MANIFEST:
        _back_up_edited(layout, ready, name)
    atomic.replace(source, target)
