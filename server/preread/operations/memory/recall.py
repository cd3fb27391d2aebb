"""`recall`: what is remembered about a topic."""

from typing import Literal

from pydantic import Field

from preread import facts, meaning, passages
from preread.errors import PrereadError
from preread.infra import embedding
from preread.models import Model
from preread.operations.memory import entries
from preread.operations.memory.entries import Memory
from preread.operations.registry import Context, Operation, RequestModel, in_thread
from preread.services import Services

Mode = Literal["words", "meaning", "both"]
NO_MODEL = "No model for search by meaning is installed"
INSTALL = f"To install it: {embedding.HOW_TO_INSTALL}."
MAX_PASSAGES = 5  # sentences of documents


class RecallRequest(RequestModel):
    """What to look for."""

    topic: str = Field(description="Words to look for; empty for everything.")
    limit: int = Field(10, ge=1, le=1000, description="The maximum number of facts.")
    mode: Mode = Field("both", description="Look for the words, for the meaning, or for both.")
    tags: tuple[str, ...] = Field((), description="Only facts with all of these tags.")
    collection: str | None = Field(None, description="Only this collection.")


class Passage(Model):
    """A sentence of a loaded document."""

    text: str
    source: str = Field(description="Like `doc:docs/paper.pdf#p3`.")


class RecallReply(Model):
    """What is remembered, best first."""

    entries: tuple[Memory, ...]
    used: Mode = Field(description="The mode that was used.")
    warnings: tuple[str, ...] = ()
    documents: tuple[Passage, ...] = Field((), description="What loaded documents say about it.")


async def recall(context: Context, request: RecallRequest) -> RecallReply:
    services = context.services()
    reply = await in_thread(context, services, _recall, request)
    if request.tags or request.collection is not None or not request.topic.strip():
        return reply
    sentences = await in_thread(
        context, services, passages.sentences_about, request.topic, MAX_PASSAGES
    )
    found = tuple(Passage(text=text, source=source) for text, source in sentences)
    return reply.model_copy(update={"documents": found})


def _recall(services: Services, request: RecallRequest) -> RecallReply:
    known = entries.chosen(
        (one for one in entries.all_memories(services) if one.state != "retired"),
        tags=request.tags,
        collection=request.collection,
    )
    words = _by_words(services, request.topic, known)
    weight = {"words": 0.0, "meaning": 1.0}.get(request.mode, services.settings.meaning)
    if not weight or not request.topic.strip():
        return RecallReply(entries=tuple(words[: request.limit]), used="words")
    texts = [text_of(one) for one in known]
    near = meaning.near(
        services.layout, request.topic, texts, beside_words=bool(words) and weight < 1
    )
    if near is None and request.mode == "meaning":
        raise PrereadError("E_USAGE", f"{NO_MODEL}.", f"{INSTALL} Or use the mode `words`.")
    if near is None:
        warning = f"{NO_MODEL}, so only words were searched for. {INSTALL}"
        return RecallReply(entries=tuple(words[: request.limit]), used="words", warnings=(warning,))
    found = meaning.fused(words, [known[place] for place in near], weight)
    return RecallReply(
        entries=tuple(found[: request.limit]), used="meaning" if weight == 1 else "both"
    )


def _by_words(services: Services, topic: str, known: list[Memory]) -> list[Memory]:
    at = {(one.path, one.line): one for one in known}
    ranked = facts.search(services, topic, facts.Wanted(""), entries.MANY)
    found = (at.get((fact.path, fact.line)) for fact in ranked)
    return list(dict.fromkeys(one for one in found if one is not None))


def text_of(one: Memory) -> str:
    """An entry's text with its collection, topic and tags."""
    return " ".join((one.text, one.collection, one.topic, *one.tags))


OPERATION = Operation(
    name="memory.recall",
    request=RecallRequest,
    reply=RecallReply,
    effect="read",
    doc="List what is remembered about a topic, best first.",
    example='preread recall "payment time-out" --limit 5',
    run=recall,
    command="recall",
    positional=("topic",),
    pages="entries",
)
