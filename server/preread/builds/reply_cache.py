"""A cache of replies, valid as long as nothing that they depend on has changed."""

from collections.abc import Hashable
from typing import Generic, TypeVar

from preread.fingerprint import Fingerprint

T = TypeVar("T")
MAX_REPLIES = 64


class ReplyCache(Generic[T]):
    """The most recently used replies by request, each with a fingerprint of its inputs."""

    def __init__(self) -> None:
        self._entries: dict[Hashable, tuple[Fingerprint, T]] = {}

    def get(self, key: Hashable) -> T | None:
        """The cached reply to the same request, if its fingerprint is still valid."""
        entry = self._entries.pop(key, None)
        if entry is None or not entry[0].is_valid():
            return None
        self._entries[key] = entry  # now the most recently used
        return entry[1]

    def put(self, key: Hashable, fingerprint: Fingerprint | None, reply: T) -> None:
        """Cache a reply, if it has a fingerprint."""
        if fingerprint is not None:
            self._entries[key] = (fingerprint, reply)
            if len(self._entries) > MAX_REPLIES:
                del self._entries[next(iter(self._entries))]
