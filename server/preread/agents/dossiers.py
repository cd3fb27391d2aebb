"""The dossier as the agents of a run get it: brought up to date once something was merged."""

import threading
from collections.abc import Collection
from dataclasses import dataclass, field, replace

import anyio

from preread import published, refreshing, replies, staleness
from preread.agents.order import DOSSIER, Order
from preread.services import Services
from preread.worktrees.repository import Repository


@dataclass
class Dossier:
    """What it says, and since which merges. Safe to use from several threads."""

    services: Services
    repository: Repository
    order: Order
    seen: set[str]  # the tasks that were merged when it was read
    text: str = field(init=False)
    missing: set[str] = field(default_factory=set)  # tasks whose merge it does not know
    reading: threading.Lock = field(default_factory=threading.Lock)  # nothing is merged meanwhile

    def __post_init__(self) -> None:
        self.text = self.order.known[DOSSIER]

    def sources(self, merged: Collection[str]) -> dict[str, str]:
        """It, with what it is called in a prompt. Raises Cancelled."""
        with self.reading:
            self.missing |= set(merged) - self.seen
            self.seen |= self.missing
            if self.missing:
                self._refresh()
            old = f" (older than what is merged: {', '.join(sorted(self.missing))})"
            return {f"{DOSSIER}{old if self.missing else ''}": self.text}

    def _refresh(self) -> None:
        """Without a model, and only where what was merged is in the main work tree's files."""
        if self.repository.checkout_of(self.order.base) != self.repository.top:
            return
        feature, layout = self.order.feature, self.services.layout

        def services() -> Services:
            return replace(self.services)  # its list of files is read anew

        done = anyio.run(refreshing.refresh, services, (feature,), 0.0)
        texts = published.read_texts(layout, feature)
        # Of files that have only just changed, a look alone cannot tell.
        if texts and (done or not staleness.why(services(), feature)):
            self.text, _ = replies.inline(texts, self.services.settings.inline_tokens)
            self.missing.clear()
