"""The pieces that rules look at: chosen files with their text read out, definitions and tests of the feature."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from preread.index.analysis import Kept
from preread.ranking.fusion import Hit
from preread.services import Services
from preread.sources import Ref
from preread.syntax import Call, Details, Outline, Symbol, TestCase


@dataclass
class FileView:
    """One chosen file with its text read out."""

    path: str
    role: str
    score: float
    services: Services
    kept: Kept

    @cached_property
    def outline(self) -> Outline:
        self.services.progress.check()
        return self.kept.outline(self.path)

    @cached_property
    def text(self) -> str:
        return self.services.tree.text(self.path) or ""

    @cached_property
    def lines(self) -> list[str]:
        return self.services.tree.lines(self.path) or []

    @cached_property
    def details(self) -> Details:
        self.services.progress.check()
        return self.kept.details(self.path, self.text)

    def calls_in(self, case: TestCase) -> Sequence[Call]:
        """The calls that begin in a test."""
        calls = self.details.calls
        return calls[
            bisect_left(self._call_lines, case.start) : bisect_right(self._call_lines, case.end)
        ]

    @cached_property
    def _call_lines(self) -> list[int]:
        return [call.line for call in self.details.calls]

    def cite(self, start: int, end: int | None = None) -> str:
        """A source: these lines of this file."""
        return str(Ref("lines", self.path, start, end or start))


@dataclass(frozen=True)
class HotSymbol:
    """A definition that belongs to the feature."""

    file: FileView
    symbol: Symbol
    score: float  # relative to the best, 0 to 1

    @property
    def cite(self) -> str:
        return self.file.cite(self.symbol.start, self.symbol.end)


@dataclass(frozen=True)
class HotCase:
    """A test that belongs to the feature."""

    file: FileView
    case: TestCase
    score: float


def views_of(services: Services, kept: Kept, hits: Iterable[Hit]) -> list[FileView]:
    """The chosen files as rules look at them."""
    return [FileView(hit.path, hit.role, hit.score, services, kept) for hit in hits]
