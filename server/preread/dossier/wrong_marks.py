"""Facts that were marked as wrong; a build never publishes them again."""

import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pydantic import ConfigDict, Field

from preread.dossier import fact_text, published
from preread.infra import atomic
from preread.infra.locks import FileLock
from preread.infra.reading import plain_bytes
from preread.layout import BY_NAME, Layout
from preread.models import Model

LOCK = "_wrong"  # no feature has this name
LOCK_SECONDS = 10.0


class Wrong(Model):
    """A fact that a person or an agent marked as wrong. Keys of later versions are kept."""

    model_config = ConfigDict(extra="allow", frozen=True)

    feature: str = Field(description="The dossier that contained it.")
    text: str
    subject: str = Field("", description="What it was about, as in `Manifest.subjects`.")


def ids(layout: Layout) -> dict[str, str]:
    """The facts that are marked: id -> text. A file that cannot be read has none."""
    return {id_: mark.text for id_, mark in marks(layout).items()}


def marks(layout: Layout) -> dict[str, Wrong]:
    """The marks by the ids of their facts. A file that cannot be read has none."""
    return _read(layout) or {}


def is_damaged(layout: Layout) -> bool:
    """Whether there are marks that cannot be read."""
    return _read(layout) is None


def shapes(layout: Layout) -> frozenset[tuple[str, str]]:
    """The files and shapes of the marked facts; facts with other numbers are wrong, too."""
    return frozenset(
        (name, fact_text.shape(text))
        for id_, text in ids(layout).items()
        for name in BY_NAME
        if fact_text.fact_id(name, text) == id_
    )


def subjects(layout: Layout) -> frozenset[str]:
    """What the marked facts were about; facts of the same rule about that are wrong, too."""
    return frozenset(mark.subject for mark in marks(layout).values() if mark.subject)


def add(layout: Layout, id: str, wrong: Wrong) -> None:  # noqa: A002 - as in the registry
    """Mark a fact as wrong. A file that cannot be read is renamed, not lost. Raises E_WRITE."""
    with _locked(layout):
        marked = _read(layout)
        if marked is None:
            backup = _unused(layout.wrong.with_name(f"{layout.wrong.name}.bad"))
            atomic.replace(layout.wrong, backup)
            marked = {}
        _write(layout, marked | {id: wrong})


def remove(layout: Layout, ids: Collection[str]) -> None:
    """Take the marks off these facts. Raises E_WRITE."""
    with _locked(layout):
        marked = marks(layout)
        if not marked.keys().isdisjoint(ids):
            _write(layout, {name: mark for name, mark in marked.items() if name not in ids})


@contextmanager
def _locked(layout: Layout) -> Iterator[None]:
    lock = layout.lock(LOCK)
    atomic.make_folder(lock.parent)
    atomic.make_folder(layout.wrong.parent)
    with atomic.write_errors(layout.wrong), FileLock(lock, timeout=LOCK_SECONDS):
        yield


def _write(layout: Layout, marked: Mapping[str, Wrong]) -> None:
    values = {
        name: mark.model_dump(mode="json", exclude_defaults=True) for name, mark in marked.items()
    }
    atomic.write(layout.wrong, published.json_bytes(values), durable=True)


def _read(layout: Layout) -> dict[str, Wrong] | None:
    """The marks; None when the file exists but cannot be read."""
    data = plain_bytes(layout.wrong)
    if data is None:
        return None if os.path.lexists(layout.wrong) else {}
    try:
        return {name: Wrong.model_validate(mark) for name, mark in json.loads(data).items()}
    except (ValueError, AttributeError, RecursionError):  # ValidationError is a ValueError
        return None


def _unused(path: Path) -> Path:
    """`path`, or the first of `path.1`, `path.2`, … that does not exist."""
    candidates = (path if n == 0 else path.with_name(f"{path.name}.{n}") for n in range(10_000))
    return next(candidate for candidate in candidates if not os.path.lexists(candidate))
