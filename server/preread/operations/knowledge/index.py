"""`knowledge.index`: bring the index of the project, its facts and their graph up to date."""

import sqlite3
import time

from pydantic import Field

from preread.graph import reading as graph
from preread.index import indexer
from preread.infra import db, sqlite
from preread.models import Model
from preread.operations.knowledge import reading
from preread.operations.registry import Operation, RequestModel, threaded
from preread.services import Services


class IndexRequest(RequestModel):
    """What to do."""

    afresh: bool = Field(False, description="Forget the graph first; it is derived from files.")


class IndexReply(Model):
    """How much is indexed now."""

    files: int
    facts: int
    nodes: int
    edges: int
    seconds: float


def _index(services: Services, request: IndexRequest) -> IndexReply:
    begun = time.monotonic()
    services.layout.guard()
    if request.afresh:
        db.use(services.layout, _forget)
    indexer.update(services)
    return reading.current(services, lambda connection: _counted(connection, begun))


def _forget(connection: sqlite3.Connection) -> None:
    with sqlite.transaction(connection):
        for table in graph.TABLES:
            connection.execute(f"DELETE FROM {table}")  # noqa: S608 - names from the code


def _counted(connection: sqlite3.Connection, begun: float) -> IndexReply:
    tables = ("files", "facts", "nodes", "edges")
    counts = {
        table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
        for table in tables
    }
    return IndexReply(**counts, seconds=round(time.monotonic() - begun, 2))


OPERATION = Operation(
    name="knowledge.index",
    request=IndexRequest,
    reply=IndexReply,
    effect="read",  # what it writes is derived, in .cache/
    doc="Bring the index of the project, its facts and the knowledge graph up to date.",
    example="preread call knowledge.index",
    run=threaded(_index),
)
