"""Brings the graph up to date: each part is made again only if what it was made of has changed."""

from preread.graph import from_code, from_facts, from_history
from preread.graph.writer import Writer
from preread.index import indexer
from preread.infra import db
from preread.services import Services


def update(services: Services) -> None:
    """Bring the graph up to date with the index of facts, the code, and the history."""

    def work(writer: Writer) -> None:
        from_facts.update(services, writer)
        from_history.update(services, writer, from_code.update(services, writer))
        writer.clean()

    with indexer.lock(services, "_graph"):
        db.use(services.layout, lambda connection: work(Writer(connection)))
