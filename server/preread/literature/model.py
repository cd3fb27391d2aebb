"""Entities and relations of documents, as replies have them."""

from typing import Literal

from pydantic import Field

from preread.models import Model

EntityKind = Literal[
    "PERSON", "ORG", "CONCEPT", "THEORY", "METHOD", "SYMBOL", "SETTING", "ROUTE", "ERROR_CODE",
    "WORK", "DOCUMENT",
]  # fmt: skip
RelationKind = Literal["cites", "defines", "extends", "contradicts", "mentions", "mentioned_with"]
LINES = "On which line of each source, by its place; null if that is not known."


class Entity(Model):
    """Something that documents name."""

    kind: EntityKind
    name: str
    confidence: float = Field(description="The precision of its rule; a model's is an estimate.")
    rule: str
    sources: tuple[str, ...] = Field(description="The parts of documents that name it.")
    lines: tuple[int | None, ...] = Field(description=LINES)


class Relation(Model):
    """How two entities are related, by their names."""

    source: str
    kind: RelationKind
    target: str
    confidence: float
    rule: str
    sources: tuple[str, ...]
    lines: tuple[int | None, ...] = Field(description=LINES)
    quote: str = Field("", description="The sentence that says it.")
