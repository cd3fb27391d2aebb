"""The files that rules read: text, outline and details of a file, computed once."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from preread.dossier.sources import Ref
from preread.index.analysis import AnalysisCache
from preread.services import Services
from preread.syntax import Call, Details, Outline, TestCase, enclosing


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
