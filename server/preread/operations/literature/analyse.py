"""`graph.analyse`: which nodes of a graph of documents matter, and how they group."""

from collections import Counter
from collections.abc import Iterable, Iterator
from heapq import nsmallest
from itertools import islice
from typing import Literal, get_args

from pydantic import Field

from preread.literature import measures, network
from preread.literature.measured import confidence
from preread.literature.measures import Tell
from preread.literature.model import Relation, RelationKind, Sourced
from preread.literature.network import Link, Made, Network
from preread.models import Model
from preread.operations.literature import shared
from preread.operations.registry import Operation, RequestModel, threaded
from preread.services import Services

Measure = Literal["degree", "betweenness", "pagerank", "communities", "bridges", "over_time"]
VECTOR: tuple[Measure, ...] = ("degree", "pagerank", "communities")
KINDS: tuple[RelationKind, ...] = get_args(RelationKind)
NOTHING = Sourced(confidence=-1, rule="", sources=(), lines=())


class AnalyseRequest(RequestModel):
    """Which graph, and what to measure."""

    graph: str = Field(description=shared.GRAPH)
    analysis_type: Measure = Field("pagerank", description="What to measure.")
    output_format: Literal["table", "graph", "vectors"] = Field(
        "table",
        description="Rows; rows and the edges between them; rows with all numbers of each node.",
    )
    limit: int = Field(50, ge=1, le=100_000, description="The maximum number of rows.")


class Row(Sourced):
    """A node with its value; a bridge, which has two nodes; or a year."""

    name: str
    kind: str = ""
    value: float = Field(description="For `communities`, its community's number; 1 is the largest.")
    other: str = ""
    vector: tuple[float, ...] = Field(
        (), description="Degree, PageRank, community; for a year its relations of each kind."
    )


class AnalyseReply(Model):
    """The rows, the highest value first; communities the largest first, years in order."""

    rows: tuple[Row, ...]
    edges: tuple[Relation, ...] = Field(
        (), description="With `graph`: the edges between the rows, or of the years' documents."
    )
    is_exact: bool = Field(True, description="False if it was estimated from a sample of nodes.")
    made: Made


Measured = tuple[list[Row], bool]  # and whether it is exact


def _analyse(services: Services, request: AnalyseRequest) -> AnalyseReply:
    tell = services.progress.tick
    found = network.load(services.layout, request.graph, tell)
    tell(f"measuring {request.analysis_type}")
    rows, is_exact = MEASURED.get(request.analysis_type, _ranked)(found, request, tell)
    edges = _edges(found, request, rows) if request.output_format == "graph" else ()
    return AnalyseReply(rows=tuple(rows), edges=tuple(edges), is_exact=is_exact, made=found.made)


def _years(found: Network, request: AnalyseRequest, _: Tell) -> Measured:
    """How many relations the documents of each year state; their dates are metadata."""
    counts = Counter((found.years[one.source], one.kind) for one in found.edges
                     if one.source in found.years)  # fmt: skip
    rows = []
    for year in sorted({year for year, _ in counts})[: request.limit]:
        papers = [found.nodes[place] for place, of in found.years.items() if of == year]
        cited = tuple(source for one in papers for source in one.sources)
        vector = tuple(float(counts[year, kind]) for kind in KINDS)
        rows.append(
            Row(name=f"{year}", value=sum(vector), confidence=confidence("metadata"),
                rule="metadata", sources=cited, lines=(None,) * len(cited),
                vector=vector if request.output_format == "vectors" else ())
        )  # fmt: skip
    return rows, True


def _bridges(found: Network, request: AnalyseRequest, tell: Tell) -> Measured:
    """Bridges, each with the most certain of the relations between its two nodes."""
    around = _around(found)
    ends = measures.bridges(around, tell)[: request.limit]
    wanted, surest = set(ends), dict[tuple[int, int], Link]()
    for one in found.edges:
        key = min(one.source, one.target), max(one.source, one.target)
        if key in wanted and one.confidence > surest.get(key, NOTHING).confidence:
            surest[key] = one
    columns = _columns(found, request, around, tell)
    return [
        Row(name=found.nodes[a].name, kind=found.nodes[a].kind, value=1.0,
            other=found.nodes[b].name, vector=tuple(column[a] for column in columns),
            **surest[a, b].provenance())
        for a, b in ends
    ], True  # fmt: skip


def _around(found: Network) -> list[list[int]]:
    return measures.neighbours(
        len(found.nodes), network.pairs(found, directed=False), directed=False
    )


def _ranked(found: Network, request: AnalyseRequest, tell: Tell) -> Measured:
    """The nodes with the highest values; for communities by number, each one's centre first."""
    around = _around(found)
    values, is_exact = _values(found, around, request.analysis_type, tell)
    order = (
        [(value, -len(around[place])) for place, value in enumerate(values)]
        if request.analysis_type == "communities"
        else [(-value, 0) for value in values]
    )
    columns = _columns(found, request, around, tell)
    top = nsmallest(request.limit, range(len(values)), key=order.__getitem__)
    nodes = ((place, found.nodes[place]) for place in top)
    return [
        Row(name=node.name, kind=node.kind, value=values[place],
            vector=tuple(column[place] for column in columns), **node.provenance())
        for place, node in nodes
    ], is_exact  # fmt: skip


def _columns(
    found: Network, request: AnalyseRequest, around: list[list[int]], tell: Tell
) -> list[list[float]]:
    """What the vectors of nodes are made of, if they are asked for."""
    is_asked = request.output_format == "vectors"
    return [_values(found, around, one, tell)[0] for one in VECTOR] if is_asked else []


def _values(
    found: Network, around: list[list[int]], measure: Measure, tell: Tell
) -> tuple[list[float], bool]:
    if measure == "betweenness":
        return measures.betweenness(around, tell)
    if measure == "degree":
        return [float(len(one)) for one in around], True
    if measure == "communities":
        return [float(one) for one in _numbered(measures.communities(around, tell))], True
    following = measures.neighbours(
        len(found.nodes), network.pairs(found, directed=True), directed=True
    )
    return measures.pagerank(following, tell), True


def _numbered(labels: list[int]) -> list[int]:
    """The communities as numbers, 1 for the largest."""
    ranked = (label for label, _ in Counter(labels).most_common())
    numbers = {label: number for number, label in enumerate(ranked, 1)}
    return [numbers[label] for label in labels]


def _edges(found: Network, request: AnalyseRequest, rows: list[Row]) -> Iterator[Relation]:
    """The edges between the rows' nodes; for years, the first that their documents state."""
    if request.analysis_type == "over_time":
        years = {int(one.name) for one in rows}
        dated = (one for one in found.edges if found.years.get(one.source) in years)
        links: Iterable[Link] = islice(dated, request.limit)
    else:
        names = {name for one in rows for name in (one.name, one.other)}
        places = {place for place, node in enumerate(found.nodes) if node.name in names}
        links = (one for one in found.edges if {one.source, one.target} <= places)
    for one in links:
        ends = {"source": found.nodes[one.source].name, "target": found.nodes[one.target].name}
        yield Relation(kind=one.kind, **ends, **one.provenance())


MEASURED = {"over_time": _years, "bridges": _bridges}

OPERATION = Operation(
    name="graph.analyse",
    request=AnalyseRequest,
    reply=AnalyseReply,
    effect="read",
    doc="Measure a graph of documents: degree, betweenness, PageRank, communities, bridges, years.",
    example="""preread call graph.analyse '{"graph": "3f9a01bc22d1"}'""",
    run=threaded(_analyse),
    pages="rows",
)
