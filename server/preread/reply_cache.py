"""Replies that a server gave, reused while nothing they depend on has changed."""

from collections.abc import Hashable
from typing import Generic, TypeVar

from preread.fingerprint import Fingerprint

T = TypeVar("T")
MAX_REPLIES = 64  # the least recently used one is dropped first


class Remembered(Generic[T]):
    """A few replies by request, each with the fingerprint of what it depends on."""

    def __init__(self) -> None:
        self._replies: dict[Hashable, tuple[Fingerprint, T]] = {}

    def recall(self, key: Hashable) -> T | None:
        """The reply to the same request, if its fingerprint is still valid."""
        found = self._replies.pop(key, None)
        if found is None or not found[0].is_valid():
            return None
        self._replies[key] = found  # now the most recently used
        return found[1]

    def keep(self, key: Hashable, fingerprint: Fingerprint | None, reply: T) -> None:
        """Remember a reply; not without a fingerprint."""
        if fingerprint is not None:
            self._replies[key] = (fingerprint, reply)
            if len(self._replies) > MAX_REPLIES:
                del self._replies[next(iter(self._replies))]
