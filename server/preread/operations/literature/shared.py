"""What these operations share: which documents, which rules, what replies say of both."""

from collections.abc import Iterable

from pydantic import Field

from preread.documents import reading, shelf
from preread.errors import PrereadError
from preread.literature import extraction, network, rules
from preread.literature.extraction import Paper
from preread.literature.model import Entity
from preread.literature.network import Made, Schema
from preread.operations.registry import RequestModel
from preread.services import Services

GRAPH = "The graph's name, as `graph.build` returns it."


class Wanted(RequestModel):
    """Which documents, and how sure."""

    paths: tuple[str, ...] = Field((), description="Documents; all that were loaded by default.")
    threshold: float = Field(0.8, ge=0, le=1, description="The minimum confidence.")
    schema_path: str = Field("", description="A TOML file with `theories`, `kinds` and `edges`.")


def papers(services: Services, paths: Iterable[str]) -> tuple[list[Paper], dict[str, str]]:
    """The documents, and their digests. Raises E_NOT_FOUND if there are none."""
    wanted = list(paths) or list(shelf.loaded(services.layout))
    if not wanted:
        raise PrereadError(
            "E_NOT_FOUND", "No documents were loaded.", "First: preread documents FILE"
        )
    found, digests = [], {}
    for number, path in enumerate(wanted):
        services.progress.say(f"reading {path}", number, len(wanted))
        one = reading.read(services.tree, path)
        found.append(Paper(path, one.document))
        digests[path] = one.digest
    return found, digests


def schema(services: Services, request: Wanted) -> Schema:
    path = request.schema_path
    return network.schema_of(services.tree.text(path), path) if path else Schema()


def entities(services: Services, request: Wanted) -> tuple[list[Paper], list[Entity], Made]:
    """The documents, what they name, and what both were made of."""
    found, digests = papers(services, request.paths)
    terms = schema(services, request).theories
    named = extraction.entities(found, terms, request.threshold, services.progress.check)
    made = Made(documents=digests, rules=rules.EDITION, is_measured=rules.IS_MEASURED,
                threshold=request.threshold)  # fmt: skip
    return found, named, made
