"""Hints for the gates that a dossier is stale: files in `.cache/stale/` that say why.

They are only hints, and are skipped if they cannot be written.
"""

import os
from contextlib import suppress

from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.layout import Layout

MAX_REASON = 300  # characters
# How the reason of a dossier begins whose sources are valid, while what was computed may not be.
COMPUTED = "files changed since its facts were computed"


def mark(layout: Layout, feature: str, why: str) -> None:
    """Note that the dossier no longer covers the request it was built for."""
    text = " ".join(why.split())[:MAX_REASON]
    with suppress(PrereadError):
        if text != reason(layout, feature):  # a session hears of every hint that is written
            atomic.write(layout.stale(feature), f"{text}\n".encode("utf-8", "replace"))


def reason(layout: Layout, feature: str) -> str:
    """The reason that the hint gives; empty if there is none. Raises Unreadable."""
    return (plain_bytes(layout.stale(feature)) or b"").decode("utf-8", "replace").strip()


def clear(layout: Layout, feature: str) -> None:
    """Remove the hint, if there is one."""
    hint = layout.stale(feature)
    if os.path.lexists(hint):  # rarely; a cached load must not pay for more
        with suppress(PrereadError):
            atomic.remove(hint)


def clear_cited(layout: Layout, feature: str) -> None:
    """Remove the hint of a dossier whose sources are valid, unless it is about computed facts."""
    with suppress(PrereadError):
        if not reason(layout, feature).startswith(COMPUTED):
            clear(layout, feature)
