"""`recall`: what is remembered about a topic."""

from typing import Literal

from pydantic import Field

from preread import facts
from preread.errors import PrereadError
from preread.models import Model
from preread.operations.memory import entries
from preread.operations.memory.entries import Memory
from preread.operations.registry import Context, Operation, RequestModel, in_thread
from preread.services import Services

Mode = Literal["words", "meaning", "both"]
NO_MODEL = "No model for search by meaning is installed"


class RecallRequest(RequestModel):
    """What to look for."""

    topic: str = Field(description="Words to look for; none for everything.")
    limit: int = Field(10, ge=1, le=1000, description="The maximum number of facts.")
    mode: Mode = Field("both", description="Look for the words, for the meaning, or for both.")
    tags: tuple[str, ...] = Field((), description="Only facts with all of these tags.")
    collection: str | None = Field(None, description="Only this collection.")


class RecallReply(Model):
    """What is remembered, best first."""

    entries: tuple[Memory, ...]
    used: Mode = Field(description="How it was searched.")
    warnings: tuple[str, ...] = ()


async def recall(context: Context, request: RecallRequest) -> RecallReply:
    return await in_thread(context, context.services(), _recall, request)


def _recall(services: Services, request: RecallRequest) -> RecallReply:
    if request.mode == "meaning":
        raise PrereadError("E_USAGE", f"{NO_MODEL}.", "Use the mode `words` or `both`.")
    known = entries.chosen(
        (one for one in entries.every(services) if one.state != "retired"),
        tags=request.tags,
        collection=request.collection,
    )
    at = {(one.path, one.line): one for one in known}
    ranked = facts.search(services, request.topic, feature="", limit=entries.MANY)
    found = dict.fromkeys(
        one for fact in ranked if (one := at.get((fact.path, fact.line))) is not None
    )
    warnings = (f"{NO_MODEL}: it was searched by words.",) if request.mode == "both" else ()
    return RecallReply(entries=tuple(found)[: request.limit], used="words", warnings=warnings)


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
