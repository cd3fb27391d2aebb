"""Hints for the gates that a dossier is stale: files in `.cache/stale/` that say why.

They are only hints, and are skipped if they cannot be written.
"""

import os
from contextlib import suppress

from preread.errors import PrereadError
from preread.infra import atomic
from preread.layout import Layout

MAX_REASON = 300  # characters


def mark(layout: Layout, feature: str, why: str) -> None:
    """Note that the dossier no longer covers the request it was built for."""
    text = " ".join(why.split())[:MAX_REASON] + "\n"
    with suppress(PrereadError):
        atomic.write(layout.stale(feature), text.encode("utf-8", "replace"))


def clear(layout: Layout, feature: str) -> None:
    """Remove the hint, if there is one."""
    hint = layout.stale(feature)
    if os.path.lexists(hint):  # rarely; a cached load must not pay for more
        with suppress(PrereadError):
            atomic.remove(hint)
