"""The hint for the gates that a dossier is stale: a file below `.cache/` whose text says why; it may be lost."""

import os
from contextlib import suppress

from preread.errors import PrereadError
from preread.infra import atomic
from preread.layout import Layout

MOST = 300  # characters of a reason


def stale(layout: Layout, feature: str, why: str) -> None:
    """Say that the dossier would not serve its own request; without effect where nothing can be written."""
    with suppress(PrereadError):
        atomic.write(
            layout.stale(feature), f"{' '.join(why.split())[:MOST]}\n".encode("utf-8", "replace")
        )


def fresh(layout: Layout, feature: str) -> None:
    """Take the hint back; part of every cached load, which mostly finds none."""
    hint = layout.stale(feature)
    if os.path.lexists(hint):
        with suppress(PrereadError):
            atomic.remove(hint)
