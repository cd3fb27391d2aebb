"""The dollars and seconds that all agents of one run share: reserved before one of them starts."""

import threading
import time
from dataclasses import dataclass, field

from preread.errors import PrereadError

LEAST_SECONDS = 1.0  # starting an agent for less is pointless
LEAST_SHARE = 0.01  # of the run's money, likewise


@dataclass
class Purse:
    """What is left of a run's limits. Safe to use from several threads."""

    usd: float
    until: float  # on the clock of time.monotonic()
    used: float = 0.0  # spent or reserved
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def seconds(self) -> float:
        return self.until - time.monotonic()

    def need_time(self) -> float:
        """The seconds that are left. Raises E_TIMEOUT when they are too few for anything."""
        if self.seconds < LEAST_SECONDS:
            raise PrereadError(
                "E_TIMEOUT", "The time for the run is over.", "Call again with the same id."
            )
        return self.seconds

    def reserve(self, among: int) -> float:
        """An equal share of the rest for one of `among` agents to come.

        Raises E_MONEY and E_TIMEOUT.
        """
        self.need_time()
        with self._lock:
            share = (self.usd - self.used) / max(1, among)
            if share < self.usd * LEAST_SHARE:
                raise PrereadError(
                    "E_MONEY",
                    f"${self.used:.2f} of the ${self.usd:.2f} for the run are spent or reserved.",
                    "Call again with the same id: what is done is not paid for again.",
                )
            self.used += share
        return share

    def settle(self, share: float, cost: float | None) -> None:
        """Give back what a share was not used for; an unknown cost counts as all of it."""
        if cost is not None:
            with self._lock:
                self.used += cost - share
