"""`graph.report`: what a graph of documents shows, as Markdown with numbered citations."""

from collections.abc import Iterable

from pydantic import Field

from preread.literature import measures, network
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


class ReportReply(Model):
    """The report. Each number in square brackets is a source that resolves."""

    markdown: str
    citations: tuple[str, ...]
    made: Made


async def report(context: Context, request: ReportRequest) -> ReportReply:
    return await in_thread(context, context.services(), _report, request)


def _report(services: Services, request: ReportRequest) -> ReportReply:
    found = network.kept(services.layout, request.graph)
    pairs = [(one.source, one.target) for one in found.edges]
    ranks = measures.pagerank(measures.neighbours(len(found.nodes), pairs, directed=True))
    cited: dict[str, int] = {}
    best = sorted(range(len(found.nodes)), key=lambda place: -ranks[place])[:TOP]
    lines = ["# What the documents say", "", "## Most referred to", ""]
    lines += [
        f"- {found.nodes[at].name} ({found.nodes[at].kind}, PageRank {ranks[at]:.3f}) "
        f"{_numbers(found.nodes[at].sources, cited)}"
        for at in best
    ]
    lines += ["", "## Relations", "", *_relations(found, cited)]
    lines += ["", "## Sources", "", *(f"{number}. {source}" for source, number in cited.items())]
    measured = "measured" if found.made.is_measured else "estimates"
    lines += ["", f"Found by {found.made.rules}, no model; confidences are {measured}."]
    return ReportReply(markdown="\n".join(lines) + "\n", citations=tuple(cited), made=found.made)


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
