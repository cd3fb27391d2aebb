"""The feature's tests that fail or keep changing by the runs that were recorded."""

from collections.abc import Iterator
from itertools import islice

from preread.evidence import failing_tests
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View

MAX_FACTS = 4


def find(view: View) -> Iterator[Found]:
    """Tests that failed in their last run or alternate, and are in no current report."""
    yield from islice(failing_tests.found(view, reported=False), MAX_FACTS)


RULE = Rule(
    name="flaky",
    file="failures.md",
    heading="Failing or flaky in recorded runs",
    weight=0.04,
    find=find,
    for_thin=True,
    example="`pays` is flaky: failed in 2 of 5 runs, last 2026-11-21",
)
