"""Remembered facts as replies list them."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Literal, NamedTuple

from pydantic import Field

from preread import check, facts
from preread.errors import PrereadError
from preread.layout import Layout
from preread.memory import files
from preread.memory.book import Book, Entry, tidy_tags
from preread.models import Model, State
from preread.operations import previews
from preread.operations.registry import Preview
from preread.services import Services

MANY = 1_000_000
Change = Callable[[Book, Entry], object]


class Memory(Model):
    """One remembered fact."""

    id: str
    text: str
    collection: str
    sources: tuple[str, ...]
    state: State | Literal["failed", "retired"] = Field(
        description="`failed`: its sources are invalid now. `retired`: replaced or forgotten."
    )
    confidence: float
    by: str = ""
    at: str = ""
    commit: str = ""
    tags: tuple[str, ...] = ()
    topic: str = ""
    personal: bool
    path: str
    line: int
    replaced_by: str = ""
    forgotten: str = Field("", description="When, by whom, why.")


def all_memories(services: Services) -> list[Memory]:
    """All remembered facts, retired ones too, shared ones first, in the order of their files."""
    indexed = facts.search(services, "", facts.Wanted(""), MANY, check.check_unbudgeted)
    states = {(found.path, found.line): (found.state, found.confidence) for found in indexed}
    return list(_memories(services, states))


def _memories(
    services: Services, states: dict[tuple[str, int], tuple[State | Literal["failed"], float]]
) -> Iterator[Memory]:
    layout = services.layout
    for personal in (False, True):
        path = layout.relative(files.path_of(layout, personal=personal))
        for entry in files.read(layout, personal=personal).entries:
            state, confidence = states.get((path, entry.lines[0]), ("failed", 0.0))
            note = entry.note
            yield Memory(
                id=entry.id,
                text=entry.text,
                collection=entry.collection,
                sources=entry.sources,
                state="retired" if entry.is_retired else state,
                confidence=0.0 if entry.is_retired else confidence,
                by=note.get("by", ""),
                at=note.get("at", ""),
                commit=note.get("commit", ""),
                tags=entry.tags,
                topic=note.get("topic", ""),
                personal=personal,
                path=path,
                line=entry.lines[0],
                replaced_by=note.get("replaced-by", ""),
                forgotten=note.get("forgotten", ""),
            )


def chosen(
    found: Iterable[Memory], *, tags: tuple[str, ...] = (), collection: str | None = None
) -> list[Memory]:
    """The facts with all of these tags, and in this collection if one is given."""
    wanted = {*tidy_tags(tags)}
    return [
        one
        for one in found
        if wanted <= set(one.tags)
        and (collection is None or one.collection.casefold() == collection.casefold())
    ]


class Changed(NamedTuple):
    """An entry before and after a change, and its file."""

    path: str
    before: Entry
    after: Entry


def edit(services: Services, wanted: str, change: Change) -> Changed:
    """Change the entry with an id or a text. Raises E_NOT_FOUND, and what `change` raises."""
    layout = services.layout
    personal = _is_personal(layout, wanted)
    path = layout.relative(files.path_of(layout, personal=personal))
    return files.edit(layout, partial(_changed, path, wanted, change), personal=personal)


def preview(services: Services, wanted: str, change: Change) -> Preview:
    """What `edit` would change; raises like it."""
    layout = services.layout
    personal = _is_personal(layout, wanted)
    path = layout.relative(files.path_of(layout, personal=personal))
    work = partial(_changed, path, wanted, change)
    return previews.of_file(path, *files.previewed(layout, work, personal=personal))


def _changed(path: str, wanted: str, change: Change, book: Book) -> Changed:
    before = book.find(wanted)
    if before is None:
        raise _not_found(wanted)
    change(book, before)
    return Changed(path, before, book.find(before.id) or before)


def _is_personal(layout: Layout, wanted: str) -> bool:
    """Whether the entry with this id or text is a personal one. Raises E_NOT_FOUND for neither."""
    for personal in (False, True):
        if files.read(layout, personal=personal).find(wanted) is not None:
            return personal
    raise _not_found(wanted)


def _not_found(wanted: str) -> PrereadError:
    return PrereadError(
        "E_NOT_FOUND",
        f"Nothing that is remembered has the id or text {wanted[:120]!a}.",
        "These list ids: `preread recall WORDS`, `preread call memory.digest`",
    )
