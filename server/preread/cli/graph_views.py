"""How a feature's part of the knowledge graph looks to a person: a tree."""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from preread.cli.terminal import Block, Marked, one_line
from preread.infra.plural import counted

if TYPE_CHECKING:
    from preread.graph.model import Edge, Node
    from preread.operations.knowledge.graph import GraphReply

# How an edge describes its other end, seen from the source and from the target.
OUT = {
    "defines": "defines", "tests": "tests", "calls": "calls", "changed-with": "changes with",
    "fixed-by": "fixed by", "failed-in": "failed in", "supersedes": "replaces",
    "belongs-to": "belongs to", "cites": "cites",
}  # fmt: skip
IN = {
    "defines": "defined in", "tests": "tested by", "calls": "called by",
    "changed-with": "changes with", "fixed-by": "fixed", "failed-in": "failure of",
    "supersedes": "replaced by", "belongs-to": "has", "cites": "cited by",
}  # fmt: skip
MAX_TEXT = 100  # characters of a fact


class _Branch(NamedTuple):
    """A line of the tree, and the lines below it."""

    text: str
    below: "tuple[_Branch, ...]" = ()


def graph(reply: "GraphReply") -> Iterator[Block]:
    if reply.path:
        nodes, edges = counted(len(reply.nodes), "node"), counted(len(reply.edges), "edge")
        yield f"wrote {reply.path}: {nodes}, {edges}"
        return
    tree = _Tree(reply)
    yield "\n".join(_lines(tree.root()))
    if reply.cut:
        yield Marked("note", ": there is more (--limit)")


class _Tree:
    """The graph of a feature as a tree: its tickets, then what its facts cite, with the facts."""

    def __init__(self, reply: "GraphReply") -> None:
        self.nodes = {node.id: node for node in reply.nodes}
        self.feature, self.is_cut = reply.nodes[0], reply.cut
        self.out: dict[str, list[Edge]] = defaultdict(list)
        self.into: dict[str, list[Edge]] = defaultdict(list)
        for edge in reply.edges:
            self.out[edge.source].append(edge)
            self.into[edge.target].append(edge)

    def root(self) -> _Branch:
        members = [self.nodes[edge.source] for edge in self.into[self.feature.id]]
        facts = [node for node in members if node.kind in {"fact", "decision"}]
        other = [_Branch(_name(node)) for node in members if node not in facts]
        shown: set[str] = set()
        cited = [self._cited(node, shown) for node in self._most_cited(facts)]
        left = [_Branch(_fact(node)) for node in facts if node.id not in shown]
        why = "whose sources are beyond the limit" if self.is_cut else "that cite no node"
        alone = [_Branch(f"facts {why}", tuple(left))] if left else []
        return _Branch(
            f"{self.feature.name} ({counted(len(facts), 'fact')})", (*other, *cited, *alone)
        )

    def _most_cited(self, facts: "list[Node]") -> "list[Node]":
        """What facts cite, without definitions and tests, which are listed under their files."""
        times: dict[str, int] = defaultdict(int)
        for fact in facts:
            for edge in self.out[fact.id]:
                if edge.kind == "cites" and self.nodes[edge.target].kind not in {"symbol", "test"}:
                    times[edge.target] += 1
        return [self.nodes[id_] for id_ in sorted(times, key=lambda id_: (-times[id_], id_))]

    def _cited(self, node: "Node", shown: set[str]) -> _Branch:
        """A node with the facts that cite it, each fact once in the tree, and its other edges."""
        below, facts = [], 0
        for edge in self.into[node.id]:
            if edge.kind == "cites":
                facts += 1
                below += [] if edge.source in shown else [_Branch(_fact(self.nodes[edge.source]))]
                shown.add(edge.source)
            elif edge.kind != "defines":
                below.append(self._other(IN[edge.kind], edge.source, edge))
        for edge in self.out[node.id]:
            below.append(self._other(OUT[edge.kind], edge.target, edge))
        count = f"{facts} fact{'' if facts == 1 else 's'}"
        once = sorted(dict.fromkeys(below), key=lambda one: one.text)  # edges of several builds
        return _Branch(f"{_name(node)}  {count}", tuple(once))

    def _other(self, says: str, id_: str, edge: "Edge") -> _Branch:
        return _Branch(f"{says} {_name(self.nodes[id_])}  {edge.confidence:.2f}")


def _name(node: "Node") -> str:
    name = _short(node.name)
    if node.kind in {"file", "feature"}:
        return name
    if node.kind == "commit" and node.name != node.id.partition(":")[2]:
        return f"{node.id} {name}"
    return f"{node.kind} {name}"


def _fact(node: "Node") -> str:
    id_ = node.id.partition(":")[2]
    return f"- {id_} {_short(node.name)}  {node.state}, {node.confidence:.2f}"


def _short(text: str) -> str:
    text = one_line(text)
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def _lines(branch: _Branch) -> Iterator[str]:
    """A branch as lines, with the branches below it indented."""
    yield branch.text
    for n, each in enumerate(branch.below, 1):
        is_last = n == len(branch.below)
        first, *others = _lines(each)
        yield f"{'└── ' if is_last else '├── '}{first}"
        yield from (f"{'    ' if is_last else '│   '}{line}" for line in others)
