"""A request that is sent twice is done once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .errors import IdempotencyConflict, ShopError


class IdempotencyKeys:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._key_locks: dict[str, threading.Lock] = {}
        self._done: dict[str, tuple[str, Any]] = {}

    def run(self, key: str, fingerprint: str, action: Callable[[], Any]) -> Any:
        """Do `action` at most once for `key`; later calls get the first outcome, errors included."""
        with self._lock:
            key_lock = self._key_locks.setdefault(key, threading.Lock())
        with key_lock:
            if key not in self._done:
                try:
                    outcome: Any = action()
                except ShopError as error:
                    outcome = error
                self._done[key] = (fingerprint, outcome)
            first, outcome = self._done[key]
        if first != fingerprint:
            raise IdempotencyConflict(f"key {key!r} was used for another request")
        if isinstance(outcome, ShopError):
            raise outcome
        return outcome
