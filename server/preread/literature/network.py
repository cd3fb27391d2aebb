"""Graphs of entities and relations, restricted by a schema, stored by digest."""

import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from preread.errors import PrereadError
from preread.infra import atomic, db
from preread.infra.reading import plain_bytes
from preread.layout import Layout
from preread.literature.extraction import Paper, Vocabulary
from preread.literature.measures import Tell
from preread.literature.model import Entity, EntityKind, Relation, RelationKind, Sourced
from preread.models import Model

ID = re.compile(r"[0-9a-f]{12}")


class Schema(Model):
    """A project's own vocabulary, in a TOML file."""

    theories: tuple[str, ...] = Field((), description="Terms that are entities of kind THEORY.")
    terms: dict[EntityKind, tuple[str, ...]] = Field(
        default_factory=dict, description="Terms that are entities of other kinds."
    )
    kinds: tuple[EntityKind, ...] = Field((), description="Kinds of entities; none for all.")
    edges: dict[RelationKind, tuple[tuple[EntityKind, EntityKind], ...]] = Field(
        default_factory=dict, description="Which kinds a relation may connect; absent: any."
    )

    def vocabulary(self) -> Vocabulary:
        """Each term with its kind."""
        named = [(kind, term) for kind, terms in self.terms.items() for term in terms]
        return [*(("THEORY", term) for term in self.theories), *named]


class Link(Sourced):
    """An edge between two nodes, given by index."""

    source: int
    kind: RelationKind
    target: int


class Made(Model):
    """The inputs of a graph."""

    documents: dict[str, str] = Field(description="Path -> SHA-256.")
    unread: dict[str, str] = Field(
        default_factory=dict, description="Path -> why it could not be read; it is left out."
    )
    rules: str = Field(description="The edition of the rules.")
    model: str = Field("", description="What found entities and relations instead of the rules.")
    dropped: int = Field(
        0, description="What the model said and the text does not bear out; it is left out."
    )
    is_measured: bool = Field(
        description="Whether confidences are precisions that were measured; a model's are not."
    )
    threshold: float

    @property
    def by(self) -> str:
        """What found everything: the edition of the rules, or the model."""
        return self.model or self.rules


class Network(Model):
    """Nodes, edges, and the inputs."""

    nodes: tuple[Entity, ...]
    edges: tuple[Link, ...]
    years: dict[int, int] = Field(description="Node -> the year of a document.")
    made: Made


class _Head(Model):
    """The first line of a stored graph; then lines of nodes, then lines of edges."""

    years: dict[int, int]
    made: Made
    nodes: int  # lines


T = TypeVar("T")
CHUNK = 5_000  # nodes or edges on a line: reading one takes some milliseconds
_NODES, _EDGES = TypeAdapter(tuple[Entity, ...]), TypeAdapter(tuple[Link, ...])


def schema_of(text: str | None, path: str) -> Schema:
    """Parse a schema. Raises E_NOT_FOUND if there is no text, E_USAGE if it is invalid."""
    if text is None:
        raise PrereadError("E_NOT_FOUND", f"There is no schema {path}.")
    try:
        return Schema.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise PrereadError(
            "E_USAGE",
            f"{path} is not a valid schema: {str(error).splitlines()[0]}",
            'Like: theories = ["CAP theorem"] and [edges] cites = [["DOCUMENT", "WORK"]]',
        ) from error


def network(
    papers: Iterable[Paper],
    entities: Iterable[Entity],
    relations: Iterable[Relation],
    schema: Schema,
    made: Made,
) -> Network:
    """The graph that the schema allows. Names that only relations have are WORKs or CONCEPTs."""
    nodes: dict[str, Entity] = {}
    years = {}
    for paper in papers:
        years[paper.title.casefold()] = paper.document.about.get("date", "")[:4]
        nodes.setdefault(
            paper.title.casefold(),
            Entity(kind="DOCUMENT", name=paper.title, confidence=1.0, rule="document",
                   sources=(paper.cite(1),), lines=(None,)),
        )  # fmt: skip
    for entity in entities:
        if not schema.kinds or entity.kind in schema.kinds:
            nodes.setdefault(entity.name.casefold(), entity)
    links: list[tuple[Relation, str, str]] = []
    for relation in relations:
        source = _end(nodes, relation.source, relation, schema)
        target = _end(nodes, relation.target, relation, schema)
        if source and target and _is_allowed(schema, relation.kind, source, target):
            links.append((relation, source.name.casefold(), target.name.casefold()))
    places = {key: place for place, key in enumerate(nodes)}
    edges = tuple(
        Link(source=places[start], kind=one.kind, target=places[end], **one.provenance())
        for one, start, end in links
    )
    known = {places[key]: int(year) for key, year in years.items() if year.isdigit()}
    return Network(nodes=tuple(nodes.values()), edges=edges, years=known, made=made)


def _end(nodes: dict[str, Entity], name: str, relation: Relation, schema: Schema) -> Entity | None:
    """The node at a relation's end; created if the schema allows its kind."""
    kind: EntityKind = "WORK" if relation.kind == "cites" else "CONCEPT"
    key = name.casefold()
    if key not in nodes and (not schema.kinds or kind in schema.kinds):
        nodes[key] = Entity(kind=kind, name=name, **relation.provenance())
    return nodes.get(key)


def _is_allowed(schema: Schema, kind: RelationKind, source: Entity, target: Entity) -> bool:
    allowed = schema.edges.get(kind)
    return allowed is None or (source.kind, target.kind) in allowed


def pairs(found: Network, *, directed: bool) -> list[tuple[int, int]]:
    """Source and target of each edge; if `directed`, without co-mentions."""
    return [
        (one.source, one.target)
        for one in found.edges
        if not (directed and one.kind == "mentioned_with")
    ]


def _place(layout: Layout, name: str) -> Path:
    return db.place(layout).folder / "literature" / f"{name}.json"


def store(layout: Layout, made: Network) -> str:
    """Store a graph in the cache; returns its name, a digest of the content."""
    nodes, edges = list(_chunks(made.nodes)), list(_chunks(made.edges))
    head = _Head(years=made.years, made=made.made, nodes=len(nodes))
    lines = [head.model_dump_json().encode()]
    lines += [_NODES.dump_json(chunk) for chunk in nodes]
    lines += [_EDGES.dump_json(chunk) for chunk in edges]
    data = b"\n".join(lines)
    name = hashlib.sha256(data).hexdigest()[:12]
    atomic.write(_place(layout, name), data)
    return name


def _chunks(every: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    return (every[start : start + CHUNK] for start in range(0, len(every), CHUNK))


def load(layout: Layout, name: str, tell: Tell) -> Network:
    """Load a graph by name. Raises E_NOT_FOUND."""
    data = plain_bytes(_place(layout, name)) if ID.fullmatch(name) else None
    with suppress(ValidationError):  # written by an older version
        if data is not None:
            return _read(data.split(b"\n"), tell)
    raise PrereadError(
        "E_NOT_FOUND",
        f"There is no graph {name[:40]!a}.",
        "`preread call graph.build` makes one.",
    )


def _read(lines: list[bytes], tell: Tell) -> Network:
    """Parse what `store` wrote."""
    head = _Head.model_validate_json(lines[0])
    nodes: list[Entity] = []
    edges: list[Link] = []
    for number, line in enumerate(lines[1:], 1):
        tell("reading the graph", number, len(lines))
        if number <= head.nodes:
            nodes += _NODES.validate_json(line)
        else:
            edges += _EDGES.validate_json(line)
    return Network(nodes=tuple(nodes), edges=tuple(edges), years=head.years, made=head.made)
