"""Reads documents of the project in a child with limits; results are cached by digest."""

import hashlib
import importlib.util
import json
import os
import signal
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from preread.documents import child
from preread.documents.kinds import KINDS, Kind, kind_of
from preread.documents.model import REASONS, Document, Unusable, from_json
from preread.errors import PrereadError
from preread.infra import atomic, db
from preread.infra.reading import plain_bytes
from preread.project.tree import Tree

# Errors that reading any other document would meet, too.
WHOLE = frozenset({"E_EXTRA", "E_CANCELLED", "E_TIMEOUT", "E_WRITE"})
MAX_BYTES = 100_000_000
# Seconds of wall time, for a child that hangs. Work is limited by processor time: 30 s of it took
# more than a minute on a busy machine.
SECONDS = 300.0
EDITION = "5"  # raised when a reader changes, so that cached texts of older readers are not used
# The child has this process's import path, and exits at once on SIGINT.
PROGRAM = """
import json, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.path[:] = json.loads(sys.argv[1])
from preread.documents.child import serve
serve(*sys.argv[2:])
"""
PASSED_ON = ("PATH", "SYSTEMROOT", "TEMP", "TMPDIR")
HINTS = {
    "encrypted": "Save it without a password, then load that file.",
    "damaged": "Open it in another program and save it again, or fetch it again.",
    "crashed": "Open it in another program and save it again.",
}


class Loaded(NamedTuple):
    """A document and the SHA-256 of its file."""

    digest: str
    document: Document


def read(tree: Tree, path: str) -> Loaded:
    """The document at a path of the project.

    Raises E_NOT_FOUND, E_OUTSIDE, E_READ, E_EXTRA, E_DOCUMENT and E_DOCUMENT_LIMIT.
    """
    place = tree.layout.real(tree.layout.inside(path))
    if not place.is_file():
        raise PrereadError(
            "E_NOT_FOUND", f"There is no file {path}.", "Paths start at the project's root."
        )
    kind = known_kind(path)
    data = _bytes(place, path)
    try:
        if not kind.in_child:
            return Loaded(hashlib.sha256(data).hexdigest(), child.function(kind.reader)(data))
        folder = db.place(tree.layout).folder / "documents"
        digest = hashlib.sha256(data).hexdigest()
        kept = _kept(str(folder / _name(kind, digest)))
        if kept is not None:
            return Loaded(digest, kept)
        found = _in_child(tree, kind.reader, place)
    except Unusable as error:
        raise _failure(path, error) from error
    with suppress(PrereadError):  # without a cache it only takes longer
        text = json.dumps(found.document.as_json(), ensure_ascii=False)
        atomic.write(folder / _name(kind, found.digest), text.encode("utf-8", "surrogatepass"))
    return found


def _name(kind: Kind, digest: str) -> str:
    """The name of the cache file for a document's text."""
    return f"{digest[:32]}.{kind.reader}.{EDITION}.json"


def known_kind(path: str) -> Kind:
    """The format of a path. Raises E_DOCUMENT for an unknown one."""
    kind = kind_of(path)
    if kind is None:
        raise PrereadError(
            "E_DOCUMENT",
            f"{path} is not in a format that can be read.",
            f"Formats: {', '.join(suffix[1:] for suffix in KINDS)}.",
            {"path": path, "reason": "format"},
        )
    if kind.package and importlib.util.find_spec(kind.package) is None:
        raise PrereadError(
            "E_EXTRA",
            f"{path} cannot be read: {kind.package} is not installed.",
            'Install the extra: pip install "preread[documents]"',
            {"path": path, "package": kind.package},
        )
    return kind


def _bytes(place: Path, path: str) -> bytes:
    data = plain_bytes(place, MAX_BYTES)
    if data is not None:
        return data
    raise _failure(path, Unusable("size", f"it is larger than {MAX_BYTES // 1_000_000} MB"))


@lru_cache(8)  # a dossier cites several pages of one document
def _parsed(place: str, _changed: int) -> Document | None:
    try:
        data = plain_bytes(place)
        return from_json(json.loads(data)) if data else None
    except (PrereadError, ValueError, KeyError, TypeError):
        return None


def _kept(place: str) -> Document | None:
    try:
        return _parsed(place, os.stat(place).st_mtime_ns)  # noqa: PTH116
    except OSError:
        return None


def _failure(path: str, error: Unusable) -> PrereadError:
    is_limit = REASONS[error.reason]
    return PrereadError(
        "E_DOCUMENT_LIMIT" if is_limit else "E_DOCUMENT",
        f"{path} cannot be read: {error}.",
        HINTS.get(error.reason, "Split it into smaller files and load those."),
        {"path": path, "reason": error.reason},
    )


def _in_child(tree: Tree, reader: str, place: Path) -> Loaded:
    paths = json.dumps([os.path.abspath(path) for path in sys.path])  # noqa: PTH100
    done = tree.run(
        [sys.executable, "-I", "-X", "utf8", "-c", PROGRAM, paths, reader, str(place)],
        cwd=tree.root,
        timeout=SECONDS,
        environ={name: tree.environ[name] for name in PASSED_ON if name in tree.environ},
        check=tree.check,
    )
    if done.timed_out:
        raise Unusable("time", f"reading it takes more than {SECONDS:g} s")
    if done.status == -getattr(signal, "SIGXCPU", 0):
        limit = f"{child.SECONDS} s of processor time"
        raise Unusable("time", f"reading it takes more than {limit}")
    try:
        value = json.loads(done.out)
        if "reason" in value:
            raise Unusable(str(value["reason"]), str(value["message"]))
        return Loaded(value["digest"], from_json(value))
    except (ValueError, KeyError, TypeError) as error:
        if b"MemoryError" in done.err:
            raise Unusable("memory", child.TOO_LARGE) from error
        raise Unusable("crashed", f"its reader failed (exit status {done.status})") from error
