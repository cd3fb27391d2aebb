"""`graph.analyse`: which nodes of a graph of documents matter, and how they group."""

from collections import Counter
from collections.abc import Callable
from heapq import nsmallest
from typing import Literal

from pydantic import Field

from preread.literature import measures, network
from preread.literature.network import Made, Network
from preread.models import Model
from preread.operations.literature import shared
from preread.operations.registry import Context, Operation, RequestModel, in_thread
from preread.services import Services

Measure = Literal["degree", "betweenness", "pagerank", "communities", "bridges", "over_time"]


class AnalyseRequest(RequestModel):
    """What to measure of which graph."""

    graph: str = Field(description=shared.GRAPH)
    analysis_type: Measure = Field("pagerank", description="What to measure.")
    output_format: Literal["table", "graph", "vectors"] = Field(
        "table", description="Rows; rows and the edges between them; numbers for each node."
    )
    limit: int = Field(50, ge=1, le=100_000, description="The maximum number of rows.")


class Row(Model):
    """A node with its value; a bridge has another node, a year is a name."""

    name: str
    kind: str = ""
    value: float = Field(description="Of `communities` the number of its own; 1 is the largest.")
    other: str = ""
    sources: tuple[str, ...] = ()


class AnalyseReply(Model):
    """The measure, the highest value first; communities, the largest first, and years in order."""

    rows: tuple[Row, ...]
    edges: tuple[tuple[str, str, str], ...] = Field((), description="Source, kind, target.")
    vectors: dict[str, tuple[float, ...]] = Field(
        default_factory=dict, description="Node -> degree, PageRank, community."
    )
    is_exact: bool = Field(True, description="False if it was estimated from a sample of nodes.")
    made: Made


async def analyse(context: Context, request: AnalyseRequest) -> AnalyseReply:
    return await in_thread(context, context.services(), _analyse, request)


def _analyse(services: Services, request: AnalyseRequest) -> AnalyseReply:
    found, check = network.kept(services.layout, request.graph), services.progress.check
    rows, is_exact = _measured(found, request.analysis_type, request.limit, check)
    names = {one.name for one in rows} if request.output_format == "graph" else set()
    edges = (
        (found.nodes[one.source].name, one.kind, found.nodes[one.target].name)
        for one in found.edges
    )
    return AnalyseReply(
        rows=tuple(rows),
        edges=tuple(one for one in edges if {one[0], one[2]} <= names) if names else (),
        vectors=_vectors(found, check) if request.output_format == "vectors" else {},
        is_exact=is_exact,
        made=found.made,
    )


def _measured(
    found: Network, measure: Measure, limit: int, check: Callable[[], None]
) -> tuple[list[Row], bool]:
    if measure == "over_time":
        years = Counter(found.years.get(one.source, 0) for one in found.edges)
        return [Row(name=f"{one}", value=years[one]) for one in sorted(years) if one][:limit], True
    around = measures.neighbours(
        len(found.nodes), network.pairs(found, directed=False), directed=False
    )
    if measure == "bridges":
        return [
            _row(found, a, 1.0).model_copy(update={"other": found.nodes[b].name})
            for a, b in measures.bridges(around)[:limit]
        ], True
    values, is_exact = _values(found, around, measure, check)
    # The highest first; of communities, which are numbered, the first, with its centre first.
    order = (
        [(value, -len(around[place])) for place, value in enumerate(values)]
        if measure == "communities"
        else [(-value, 0) for value in values]
    )
    top = nsmallest(limit, range(len(values)), key=order.__getitem__)
    return [_row(found, place, values[place]) for place in top], is_exact


def _values(
    found: Network, around: list[list[int]], measure: Measure, check: Callable[[], None]
) -> tuple[list[float], bool]:
    if measure == "betweenness":
        return measures.betweenness(around, check)
    if measure == "degree":
        return [float(len(one)) for one in around], True
    if measure == "communities":
        return [float(one) for one in _numbered(measures.communities(around, check))], True
    following = measures.neighbours(
        len(found.nodes), network.pairs(found, directed=True), directed=True
    )
    return measures.pagerank(following), True


def _numbered(labels: list[int]) -> list[int]:
    """The communities as numbers, 1 for the largest."""
    ranked = (label for label, _ in Counter(labels).most_common())
    numbers = {label: number for number, label in enumerate(ranked, 1)}
    return [numbers[label] for label in labels]


def _row(found: Network, place: int, value: float) -> Row:
    node = found.nodes[place]
    return Row(name=node.name, kind=node.kind, value=value, sources=node.sources)


def _vectors(found: Network, check: Callable[[], None]) -> dict[str, tuple[float, ...]]:
    around = measures.neighbours(
        len(found.nodes), network.pairs(found, directed=False), directed=False
    )
    measured: tuple[Measure, ...] = ("degree", "pagerank", "communities")
    columns = [_values(found, around, measure, check)[0] for measure in measured]
    names = [node.name for node in found.nodes]
    return dict(zip(names, zip(*columns, strict=True), strict=True))


OPERATION = Operation(
    name="graph.analyse",
    request=AnalyseRequest,
    reply=AnalyseReply,
    effect="read",
    doc="Measure a graph of documents: degree, betweenness, PageRank, communities, bridges, years.",
    example="""preread call graph.analyse '{"graph": "3f9a01bc22d1"}'""",
    run=analyse,
    pages="rows",
)
