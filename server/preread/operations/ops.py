"""`ops`: what operations there are, for programs and agents that call them by name."""

from typing import Any

from pydantic import Field

from preread.models import Model
from preread.operations import REGISTRY, dispatch, schemas
from preread.operations.arguments import signature
from preread.operations.registry import Context, Operation, RequestModel
from preread.settings import Effect


class OpsRequest(RequestModel):
    """Which operations to list."""

    category: str | None = Field(None, description="Only this category, like `knowledge`.")


class Described(Model):
    """One operation."""

    name: str
    params: str = Field(description="The names of its params; a question mark means optional.")
    effect: Effect
    doc: str
    example: str = Field(description="A command line that works.")
    people_only: bool = Field(description="Whether agents are refused.")
    param_schema: dict[str, Any] = Field(description="The JSON Schema of its params.")


class OpsReply(Model):
    """The operations, in the registry's order."""

    categories: tuple[str, ...]
    operations: tuple[Described, ...]


async def ops(context: Context, request: OpsRequest) -> OpsReply:
    listed = list(REGISTRY.values())
    if context.is_agent:
        listed = dispatch.offered(listed, context.services().settings)
    chosen = [one for one in listed if request.category in {None, one.category}]
    described = tuple(
        Described(
            name=one.name,
            params=signature(one.request),
            effect=one.effect,
            doc=one.doc,
            example=one.example,
            people_only=one.people_only,
            param_schema=schemas.of_request(one.request),
        )
        for one in chosen
    )
    categories = tuple(dict.fromkeys(one.category for one in listed))
    if not chosen:
        raise dispatch.no_category(str(request.category), categories)
    return OpsReply(categories=categories, operations=described)


OPERATION = Operation(
    name="config.ops",
    request=OpsRequest,
    reply=OpsReply,
    effect="read",
    doc="List the operations: their params, effects and examples.",
    example="preread ops --category knowledge",
    run=ops,
    command="ops",
    pages="operations",
)
