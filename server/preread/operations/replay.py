"""`replay`: repeat a call from the audit log."""

from typing import Any

from pydantic import Field

from preread.errors import PrereadError
from preread.models import Model
from preread.operations import REGISTRY, dispatch
from preread.operations.arguments import parse
from preread.operations.registry import Context, Operation, Preview, RequestModel
from preread.records import audit
from preread.records.audit import Entry


class ReplayRequest(RequestModel):
    """Which call to repeat."""

    id: str = Field(description="The call's id, as `log` lists it.")


class ReplayReply(Model):
    """The call, and its result this time."""

    entry: Entry
    result: dict[str, Any]


async def replay(context: Context, request: ReplayRequest) -> ReplayReply:
    entry, operation, given = _call(context, request)
    reply = await dispatch.run(context, operation, given)
    return ReplayReply(entry=entry, result=reply.model_dump(mode="json", exclude_none=True))


async def preview(context: Context, request: ReplayRequest) -> Preview:
    """What the repeated call would change."""
    _, operation, given = _call(context, request)
    if operation.preview is None:
        return Preview(notes=(f"{operation.name} would be called again.",))
    shown: Preview = await operation.preview(context, given)
    return shown


def _call(context: Context, request: ReplayRequest) -> tuple[Entry, Operation, RequestModel]:
    """The entry, with its operation and its request. Raises E_NOT_FOUND, E_USAGE."""
    entry = audit.entry(context.services().layout, request.id)
    if not entry.whole:
        raise PrereadError(
            "E_USAGE",
            f"The call {entry.id} cannot be replayed: its params were shortened or had a secret.",
            f"Call {entry.method} yourself.",
        )
    operation = dispatch.find(REGISTRY, entry.method)
    return entry, operation, parse(operation.request, entry.params, operation.name)


OPERATION = Operation(
    name="audit.replay",
    request=ReplayRequest,
    reply=ReplayReply,
    effect="execute",
    doc="Repeat a call from the log, with the same params.",
    example="preread replay 3f9a01bc22d1",
    run=replay,
    preview=preview,
    command="replay",
    people_only=True,
    positional=("id",),
)
