"""Preread's own ranking, in this process, and its signals one by one switched off."""

import os
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "server"))

from repositories import State
from systems import Ranking, Task

from preread import inputs, resolve
from preread.evidence import collect
from preread.gates.feature_names import slug
from preread.index import analysis, indexer, words
from preread.infra import db
from preread.models import Request
from preread.names import feature_name
from preread.operations.registry import services_of
from preread.ranking import fusion
from preread.ranking.query import Query, query_of
from preread.ranking.search import Lookup
from preread.services import Services

FEATURE_WORDS = 3


def asked(services: Services, task: Task) -> Request:
    """The request a caller would make of a task: a feature named by the subject's first telling
    words, all of the text as its description, the subject as a sentence of its own. An issue is a
    ticket: its text is kept as it is.
    """
    idle = words.REPORT_WORDS if task.report else frozenset()
    named = [
        word for word in words.of_sentence(task.subject) if word.isascii() and word not in idle
    ][:FEATURE_WORDS]
    feature = slug(" ".join(named)) or "task"
    if task.report:
        path = services.layout.ticket(f"R{zlib.crc32(task.text.encode()):08x}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {task.subject}\n\n{task.body}\n", encoding="utf-8")
        return resolve.resolve(
            services, feature=feature_name(feature), ticket=path.stem, level="light"
        )
    description = f"{task.subject.rstrip('.')}. {task.body}" if task.body else task.subject
    description = " ".join(description.split())[: resolve.MAX_DESCRIPTION]
    return resolve.resolve(
        services, feature=feature_name(feature), description=description, level="light"
    )


def query(services: Services, request: Request) -> Query:
    """What is searched for, as the operation does."""
    return query_of(
        request, (inputs.ticket(services.tree, request.ticket) if request.ticket else "") or ""
    )


def _off(name: str) -> Callable[[], object]:
    return lambda: mock.patch.multiple(
        fusion,
        FIRST_PASS=_without(fusion.FIRST_PASS, name),
        SECOND_PASS=_without(fusion.SECOND_PASS, name),
    )


def _without(signals: tuple[fusion.Signal, ...], name: str) -> tuple[fusion.Signal, ...]:
    return tuple(signal for signal in signals if signal.name != name)


# Each entry makes a context in which one signal is off.
SIGNALS: dict[str, Callable[[], object]] = {
    signal.name: _off(signal.name) for signal in (*fusion.FIRST_PASS, *fusion.SECOND_PASS)
}


class Preread:
    """The lists of `preread evidence`: the same index, the same ranking, without the rules that
    look for findings.
    """

    def __init__(self, without: str = "", sharing: "Preread | None" = None) -> None:
        self._without, self._sharing = without, sharing
        self._services: Services | None = None

    def update(self, state: State) -> None:
        if self._sharing is not None:
            self._services = self._sharing._services
            return
        if self._services is None and not isinstance(
            self, Operation
        ):  # what an earlier run left would make it warm
            shutil.rmtree(state.root / ".project", ignore_errors=True)
        self._services = services_of(state.root, _environ())
        # Without it, the index is kept in the person's caches, where the next run would find it.
        self._services.layout.project.mkdir(exist_ok=True)
        indexer.update(self._services)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        if self._without:
            with SIGNALS[self._without]():  # type: ignore[attr-defined]
                yield
        else:
            yield

    def rank(self, task: Task) -> Ranking:
        services = self._services
        assert services is not None
        with self._signals():
            return db.use(
                services.layout, lambda connection: self._ranked(services, task, connection)
            )

    @staticmethod
    def _ranked(services: Services, task: Task, connection: object) -> Ranking:
        request = asked(services, task)
        found = query(services, request)
        analyses = analysis.AnalysisCache(services.tree, connection)
        weight = services.settings.file_meaning
        terms = Lookup(connection, found.weights, found.text, found.scope, analyses.text, weight)
        hits = collect._rank(request, found, terms, analyses)
        tests = sorted(hits["tests"] + hits["helpers"], key=lambda hit: (-hit.score, hit.path))
        return Ranking([hit.path for hit in hits["files"]], [hit.path for hit in tests])

    def size(self) -> int:
        if self._sharing is not None:
            return 0  # it has no index of its own
        assert self._services is not None
        with closing(db._open(self._services.layout.db)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return self._services.layout.db.stat().st_size

    def close(self) -> None:
        self._services = None


class Operation(Preread):
    """The whole operation, findings and all: slow, and the lists have to be those of `Preread`."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[str, tuple[tuple[int, int], ...]] = {}

    def rank(self, task: Task) -> Ranking:
        services = services_of(self._services.layout.root, _environ())
        found = collect.collect(services, asked(services, task))
        self.lines = {file.path: file.lines for file in found.files}
        return Ranking([file.path for file in found.files], [file.path for file in found.tests])


def _environ() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PREREAD_")}
