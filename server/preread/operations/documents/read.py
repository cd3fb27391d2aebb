"""`documents.read`: a document's text by its parts, its tables and references."""

from pydantic import Field

from preread.documents import reading
from preread.documents.model import Document
from preread.documents.references import Reference, references
from preread.errors import PrereadError
from preread.literature.measured import REFERENCE, confidence
from preread.models import Model
from preread.operations.documents.entries import PATH, About, ReadBy, about, cite, read_by
from preread.operations.registry import Operation, RequestModel, threaded
from preread.services import Services


class ReadRequest(RequestModel):
    """Which document, and which of its parts."""

    path: str = Field(description=PATH)
    first: int = Field(1, ge=1, description="The first page or section.")
    last: int | None = Field(None, ge=1, description="The last one. Default: to the end.")


class Part(Model):
    """A page, slide, chapter or section."""

    cite: str = Field(description="The source to cite it by: `doc:a.pdf#p3`.")
    title: str = ""
    text: str


class Table(Model):
    """A table, cell by cell."""

    cite: str
    rows: tuple[tuple[str, ...], ...]


class Cited(Reference):
    """A cited work: where the document lists it, and how sure its fields are."""

    cite: str
    rule: str = REFERENCE
    confidence: float = Field(description="The precision of the rule; `line` is its line there.")


class ReadReply(Model):
    """What a document says."""

    path: str
    digest: str
    about: About
    read_by: ReadBy
    parts: tuple[Part, ...]
    tables: tuple[Table, ...]
    references: tuple[Cited, ...]
    warnings: tuple[str, ...] = ()


def _read(services: Services, request: ReadRequest) -> ReadReply:
    found = reading.read(services.tree, request.path)
    document = found.document
    if request.first > len(document.parts):
        raise PrereadError(
            "E_NOT_FOUND", f"{request.path} has {len(document.parts)} parts, not {request.first}."
        )
    wanted = range(request.first, min(request.last or 10**6, len(document.parts)) + 1)
    return ReadReply(
        path=request.path,
        digest=found.digest,
        about=about(document),
        read_by=read_by(request.path),
        parts=tuple(_part(request.path, document, number) for number in wanted),
        tables=tuple(
            Table(cite=cite(request.path, one.part), rows=one.rows)
            for one in document.tables
            if one.part in wanted
        ),
        references=tuple(
            Cited(
                **dict(one),
                cite=cite(request.path, one.part),
                confidence=confidence(REFERENCE),
            )
            for one in references(document)
        ),
        warnings=document.warnings,
    )


def _part(path: str, document: Document, number: int) -> Part:
    part = document.parts[number - 1]
    return Part(cite=cite(path, number), title=part.title, text="\n".join(part.lines))


OPERATION = Operation(
    name="documents.read",
    request=ReadRequest,
    reply=ReadReply,
    effect="read",
    doc="Show a document's text by pages or sections, its tables, and the works that it cites.",
    example="preread read docs/paper.pdf --first 2 --last 3",
    run=threaded(_read),
    command="read",
    positional=("path",),
    pages="parts",
)
