"""A document as every reader returns it; standard library only, because a child imports it."""

from dataclasses import asdict, dataclass, field
from typing import Any


class Unusable(Exception):  # noqa: N818 - describes the document
    """A document from which no text can be read: a reason from REASONS, and a message."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


# Reasons why a document cannot be read -> whether the reason is a limit.
REASONS = {
    "encrypted": False,
    "damaged": False,
    "crashed": False,
    "size": True,
    "pages": True,
    "memory": True,
    "time": True,
}


@dataclass(frozen=True, slots=True)
class Part:
    """A page, a slide, a chapter or a section; `#p1` cites the first one."""

    lines: tuple[str, ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; `part` is the number of the part it is in."""

    part: int
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A document's content. Keys of `about`: title, authors, date, doi, language, pages."""

    parts: tuple[Part, ...]
    about: dict[str, str] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    warnings: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def from_json(value: dict[str, Any]) -> Document:
    """The document that `as_json` wrote. Raises KeyError and TypeError for anything else."""
    return Document(
        tuple(Part(tuple(part["lines"]), part["title"]) for part in value["parts"]),
        dict(value["about"]),
        tuple(Table(one["part"], tuple(map(tuple, one["rows"]))) for one in value["tables"]),
        tuple(value["warnings"]),
    )
