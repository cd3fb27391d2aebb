"""`graph`: a feature's part of the knowledge graph, as a tree, or as a file."""

from pathlib import Path
from sqlite3 import Connection
from typing import Literal

from pydantic import Field

from preread.errors import PrereadError
from preread.graph import drawing
from preread.graph.model import Edge, Node
from preread.graph.reading import Page, Subgraph
from preread.graph.walks import ABOUT_FEATURE, around
from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.models import Model
from preread.operations import previews, published_dossier
from preread.operations.knowledge import reading
from preread.operations.registry import (
    FEATURE,
    Context,
    Operation,
    Preview,
    RequestModel,
    in_thread,
)
from preread.services import Services

SUFFIXES = (".svg", ".graphml")


class GraphRequest(RequestModel):
    """What to show, and where."""

    feature: str = Field(description=FEATURE)
    depth: int = Field(3, ge=1, le=3, description="1: its facts; 2: what they cite; 3: beyond.")
    limit: int = Field(200, ge=1, le=1000, description=reading.LIMIT)
    output: str | None = Field(
        None, description="Write this file, whose name ends in .svg or .graphml, instead."
    )


class GraphReply(Model):
    """A feature's part of the graph; the feature itself is its first node."""

    feature: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    cut: bool = Field(description="Whether there are more nodes than the limit.")
    state: Literal["shown", "written"]
    path: str = Field("", description="The file that was written.")


async def graph(context: Context, request: GraphRequest) -> GraphReply:
    return await in_thread(context, context.services(), _graph, context, request)


async def preview(context: Context, request: GraphRequest) -> Preview:
    return await in_thread(context, context.services(), _preview, context, request)


def _graph(services: Services, context: Context, request: GraphRequest) -> GraphReply:
    path = _path(context, request)
    feature, found = _found(services, request)
    if path is not None:
        atomic.write(path, _drawn(path, feature, found).encode())
    return GraphReply(
        feature=feature,
        nodes=found.nodes,
        edges=found.edges,
        cut=found.is_cut,
        state="shown" if path is None else "written",
        path="" if path is None else str(path),
    )


def _preview(services: Services, context: Context, request: GraphRequest) -> Preview:
    path = _path(context, request)
    if path is None:
        return Preview()
    feature, found = _found(services, request)
    before = plain_bytes(path, follows_links=True)
    text = None if before is None else before.decode("utf-8", "replace")
    return previews.of_file(str(path), text, _drawn(path, feature, found))


def _found(services: Services, request: GraphRequest) -> tuple[str, Subgraph]:
    feature = published_dossier.find_serving(services, request.feature).feature
    steps = ABOUT_FEATURE[: request.depth]

    def work(connection: Connection) -> Subgraph:
        start = reading.find(connection, f"feature:{feature}").id
        return around(connection, start, steps, Page(request.limit))

    return feature, reading.current(services, work)


def _path(context: Context, request: GraphRequest) -> Path | None:
    """The file to write, if any. Raises E_USAGE for a format that cannot be written."""
    if request.output is None:
        return None
    path = context.start / request.output
    if path.suffix not in SUFFIXES:
        raise PrereadError(
            "E_USAGE",
            f"`output` has to end in {' or '.join(SUFFIXES)}.",
            f"Like: `preread graph {request.feature} --output {request.feature}.svg`",
        )
    return path


def _drawn(path: Path, feature: str, found: Subgraph) -> str:
    title = f"What is known about {feature}"
    return drawing.svg(found, title) if path.suffix == ".svg" else drawing.graphml(found)


OPERATION = Operation(
    name="knowledge.graph",
    request=GraphRequest,
    reply=GraphReply,
    effect="write",
    doc="Show what is known about a feature as a tree, or write it as SVG or GraphML.",
    example="preread graph checkout --output checkout.svg",
    run=graph,
    preview=preview,
    command="graph",
    positional=("feature",),
    people_only=True,  # the file may be anywhere
)
