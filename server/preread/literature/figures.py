"""Figures of a report as SVG, with a title and a description for screen readers."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.etree import ElementTree as ET

from preread.infra.xml_text import clean
from preread.literature.network import Link, Network

Point = tuple[float, float]
WIDTH, ROW, LABEL, MARGIN = 760, 24, 380, 20  # pixels
MAX_LABEL = 48  # characters
RADIUS = 190  # of the circle that nodes are on
STATED = frozenset({"cites", "defines", "extends", "contradicts"})
COLOURS = {
    "DOCUMENT": "#1b4965", "WORK": "#2f6690", "PERSON": "#7b2d8b", "ORG": "#b5651d",
    "CONCEPT": "#2a6f4e", "THEORY": "#5a7d2a", "METHOD": "#3a7ca5", "SYMBOL": "#52616b",
    "SETTING": "#6b4e71", "ROUTE": "#8a5a00", "ERROR_CODE": "#b02a30",
}  # fmt: skip


class ShownNode(NamedTuple):
    """A node of a figure: its index in the graph, its value, its citations as `[1][2]`."""

    place: int
    value: float
    cited: str


def bars(found: Network, shown: Sequence[ShownNode], title: str) -> str:
    """A bar chart with one bar per node."""
    height = 2 * MARGIN + ROW * len(shown)
    names = [f"{_name(found, one)}: {one.value:.3f}" for one in shown]
    root = _svg(height, title, "; ".join(names))
    most = max((one.value for one in shown), default=0.0) or 1.0
    for row, one in enumerate(shown):
        y = MARGIN + row * ROW
        length = round((WIDTH - LABEL - 80) * one.value / most, 1)
        bar = {"x": str(LABEL), "y": str(y + 3), "width": str(length), "height": str(ROW - 6)}
        ET.SubElement(root, "rect", {**bar, "fill": _colour(found, one)})
        at = {"x": str(LABEL - 8), "y": str(y + 16), "text-anchor": "end"}
        ET.SubElement(root, "text", at).text = _label(found, one)
        at = {"x": f"{LABEL + length + 6:g}", "y": str(y + 16)}
        ET.SubElement(root, "text", at).text = f"{one.value:.3f}"
    return ET.tostring(root, encoding="unicode")


def circle(found: Network, shown: Sequence[ShownNode], title: str) -> str:
    """The nodes on a circle, with a line for each relation between two of them.

    Relations other than mentions are solid and labelled; the legend is below.
    """
    height = 2 * (RADIUS + 2 * MARGIN)
    middle = (WIDTH / 2, height / 2)
    places = _on_circle(middle, [one.place for one in shown])
    links = [one for one in found.edges if {one.source, one.target} <= set(places)]
    texts = [
        f"{found.nodes[one.source].name} {one.kind} {found.nodes[one.target].name}" for one in links
    ]
    root = _svg(height + ROW, title, "; ".join(texts) or "No relations between these.")
    for link, text in zip(links, texts, strict=True):
        _line(root, link, text, places[link.source], places[link.target])
    for one in shown:
        x, y = places[one.place]
        dot = {"cx": str(x), "cy": str(y), "r": "6", "fill": _colour(found, one)}
        ET.SubElement(root, "circle", dot)
        side = "start" if x >= middle[0] else "end"
        at = {"x": f"{x + (10 if side == 'start' else -10):g}", "y": f"{y + 4:g}"}
        ET.SubElement(root, "text", {**at, "text-anchor": side}).text = _label(found, one, 24)
    _legend(root, dict.fromkeys(found.nodes[one.place].kind for one in shown), height)
    return ET.tostring(root, encoding="unicode")


def _on_circle(middle: Point, nodes: Sequence[int]) -> dict[int, Point]:
    """A point for each node, at equal distances, clockwise from the right."""
    places = {}
    for number, node in enumerate(nodes):
        angle = 2 * math.pi * number / len(nodes)
        x, y = middle[0] + RADIUS * math.cos(angle), middle[1] + RADIUS * math.sin(angle)
        places[node] = (round(x, 1), round(y, 1))
    return places


def _line(root: ET.Element, link: Link, text: str, start: Point, end: Point) -> None:
    """A relation: solid and labelled if it is stated, else dashed."""
    (x, y), (to_x, to_y) = start, end
    ends = {"x1": str(x), "y1": str(y), "x2": str(to_x), "y2": str(to_y)}
    look = {} if link.kind in STATED else {"stroke-dasharray": "3 3", "stroke-opacity": "0.6"}
    line = ET.SubElement(root, "line", {**ends, "stroke": "#5c6670", **look})
    ET.SubElement(line, "title").text = clean(f"{text} ({', '.join(link.sources)})")
    if link.kind in STATED:
        at = {"x": f"{(x + to_x) / 2:g}", "y": f"{(y + to_y) / 2 - 3:g}", "fill": "#5c6670"}
        ET.SubElement(root, "text", {**at, "text-anchor": "middle"}).text = link.kind


def _legend(root: ET.Element, kinds: Iterable[str], y: float) -> None:
    x = float(MARGIN)
    for kind in kinds:
        dot = {"cx": f"{x:g}", "cy": f"{y:g}", "r": "5", "fill": COLOURS[kind]}
        ET.SubElement(root, "circle", dot)
        ET.SubElement(root, "text", {"x": f"{x + 9:g}", "y": f"{y + 4:g}"}).text = kind
        x += 30 + 8 * len(kind)


def _svg(height: float, title: str, description: str) -> ET.Element:
    size = {"viewBox": f"0 0 {WIDTH} {height:g}", "width": str(WIDTH), "height": f"{height:g}"}
    look = {"font-family": "sans-serif", "font-size": "12", "role": "img"}
    named = {"aria-labelledby": "title description", "xmlns": "http://www.w3.org/2000/svg"}
    root = ET.Element("svg", {**named, **size, **look})
    ET.SubElement(root, "title", {"id": "title"}).text = clean(title)
    ET.SubElement(root, "desc", {"id": "description"}).text = clean(description)
    ET.SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": "#ffffff"})
    return root


def _name(found: Network, one: ShownNode) -> str:
    node = found.nodes[one.place]
    return f"{node.name} ({node.kind})"


def _label(found: Network, one: ShownNode, most: int = MAX_LABEL) -> str:
    name = " ".join(clean(found.nodes[one.place].name).split())
    return f"{name if len(name) <= most else name[: most - 1] + '…'} {one.cited}"


def _colour(found: Network, one: ShownNode) -> str:
    return COLOURS[found.nodes[one.place].kind]
