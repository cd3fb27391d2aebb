"""Tests as the code has them: the rows of a table, and the loop that runs them, are one test."""

from preread.evidence import quoting
from preread.evidence.files import FileView, Test
from preread.evidence.view import View
from preread.syntax import TestCase


def main_tests(view: View) -> list[Test]:
    """The feature's tests, best first, those of a table once: rules count these."""
    known = {(one.file.path, one.case): one for one in view.cases}
    whole = ((one.file.path, _whole(one.file, one.case)) for one in view.main_cases)
    return [known[key] for key in dict.fromkeys(whole)]


def whole_test_at(file: FileView, line: int) -> TestCase | None:
    """The innermost test around a line that is no part of a table."""
    around = (one for one in file.outline.tests if one.start <= line <= one.end)
    whole = (one for one in around if not _is_of_table(file, one))
    return max(whole, key=lambda one: one.start, default=None)


def _whole(file: FileView, case: TestCase) -> TestCase:
    """The test that a case is, or of which it is a part."""
    return (_is_of_table(file, case) and whole_test_at(file, case.start)) or case


def _is_of_table(file: FileView, case: TestCase) -> bool:
    """Whether it is a row of a table, or what a test runs for each of them."""
    if case.is_row:
        return True
    others = (one for one in file.outline.tests if one is not case)
    is_inside = any(one.start <= case.start and case.end <= one.end for one in others)
    return is_inside and quoting.is_variable(file, case.name, case.start)
