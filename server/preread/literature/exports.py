"""Exports of a graph and of the cited works, in formats for other programs."""

import csv
import io
import json
import re
from collections.abc import Callable
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from preread.documents.references import Reference
from preread.literature.model import Entity
from preread.literature.network import Link, Network


def graphml(found: Network) -> str:
    keys = "".join(
        f'<key id="{name}" for="{whose}" attr.name="{name}" attr.type="{type_}"/>\n'
        for name, whose, type_ in (("name", "node", "string"), ("kind", "all", "string"),
                                   ("confidence", "all", "double"), ("sources", "all", "string"))
    )  # fmt: skip
    nodes = "".join(
        f'<node id="n{place}">{_data(name=one.name, **_common(one))}</node>\n'
        for place, one in enumerate(found.nodes)
    )
    edges = "".join(
        f'<edge source="n{one.source}" target="n{one.target}">{_data(**_common(one))}</edge>\n'
        for one in found.edges
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    return f'{head}{keys}<graph edgedefault="directed">\n{nodes}{edges}</graph>\n</graphml>\n'


def _common(one: Entity | Link) -> dict[str, object]:
    return {"kind": one.kind, "confidence": one.confidence, "sources": " ".join(one.sources)}


def _data(**values: object) -> str:
    return "".join(
        f"<data key={quoteattr(key)}>{escape(_printable(str(value)))}</data>"
        for key, value in values.items()
    )


def _printable(text: str) -> str:
    """The text without control characters that XML cannot represent."""
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "", text)


def table(found: Network) -> str:
    """The edges as CSV; cells that a spreadsheet would run as formulas get an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ("source", "source_kind", "relation", "target", "target_kind", "confidence", "sources")
    )
    for one in found.edges:
        source, target = found.nodes[one.source], found.nodes[one.target]
        row = (
            source.name,
            source.kind,
            one.kind,
            target.name,
            target.kind,
            one.confidence,
            " ".join(one.sources),
        )
        writer.writerow(
            f"'{cell}" if str(cell)[:1] in "=+-@\t\r" and str(cell) else cell for cell in row
        )
    return out.getvalue()


def json_ld(found: Network) -> str:
    types = {"PERSON": "Person", "ORG": "Organization", "WORK": "CreativeWork",
             "DOCUMENT": "CreativeWork"}  # fmt: skip
    graph: list[dict[str, Any]] = [
        {"@id": f"_:n{place}", "@type": types.get(one.kind, "DefinedTerm"), "name": one.name,
         "additionalType": one.kind, "citation": list(one.sources)}
        for place, one in enumerate(found.nodes)
    ]  # fmt: skip
    for one in found.edges:
        key = (
            "citation"
            if one.kind == "cites"
            else "mentions"
            if one.kind == "mentions"
            else f"preread:{one.kind}"
        )
        node = graph[one.source]
        node[key] = [*node.get(key, []), {"@id": f"_:n{one.target}"}]
    context = {"@vocab": "https://schema.org/", "preread": "urn:preread:relation:"}
    return json.dumps({"@context": context, "@graph": graph}, indent=1, ensure_ascii=False)


def csl_json(works: list[Reference]) -> str:
    return json.dumps(
        [_csl(number, one) for number, one in enumerate(works, 1)], indent=1, ensure_ascii=False
    )


def _csl(number: int, one: Reference) -> dict[str, Any]:
    found: dict[str, Any] = {"id": f"ref{number}", "type": "document", "note": one.text}
    found |= {k: v for k, v in (("title", one.title), ("DOI", one.doi), ("URL", one.url)) if v}
    if one.year:
        found["issued"] = {"date-parts": [[int(one.year)]]}
    if one.authors:
        found["author"] = [{"literal": name} for name in _people(one.authors)]
    return found


def _people(authors: str) -> list[str]:
    return [name for name in re.split(r",? and | & |; |, (?=[A-Z]\.? ?[A-Z])", authors) if name]


def bibtex(works: list[Reference]) -> str:
    return "\n".join(_entry(number, one) for number, one in enumerate(works, 1))


def _entry(number: int, one: Reference) -> str:
    fields = {"author": " and ".join(_people(one.authors)), "title": one.title, "year": one.year,
              "doi": one.doi, "url": one.url, "note": "" if one.title else one.text}  # fmt: skip
    lines = [f"  {key} = {{{_braced(value)}}}" for key, value in fields.items() if value]
    return f"@misc{{ref{number},\n" + ",\n".join(lines) + "\n}\n"


def _braced(text: str) -> str:
    """A value between braces, with LaTeX's special characters escaped."""
    plain = text.replace("\\", " ").replace("{", "(").replace("}", ")")
    return re.sub(r"([&%$#_])", r"\\\1", plain)


OF_GRAPH: dict[str, Callable[[Network], str]] = {
    "graphml": graphml, "csv": table, "json-ld": json_ld,
}  # fmt: skip
OF_WORKS: dict[str, Callable[[list[Reference]], str]] = {"bibtex": bibtex, "csl-json": csl_json}
