"""The kinds of nodes and edges, and the models of both in replies."""

from typing import Literal

from pydantic import Field

from preread.models import Model, State

NodeKind = Literal[
    "fact", "decision", "feature", "ticket", "document", "file", "symbol", "test", "commit",
    "failure",
]  # fmt: skip
EdgeKind = Literal[
    "cites", "defines", "tests", "calls", "changed-with", "fixed-by", "failed-in", "belongs-to",
    "supersedes",
]  # fmt: skip
NodeState = State | Literal["failed", "retired"]
# Confidence of computed edges. Results of a parser or a record are nearly certain; `calls`
# and `tests` are guessed from names and imports, `fixed-by` from a commit's subject.
CONFIDENCE: dict[str, float] = {
    "belongs-to": 0.95, "supersedes": 0.95, "defines": 0.95, "failed-in": 0.95,
    "tests": 0.8, "calls": 0.7, "fixed-by": 0.6,
}  # fmt: skip


class Node(Model):
    """A node, such as a file, a symbol or a fact."""

    id: str = Field(description="Like `file:src/a.py` or `fact:3f9a01bc`.")
    kind: NodeKind
    name: str = Field(description="A fact's text, a file's path, a commit's subject.")
    sources: tuple[str, ...] = Field(description="Where it is, or where it is said.")
    state: NodeState
    confidence: float


class Edge(Model):
    """How two nodes are related."""

    source: str = Field(description="The id of the node that it goes out from.")
    kind: EdgeKind
    target: str
    sources: tuple[str, ...] = Field(description="What shows it.")
    state: NodeState
    confidence: float
