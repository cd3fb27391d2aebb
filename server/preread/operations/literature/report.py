"""`graph.report`: what a graph of documents shows, as Markdown with numbered citations."""

from collections.abc import Iterable

from pydantic import Field

from preread.literature import figures, measures, network
from preread.literature.figures import Shown
from preread.literature.network import Made, Network
from preread.models import Model
from preread.operations.literature import shared
from preread.operations.registry import Context, Operation, RequestModel, in_thread
from preread.services import Services

TOP = 10
SHOWN = ("cites", "defines", "extends", "contradicts")


class ReportRequest(RequestModel):
    """Of which graph."""

    graph: str = Field(description=shared.GRAPH)


class Figure(Model):
    """A figure that the report shows: save it beside the report, under its name."""

    name: str
    title: str
    svg: str


class ReportReply(Model):
    """The report. Each number in square brackets is a source that resolves."""

    markdown: str
    citations: tuple[str, ...]
    figures: tuple[Figure, ...]
    made: Made


async def report(context: Context, request: ReportRequest) -> ReportReply:
    return await in_thread(context, context.services(), _report, request)


def _report(services: Services, request: ReportRequest) -> ReportReply:
    found = network.kept(services.layout, request.graph)
    ranks = measures.pagerank(
        measures.neighbours(len(found.nodes), network.pairs(found, directed=True), directed=True)
    )
    cited: dict[str, int] = {}
    best = sorted(range(len(found.nodes)), key=lambda place: -ranks[place])[:TOP]
    shown = [Shown(at, ranks[at], _numbers(found.nodes[at].sources, cited)) for at in best]
    lines = ["# What the documents say", "", "## Most referred to", ""]
    lines += [
        f"- {found.nodes[one.place].name} ({found.nodes[one.place].kind}, "
        f"PageRank {one.value:.3f}) {one.cited}"
        for one in shown
    ]
    drawn = _figures(found, shown)
    for number, figure in enumerate(drawn, 1):
        lines += ["", f"![Figure {number}: {figure.title}]({figure.name})"]
    lines += ["", "## Relations", "", *_relations(found, cited)]
    lines += ["", "## Sources", "", *(f"{number}. {source}" for source, number in cited.items())]
    lines += ["", _provenance(found.made)]
    return ReportReply(
        markdown="\n".join(lines) + "\n",
        citations=tuple(cited),
        figures=tuple(drawn),
        made=found.made,
    )


def _figures(found: Network, shown: list[Shown]) -> list[Figure]:
    """Drawings of the nodes that are referred to most."""
    ranks, related = (
        "PageRank of what is most referred to",
        "How what is most referred to is related",
    )
    return [
        Figure(name="figure-1.svg", title=ranks, svg=figures.bars(found, shown, ranks)),
        Figure(name="figure-2.svg", title=related, svg=figures.circle(found, shown, related)),
    ]


def _provenance(made: Made) -> str:
    if made.model:
        return (
            f"Found by the model {made.model}; {made.dropped} of its statements were dropped, "
            "because the text does not bear them out; confidences are estimates."
        )
    return f"Found by {made.rules}, no model; confidences are the rules' measured precision."


def _relations(found: Network, cited: dict[str, int]) -> list[str]:
    return [
        f"- {found.nodes[one.source].name} {one.kind} {found.nodes[one.target].name} "
        f"({one.confidence:.2f}) {_numbers(one.sources, cited)}"
        for one in found.edges
        if one.kind in SHOWN
    ]


def _numbers(sources: Iterable[str], cited: dict[str, int]) -> str:
    return "".join(f"[{cited.setdefault(one, len(cited) + 1)}]" for one in list(sources)[:3])


OPERATION = Operation(
    name="graph.report",
    request=ReportRequest,
    reply=ReportReply,
    effect="read",
    doc="Write a report on a graph of documents, as Markdown with citations that resolve.",
    example="""preread call graph.report '{"graph": "3f9a01bc22d1"}'""",
    run=report,
)
