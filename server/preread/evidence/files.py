"""The files that rules read, each parsed once, with their definitions and tests."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from preread.dossier.sources import Ref
from preread.evidence.symbols import path_of
from preread.index.analysis import AnalysisCache
from preread.services import Services
from preread.syntax import Call, Details, Outline, Symbol, TestCase, enclosing

DOCTEST = re.compile(r"\s*(?:>>>|\.\.\.|iex>|///|//!)")  # lines that run as tests
UNIT_TESTS = re.compile(r"\s*(?:#\[cfg\(.*\btest\b|unittest\b)")  # from here on, of Rust or D


@dataclass(eq=False)
class FileView:
    """A file of the project; if it is ranked, with its score, relative to the best of its list
    (0 to 1), and the reasons.
    """

    path: str
    services: Services
    analyses: AnalysisCache
    role: str = ""
    score: float = 0.0
    reasons: tuple[str, ...] = ()

    @cached_property
    def text(self) -> str:
        return self.services.tree.text(self.path) or ""

    @cached_property
    def lines(self) -> list[str]:
        return self.services.tree.lines(self.path) or []

    @cached_property
    def outline(self) -> Outline:
        self.services.progress.check()
        return self.analyses.outline(self.path)

    @cached_property
    def details(self) -> Details:
        self.services.progress.check()
        return self.analyses.details(self.path, self.text)

    def calls_between(self, start: int, end: int) -> Sequence[Call]:
        """The calls that begin on these lines, in order."""
        lines = self._call_lines
        return self.details.calls[bisect_left(lines, start) : bisect_right(lines, end)]

    @cached_property
    def _call_lines(self) -> list[int]:
        return [call.line for call in self.details.calls]

    @cached_property
    def tests_text(self) -> str:
        """The lines of a source that run as tests: unit tests beside the code, doctests."""
        spans = [(test.start, test.end) for test in self.outline.tests]
        first = next((n for n, line in enumerate(self.lines, 1) if UNIT_TESTS.match(line)), 0)
        if first:
            spans.append((first, len(self.lines)))
        return "\n".join(
            line
            for number, line in enumerate(self.lines, 1)
            if DOCTEST.match(line) or any(start <= number <= end for start, end in spans)
        )

    def is_in_test(self, line: int) -> bool:
        return isinstance(enclosing(self.outline, line), TestCase)

    def span_text(self, start: int, end: int) -> str:
        """The text of these lines, 1-based, both ends included."""
        return "\n".join(self.lines[start - 1 : end])

    def line(self, number: int) -> str:
        """One line; empty if the file has fewer."""
        return self.span_text(number, number)

    def cite(self, start: int, end: int | None = None) -> str:
        """A source that cites these lines of this file."""
        return str(Ref("lines", self.path, start, end or start))


@dataclass(frozen=True, eq=False)
class Definition:
    """A definition in one of the feature's files; with score 0 it only shares the file."""

    file: FileView
    symbol: Symbol
    score: float

    @property
    def full_name(self) -> str:
        return path_of(self.symbol)

    @property
    def text(self) -> str:
        return self.file.span_text(self.symbol.start, self.symbol.end)

    @property
    def calls(self) -> Sequence[Call]:
        return self.file.calls_between(self.symbol.start, self.symbol.end)

    @property
    def cite(self) -> str:
        return self.file.cite(self.symbol.start, min(self.symbol.end, len(self.file.lines)))


@dataclass(frozen=True, eq=False)
class Test:
    """A test in one of the feature's test files."""

    __test__ = False  # pytest would collect it by its name

    file: FileView
    case: TestCase
    score: float

    @property
    def text(self) -> str:
        return self.file.span_text(self.case.start, self.case.end)

    @property
    def calls(self) -> Sequence[Call]:
        return self.file.calls_between(self.case.start, self.case.end)
