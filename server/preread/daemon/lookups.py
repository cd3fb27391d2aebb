"""Looks up the projects of folders before any project's loop is known."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from preread.daemon.project_loop import done_in_time, exhausted, silent

T = TypeVar("T")
MAX_LOOKUPS = 64  # at a time


class Lookups:
    """Runs one look-up per folder, each in its own thread, because a file system may hang."""

    def __init__(self) -> None:
        self._running: dict[Path, Future[Any]] = {}

    async def run(self, folder: Path, look: Callable[[Path], T]) -> T:
        """The result of `look(folder)`, which callers that come meanwhile share.

        Raises E_READ if it takes too long, or if there are too many look-ups already.
        """
        found = self._running.get(folder)
        if found is None:
            if len(self._running) >= MAX_LOOKUPS:
                raise silent(folder)
            found = self._running[folder] = Future()
            target, arguments = self._look, (folder, look, found)
            thread = threading.Thread(target=target, args=arguments, name="look", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                del self._running[folder]
                raise exhausted(folder, error) from error
        answer: asyncio.Future[T] = asyncio.wrap_future(found)
        _retrieve(answer)  # a caller may leave before it is done
        if await done_in_time(answer):
            return answer.result()
        raise silent(folder)

    def _look(self, folder: Path, look: Callable[[Path], T], found: "Future[T]") -> None:
        try:
            answer = look(folder)
        except BaseException as error:  # re-raised by the callers
            del self._running[folder]
            found.set_exception(error)
        else:
            del self._running[folder]
            found.set_result(answer)


def _retrieve(answer: "asyncio.Future[Any]") -> None:
    """Avoid asyncio's warning about an exception that nobody retrieved."""
    answer.add_done_callback(lambda done: done.cancelled() or done.exception())
