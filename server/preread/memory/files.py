"""Reads and changes the files of remembered facts: one writer at a time, replacing whole files."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.locks import FileLock
from preread.infra.reading import plain_bytes, require_no_obstacle
from preread.layout import Layout
from preread.memory.book import Book

T = TypeVar("T")
LOCK, LOCK_SECONDS, POLL_SECONDS = "_knowledge", 60.0, 0.01
TRIES = 20  # while somebody else keeps writing the file


def path_of(layout: Layout, *, personal: bool) -> Path:
    return layout.personal_knowledge if personal else layout.knowledge


def read(layout: Layout, *, personal: bool) -> Book:
    """A file as it is now; an empty book when there is none. Raises E_READ and E_OUTSIDE."""
    return Book(_decoded(_bytes(layout, personal=personal)))


def edit(layout: Layout, change: Callable[[Book], T], *, personal: bool) -> T:
    """Change a file, one process at a time; `change` may run more than once.

    Raises E_WRITE, E_READ, E_OUTSIDE, and what `change` raises.
    """
    path = path_of(layout, personal=personal)
    with _locked(layout, path):
        for _ in range(TRIES):
            data = _bytes(layout, personal=personal)
            book = Book(_decoded(data))
            book.heal()
            result = change(book)
            if not book.is_changed:
                return result
            # Editors take no lock, so check again; only the replacement itself is unprotected.
            if _bytes(layout, personal=personal) == data:
                for part in atomic.leftover_parts(path.parent, path.name):
                    atomic.remove(part)
                encoded = book.text.encode("utf-8", "surrogateescape")
                atomic.write(path, encoded, durable=True)
                return result
    raise PrereadError("E_WRITE", f"{path} keeps changing.", "Try again.")


def previewed(
    layout: Layout, change: Callable[[Book], T], *, personal: bool
) -> tuple[str | None, str | None]:
    """The text of a file before and after a change, without making it; raises like `edit`."""
    before = _decoded(_bytes(layout, personal=personal))
    book = Book(before)
    book.heal()
    change(book)
    return before, book.text if book.is_changed else before


@contextmanager
def _locked(layout: Layout, path: Path) -> Iterator[None]:
    lock = layout.lock(LOCK)
    atomic.make_folder(lock.parent)
    with (
        atomic.write_errors(path),
        FileLock(lock, timeout=LOCK_SECONDS, poll_interval=POLL_SECONDS),
    ):
        yield


def _bytes(layout: Layout, *, personal: bool) -> bytes | None:
    layout.guard()
    path = path_of(layout, personal=personal)
    data = plain_bytes(path)
    if data is None and path.is_symlink():
        raise PrereadError(
            "E_OUTSIDE",
            f"{path} is a symbolic link.",
            "Replace it with a file: links are not followed.",
        )
    if data is None:
        require_no_obstacle(path)
    return data


def _decoded(data: bytes | None) -> str | None:
    """Decode so that invalid bytes survive a change."""
    return None if data is None else data.decode("utf-8", "surrogateescape")
