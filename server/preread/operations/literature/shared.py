"""What these operations share: the documents, what is extracted from them, and by what."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import Field

from preread.documents import catalog, reading
from preread.errors import PrereadError
from preread.literature import extraction, network, rules
from preread.literature.extraction import Paper
from preread.literature.model import Entity, Relation
from preread.literature.network import Made, Network, Schema
from preread.operations.registry import Context, RequestModel
from preread.services import Services

if TYPE_CHECKING:
    from preread.agents.reader import Read

GRAPH = "The graph's name, as `graph.build` returns it."


class DocumentsRequest(RequestModel):
    """Which documents, read by rules or a model, and the minimum confidence."""

    paths: tuple[str, ...] = Field(
        (), description="Documents or folders. Default: all loaded documents."
    )
    threshold: float = Field(0.8, ge=0, le=1, description="The minimum confidence.")
    schema_path: str = Field(
        "", description="A TOML file with `theories`, `terms`, `kinds` and `edges`."
    )
    by: Literal["rules", "model"] = Field(
        "rules", description="Rules, or Claude Code, which costs money; what it quotes is checked."
    )


class Found(NamedTuple):
    """What documents name, how those things are related, and what both were made from."""

    papers: list[Paper]
    entities: list[Entity]
    relations: list[Relation]
    made: Made
    cost_usd: float


class Papers(NamedTuple):
    """Documents, their digests, and why others could not be read."""

    papers: list[Paper]
    digests: dict[str, str]
    unread: dict[str, str]


def papers(services: Services, paths: Iterable[str]) -> Papers:
    """The documents at these paths or in these folders. Raises E_NOT_FOUND if there are none.

    Documents that cannot be read are left out; if none can be read, the first error is raised.
    """
    wanted = _wanted(services, paths)
    read = Papers([], {}, {})
    faults = []
    for number, path in enumerate(wanted):
        doing = f"reading {path}", number, len(wanted)
        services.progress.say(*doing)
        try:
            one = reading.read(services.tree_with_progress(*doing), path)
        except PrereadError as error:
            if error.code in reading.WHOLE:
                raise
            faults.append(error)
            read.unread[path] = f"{error.code}: {error.message}"
            continue
        read.papers.append(Paper(path, one.document))
        read.digests[path] = one.digest
    if faults and not read.papers:
        raise faults[0]
    return read


def _wanted(services: Services, paths: Iterable[str]) -> list[str]:
    """Each document's path once. Raises E_NOT_FOUND if there are none, or no such folder."""
    layout = services.layout
    named = list(paths)
    found: list[str] = []
    for path in named:
        place = layout.real(layout.inside(path))
        is_folder = place.is_dir()
        found += map(layout.relative, catalog.files_at(place)) if is_folder else [path]
    if not named:
        found = list(catalog.loaded(layout))
    if found:
        return list(dict.fromkeys(found))
    missing = f"There are no documents in {named[0]}." if named else "No documents were loaded."
    raise PrereadError("E_NOT_FOUND", missing, "First: `preread documents FILE`")


def schema(services: Services, request: DocumentsRequest) -> Schema:
    path = request.schema_path
    return network.schema_of(services.tree.text(path), path) if path else Schema()


def found(context: Context, services: Services, request: DocumentsRequest) -> Found:
    """What the documents say. Raises E_NOT_ALLOWED if an agent that may only read wants a model."""
    if request.by == "model" and context.is_agent and "write" not in services.settings.allow:
        raise PrereadError(
            "E_NOT_ALLOWED",
            "A model costs money, and agents may only read here.",
            "Leave `by` out, or have a person add `write` to `allow`.",
        )
    documents, digests, unread = papers(services, request.paths)
    read = _by_model(services, documents) if request.by == "model" else None
    tell, sure = services.progress.tick, request.threshold
    if read:
        named = extraction.merged(read.entities, sure)
        said: Iterable[Relation] = read.relations
    else:
        terms = schema(services, request).vocabulary()
        named = extraction.entities(_each(services, documents, "what it names"), terms, sure, tell)
        said = extraction.stated_relations(_each(services, documents, "what it says"), tell)
    made = Made(
        documents=digests,
        unread=unread,
        rules=rules.EDITION,
        model=read.model if read else "",
        dropped=read.dropped if read else 0,
        is_measured=read is None,
        threshold=sure,
    )
    related = extraction.relations(documents, named, said, tell)
    kept = [one for one in related if one.confidence >= sure]
    return Found(documents, named, kept, made, read.cost_usd if read else 0.0)


def network_of(
    context: Context, services: Services, request: DocumentsRequest
) -> tuple[Found, Network]:
    """What the documents say, and the graph of it."""
    read = found(context, services, request)
    allowed = schema(services, request)
    return read, network.network(read.papers, read.entities, read.relations, allowed, read.made)


def _each(services: Services, documents: list[Paper], what: str) -> Iterator[Paper]:
    """The documents, with progress: rules take seconds for a thousand pages."""
    for number, paper in enumerate(documents):
        services.progress.say(f"{paper.path}: {what}", number, len(documents))
        yield paper


def _by_model(services: Services, documents: list[Paper]) -> "Read":
    from preread.agents import reader

    return reader.read(services, documents)
