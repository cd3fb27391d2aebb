"""The record of loaded documents and their digests; names for copies of those from outside."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from preread.documents.kinds import kind_of
from preread.errors import PrereadError
from preread.gates.feature_names import slug
from preread.infra import atomic
from preread.infra.locks import FileLock
from preread.infra.reading import plain_bytes
from preread.layout import Layout
from preread.project.tree import WALK_SKIPS

LOCK_SECONDS = 30.0
MAX_FILES = 500  # of one call


def loaded(layout: Layout) -> dict[str, str]:
    """Path -> SHA-256 of each document when it was last loaded, sorted. Raises E_READ."""
    data = plain_bytes(layout.real(layout.loaded))
    try:
        found = json.loads(data or b"{}")
        return {path: str(found[path]) for path in sorted(found)}
    except (ValueError, TypeError, AttributeError):
        return {}


def add(layout: Layout, documents: Mapping[str, str]) -> None:
    """Record documents as loaded. Raises E_WRITE."""
    place = layout.real(layout.loaded)
    atomic.make_folder(place.parent)
    atomic.make_folder(layout.lock("_documents").parent)
    with (
        atomic.write_errors(place),
        FileLock(layout.lock("_documents"), timeout=LOCK_SECONDS),
    ):
        known = loaded(layout)
        merged = {path: documents.get(path, known.get(path, "")) for path in {*known, *documents}}
        if merged != known:
            text = json.dumps(merged, indent=1, sort_keys=True, ensure_ascii=False)
            atomic.write(place, f"{text}\n".encode(), durable=True)


def files_at(place: Path) -> list[Path]:
    """The file itself, or all documents below a folder, sorted. Raises E_NOT_FOUND."""
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise PrereadError(
            "E_NOT_FOUND",
            f"There is no file or folder {place}.",
            "Correct the path, or name a folder with documents.",
        )
    found = list(islice(_documents_below(place), MAX_FILES + 1))
    if len(found) > MAX_FILES:
        raise PrereadError(
            "E_DOCUMENT_LIMIT", f"{place} has more than {MAX_FILES} documents.", "Name fewer."
        )
    return [path for path in found if path.is_file() and not path.is_symlink()]


def _documents_below(folder: Path) -> Iterator[Path]:
    for parent, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if name not in WALK_SKIPS)
        yield from (Path(parent, name) for name in sorted(files) if kind_of(name))


def copy_name(place: Path, data: bytes) -> str:
    """The name of a document's copy: the original's name, with a digest of the content."""
    stem = slug(place.stem)[:60] or "document"
    return f"{stem}-{hashlib.sha256(data).hexdigest()[:12]}{place.suffix.lower()}"
