"""A feature's lock: its holder may build, and finishes what killed calls left behind."""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from preread import backups
from preread.dossier import published
from preread.errors import PrereadError
from preread.infra import atomic, db
from preread.infra.locks import FileLock
from preread.models import Request
from preread.services import Services

POLL = 0.05  # seconds between tries while another process holds the lock


@asynccontextmanager
async def hold(services: Services, feature: str) -> AsyncIterator[None]:
    """Acquire the lock, waiting until the deadline; it is released even if the holder dies."""
    path = services.layout.lock(feature)
    atomic.make_folder(path.parent)
    from anyio import sleep

    lock = FileLock(path)
    while True:
        with atomic.write_errors(path), suppress(TimeoutError):
            lock.acquire(timeout=0)
        if lock.is_locked:
            break
        services.progress.say(f"another process is building {feature}", 0, 5)
        await sleep(POLL)
    try:
        yield
    finally:
        lock.release()


@contextmanager
def hold_if_free(services: Services, feature: str) -> Iterator[bool]:
    """Acquire the lock if it is free; yields false while a build is running.

    On a read-only file system, where no build can run, yields true without a lock. Raises E_WRITE
    for other reasons.
    """
    path = services.layout.lock(feature)
    lock = FileLock(path)
    is_free = False
    try:
        with atomic.write_errors(path), suppress(TimeoutError):
            atomic.make_folder(path.parent)
            lock.acquire(timeout=0)
            is_free = True
    except PrereadError as error:
        if error.details.get("errno") not in db.READ_ONLY:
            raise
        is_free = True
    try:
        yield is_free
    finally:
        if lock.is_locked:
            lock.release()


@asynccontextmanager
async def building(services: Services, request: Request) -> AsyncIterator[None]:
    """Keep `.cache/building/<feature>` while a build runs; the gates read its deadline there."""
    hint = services.layout.building(request.feature)
    limit = services.settings.build_seconds(
        request.level, auto=request.auto, extends=bool(request.extend)
    )
    atomic.write(hint, f"{time.time() + limit:.0f}\n".encode())
    try:
        yield
    finally:
        with suppress(PrereadError):
            atomic.remove(hint)


def recover(services: Services, feature: str) -> None:
    """Finish publishing what a killed build left behind, so that the gates find the dossier, too.

    Also removes unfinished backups. Does nothing while a running call holds the lock, or if the
    disk cannot be written.
    """
    from preread import publish

    with suppress(PrereadError), hold_if_free(services, feature) as is_free:
        if is_free:
            publish.recover(services, feature)
    with suppress(PrereadError):
        remove_unfinished_backups(services)


def recover_all(services: Services) -> None:
    """The same for all features."""
    for feature in published.unfinished(services.layout):
        services.progress.check()
        recover(services, feature)
    with suppress(PrereadError):
        remove_unfinished_backups(services)


def may_recover(services: Services, feature: str) -> bool:
    """Whether there may be something to recover, or a call is still writing it."""
    return published.pending(services.layout, feature) or bool(backups.leftovers(services.layout))


def unfinished_backups(services: Services) -> list[Path]:
    """The sets of backups that killed calls did not finish. Raises E_WRITE."""
    if not backups.leftovers(services.layout):
        return []
    with hold_if_free(services, backups.LOCK) as is_free:
        return backups.leftovers(services.layout) if is_free else []


def remove_unfinished_backups(services: Services) -> None:
    """Remove these sets. Raises E_WRITE."""
    if not backups.leftovers(services.layout):
        return
    with hold_if_free(services, backups.LOCK) as is_free:
        if is_free:
            backups.remove_leftovers(services.layout)
