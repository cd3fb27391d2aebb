"""Documents as replies list them."""

from pydantic import Field

from preread.documents import reading
from preread.documents.model import Document
from preread.documents.references import doi_of, references
from preread.models import Model
from preread.project.tree import Tree
from preread.sources import Ref

PATH = "A document of the project, as `documents.list` names it."


class About(Model):
    """What a document says about itself; empty where it says nothing."""

    title: str = ""
    authors: tuple[str, ...] = ()
    date: str = ""
    doi: str = ""
    language: str = ""
    pages: int | None = Field(None, description="Of a PDF its pages, of a PPTX its slides.")


class Entry(Model):
    """One document that counts."""

    path: str
    digest: str = Field(description="SHA-256 of its file.")
    about: About
    parts: int = Field(description="Its pages, slides, chapters or sections: `#p1` and so on.")
    words: int
    tables: int
    references: int
    warnings: tuple[str, ...] = ()


def entry(tree: Tree, path: str) -> Entry:
    """The document at a path. Raises what `reading.read` raises."""
    found = reading.read(tree, path)
    document = found.document
    lines = (line for part in document.parts for line in part.lines)
    return Entry(
        path=path,
        digest=found.digest,
        about=about(document),
        parts=len(document.parts),
        words=sum(len(line.split()) for line in lines),
        tables=len(document.tables),
        references=len(references(document)),
        warnings=document.warnings,
    )


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
