"""The dossier that a run's agents get: refreshed after each merge."""

import threading
from collections.abc import Collection
from dataclasses import dataclass, field, replace

import anyio

from preread.agents.order import DOSSIER, Order
from preread.builds import refreshing, replies, staleness
from preread.dossier import published
from preread.services import Services
from preread.worktrees.repository import Repository


@dataclass
class Dossier:
    """The dossier's text, and the merges that it includes. Thread-safe."""

    services: Services
    repository: Repository
    order: Order
    seen: set[str]  # the tasks that were merged when it was read
    text: str = field(init=False)
    missing: set[str] = field(default_factory=set)  # merged tasks that it does not include yet
    reading: threading.Lock = field(default_factory=threading.Lock)  # blocks merges

    def __post_init__(self) -> None:
        self.text = self.order.known[DOSSIER]

    def sources(self, merged: Collection[str]) -> dict[str, str]:
        """The dossier, refreshed if necessary, by its title in a prompt. Raises Cancelled."""
        with self.reading:
            self.missing |= set(merged) - self.seen
            self.seen |= self.missing
            if self.missing:
                self._refresh()
            old = f" (older than what is merged: {', '.join(sorted(self.missing))})"
            return {f"{DOSSIER}{old if self.missing else ''}": self.text}

    def _refresh(self) -> None:
        """Refresh without a model, if the main work tree has the base checked out."""
        if self.repository.checkout_of(self.order.base) != self.repository.top:
            return
        feature, layout = self.order.feature, self.services.layout

        def services() -> Services:
            return replace(self.services)  # a copy, which lists the files again

        done = anyio.run(refreshing.refresh, services, (feature,), 0.0)
        texts = published.in_place(layout, feature).texts
        # The refresh may miss files changed a moment ago, so an unchanged dossier is checked again.
        if texts and (done or not staleness.why(services(), feature)):
            self.text, _ = replies.inline(texts, self.services.settings.inline_tokens)
            self.missing.clear()
