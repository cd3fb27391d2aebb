"""A database that is not derived: if damaged, it is set aside, never deleted."""

import os
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from preread.infra import atomic
from preread.infra.locks import FileLock, are_supported
from preread.infra.sqlite import (
    LOCK_SECONDS,
    has_schema,
    healing,
    is_sound,
    operational_errors,
    transaction,
)

T = TypeVar("T")


@dataclass(frozen=True)
class PersistentDatabase:
    """A database at `path`, created when it is first used."""

    path: Path
    lock: Path  # excludes other processes while a damaged file is set aside
    schema: str  # statements that each end in `;`; the version follows from them
    loss: str  # what deleting it costs, for the hint: "the test history starts over"

    @property
    def version(self) -> int:
        return zlib.crc32(self.schema.encode()) & 0x7FFFFFFF

    def use(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on a connection in autocommit mode.

        A file that is not a database of this schema is renamed first. Raises E_WRITE when the
        database cannot be written or stays locked. Errors in the SQL are raised as they are.
        """
        atomic.make_folder(self.path.parent)
        hint = (
            "Free some disk space or fix the permissions, then try again. If you delete it, "
            f"{self.loss}."
        )
        with operational_errors(self.path, hint), self._alone():
            return healing(self._open, work, lambda is_sure: self._set_aside(is_sure=is_sure))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold a lock of our own if the file system has none that SQLite can use."""
        if self._is_lockable():
            yield
            return
        atomic.make_folder(self.lock.parent)
        own = self.lock.with_suffix(".use.lock")
        with atomic.write_errors(self.path), FileLock(own, timeout=LOCK_SECONDS):
            yield

    def _is_lockable(self) -> bool:
        """Whether SQLite can lock the file; a read-only one needs no lock."""
        folder = self.path.parent
        return not os.access(folder, os.W_OK) or are_supported(folder)

    def _open(self) -> sqlite3.Connection:
        options = "" if self._is_lockable() else "?nolock=1"
        connection = sqlite3.connect(
            f"{self.path.as_uri()}{options}", uri=True, timeout=LOCK_SECONDS, isolation_level=None
        )
        try:
            if _version_of(connection) == 0:
                with transaction(connection):
                    if _version_of(connection) == 0:  # another process may have created it
                        for statement in self.schema.split(";")[:-1]:
                            connection.execute(statement)
                        connection.execute(f"PRAGMA user_version = {self.version}")
            if _version_of(connection) != self.version:
                raise sqlite3.DatabaseError("another schema")
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_aside(self, *, is_sure: bool) -> None:
        """Rename a damaged file or one of another schema, unless another process just has."""
        atomic.make_folder(self.lock.parent)
        with atomic.write_errors(self.path), FileLock(self.lock, timeout=LOCK_SECONDS):
            try:
                if self._is_intact() and not is_sure:
                    return
            except sqlite3.OperationalError:
                raise
            except (sqlite3.DatabaseError, UnicodeDecodeError):
                pass
            atomic.replace(self.path, self.path.with_suffix(".db.broken"))
            atomic.remove(self.path.with_name(f"{self.path.name}-journal"))

    def _is_intact(self) -> bool:
        with closing(self._open()) as connection:
            return has_schema(connection, self.schema) and is_sound(connection)


def _version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
