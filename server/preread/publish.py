"""Publish: put a complete staging folder in place, file by file; finish what a crash cut short."""

import os
import tempfile
import time
from itertools import chain
from pathlib import Path

from preread import published, stale_hints
from preread.errors import PrereadError
from preread.infra import atomic
from preread.layout import BY_NAME, FILES, MANIFEST, REQUIRED, Layout, feature_name
from preread.models import Manifest
from preread.published import MARK, READY, Ready, digest, plain_bytes
from preread.services import Services


def stage(services: Services, feature: str) -> Path:
    """A new empty folder for drafts. Raises E_WRITE."""
    staging = services.layout.staging
    atomic.make_folder(staging)
    with atomic.write_errors(staging):
        return Path(tempfile.mkdtemp(dir=staging, prefix=f"{feature_name(feature)}."))


def publish(services: Services, staging: Path, manifest: Manifest) -> None:
    """Put the staged files in place; the caller holds the feature's lock. `manifest.files` is filled in here.

    Raises E_CHECK when a required file is missing or one is no plain file, and E_WRITE when the disk refuses.
    Nothing published has changed then; where the disk refuses in the middle, `recover` finishes.
    """
    layout, feature = services.layout, manifest.feature
    if staging.parent != layout.staging or not staging.name.startswith(f"{feature}."):
        raise ValueError(f"{staging} is no staging folder of {feature}")
    for earlier, folder in published.ready(layout, feature):
        _roll_forward(layout, earlier, folder)
    texts = _staged_texts(staging)
    manifest = manifest.model_copy(
        update={"files": {name: digest(data) for name, data in texts.items()}}
    )
    folder = _dossier_folder(layout, feature)
    old = published.parse_manifest(plain_bytes(folder / MANIFEST), feature)
    # Only names of the table: a manifest that came with a repository may list any path at all.
    before = {name: value for name, value in old.files.items() if name in BY_NAME} if old else {}
    ready = Ready(order=time.time_ns(), manifest=manifest, before=before)
    for name in (*manifest.files, *ready.remove):
        _keep_edited(layout, ready, name)
    # Written anew: a process that the builder left behind may hold its own files open.
    marks = {MANIFEST: published.manifest_bytes(manifest), MARK: ready.model_dump_json().encode()}
    for name, data in (texts | marks).items():
        atomic.write(staging / name, data)
    complete = staging.with_name(staging.name + READY)
    atomic.replace(staging, complete)
    _roll_forward(layout, ready, complete)


def recover(services: Services, feature: str) -> None:
    """Roll forward what is ready, in its order, and remove what is not; the caller holds the feature's lock.

    Raises E_WRITE.
    """
    layout = services.layout
    hint, run = layout.building(feature), layout.run_record(feature)
    for ready, staging in published.ready(layout, feature):
        _roll_forward(layout, ready, staging)
    parts = [
        folder.glob(".*.part") for folder in (layout.dossier(feature), layout.backups(feature))
    ]
    parts += [
        path.parent.glob(f".{path.name}.*.part") for path in (hint, layout.stale(feature), run)
    ]
    for path in chain(published.staged(layout, feature), *parts, [hint]):
        atomic.remove(path)


def _staged_texts(staging: Path) -> dict[str, bytes]:
    """Each staged file of the table; other names are never published. Raises E_CHECK."""
    texts = {}
    for row in FILES:
        path = staging / row.name
        data = plain_bytes(path)
        if data is None and os.path.lexists(path):
            raise PrereadError(
                "E_CHECK", f"The builder left {row.name} as something else than a plain file."
            )
        if row.name in REQUIRED and not (data or b"").strip():
            raise PrereadError(
                "E_CHECK", f"The builder left no {row.name}, and no dossier is without one."
            )
        if data is not None:
            texts[row.name] = data
    return texts


def _dossier_folder(layout: Layout, feature: str) -> Path:
    """The dossier's folder, made if need be; a link in its place is removed, never followed."""
    folder = layout.dossier(feature)
    layout.real(layout.context)
    if folder.is_symlink():
        atomic.remove(folder)
    atomic.make_folder(folder)
    return folder


def _keep_edited(layout: Layout, ready: Ready, name: str) -> None:
    """Copy a file that is neither what Preread wrote nor what it is about to write: a person edited it."""
    path = layout.dossier(ready.manifest.feature) / name
    if path.is_dir() and not path.is_symlink():
        raise PrereadError(
            "E_WRITE",
            f"{path} is a folder, and the dossier has a file there.",
            "Move it, then call again.",
        )
    data = plain_bytes(path)
    if data is None or digest(data) in {ready.before.get(name), ready.manifest.files.get(name)}:
        return
    folder = layout.backups(ready.manifest.feature)
    kept = {
        int(path.suffix[1:]): path
        for path in folder.glob(f"{name}.*")
        if path.suffix[1:].isdecimal()
    }
    if not any(plain_bytes(path) == data for path in kept.values()):
        atomic.write(folder / f"{name}.{max(kept, default=0) + 1}", data, durable=True)


def _roll_forward(layout: Layout, ready: Ready, staging: Path) -> None:
    """Put each file in place, the manifest last, then remove what the new manifest no longer lists.

    Every step can be cut and done again: a staged file that is gone is in place already.
    """
    folder = _dossier_folder(layout, ready.manifest.feature)
    if _sound(ready, staging):
        for name in ready.manifest.files:
            _put(layout, ready, staging, name)
        _put(layout, ready, staging, MANIFEST)
        for name in ready.remove:
            _keep_edited(layout, ready, name)
            atomic.remove(folder / name)
    stale_hints.fresh(layout, ready.manifest.feature)
    atomic.remove(staging)


def _sound(ready: Ready, staging: Path) -> bool:
    """Whether what is still staged is what was marked: a power cut can keep a mark and lose what it names."""
    paths = {staging / name: value for name, value in ready.manifest.files.items()}
    return all(
        digest(plain_bytes(p) or b"") == value for p, value in paths.items() if os.path.lexists(p)
    )


def _put(layout: Layout, ready: Ready, staging: Path, name: str) -> None:
    """Replace one file by the staged one, unless it says the same: then it keeps its bytes and its time."""
    source, target = staging / name, layout.dossier(ready.manifest.feature) / name
    new, old = plain_bytes(source), plain_bytes(target)
    if new is None or (old is not None and digest(old) == digest(new)):
        return
    if name != MANIFEST:
        _keep_edited(layout, ready, name)
    atomic.replace(source, target)
