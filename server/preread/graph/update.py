"""Updates the graph: each part is rebuilt only if its inputs have changed."""

import sqlite3
from typing import TYPE_CHECKING

from preread.graph import from_code, from_facts, from_history
from preread.graph.writer import Writer
from preread.index import indexer
from preread.infra import db
from preread.services import Services
from preread.unchanged import with_parents

if TYPE_CHECKING:
    from preread.infra import inotify


def folders(services: Services) -> "inotify.Wanted":
    """The folders to watch: those of the graph's files, and of test results."""
    layout = services.layout
    root = str(layout.root)

    def cited(connection: sqlite3.Connection) -> set[str]:
        sql = "SELECT DISTINCT path FROM nodes WHERE kind IN ('file', 'document') AND path != ''"
        return {path.rpartition("/")[0] for (path,) in connection.execute(sql)}

    found: dict[str, set[str] | None] = {root: None}
    for folder in db.use(layout, cited):
        if not folder.startswith(".project"):
            found |= dict.fromkeys(with_parents(f"{root}/{folder}", root))
    found[str(layout.project)] = {"config.toml", ".state"}
    if layout.state.is_dir():
        found[str(layout.state)] = {layout.test_history.name, layout.results.name}
    return found


def update(services: Services, connection: sqlite3.Connection) -> None:
    """Bring the graph up to date with the index of facts, the code, and the history."""
    indexer.update_commits(services, connection)
    with indexer.lock(services, "_graph"):
        writer = Writer(connection)
        from_facts.update(services, writer)
        from_history.update(services, writer, from_code.update(services, writer))
        writer.clean()
