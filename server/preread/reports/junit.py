"""Read JUnit XML, as pytest, Playwright, Vitest, jest-junit, Surefire and Gradle write it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from xml.sax import SAXException
from xml.sax.handler import ContentHandler

from defusedxml.common import DefusedXmlException
from defusedxml.expatreader import DefusedExpatParser

from preread.reports.outcomes import (
    MAX_OUTCOMES,
    MAX_TEXT,
    Outcome,
    Report,
    Verdict,
    clean,
    failure,
    joined,
    path,
    timestamp,
)

MAX_DEPTH = 100
SCRIPT = re.compile(r"[\w./@\[\]()+ -]+\.[cm]?[jt]sx?")  # a file in place of a class
TITLES = re.compile(r" [›>] ")
FAILURES = frozenset({"failure", "error"})
RETRIES = frozenset({"rerunFailure", "rerunError"})  # Surefire: it failed again
FLAKES = frozenset({"flakyFailure", "flakyError"})  # Surefire: it failed, then passed


@lru_cache(maxsize=1024)
def _is_script(group: str) -> bool:
    return SCRIPT.fullmatch(group) is not None


def read(data: bytes) -> Report:
    """Read one file. Reading stops at the first error and keeps what came before it."""
    report = Report()
    try:
        _Parser(report).parse(BytesIO(data))
    except (SAXException, DefusedXmlException, ValueError, LookupError) as error:
        report.problem = str(error).removeprefix("<unknown>:") or type(error).__name__
    except _LimitError as limit:
        report.problem = str(limit)
    return report


class _LimitError(Exception):
    """The file exceeds a limit; the rest of it is not read."""


@dataclass(slots=True)
class _Case:
    """A `testcase` element that is being read."""

    attributes: Mapping[str, str]
    line: int
    verdict: Verdict = "passed"
    message: str = ""
    text: str = ""
    retries: int = 0


class _Reader(ContentHandler):
    """Collects outcomes from the elements of one file."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report
        self.suites: list[Mapping[str, str]] = []
        self.depth = 0
        self.case: _Case | None = None
        self.inside = ""  # the failure element that is being read
        self.projects = False  # Playwright: each suite's host name is that of its project

    def start(self, tag: str, attributes: Mapping[str, str], line: int) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _LimitError(f"its elements are nested more than {MAX_DEPTH} deep")
        if tag == "testcase":
            self._start_case(attributes, line)
        elif tag == "testsuite":
            self._start_suite(attributes)
        elif tag == "testsuites":
            self.projects = "id" in attributes
        elif self.case is not None:
            self._child(self.case, tag, attributes)

    def _start_case(self, attributes: Mapping[str, str], line: int) -> None:
        if len(self.report.outcomes) >= MAX_OUTCOMES:
            raise _LimitError(f"it has more than {MAX_OUTCOMES} tests")
        self.case = _Case(attributes, line)

    def _start_suite(self, attributes: Mapping[str, str]) -> None:
        self.suites.append(attributes)
        at = timestamp(attributes.get("timestamp"))
        if at and not 0 < self.report.at < at:  # the earliest suite says when the run began
            self.report.at = at

    def _child(self, case: _Case, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "skipped" and case.verdict == "passed":
            case.verdict = "skipped"
        elif tag in RETRIES:
            case.retries += 1
        elif tag in FAILURES | FLAKES:
            case.retries += tag in FLAKES
            if case.verdict in {"passed", "skipped"}:  # only the first failure counts
                case.verdict = "flaky" if tag in FLAKES else "failed"
                case.message = attributes.get("message") or attributes.get("type") or ""
                self.inside = tag

    def characters(self, content: str) -> None:
        if self.inside and self.case is not None and len(self.case.text) < MAX_TEXT:
            self.case.text += content

    def end(self, tag: str) -> None:
        self.depth -= 1
        if tag == self.inside:
            self.inside = ""
        elif tag == "testsuite" and self.suites:
            self.suites.pop()
        elif tag == "testcase" and self.case is not None:
            self.report.outcomes.append(self._outcome(self.case))
            self.case, self.inside = None, ""

    def _outcome(self, case: _Case) -> Outcome:
        suite = self.suites[-1] if self.suites else {}
        title, group = case.attributes.get("name", ""), case.attributes.get("classname", "")
        file = path(case.attributes.get("file") or suite.get("file") or suite.get("filepath"))
        titles: list[str] = []
        if _is_script(group):  # Playwright and Vitest write the file as the class
            file, group = path(group), ""
            # The title is the file when the file itself failed.
            *titles, title = TITLES.split(title if title != file else file.rpartition("/")[2])
            if self.projects and suite.get("hostname"):
                titles.insert(0, f"[{suite['hostname']}]")
        name = clean(title)
        message = kind = ""
        if case.verdict in {"failed", "flaky"}:
            message, kind = failure(case.message, case.text, name)
        group = joined(group, *titles)
        return Outcome(file, group, name, case.verdict, message, kind, case.retries, case.line)


class _Parser(DefusedExpatParser):
    """Passes elements directly to the reader: SAX's own handlers would take a third of the time."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self._reader = _Reader(report)
        self.setContentHandler(self._reader)

    def start_element(self, name: str, attrs: Mapping[str, str]) -> None:
        self._reader.start(name, attrs, self.getLineNumber() or 0)

    def end_element(self, name: str) -> None:
        self._reader.end(name)
