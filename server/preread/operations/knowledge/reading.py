"""How the operations read the graph: up to date, and with an error that says which nodes exist."""

from collections.abc import Callable
from sqlite3 import Connection
from typing import TypeVar

from preread import check, facts
from preread.errors import PrereadError
from preread.graph import reading
from preread.graph.model import Node
from preread.graph.update import update
from preread.infra import db
from preread.services import Services

T = TypeVar("T")
NODE = "A node's id, like `file:src/a.py`; a path, a fact's id, a feature or another unique name."
LIMIT = "The maximum number of nodes."


def current(services: Services, work: Callable[[Connection], T]) -> T:
    """Run `work` on the graph as the files are now."""
    services.layout.guard()
    facts.index(services, check.check_unbudgeted)
    update(services)
    return db.use(services.layout, work)


def find(connection: Connection, wanted: str) -> Node:
    """The one node that a text means. Raises E_NOT_FOUND, and E_USAGE if there are several."""
    found = reading.find(connection, wanted)
    if len(found) == 1:
        return found[0]
    shown = ascii(wanted[:120])[1:-1]
    if found:
        ids = [node.id for node in found]
        raise PrereadError(
            "E_USAGE", f"`{shown}` is the name of {len(ids)} nodes.", f"Use {', '.join(ids[:5])}.",
            {"nodes": ids},
        )  # fmt: skip
    near = reading.like(connection, wanted)
    hint = f"Similar: {', '.join(near)}." if near else "`knowledge.search` finds facts by words."
    message = f"The graph has no node `{shown}`."
    raise PrereadError("E_NOT_FOUND", message, hint, {"nodes": near})
