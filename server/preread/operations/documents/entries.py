"""Documents as replies list them."""

from pydantic import Field

from preread.documents import reading
from preread.documents.model import Document
from preread.documents.references import doi_of, references
from preread.dossier.sources import Ref
from preread.models import Model
from preread.project.tree import Tree

PATH = "A document of the project, as `documents.list` names it."


class About(Model):
    """A document's own metadata; empty where it has none."""

    title: str = ""
    authors: tuple[str, ...] = ()
    date: str = ""
    doi: str = ""
    language: str = ""
    pages: int | None = Field(None, description="Of a PDF its pages, of a PPTX its slides.")


class ReadBy(Model):
    """What read a document, and how accurate that reader was when measured (bench/README.md)."""

    reader: str
    edition: str
    confidence: float | None = Field(
        None, description="The share of words that an independent reader finds, too."
    )
    tables: float | None = Field(None, description="The share of the found tables that are tables.")


# Measured readers: words, tables. In text formats, a line is a line of the file: none is lost.
MEASURED = {"pdf.read": (0.997, 0.91), "archives.epub": (0.996, None),
            "hypertext.read": (0.997, None), "plain.text": (1.0, None),
            "plain.markdown": (1.0, None), "plain.rst": (1.0, None)}  # fmt: skip


class Entry(Model):
    """One loaded document."""

    path: str
    digest: str = Field(description="SHA-256 of its file.")
    about: About
    read_by: ReadBy
    cite: str = Field(description="The source of its first part; `#p2` is the second.")
    parts: int = Field(description="Its pages, slides, chapters or sections: `#p1` and so on.")
    words: int
    tables: int
    references: int
    warnings: tuple[str, ...] = ()


def entry(tree: Tree, path: str) -> Entry:
    """The entry of the document at a path. Raises what `reading.read` raises."""
    found = reading.read(tree, path)
    document = found.document
    lines = (line for part in document.parts for line in part.lines)
    return Entry(
        path=path,
        digest=found.digest,
        about=about(document),
        read_by=read_by(path),
        cite=cite(path, 1),
        parts=len(document.parts),
        words=sum(len(line.split()) for line in lines),
        tables=len(document.tables),
        references=len(references(document)),
        warnings=document.warnings,
    )


def read_by(path: str) -> ReadBy:
    """What reads a document with this path."""
    reader = reading.known_kind(path).reader
    words, tables = MEASURED.get(reader, (None, None))
    return ReadBy(reader=reader, edition=reading.EDITION, confidence=words, tables=tables)


def about(document: Document) -> About:
    given = document.about
    split = given.get("authors", "").replace(" and ", ";")
    separator = ";" if ";" in split else ","
    return About(
        title=given.get("title", ""),
        authors=tuple(filter(None, (name.strip() for name in split.split(separator)))),
        date=given.get("date", ""),
        doi=doi_of(document),
        language=given.get("language", ""),
        pages=int(given["pages"]) if given.get("pages", "").isdecimal() else None,
    )


def cite(path: str, part: int) -> str:
    """The source of a part."""
    return str(Ref("doc", path, part))
