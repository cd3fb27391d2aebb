"""`update_metadata`: change a remembered fact's tags, topic or collection."""

from functools import partial

from pydantic import Field

from preread.memory.book import Book, Entry, tidy_tags
from preread.models import Model
from preread.operations.memory import entries, keeping
from preread.operations.registry import Operation, Preview, RequestModel, threaded
from preread.services import Services


class UpdateRequest(RequestModel):
    """Which fact to change, and how. What is left out stays."""

    fact: str = Field(min_length=1, description="Its id, or its exact text.")
    tags: tuple[str, ...] | None = Field(None, description="All of its tags.")
    topic: str | None = Field(None, description="What it is about; empty for nothing special.")
    collection: str | None = Field(None, min_length=1, description=keeping.COLLECTION)


class UpdateReply(Model):
    """The fact as it is now."""

    id: str
    text: str
    tags: tuple[str, ...]
    topic: str
    collection: str
    path: str
    line: int


def _update(services: Services, request: UpdateRequest) -> UpdateReply:
    changed = entries.edit(services, request.fact, _change(services, request))
    entry = changed.after
    return UpdateReply(
        id=entry.id,
        text=entry.text,
        tags=entry.tags,
        topic=entry.note.get("topic", ""),
        collection=entry.collection,
        path=changed.path,
        line=entry.lines[0],
    )


def _preview(services: Services, request: UpdateRequest) -> Preview:
    return entries.preview(services, request.fact, _change(services, request))


def _change(services: Services, request: UpdateRequest) -> entries.Change:
    values = {}
    if request.tags is not None:
        values["tags"] = ", ".join(tidy_tags(request.tags))
    if request.topic is not None:
        values["topic"] = keeping.topic_of(request.topic)
    collection = keeping.heading(request.collection) if request.collection else ""
    keeping.refuse_text(services, "\t".join((*values.values(), collection)))
    return partial(_set, values, collection)


def _set(values: dict[str, str], collection: str, book: Book, entry: Entry) -> None:
    note = {**entry.note, **values}
    if any(note[key] != entry.note.get(key, "") for key in values):
        book.set_note(entry, note)
    if collection and collection.casefold() != entry.collection.casefold():
        book.move(book.find(entry.id) or entry, collection)


OPERATION = Operation(
    name="memory.update_metadata",
    request=UpdateRequest,
    reply=UpdateReply,
    effect="write",
    doc="Change the tags, the topic or the collection of a remembered fact.",
    example="""preread call memory.update_metadata '{"fact": "3f9a01bc", "tags": ["money"]}'""",
    run=threaded(_update),
    preview=threaded(_preview),
)
