"""`regenerate_vectors`: compute the vectors of all remembered facts again."""

from preread import meaning
from preread.operations.memory import entries
from preread.operations.memory.recall import text_of
from preread.operations.registry import (
    Context,
    NothingRequest,
    Operation,
    Preview,
    in_thread,
)
from preread.operations.semantic_config import SemanticReply, reply
from preread.services import Services


async def regenerate(context: Context, request: NothingRequest) -> SemanticReply:  # noqa: ARG001
    await in_thread(context, context.services(), _regenerate)
    return await in_thread(context, context.services(), reply)


def _regenerate(services: Services) -> None:
    meaning.regenerate(services.layout, [text_of(one) for one in entries.all_memories(services)])


async def preview(context: Context, request: NothingRequest) -> Preview:  # noqa: ARG001
    return Preview(notes=("Only the derived database would change.",))


OPERATION = Operation(
    name="config.regenerate_vectors",
    request=NothingRequest,
    reply=SemanticReply,
    effect="write",
    doc="Recompute the vectors of all remembered facts, for recall by meaning.",
    example="preread call config.regenerate_vectors",
    run=regenerate,
    preview=preview,
)
