"""`report`: a report on the loaded documents, with figures and the graph for other programs."""

from pathlib import Path

from pydantic import Field

from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.literature import exports
from preread.literature.network import Made
from preread.models import Model
from preread.operations import previews
from preread.operations.literature import report, shared
from preread.operations.registry import Change, Context, Operation, Preview, in_thread
from preread.services import Services

OF_GRAPH = {"graphml": "graph.graphml", "csv": "graph.csv", "json-ld": "graph.jsonld"}
OF_WORKS = {"bibtex": "works.bib", "csl-json": "works.csl.json"}


class SaveRequest(shared.DocumentsRequest):
    """On which documents, and where."""

    folder: str = Field(description="Where the files are written; created if it does not exist.")


class SaveReply(Model):
    """The files that were written."""

    folder: str
    files: tuple[str, ...]
    made: Made
    cost_usd: float = 0.0


async def save(context: Context, request: SaveRequest) -> SaveReply:
    return await in_thread(context, context.services(), _save, context, request)


def _save(services: Services, context: Context, request: SaveRequest) -> SaveReply:
    read, files = _files(services, context, request)
    folder = (context.start / request.folder).absolute()
    for name, text in files.items():
        atomic.write(folder / name, text.encode("utf-8", "replace"))
    return SaveReply(folder=str(folder), files=tuple(files), made=read.made, cost_usd=read.cost_usd)


def _files(
    services: Services, context: Context, request: SaveRequest
) -> tuple[shared.Found, dict[str, str]]:
    read, found = shared.network_of(context, services, request)
    tell = services.progress.tick
    written = report.written(found, tell)
    works = exports.works(read.papers)
    return read, {
        "report.md": written.markdown,
        **{one.name: one.svg for one in written.figures},
        **{name: exports.OF_GRAPH[form](found, tell) for form, name in OF_GRAPH.items()},
        **{name: exports.OF_WORKS[form](works) for form, name in OF_WORKS.items() if works},
    }


async def preview(context: Context, request: SaveRequest) -> Preview:
    return await in_thread(context, context.services(), _preview, context, request)


def _preview(services: Services, context: Context, request: SaveRequest) -> Preview:
    _, files = _files(services, context, request)
    folder = (context.start / request.folder).absolute()
    shown = (_change(folder / name, text) for name, text in files.items())
    return Preview(changes=tuple(one for one in shown if one.diff))


def _change(path: Path, text: str) -> Change:
    before = plain_bytes(path, follows_links=True)
    old = None if before is None else before.decode("utf-8", "replace")
    return previews.change(str(path), old, text)


OPERATION = Operation(
    name="graph.save",
    request=SaveRequest,
    reply=SaveReply,
    effect="write",
    doc="Write a report on the loaded documents, its figures, and their graph for other programs.",
    example="preread report papers/report",
    run=save,
    preview=preview,
    command="report",
    positional=("folder",),
    people_only=True,  # the folder may be anywhere
)
