"""`documents.list`: the loaded documents."""

from pydantic import Field

from preread.documents import catalog
from preread.errors import PrereadError
from preread.models import Model
from preread.operations.documents.entries import Entry, entry
from preread.operations.registry import Context, Operation, RequestModel, in_thread
from preread.services import Services


class ListRequest(RequestModel):
    """Takes no params."""


class Listed(Model):
    """A document that was loaded."""

    path: str
    is_changed: bool = Field(False, description="Whether it changed since it was loaded.")
    fault: str = Field("", description="Why it cannot be read now.")
    entry: Entry | None = None


class ListReply(Model):
    """The documents that were loaded, by path."""

    documents: tuple[Listed, ...]


async def list_(context: Context, _: ListRequest) -> ListReply:
    return await in_thread(context, context.services(), _list)


def _list(services: Services) -> ListReply:
    known = catalog.loaded(services.layout)
    return ListReply(documents=tuple(_listed(services, *pair) for pair in known.items()))


def _listed(services: Services, path: str, digest: str) -> Listed:
    try:
        found = entry(services.tree, path)
    except PrereadError as error:
        return Listed(path=path, fault=f"{error.code}: {error.message}")
    return Listed(path=path, is_changed=found.digest != digest, entry=found)


OPERATION = Operation(
    name="documents.list",
    request=ListRequest,
    reply=ListReply,
    effect="read",
    doc="List the loaded documents, with their metadata.",
    example="preread call documents.list",
    run=list_,
    pages="documents",
)
