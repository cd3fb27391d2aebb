"""The feature's tests that fail in the latest reports of test runs."""

from collections.abc import Iterator
from itertools import islice

from preread import inputs
from preread.evidence import failing_tests
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View

MAX_FACTS = 6


def find(view: View) -> Iterator[Found]:
    """What fails now, the worst first; reports that cannot be read are noted."""
    looked = inputs.reports(view.services)
    view.notes.extend(looked.problems if looked is not None else ())
    yield from islice(failing_tests.found(view, reported=True), MAX_FACTS)


RULE = Rule(
    name="failing",
    file="failures.md",
    heading="Failing in the latest report",
    weight=0.08,
    find=find,
    for_thin=True,
    example="`test_pay` failed 3 times, last 2026-11-20, with `assertion`: AssertionError: boom",
)
