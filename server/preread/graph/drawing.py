"""Writes a part of the graph as SVG, to look at, and as GraphML, for other programs."""

from collections import defaultdict
from collections.abc import Mapping
from statistics import fmean
from typing import NamedTuple
from xml.etree import ElementTree as ET

from preread.graph.model import Edge, Node, NodeKind
from preread.graph.reading import Subgraph
from preread.infra.xml_text import clean

# Columns from left to right, ordered so that most edges lead to the next column.
COLUMNS: tuple[tuple[NodeKind, ...], ...] = (
    ("feature", "ticket"),
    ("decision", "fact"),
    ("file", "document"),
    ("symbol", "test"),
    ("commit", "failure"),
)
COLOURS: Mapping[str, str] = {
    "feature": "#1b4965", "ticket": "#7b2d8b", "decision": "#b5651d", "fact": "#52616b",
    "file": "#2a6f4e", "document": "#5a7d2a", "symbol": "#2f6690", "test": "#3a7ca5",
    "commit": "#6b4e71", "failure": "#b02a30",
}  # fmt: skip
WIDTH, HEIGHT, ROW, GAP, MARGIN, TOP = 290, 20, 26, 110, 20, 60  # pixels
MAX_LABEL = 44  # characters


class _Place(NamedTuple):
    """The upper left corner of a node."""

    column: int
    x: int
    y: int


def _rows(found: Subgraph) -> dict[str, _Place]:
    """The position of each node: in the column of its kind, near its neighbours."""
    near: dict[str, list[str]] = defaultdict(list)
    for edge in found.edges:
        near[edge.source].append(edge.target)
        near[edge.target].append(edge.source)
    places: dict[str, _Place] = {}
    for column, kinds in enumerate(COLUMNS):
        members = [node for node in found.nodes if node.kind in kinds]

        def height(node: Node) -> float:
            return fmean([places[one].y for one in near[node.id] if one in places] or [0.0])

        members.sort(key=lambda node: (height(node), node.sources, node.name))
        for row, node in enumerate(members):
            places[node.id] = _Place(column, MARGIN + column * (WIDTH + GAP), TOP + row * ROW)
    return places


def svg(found: Subgraph, title: str) -> str:
    """The nodes in columns by kind, with curves between them; full texts are in the tooltips."""
    places = _rows(found)
    width = 2 * MARGIN + len(COLUMNS) * (WIDTH + GAP) - GAP
    height = max((place.y for place in places.values()), default=TOP) + ROW + MARGIN
    root = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width} {height}",
            "width": str(width),
            "height": str(height),
            "font-family": "sans-serif",
            "font-size": "11",
            "role": "img",
        },
    )
    ET.SubElement(root, "title").text = clean(title)
    ET.SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": "#ffffff"})
    _legend(root)
    for edge in found.edges:
        _curve(root, edge, places[edge.source], places[edge.target])
    for node in found.nodes:
        _box(root, node, places[node.id])
    return _text(root)


def _legend(root: ET.Element) -> None:
    for n, (kind, colour) in enumerate(COLOURS.items()):
        x = MARGIN + n * 100
        square = {"x": str(x), "y": "20", "width": "12", "height": "12", "fill": colour}
        ET.SubElement(root, "rect", square)
        ET.SubElement(root, "text", {"x": str(x + 18), "y": "30"}).text = kind


def _curve(root: ET.Element, edge: Edge, source: _Place, target: _Place) -> None:
    left, right = sorted((source, target))
    y, end_y = left.y + HEIGHT // 2, right.y + HEIGHT // 2
    x, end_x = left.x + WIDTH, right.x if right.column > left.column else right.x + WIDTH
    bend, end_bend = x + GAP // 2, end_x + (GAP // 2 if end_x == x else -(GAP // 2))
    drawn = ET.SubElement(
        root,
        "path",
        {
            "d": f"M{x},{y} C{bend},{y} {end_bend},{end_y} {end_x},{end_y}",
            "fill": "none",
            "stroke": "#8a949e",
            "stroke-opacity": "0.6",
        },
    )
    about = f"{edge.source} {edge.kind} {edge.target} ({', '.join(edge.sources)})"
    ET.SubElement(drawn, "title").text = clean(about)


def _box(root: ET.Element, node: Node, place: _Place) -> None:
    group = ET.SubElement(root, "g", {"transform": f"translate({place.x},{place.y})"})
    about = f"{node.id}: {node.name}\n{', '.join(node.sources)}\n{node.state}, {node.confidence}"
    ET.SubElement(group, "title").text = clean(about)
    box = {"width": str(WIDTH), "height": str(HEIGHT), "rx": "4", "fill": COLOURS[node.kind]}
    ET.SubElement(group, "rect", box)
    name = " ".join(clean(node.name).split())
    is_path = node.kind in {"file", "document"}  # shortened at the start: the end says more
    if len(name) > MAX_LABEL:
        name = f"…{name[1 - MAX_LABEL :]}" if is_path else f"{name[: MAX_LABEL - 1]}…"
    ET.SubElement(group, "text", {"x": "7", "y": "14", "fill": "#ffffff"}).text = name


FIELDS = {
    "node": ("kind", "name", "source", "state", "confidence"),
    "edge": ("kind", "source", "state", "confidence"),
}


def graphml(found: Subgraph) -> str:
    """The nodes and edges as GraphML, which networkx, Gephi and yEd read."""
    root = ET.Element("graphml", {"xmlns": "http://graphml.graphdrawing.org/xmlns"})
    for owner, names in FIELDS.items():
        for name in names:
            kind = "double" if name == "confidence" else "string"
            about = {"id": f"{owner}-{name}", "for": owner, "attr.name": name, "attr.type": kind}
            ET.SubElement(root, "key", about)
    graph = ET.SubElement(root, "graph", {"id": "preread", "edgedefault": "directed"})
    for node in found.nodes:
        element = ET.SubElement(graph, "node", {"id": clean(node.id)})
        _data(element, "node", node)
    for edge in found.edges:
        ends = {"source": clean(edge.source), "target": clean(edge.target)}
        _data(ET.SubElement(graph, "edge", ends), "edge", edge)
    return _text(root)


def _data(element: ET.Element, owner: str, of: Node | Edge) -> None:
    values = of.model_dump() | {"source": ", ".join(of.sources)}
    for name in FIELDS[owner]:
        ET.SubElement(element, "data", {"key": f"{owner}-{name}"}).text = clean(str(values[name]))


def _text(root: ET.Element) -> str:
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=False) + "\n"
