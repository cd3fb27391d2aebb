"""Exports of a graph and of the cited works, in formats for other programs."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar
from xml.sax.saxutils import escape, quoteattr

from preread.documents.references import Reference, references
from preread.infra.xml_text import clean
from preread.literature.extraction import Paper
from preread.literature.measured import REFERENCE, confidence
from preread.literature.measures import Tell
from preread.literature.model import Entity, Sourced
from preread.literature.network import Link, Network
from preread.literature.rules import EDITION

VOCABULARY, RELATIONS = "https://schema.org/", "urn:preread:relation:"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
TYPES = {"PERSON": "Person", "ORG": "Organization", "WORK": "CreativeWork",
         "DOCUMENT": "CreativeWork"}  # fmt: skip
ADDRESSES = frozenset({"doi", "url", "source"})  # BibTeX fields in which nothing is escaped
PROPERTIES = {"cites": "citation", "mentions": "mentions"}
ROUND = 1000  # records between two reports of progress
T = TypeVar("T")


class Work(NamedTuple):
    """A cited work and the part of a document that lists it."""

    reference: Reference
    source: str


def works(papers: Iterable[Paper]) -> list[Work]:
    """The works that documents cite, in the order of their lists."""
    return [
        Work(one, paper.cite(one.part)) for paper in papers for one in references(paper.document)
    ]


def _reported(items: Sequence[T], tell: Tell, message: str) -> Iterator[T]:
    """The items; reports every ROUND of them how many are done."""
    for place, item in enumerate(items):
        if not place % ROUND:
            tell(message, place, len(items))
        yield item


def graphml(found: Network, tell: Tell) -> str:
    keys = "".join(
        f'<key id="{name}" for="{whose}" attr.name="{name}" attr.type="{type_}"/>\n'
        for name, whose, type_ in (("name", "node", "string"), ("kind", "all", "string"),
                                   ("confidence", "all", "double"), ("rule", "all", "string"),
                                   ("sources", "all", "string"), ("lines", "all", "string"),
                                   ("made_by", "graph", "string"), ("documents", "graph", "string"))
    )  # fmt: skip
    nodes = "".join(
        f'<node id="n{place}">{_data(name=one.name, **_common(one))}</node>\n'
        for place, one in enumerate(_reported(found.nodes, tell, "writing the nodes"))
    )
    edges = "".join(
        f'<edge source="n{one.source}" target="n{one.target}">{_data(**_common(one))}</edge>\n'
        for one in _reported(found.edges, tell, "writing the edges")
    )
    digests = " ".join(f"{path}@{digest}" for path, digest in found.made.documents.items())
    made = _data(made_by=found.made.by, documents=digests)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    return f'{head}{keys}<graph edgedefault="directed">{made}\n{nodes}{edges}</graph>\n</graphml>\n'


def _common(one: Entity | Link) -> dict[str, object]:
    return {"kind": one.kind, "confidence": one.confidence, "rule": one.rule,
            "sources": " ".join(one.sources), "lines": _lines(one)}  # fmt: skip


def _lines(one: Sourced) -> str:
    """The line of each source, in their order; `-` where it is not known."""
    return " ".join("-" if line is None else f"{line}" for line in one.lines)


def _data(**values: object) -> str:
    return "".join(
        f"<data key={quoteattr(key)}>{escape(clean(str(value)))}</data>"
        for key, value in values.items()
    )


def table(found: Network, tell: Tell) -> str:
    """The edges as CSV; cells that a spreadsheet would run as formulas get an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        (
            "source",
            "source_kind",
            "relation",
            "target",
            "target_kind",
            "confidence",
            "rule",
            "made_by",
            "sources",
            "lines",
        )
    )
    for one in _reported(found.edges, tell, "writing the edges"):
        source, target = found.nodes[one.source], found.nodes[one.target]
        row = (
            source.name,
            source.kind,
            one.kind,
            target.name,
            target.kind,
            one.confidence,
            one.rule,
            found.made.by,
            " ".join(one.sources),
            _lines(one),
        )
        writer.writerow(
            f"'{cell}" if str(cell)[:1] in "=+-@\t\r" and str(cell) else cell for cell in row
        )
    return out.getvalue()


def json_ld(found: Network, tell: Tell) -> str:
    """Each edge is a property of its source node, and a statement of its own with its sources."""
    graph: list[dict[str, Any]] = [
        {"@id": f"_:n{place}", "@type": TYPES.get(one.kind, "DefinedTerm"), "name": one.name,
         "additionalType": one.kind, **_statement(one)}
        for place, one in enumerate(found.nodes)
    ]  # fmt: skip
    for place, one in enumerate(_reported(found.edges, tell, "writing the edges")):
        key = PROPERTIES.get(one.kind, f"preread:{one.kind}")
        node, target = graph[one.source], {"@id": f"_:n{one.target}"}
        node.setdefault(key, []).append(target)
        graph.append(
            {"@id": f"_:e{place}", "@type": "rdf:Statement", "rdf:predicate": {"@id": _iri(key)},
             "rdf:subject": {"@id": f"_:n{one.source}"}, "rdf:object": target, **_statement(one)}
        )  # fmt: skip
    made = found.made
    based = [f"{path}@{digest}" for path, digest in made.documents.items()]
    graph.append({"@id": "_:graph", "@type": "Dataset", "version": made.by, "isBasedOn": based})
    context = {"@vocab": VOCABULARY, "preread": RELATIONS, "rdf": RDF}
    records = ",\n".join(
        json.dumps(one, ensure_ascii=False) for one in _reported(graph, tell, "writing the records")
    )
    return f'{{"@context": {json.dumps(context)}, "@graph": [\n{records}\n]}}'


def _iri(key: str) -> str:
    prefix, _, name = key.rpartition(":")
    return f"{RELATIONS if prefix else VOCABULARY}{name}"


def _statement(one: Sourced) -> dict[str, Any]:
    return {"preread:sources": list(one.sources), "preread:lines": _lines(one),
            "preread:confidence": one.confidence, "preread:rule": one.rule}  # fmt: skip


def csl_json(works: list[Work]) -> str:
    return json.dumps(
        [_csl(number, one) for number, one in enumerate(works, 1)], indent=1, ensure_ascii=False
    )


def _csl(number: int, work: Work) -> dict[str, Any]:
    one = work.reference
    found: dict[str, Any] = {"id": f"ref{number}", "type": "document", "note": one.text}
    found["custom"] = _found(work)
    found |= {k: v for k, v in (("title", one.title), ("DOI", one.doi), ("URL", one.url)) if v}
    if one.year:
        found["issued"] = {"date-parts": [[int(one.year)]]}
    if one.authors:
        found["author"] = [{"literal": name} for name in _people(one.authors)]
    return found


def _found(work: Work) -> dict[str, str]:
    """Which rule found a cited work, where, and its confidence."""
    return {"confidence": f"{confidence(REFERENCE)}", "rule": REFERENCE, "made_by": EDITION,
            "source": work.source, "line": f"{work.reference.line}"}  # fmt: skip


def _people(authors: str) -> list[str]:
    return [name for name in re.split(r",? and | & |; |, (?=[A-Z]\.? ?[A-Z])", authors) if name]


def bibtex(works: list[Work]) -> str:
    return "\n".join(_entry(number, one) for number, one in enumerate(works, 1))


def _entry(number: int, work: Work) -> str:
    one = work.reference
    fields = {"author": " and ".join(_people(one.authors)), "title": one.title, "year": one.year,
              "doi": one.doi, "url": one.url, "note": "" if one.title else one.text,
              **_found(work)}  # fmt: skip
    lines = [f"  {key} = {{{_braced(key, value)}}}" for key, value in fields.items() if value]
    return f"@misc{{ref{number},\n" + ",\n".join(lines) + "\n}\n"


def _braced(field: str, text: str) -> str:
    """A value between braces, with LaTeX's special characters escaped, except in addresses."""
    if field in ADDRESSES:
        return re.sub(r"[\\{}]", "", text)
    plain = text.replace("\\", " ").replace("{", "(").replace("}", ")")
    return re.sub(r"([&%$#_])", r"\\\1", plain)


OF_GRAPH: dict[str, Callable[[Network, Tell], str]] = {
    "graphml": graphml, "csv": table, "json-ld": json_ld,
}  # fmt: skip
OF_WORKS: dict[str, Callable[[list[Work]], str]] = {"bibtex": bibtex, "csl-json": csl_json}
