"""The budget of a call in dollars and seconds; an agent's share is reserved before it starts."""

import threading
import time
from dataclasses import dataclass, field

from preread.errors import PrereadError

MIN_SECONDS = 1.0  # starting an agent for less is pointless
MIN_SHARE = 0.01  # of the run's money, likewise


@dataclass
class Budget:
    """The remaining budget of a run. Thread-safe."""

    usd: float
    until: float  # on the clock of time.monotonic()
    used: float = 0.0  # spent or reserved
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def seconds(self) -> float:
        return self.until - time.monotonic()

    def need_time(self) -> float:
        """The seconds that are left. Raises E_TIMEOUT if they are too few to do anything."""
        if self.seconds < MIN_SECONDS:
            raise PrereadError(
                "E_TIMEOUT", "The time for the run is over.", "Call again with the same params."
            )
        return self.seconds

    def reserve(self, among: int) -> float:
        """Reserve an equal share of the rest for one of the next `among` agents.

        Raises E_MONEY and E_TIMEOUT.
        """
        self.need_time()
        with self._lock:
            share = (self.usd - self.used) / max(1, among)
            if share < self.usd * MIN_SHARE:
                raise PrereadError(
                    "E_MONEY",
                    f"${self.used:.2f} of the ${self.usd:.2f} for the run are spent or reserved.",
                    "Call again with the same params: finished steps are not paid for again.",
                )
            self.used += share
        return share

    def settle(self, share: float, cost: float | None) -> None:
        """Release the unused part of a share; an unknown cost counts as the whole share."""
        if cost is not None:
            with self._lock:
                self.used += cost - share
