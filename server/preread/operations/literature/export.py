"""`graph.export`: a graph of documents, or the works they cite, for other programs."""

from typing import Literal

from pydantic import Field

from preread.literature import exports, network
from preread.literature.network import Made
from preread.models import Model
from preread.operations.literature import shared
from preread.operations.registry import Operation, RequestModel, threaded
from preread.services import Services


class ExportRequest(RequestModel):
    """Which graph, in which format."""

    graph: str = Field(description=shared.GRAPH)
    format: Literal["graphml", "csv", "json-ld", "bibtex", "csl-json"] = Field(
        description="The last two list the works that the documents cite."
    )


class ExportReply(Model):
    """The whole file: each line or record says what found it, how sure it is, and where."""

    text: str
    made: Made


def _export(services: Services, request: ExportRequest) -> ExportReply:
    tell = services.progress.tick
    found = network.load(services.layout, request.graph, tell)
    tell(f"writing {request.format}")
    if request.format in exports.OF_GRAPH:
        return ExportReply(text=exports.OF_GRAPH[request.format](found, tell), made=found.made)
    papers = shared.papers(services, found.made.documents).papers
    text = exports.OF_WORKS[request.format](exports.works(papers))
    return ExportReply(text=text, made=found.made)


OPERATION = Operation(
    name="graph.export",
    request=ExportRequest,
    reply=ExportReply,
    effect="read",
    doc="Return a graph as GraphML, CSV or JSON-LD; the works it cites as BibTeX or CSL-JSON.",
    example="""preread call graph.export '{"graph": "3f9a01bc22d1", "format": "graphml"}'""",
    run=threaded(_export),
)
