"""How the operations read the graph: up to date, and with an error that says which nodes exist."""

from collections.abc import Callable
from functools import partial
from sqlite3 import Connection
from typing import TYPE_CHECKING, TypeVar

from preread import check, facts
from preread.errors import PrereadError
from preread.graph import reading, update
from preread.graph.model import Node
from preread.infra import db
from preread.project import git
from preread.services import Services
from preread.unchanged import merged

if TYPE_CHECKING:
    from preread.infra import inotify

T = TypeVar("T")
NODE = "A node's id, like `file:src/a.py`; a path, a fact's id, a feature or another unique name."
LIMIT = "The maximum number of nodes."


def current(services: Services, work: Callable[[Connection], T]) -> T:
    """Run `work` on the graph as the files are now."""

    def bring_up_to_date(connection: Connection) -> None:
        facts.index_on(services, check.check_unbudgeted, connection)
        update.update(services, connection)

    def whole(connection: Connection) -> T:  # both again if the database has to be replaced
        bring_up_to_date(connection)
        return work(connection)

    if services.unchanged is None:
        return db.use(services.layout, whole)
    root = services.layout.root
    repository = next((one for one in (root, *root.parents) if (one / ".git").exists()), root)
    return services.unchanged.graph.use(
        services.layout,
        work,
        bring_up_to_date,
        partial(_folders, services),
        git.head(repository),
    )


def _folders(services: Services) -> "inotify.Wanted":
    """The folders with the files from which the graph is derived."""
    return merged(facts.folders(services.layout), update.folders(services))


def find(connection: Connection, wanted: str) -> Node:
    """The node with this id or name. Raises E_NOT_FOUND, and E_USAGE if there are several."""
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
    near = reading.similar_ids(connection, wanted)
    hint = f"Similar: {', '.join(near)}." if near else "`preread facts 'WORDS'` finds facts."
    message = f"The graph has no node `{shown}`."
    raise PrereadError("E_NOT_FOUND", message, hint, {"nodes": near})
