"""The view that rules share: the feature's files, definitions and tests, each best first."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

from preread.evidence.files import Definition, FileView, Test
from preread.evidence.relevance import RELATED, Relevance
from preread.evidence.symbols import FUNCTIONS, defined
from preread.gates.feature_names import PROJECT
from preread.index import gitlog, words
from preread.index.analysis import AnalysisCache
from preread.models import Request
from preread.ranking.query import Query
from preread.services import Services
from preread.syntax import Symbol

MAX_MAIN, MAIN_FLOOR = 10, 0.45  # definitions shown in detail; the share of the best one's score
UNNAMED_FLOOR = 0.7  # the same of tests that have words of the description alone
NAMED_FLOOR = 0.35  # score of a file that is named though it has no word of the request
DECLARED = 0.4  # of its score: what a header of C declares and another file defines
PLAIN = frozenset({"constant", "type"})
TESTED_SOURCES = 4  # sources whose own lines may contain tests
PROJECT_MENTIONS = 20  # files mentioning a definition that make it fully central

T = TypeVar("T")


@dataclass(eq=False)
class View:
    """One request's view of the project, shared by all rules."""

    services: Services
    connection: sqlite3.Connection
    request: Request
    query: Query
    analyses: AnalysisCache
    relevance: Relevance
    sources: list[FileView]
    tests: list[FileView]
    docs: list[FileView]
    ranked: dict[str, list[FileView]]  # the files, tests and docs as ranked, to be shown
    further: dict[str, list[FileView]]  # files ranked after these, by kind
    ticket: str = ""
    knowledge: str = ""
    thin: bool = False  # the project says next to nothing about the feature
    notes: list[str] = field(default_factory=list)
    _memo: dict[Callable[..., Any], Any] = field(default_factory=dict)

    @property
    def whole_project(self) -> bool:
        return self.request.feature == PROJECT

    @cached_property
    def definitions(self) -> list[Definition]:
        """Every definition of the ranked sources, best first; what is inside functions is left
        out, but for that of long ones.
        """
        found = [one for file in self.sources for one in self._definitions_of(file)]
        made = {one.full_name for one in found if not _is_declaration(one)}
        repeated = {id(o) for o in found if _is_declaration(o) and o.full_name in made}
        found = [replace(o, score=DECLARED * o.score) if id(o) in repeated else o for o in found]
        return sorted(found, key=_by_score)

    @cached_property
    def code(self) -> list[FileView]:
        """The ranked sources that define anything, best first."""
        return [file for file in self.sources if self.definitions_in(file)]

    def _definitions_of(self, file: FileView) -> Iterable[Definition]:
        body = self.relevance.bodies(file)
        for symbol in defined(file.outline):
            score = self._score(file, symbol, body(symbol.start, symbol.end))
            yield Definition(file, symbol, score)

    def _score(self, file: FileView, symbol: Symbol, body: float) -> float:
        if self.whole_project:
            mentions = len(self.candidates(symbol.name, ("source", "test")))
            return file.score * min(mentions, PROJECT_MENTIONS) / PROJECT_MENTIONS
        return self.relevance.definition(file, symbol.name, symbol.container, body)

    def definitions_in(self, file: FileView) -> list[Definition]:
        """The definitions of one file, best first."""
        return self._definitions_by_file.get(file.path, [])

    @cached_property
    def _definitions_by_file(self) -> dict[str, list[Definition]]:
        found: dict[str, list[Definition]] = {}
        for one in self.definitions:
            found.setdefault(one.file.path, []).append(one)
        return found

    @cached_property
    def best_score(self) -> float:
        """The score of the best definition."""
        return max((one.score for one in self.definitions), default=0.0) or 1.0

    @cached_property
    def mains(self) -> list[Definition]:
        """The definitions that the feature is about."""
        floor = MAIN_FLOOR * self.best_score
        return [one for one in self.definitions[:MAX_MAIN] if one.score >= floor]

    def is_in_main(self, file: FileView, line: int) -> bool:
        """Whether the innermost definition around a line is one that the feature is about.

        A class has to be so by its name: a large one has all words somewhere.
        """
        own = self.definitions_in(file)
        around = [one for one in own if one.symbol.start <= line <= one.symbol.end]
        inner = max(around, key=lambda one: one.symbol.start, default=None)
        if inner is None or inner not in self.mains:
            return False
        by_name = self.relevance.of(inner.symbol.name) >= RELATED
        return by_name or self.whole_project or inner.symbol.kind in FUNCTIONS

    def relevance_at(self, file: FileView, line: int, *texts: str) -> float:
        """How much these texts on a line of a source are about the feature, 0 to 1.

        What a main definition contains is fully so, what a test contains is not. A text with the
        feature's whole name is related, and so is everything in a file that has it.
        """
        if file.is_in_test(line):
            return 0.0
        if self.is_in_main(file, line):
            return 1.0
        is_named = any(map(self.relevance.has_feature, (file.path, *texts)))
        return max(self.relevance.of(*texts), RELATED * (self.whole_project or is_named))

    @cached_property
    def cases(self) -> list[Test]:
        """Every test of the ranked test files, and of the first sources, best first."""
        inline = [file for file in self.sources[:TESTED_SOURCES] if file.outline.tests]
        found = [one for file in (*self.tests, *inline) for one in self._cases_of(file)]
        return sorted(found, key=lambda one: (-one.score, one.file.path, one.case.start))

    @cached_property
    def best_case_score(self) -> float:
        """The score of the best test."""
        return (self.cases[0].score if self.cases else 0.0) or 1.0

    @cached_property
    def main_cases(self) -> list[Test]:
        """The tests of the feature: by their words, or all tests of a file named after it."""
        outer = set(_containing(self.cases))
        return [one for one in self.cases if one not in outer and self._is_main(one)]

    def _is_main(self, one: Test) -> bool:
        own = self._named or self.cases
        floor = MAIN_FLOOR * own[0].score if one in own else UNNAMED_FLOOR * self.cases[0].score
        if self.thin or one.score >= max(floor, 1e-9):
            return True
        return one.file.role == "test" and self.relevance.has_feature(one.file.path)

    @cached_property
    def _named(self) -> list[Test]:
        """The tests with a word of the feature's name, best first."""
        feature = frozenset[str]() if self.whole_project else self.relevance.feature
        return [one for one in self.cases if feature & self.relevance.stems_in(_words_of(one))]

    @cached_property
    def test_files(self) -> list[FileView]:
        """The files of the feature's tests, best first, by rank and best test."""
        best: dict[str, float] = {}
        for one in self.main_cases:
            best.setdefault(one.file.path, one.score)
        files = {file.path: file for file in (*self.tests, *self.sources) if file.path in best}
        most = max(best.values(), default=0.0) or 1.0
        return sorted(files.values(), key=lambda file: -(file.score + best[file.path] / most))

    def _cases_of(self, file: FileView) -> Iterable[Test]:
        body = self.relevance.bodies(file)
        for case in file.outline.tests:
            inside = body(case.start, case.end)
            score = self.relevance.test(file, case.name, case.group, inside)
            yield Test(file, case, file.score if self.whole_project else score)

    # -- the whole project, by the index

    def candidates(self, text: str, roles: Sequence[str]) -> list[str]:
        """Files of these roles that may contain a text, by its words; callers have to check."""
        return [path for path, _ in self._indexed("body", text, roles)]

    def defining(self, identifier: str, roles: Sequence[str] = ("source",)) -> list[str]:
        """The files of these roles that define a name."""
        found = self._indexed("defs", identifier, roles)
        return [path for path, names in found if identifier in names.split("\n")]

    def _indexed(self, column: str, text: str, roles: Sequence[str]) -> list[tuple[str, str]]:
        """The files with all identifiers of a text in a column of the index, with their names."""
        terms = [f'"{name}"' for name in words.IDENTIFIER.findall(text.lower()) if name.strip("_$")]
        if not terms:
            return []
        marks = ", ".join("?" * len(roles))
        sql = (
            "SELECT f.path, f.names FROM words JOIN files f ON f.id = words.rowid "  # noqa: S608
            f"WHERE words MATCH ? AND f.role IN ({marks}) ORDER BY f.path"
        )
        query = f"{column} : ({' AND '.join(terms)})"
        return list(self.connection.execute(sql, (query, *roles)))

    def paths_of(self, *roles: str) -> list[str]:
        """Every file of these roles."""
        marks = ", ".join("?" * len(roles))
        sql = f"SELECT path FROM files WHERE role IN ({marks}) ORDER BY path"  # noqa: S608 - marks
        return [path for (path,) in self.connection.execute(sql, roles)]

    def any_file(self, path: str) -> FileView:
        """A FileView of any file of the project."""
        if path not in self._files:
            self._files[path] = FileView(path, self.services, self.analyses)
        return self._files[path]

    @cached_property
    def _files(self) -> dict[str, FileView]:
        return {file.path: file for file in (*self.sources, *self.tests, *self.docs)}

    def mentions_request(self, file: FileView) -> bool:
        """Whether a file has a word of the request in its path or text, and not only a rank.

        Files that merely changed together with the feature's have none.
        """
        return self.whole_project or bool(self.relevance.stems_in(f"{file.path}\n{file.text}"))

    def worth_naming(self, files: Iterable[FileView]) -> list[str]:
        """The paths of the files that mention the request, or that much else leads to."""
        return [f.path for f in files if f.score >= NAMED_FLOOR or self.mentions_request(f)]

    @cached_property
    def commits(self) -> list[gitlog.Commit]:
        """The latest commits that touched the feature's first files, newest first."""
        first = [file.path for file in (*self.sources[:5], *self.tests[:3])]
        return gitlog.commits_of(self.analyses.log, first)

    def once(self, work: Callable[["View"], T]) -> T:
        """The result of a function of the view, computed once for all rules."""
        if work not in self._memo:
            self._memo[work] = work(self)
        found: T = self._memo[work]
        return found


def _words_of(one: Test) -> str:
    return f"{one.file.path}\n{one.case.group}\n{one.case.name}\n{one.text}"


def _containing(cases: Iterable[Test]) -> Iterator[Test]:
    """The tests that contain others: of a table of subtests, the subtests count."""
    ordered = sorted(cases, key=lambda one: (one.file.path, one.case.start, -one.case.end))
    for one, following in pairwise(ordered):
        if one.file is following.file and following.case.end <= one.case.end:
            yield one


def _is_declaration(one: Definition) -> bool:
    """Whether it only declares a function: in C, a header does."""
    return one.symbol.kind in FUNCTIONS and one.text.endswith(";") and "{" not in one.text


def _by_score(one: Definition) -> tuple[float, bool, str, int]:
    """Best first; among equals, constants and types last."""
    return -one.score, one.symbol.kind in PLAIN, one.file.path, one.symbol.start
