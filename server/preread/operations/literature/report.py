"""`graph.report`: what a graph of documents shows, as Markdown with numbered citations."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from pydantic import Field

from preread.literature import figures, measures, model, network
from preread.literature.figures import ShownNode
from preread.literature.measures import Tell
from preread.literature.network import Made, Network
from preread.models import Model
from preread.operations.literature import shared
from preread.operations.registry import Operation, RequestModel, threaded
from preread.services import Services

TOP = 10
RELATIONS = 20  # of one kind
MARKUP = re.compile(r"[\\`*_\[\]<>]")
SHOWN = ("cites", "defines", "extends", "contradicts")


class ReportRequest(RequestModel):
    """Which graph to report on."""

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


def _report(services: Services, request: ReportRequest) -> ReportReply:
    tell = services.progress.tick
    return written(network.load(services.layout, request.graph, tell), tell)


def written(found: Network, tell: Tell) -> ReportReply:
    """The report on a graph."""
    ranks = measures.pagerank(
        measures.neighbours(len(found.nodes), network.pairs(found, directed=True), directed=True),
        tell,
    )
    cited: dict[str, int] = {}
    documents = _documents(found, cited)
    best = sorted(range(len(found.nodes)), key=lambda place: -ranks[place])[:TOP]
    shown = [ShownNode(at, ranks[at], _numbers(found.nodes[at].sources, cited)) for at in best]
    lines = ["# What the documents say", "", _counted(found), "", *documents]
    lines += ["", "## Most referred to", ""]
    lines += [
        f"- {_escaped(found.nodes[one.place].name)} ({found.nodes[one.place].kind}, "
        f"PageRank {one.value:.3f}; {_shown(found.nodes[one.place])}) {one.cited}"
        for one in shown
    ]
    drawn = _figures(found, shown, cited)
    for number, figure in enumerate(drawn, 1):
        lines += ["", f"![Figure {number}: {figure.title}]({figure.name})"]
    lines += ["", "## Relations", "", *_relations(found, cited)]
    lines += ["", "## Sources", "", *(f"{number}. {source}" for source, number in cited.items())]
    lines += ["", _provenance(found.made)]
    lines += [f"Not read: {_escaped(why)}" for why in found.made.unread.values()]
    return ReportReply(
        markdown="\n".join(lines) + "\n",
        citations=tuple(cited),
        figures=tuple(drawn),
        made=found.made,
    )


def _figures(found: Network, shown: list[ShownNode], cited: dict[str, int]) -> list[Figure]:
    """Drawings of the most referenced nodes, and of the documents that refer to them."""
    ranks, related = (
        "PageRank of what is most referred to",
        "How what is most referred to is related, and to which documents",
    )
    places = {one.place for one in shown}
    referring = Counter(
        one.source
        for one in found.edges
        if one.target in places and found.nodes[one.source].kind == "DOCUMENT"
    )
    documents = [
        ShownNode(place, 0.0, _numbers(found.nodes[place].sources, cited))
        for place, _ in referring.most_common(TOP)
        if place not in places
    ]
    around = figures.circle(found, [*documents, *shown], related)
    return [
        Figure(name="figure-1.svg", title=ranks, svg=figures.bars(found, shown, ranks)),
        Figure(name="figure-2.svg", title=related, svg=around),
    ]


def _provenance(made: Made) -> str:
    if made.model:
        return (
            f"Found by the model {made.model}; {made.dropped} of its statements were dropped, "
            "because the text does not bear them out; confidences are estimates."
        )
    return f"Found by {made.rules}, no model; confidences are the rules' measured precision."


def _counted(found: Network) -> str:
    kinds = Counter(one.kind for one in found.nodes if one.kind != "DOCUMENT")
    edges = Counter(one.kind for one in found.edges)
    shown = [
        ", ".join(f"{count} {kind}" for kind, count in counts.most_common()) or "nothing"
        for counts in (kinds, edges)
    ]
    return f"They name {shown[0]}. Relations: {shown[1]}."


def _documents(found: Network, cited: dict[str, int]) -> list[str]:
    return [
        f"- {_escaped(one.name)}{f', {found.years[place]}' if place in found.years else ''} "
        f"{_numbers(one.sources, cited)}"
        for place, one in enumerate(found.nodes)
        if one.kind == "DOCUMENT"
    ]


def _relations(found: Network, cited: dict[str, int]) -> Iterator[str]:
    """The relations of each kind, the surest first."""
    for kind in SHOWN:
        links = sorted((it for it in found.edges if it.kind == kind), key=lambda it: -it.confidence)
        for one in links[:RELATIONS]:
            source, target = (_escaped(found.nodes[end].name) for end in (one.source, one.target))
            cites = _numbers(one.sources, cited)
            yield f"- {source} {kind} {target} ({_shown(one)}) {cites}"
        if len(links) > RELATIONS:
            yield f"- and {len(links) - RELATIONS} more of `{kind}`: `documents.relations`"
    if not any(one.kind in SHOWN for one in found.edges):
        sure = f"at a confidence of {found.made.threshold:.2f} or more"
        yield f"None that a document {', '.join(SHOWN[:-1])} or {SHOWN[-1]} anything, {sure}."


def _shown(one: model.Sourced) -> str:
    """How sure it is, by which rule, and on which line of the first of its sources."""
    line = f", line {one.lines[0]}" if one.lines and one.lines[0] else ""
    return f"{one.confidence:.2f} by `{one.rule}`{line}"


def _escaped(name: str) -> str:
    """A name on one line, in which nothing is markup."""
    return MARKUP.sub(r"\\\g<0>", " ".join(name.split()))


def _numbers(sources: Iterable[str], cited: dict[str, int]) -> str:
    return "".join(f"[{cited.setdefault(one, len(cited) + 1)}]" for one in list(sources)[:3])


OPERATION = Operation(
    name="graph.report",
    request=ReportRequest,
    reply=ReportReply,
    effect="read",
    doc="Write a report on a graph of documents, as Markdown with citations that resolve.",
    example="""preread call graph.report '{"graph": "3f9a01bc22d1"}'""",
    run=threaded(_report),
)
