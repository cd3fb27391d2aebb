"""Nodes and edges from the code that facts cite: definitions, tests, calls, tested files.

Only cited files are parsed. Of the files that they import, one hop away, only outlines are read.
"""

import os
import re
import sqlite3
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from preread.graph.from_facts import CODE
from preread.graph.writer import Key, Writer, file_node, node_of_test
from preread.index import imports, indexer
from preread.index.analysis import AnalysisCache
from preread.services import Services
from preread.syntax import Call, Outline, Symbol, TestCase

if TYPE_CHECKING:
    from preread.graph.model import EdgeKind

SEEN = "seen:"  # digests of files when edges to them were made
TESTS = "tests:"  # digests of all test files when their imports were looked up
# Limits: parsed files, most cited first; of each, its symbols, imports and calls.
MAX_FILES, MAX_SYMBOLS, MAX_IMPORTS, MAX_CALLS = 3_000, 200, 20, 400
SPAN = re.compile(r":(\d+)(?:-(\d+))?(?=, |$)")  # the lines of each source of an edge
LAST_NAME = re.compile(r"([^\W\d]\w*)[?!]?\W*$")


class _File(NamedTuple):
    """A file of the index."""

    row: int
    path: str
    digest: str
    role: str
    names: frozenset[str]


def update(services: Services, writer: Writer) -> list[str]:
    """Update the nodes and edges from code; returns the cited files."""
    connection = writer.connection
    if _is_outdated(services, connection):
        indexer.update_on(services, connection)
    cited = _most_cited(connection)
    known = writer.digests(CODE)
    for path in known.keys() - set(cited):
        writer.forget(CODE + path)
    digests = dict(connection.execute("SELECT path, digest FROM files"))
    current = {path: digests.get(path, "gone") for path in cited}
    changed = {path for path in cited if known.get(path) != current[path]}
    seen = writer.digests(SEEN)
    moved = [path for path, digest in _near(connection) if seen.get(path, digest) != digest]
    changed |= _calling(connection, moved) & set(cited)
    tests = _tests(connection)
    if before := writer.digests(TESTS):
        changed |= _imported_by(connection, tests.items() - before.items()) & set(cited)
        changed |= _tested_by(connection, before.keys() - tests.keys()) & set(cited)
    cache = AnalysisCache(services.tree, connection)
    say = services.progress.say

    def write(path: str) -> None:
        with writer.origin(CODE + path, current[path]):
            _Code(services, writer, cache, path).write()

    writer.each(sorted(changed), write, lambda share: say("reading cited code", share, 1))
    cache.store()
    writer.note(SEEN, dict(_near(connection)))
    writer.note(TESTS, tests)
    return cited


def _near(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """The files of the graph, including those one hop away, each with its digest."""
    sql = """SELECT n.path, coalesce(f.digest, 'gone') FROM nodes n
        LEFT JOIN files f ON f.path = n.path WHERE n.kind = 'file'"""
    return connection.execute(sql).fetchall()


def _tests(connection: sqlite3.Connection) -> dict[str, str]:
    """The digest of each test file."""
    return dict(connection.execute("SELECT path, digest FROM files WHERE role = 'test'"))


def _imported_by(connection: sqlite3.Connection, tests: Iterable[tuple[str, str]]) -> set[str]:
    """The files that new or changed tests import."""
    found: set[str] = set()
    for path, _ in tests:
        test = _indexed(connection, "path", path)
        rows = imports.imported_by(connection, test.row) if test else ()
        found |= {file.path for row in rows if (file := _indexed(connection, "id", row))}
    return found


def _tested_by(connection: sqlite3.Connection, tests: Iterable[str]) -> set[str]:
    """The files that deleted tests tested."""
    sql = """SELECT DISTINCT t.path FROM nodes s JOIN edges e ON e.source = s.id
        AND e.kind = 'tests' JOIN nodes t ON t.id = e.target WHERE s.key = ?"""
    return {path for one in tests for (path,) in connection.execute(sql, (f"file:{one}",))}


def _is_outdated(services: Services, connection: sqlite3.Connection) -> bool:
    """Whether a file of the graph differs from its state in the index."""
    sql = """SELECT n.path, f.size, f.mtime, f.trusted FROM nodes n LEFT JOIN files f
        ON f.path = n.path WHERE n.kind IN ('file', 'document') AND n.path NOT LIKE '.project/%'"""
    root = str(services.layout.root)
    rows = connection.execute(sql).fetchall()
    if rows and connection.execute("SELECT 1 FROM commit_history").fetchone() is None:
        return True  # the commits have not been read, or another process is reading them
    return any(
        _stat(f"{root}/{path}") != known if known[0] is not None else _is_new(services, path)
        for path, *known in rows
    )


def _stat(path: str) -> list[int]:
    try:
        info = os.lstat(path)
    except OSError:
        return []
    return [info.st_size, info.st_mtime_ns, 1]


def _is_new(services: Services, path: str) -> bool:
    """Whether a cited file exists in the project, but not yet in the index."""
    return bool(_stat(f"{services.layout.root}/{path}")) and path in services.tree.files


def _most_cited(connection: sqlite3.Connection) -> list[str]:
    """The cited files; ranked only if there are too many, because that takes ten times as long."""
    sql = """SELECT DISTINCT n.path FROM nodes n WHERE n.kind IN ('file', 'test') AND EXISTS
        (SELECT 1 FROM edges e WHERE e.target = n.id AND e.kind = 'cites') ORDER BY n.path"""
    found = [path for (path,) in connection.execute(sql)]
    if len(found) <= MAX_FILES:
        return found
    sql = """SELECT n.path FROM nodes n JOIN edges e ON e.target = n.id AND e.kind = 'cites'
        WHERE n.kind IN ('file', 'test') GROUP BY n.path ORDER BY count(*) DESC, n.path LIMIT ?"""
    return [path for (path,) in connection.execute(sql, (MAX_FILES,))]


def _calling(connection: sqlite3.Connection, changed: Iterable[str]) -> set[str]:
    """The files whose calls lead into changed ones."""
    sql = """SELECT DISTINCT s.path FROM nodes t JOIN edges e ON e.target = t.id
        AND e.kind IN ('calls', 'tests') JOIN nodes s ON s.id = e.source
        WHERE t.kind IN ('symbol', 'file') AND t.path = ?"""
    return {path for one in changed for (path,) in connection.execute(sql, (one,))}


class _Citation(NamedTuple):
    """A fact that cites lines of a file."""

    fact: int
    start: int
    end: int
    state: str
    confidence: float


def _citations(connection: sqlite3.Connection, path: str) -> list[_Citation]:
    """The facts that cite lines of a file."""
    sql = """SELECT e.source, e.cited, e.state, e.confidence FROM nodes n
        JOIN edges e ON e.target = n.id AND e.kind = 'cites' WHERE n.key IN (?, ?)"""
    keys = (f"file:{path}", f"document:{path}")
    return [
        _Citation(row, int(start), int(end or start), state, confidence)
        for row, cited, state, confidence in connection.execute(sql, keys)
        for start, end in SPAN.findall(cited)
    ]


class _Span(NamedTuple):
    """The lines of a definition; the innermost sort first."""

    size: int
    start: int
    end: int
    row: int


class _Code:
    """One cited file."""

    def __init__(self, services: Services, writer: Writer, cache: AnalysisCache, path: str) -> None:
        self.writer, self.cache, self.path = writer, cache, path
        self.tree = services.tree
        self.file = _indexed(writer.connection, "path", path)
        self.own: dict[str, int] = {}  # the rows of its symbols, by their names
        self.tests: set[int] = set()
        self.spans: list[_Span] = []
        self.citations = _citations(writer.connection, path)

    def write(self) -> None:
        if self.file is None or self.file.role not in {"source", "test", "support"}:
            return  # it is deleted, or its text is not indexed
        self._define(self.cache.outline(self.path))
        self._cite()
        imported = self._imported()
        self._call(imported)
        self._tested(imported)

    def _define(self, outline: Outline) -> None:
        """The file's symbols and tests, the cited ones first."""
        file = self.writer.node(file_node(self.path))
        lines = sorted({one.start for one in self.citations})

        def is_uncited(one: Symbol | TestCase) -> bool:
            at = bisect_left(lines, one.start)
            return at == len(lines) or lines[at] > one.end

        symbols = [one for one in outline.symbols if one.kind != "heading"]
        for one in sorted(symbols, key=is_uncited)[:MAX_SYMBOLS]:
            row = self.writer.node(symbol_node(self.path, one), known_best=True)
            self.own[one.name] = row
            self.spans.append(_Span(one.end - one.start, one.start, one.end, row))
        for case in sorted(outline.tests, key=is_uncited)[:MAX_SYMBOLS]:
            key = node_of_test(self.path, case.name, case.start)
            row = self.writer.node(key, known_best=True)
            self.tests.add(row)
            self.spans.append(_Span(case.end - case.start, case.start, case.end, row))
        self.spans.sort()
        for span in self.spans:
            cited = f"{self.path}:{span.start}-{span.end}"
            self.writer.edge(file, "defines", span.row, cited)

    def _cite(self) -> None:
        """The innermost definition around each line that a fact cites."""
        for one in self.citations:
            row = self._around(one.start)
            if row is not None:
                cited = f"{self.path}:{one.start}-{one.end}"
                self.writer.edge(one.fact, "cites", row, cited, one.state, one.confidence)

    def _around(self, line: int) -> int | None:
        """The row of the innermost test or symbol around a line."""
        return next((one.row for one in self.spans if one.start <= line <= one.end), None)

    def _imported(self) -> list[_File]:
        connection = self.writer.connection
        rows = imports.imported_by(connection, self.file.row) if self.file else ()
        found = (_indexed(connection, "id", row) for row in sorted(rows)[:MAX_IMPORTS])
        return [one for one in found if one is not None]

    def _call(self, imported: list[_File]) -> None:
        """Calls, by name, to definitions in the file or in those that it imports."""
        elsewhere = {name: file for file in reversed(imported) for name in file.names}
        text = self.tree.text(self.path) or ""
        for call in self.cache.details(self.path, text).calls[:MAX_CALLS]:
            caller = self._around(call.line)
            target = self._callee(call, elsewhere) if caller is not None else None
            if caller is not None and target is not None:
                kind: EdgeKind = "tests" if caller in self.tests else "calls"
                self.writer.edge(caller, kind, target, f"{self.path}:{call.line}")

    def _callee(self, call: Call, elsewhere: Mapping[str, _File]) -> int | None:
        """The row of the definition that a call means by its last name."""
        match = LAST_NAME.search(call.callee)
        if match is None:
            return None
        name, target = match[1], self.own.get(match[1])
        if target is None and name in elsewhere:
            return self._symbol(elsewhere[name].path, name)
        return target

    def _symbol(self, path: str, name: str) -> int | None:
        """Add a symbol of another file to the graph; returns its row."""
        outline = self.cache.outline(path)
        found = next((one for one in outline.symbols if one.name == name), None)
        if found is None:
            return None
        row = self.writer.node(symbol_node(path, found))
        file = self.writer.node(file_node(path))
        self.writer.edge(file, "defines", row, f"{path}:{found.start}-{found.end}")
        return row

    def _tested(self, imported: list[_File]) -> None:
        """Link a test with the sources that it imports, another file with tests that import it."""
        file_row = self.writer.node(file_node(self.path))
        if self.file is None:
            return
        if self.file.role == "test":
            sources = [file.path for file in imported if file.role == "source"]
            for path in sources:
                self.writer.edge(file_row, "tests", self.writer.node(file_node(path)), self.path)
        else:
            for path in self._importing_tests(self.file)[:MAX_IMPORTS]:
                self.writer.edge(self.writer.node(file_node(path)), "tests", file_row, path)

    def _importing_tests(self, file: _File) -> list[str]:
        connection = self.writer.connection
        rows = sorted(imports.importers_of(connection, file.row))
        found = (_indexed(connection, "id", row) for row in rows)
        return [one.path for one in found if one is not None and one.role == "test"]


def symbol_node(path: str, symbol: Symbol) -> Key:
    name = f"{symbol.container}.{symbol.name}" if symbol.container else symbol.name
    return Key(f"symbol:{path}#{name}", "symbol", name, path, symbol.start)


def _indexed(connection: sqlite3.Connection, column: str, value: object) -> _File | None:
    sql = f"SELECT id, path, digest, role, names FROM files WHERE {column} = ?"  # noqa: S608
    row = connection.execute(sql, (value,)).fetchone()
    if row is None:
        return None
    *values, names = row
    return _File._make((*values, frozenset(names.split("\n"))))
