"""Damage to the history of a dossier's facts: what says so, and what repairs it."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from preread.dossier import fact_history
from preread.dossier.fact_changes import compare
from preread.dossier.fact_history import LOST, Event
from preread.dossier.published import Published
from preread.infra import atomic
from preread.infra.plural import counted
from preread.infra.reading import plain_bytes
from preread.layout import Layout


def broken_lines(path: Path) -> list[bytes]:
    """The damaged lines of a file of the history; not those of a later version."""
    lines = (plain_bytes(path) or b"").split(b"\n")
    return [line for line in lines if line and not _is_object(line)]


def _is_object(line: bytes) -> bool:
    with suppress(ValueError, RecursionError):
        return isinstance(json.loads(line), dict)
    return False


def is_missing(layout: Layout, feature: str) -> bool:
    """Whether there is no history, although the dossier was built on this machine."""
    was_built_here = plain_bytes(layout.run_record(feature)) is not None
    paths = fact_history.files(layout, feature)
    return was_built_here and not any(map(os.path.lexists, paths))


def warnings(layout: Layout, feature: str) -> Iterator[str]:
    """Warnings for whoever asks what the history says."""
    path = layout.history(feature)
    lines = [line for one in fact_history.files(layout, feature) for line in broken_lines(one)]
    why = f"{counted(len(lines), 'line')} cannot be read" if lines else ""
    if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
        why = "it is not a regular file"
    elif is_missing(layout, feature):
        why = "it is missing"
    if why:
        about = f"The history of its facts, {layout.relative(path)}, is incomplete: {why}."
        yield f"{about} See `preread check --all`."


def repair(layout: Layout, feature: str, found: Published) -> None:
    """Remove damaged lines, and record what has changed since the last of the others.

    Raises E_WRITE.
    """
    for path in fact_history.files(layout, feature):
        if broken := broken_lines(path):
            lines = (plain_bytes(path) or b"").split(b"\n")
            kept = [line + b"\n" for line in lines if line and line not in broken]
            atomic.write(path, b"".join(kept), durable=True)
    known = fact_history.facts_after(fact_history.events(layout, feature))
    if changes := compare(known, fact_history.facts_in(found.texts, feature)):
        event = Event(at=round(time.time(), 3), how=LOST, changes=tuple(changes))
        fact_history.append(layout, feature, [event])
