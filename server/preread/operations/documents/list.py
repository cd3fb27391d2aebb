"""`documents.list`: the loaded documents."""

from pydantic import Field

from preread.documents import catalog
from preread.errors import PrereadError
from preread.models import Model
from preread.operations.documents.entries import Entry, entry
from preread.operations.registry import NothingRequest, Operation, threaded
from preread.services import Services


class Listed(Model):
    """A document that was loaded."""

    path: str
    is_changed: bool = Field(False, description="Whether it changed since it was loaded.")
    fault: str = Field("", description="Why it cannot be read now.")
    entry: Entry | None = None


class ListReply(Model):
    """The documents that were loaded, by path."""

    documents: tuple[Listed, ...]


def _list(services: Services, _: NothingRequest) -> ListReply:
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
    request=NothingRequest,
    reply=ListReply,
    effect="read",
    doc="List the loaded documents, with their metadata.",
    example="preread call documents.list",
    run=threaded(_list),
    pages="documents",
)
