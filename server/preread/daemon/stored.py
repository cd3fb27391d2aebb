"""The user's own files, such as the tokens: the daemon reads them again when they change."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from preread.daemon import paths
from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.locks import FileLock

LOCK_SECONDS = 10.0
T = TypeVar("T")


class Stored(Generic[T]):
    """A JSON file in the user's state folder, which only this user can read or change."""

    def __init__(
        self, environ: Mapping[str, str], name: str, parse: Callable[[Any], T], hint: str
    ) -> None:
        """`parse` makes the value of the file's JSON, or of an empty list if there is no file."""
        self._folder = Path(paths.state_folder(environ))
        self._file, self._lock = self._folder / f"{name}.json", self._folder / f"{name}.lock"
        self._parse, self._hint = parse, hint
        self._seen: tuple[int, int] | None = None
        self._value = parse([])

    def value(self) -> T:
        """The current value. Raises E_READ if the file is damaged or another user's."""
        try:
            found = self._file.stat()
        except FileNotFoundError:
            found = None
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from error
        state = found and (found.st_mtime_ns, found.st_ino)
        if state != self._seen:
            self._value, self._seen = self._parse([]), None
            if found is not None:
                self._value, self._seen = self._read(found.st_uid), state
        return self._value

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the file's lock. Raises E_WRITE, TimeoutError."""
        with atomic.write_errors(self._folder):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder.chmod(0o700)  # fails if it is another user's
        with FileLock(self._lock, timeout=LOCK_SECONDS, mode=paths.PRIVATE):
            yield

    def write(self, data: list[Any]) -> None:
        """Replace the file; for use while `changing`. Raises E_WRITE."""
        text = json.dumps(data, indent=1)
        atomic.write(self._file, text.encode(), durable=True, mode=paths.PRIVATE)

    def _read(self, owner: int) -> T:
        if owner != os.getuid():
            raise self._unusable("it belongs to another user")
        try:
            return self._parse(json.loads(self._file.read_bytes()))
        except (OSError, ValueError, TypeError, KeyError, RecursionError, ValidationError) as error:
            raise self._unusable("it is damaged") from error

    def _unusable(self, why: str) -> PrereadError:
        return PrereadError("E_READ", f"{self._file} cannot be used: {why}.", self._hint)
