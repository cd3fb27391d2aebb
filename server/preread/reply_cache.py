"""Replies that a server gave, to be given again while nothing that they rest on has changed."""

from collections.abc import Hashable
from typing import Generic, TypeVar

from preread.fingerprint import Witness

T = TypeVar("T")
MOST = 64  # replies kept; the one unused for longest goes first


class Remembered(Generic[T]):
    """A few replies by what was asked, each with its witness."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[Witness, T]] = {}

    def recall(self, key: Hashable) -> T | None:
        """The reply to the same question, if its witness holds."""
        found = self._kept.pop(key, None)
        if found is None or not found[0].holds():
            return None
        self._kept[key] = found  # last again
        return found[1]

    def keep(self, key: Hashable, witness: Witness | None, reply: T) -> None:
        if witness is not None:
            self._kept[key] = (witness, reply)
            if len(self._kept) > MOST:
                del self._kept[next(iter(self._kept))]
