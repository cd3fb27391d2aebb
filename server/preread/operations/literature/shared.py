"""What these operations share: which documents, which rules, what replies say of both."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import Field

from preread.documents import reading, shelf
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


class Wanted(RequestModel):
    """Which documents, by what, and how sure."""

    paths: tuple[str, ...] = Field((), description="Documents; all that were loaded by default.")
    threshold: float = Field(0.8, ge=0, le=1, description="The minimum confidence.")
    schema_path: str = Field(
        "", description="A TOML file with `theories`, `terms`, `kinds` and `edges`."
    )
    by: Literal["rules", "model"] = Field(
        "rules", description="Rules, or Claude Code, which costs money; what it quotes is checked."
    )


class Found(NamedTuple):
    """What documents name, how that is related, and what both were made of."""

    papers: list[Paper]
    entities: list[Entity]
    relations: list[Relation]
    made: Made
    cost_usd: float


def papers(services: Services, paths: Iterable[str]) -> tuple[list[Paper], dict[str, str]]:
    """The documents, and their digests. Raises E_NOT_FOUND if there are none."""
    wanted = list(paths) or list(shelf.loaded(services.layout))
    if not wanted:
        raise PrereadError(
            "E_NOT_FOUND", "No documents were loaded.", "First: `preread documents FILE`"
        )
    found, digests = [], {}
    for number, path in enumerate(wanted):
        doing = f"reading {path}", number, len(wanted)
        services.progress.say(*doing)
        one = reading.read(services.tree_that_tells(*doing), path)
        found.append(Paper(path, one.document))
        digests[path] = one.digest
    return found, digests


def schema(services: Services, request: Wanted) -> Schema:
    path = request.schema_path
    return network.schema_of(services.tree.text(path), path) if path else Schema()


def found(context: Context, services: Services, request: Wanted) -> Found:
    """What the documents say. Raises E_NOT_ALLOWED for an agent that may not write by a model."""
    if request.by == "model" and context.is_agent and "write" not in services.settings.allow:
        raise PrereadError(
            "E_NOT_ALLOWED",
            "A model costs money, and agents may only read here.",
            "Leave `by` out, or have a person add `write` to `allow`.",
        )
    every, digests = papers(services, request.paths)
    read = _by_model(services, every) if request.by == "model" else None
    tell, sure = services.progress.tick, request.threshold
    if read:
        named = extraction.merged(read.entities, sure)
        said: Iterable[Relation] = read.relations
    else:
        terms = schema(services, request).vocabulary()
        named = extraction.entities(_each(services, every, "what it names"), terms, sure, tell)
        said = extraction.stated(_each(services, every, "what it says"), tell)
    made = Made(
        documents=digests,
        rules=rules.EDITION,
        model=read.model if read else "",
        dropped=read.dropped if read else 0,
        is_measured=read is None,
        threshold=sure,
    )
    related = extraction.relations(every, named, said, tell)
    kept = [one for one in related if one.confidence >= sure]
    return Found(every, named, kept, made, read.cost_usd if read else 0.0)


def network_of(context: Context, services: Services, request: Wanted) -> tuple[Found, Network]:
    """What the documents say, and the graph of it."""
    read = found(context, services, request)
    allowed = schema(services, request)
    return read, network.network(read.papers, read.entities, read.relations, allowed, read.made)


def _each(services: Services, every: list[Paper], what: str) -> Iterator[Paper]:
    """The documents, with progress: rules take seconds for a thousand pages."""
    for number, paper in enumerate(every):
        services.progress.say(f"{paper.path}: {what}", number, len(every))
        yield paper


def _by_model(services: Services, every: list[Paper]) -> "Read":
    from preread.agents import reader

    return reader.read(services, every)
