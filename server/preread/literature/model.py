"""Entities and relations of documents, as models for replies."""

from typing import Any, Literal

from pydantic import Field

from preread.models import Model

EntityKind = Literal[
    "PERSON", "ORG", "CONCEPT", "THEORY", "METHOD", "SYMBOL", "SETTING", "ROUTE", "ERROR_CODE",
    "WORK", "DOCUMENT",
]  # fmt: skip
RelationKind = Literal["cites", "defines", "extends", "contradicts", "mentions", "mentioned_with"]
LINES = "On which line of each source, by its place; null if that is not known."


class Sourced(Model):
    """How sure something is, what found it, and which parts of documents show it."""

    confidence: float = Field(description="The precision of its rule; a model's is an estimate.")
    rule: str = Field(description="Of `made.rules`; `model` for `made.model`.")
    sources: tuple[str, ...] = Field(description="The parts of documents that show it.")
    lines: tuple[int | None, ...] = Field(description=LINES)

    def provenance(self) -> dict[str, Any]:
        """These fields, for a model that is made from this one."""
        return {name: getattr(self, name) for name in Sourced.model_fields}


class Entity(Sourced):
    """Something that documents name."""

    kind: EntityKind
    name: str


class Relation(Sourced):
    """How two entities are related, by their names."""

    source: str
    kind: RelationKind
    target: str
    quote: str = Field("", description="The sentence that says it.")
