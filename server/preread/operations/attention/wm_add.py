"""`wm_add`: give something attention: a file, a feature, or a note."""

from pydantic import Field

from preread.infra.secrets import Credentials
from preread.models import Model
from preread.operations.attention import shared
from preread.operations.attention.shared import Item
from preread.operations.registry import Context, Operation, Preview, RequestModel, threaded
from preread.services import Services


class AddRequest(RequestModel):
    """What to give attention to."""

    what: str = Field(
        min_length=1,
        max_length=500,
        description="A file's path, a feature, or a note in a sentence.",
    )


class AddReply(Model):
    """What has attention now, the highest score first."""

    items: tuple[Item, ...]


def _add(services: Services, request: AddRequest) -> AddReply:
    layout = services.layout
    what = Credentials(layout.root).hidden(" ".join(request.what.split()))
    shared.note(layout, "noted", what)
    return AddReply(items=tuple(shared.items(shared.events(services))))


async def preview(context: Context, request: AddRequest) -> Preview:  # noqa: ARG001
    return Preview(notes=("The note would have attention until it fades.",))


OPERATION = Operation(
    name="attention.wm_add",
    request=AddRequest,
    reply=AddReply,
    effect="write",
    doc="Give a file, a feature or a note attention: the next sessions get the facts about it.",
    example="""preread call attention.wm_add '{"what": "the sandbox rejects amounts over 999"}'""",
    run=threaded(_add),
    preview=preview,
    pages="items",
)
