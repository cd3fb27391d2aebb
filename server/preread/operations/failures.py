"""`failures`: the tests that failed over time."""

import time
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from preread import aliases, inputs, resolve
from preread.models import Model
from preread.operations.registry import (
    FEATURE,
    Operation,
    RequestModel,
    threaded,
)
from preread.project import packages
from preread.services import Services

if TYPE_CHECKING:
    from preread.infra.secrets import Credentials
    from preread.reports.history import Past

MAX_RECENT = 20  # outcomes shown for each test
MAX_SOURCES = 5


class FailuresRequest(RequestModel):
    """Which tests, and how many of them."""

    feature: str | None = Field(None, description=FEATURE + " Default: all tests.")
    limit: int = Field(20, ge=1, le=1000, description="The maximum number of tests.")
    scope: str | None = Field(None, description="A folder or a package's name: only tests there.")


class FailedTest(Model):
    """What is known about one test that failed."""

    test: str
    state: Literal["failing", "flaky", "fixed"]
    runs: int = Field(description="Runs in which it passed or failed.")
    failures: int
    retried: int = Field(description="Runs in which it failed at first and passed when retried.")
    flakiness: float = Field(description="Its flip rate over the newest 50 runs, 0 to 1.")
    recent: str = Field(
        description="Its newest outcomes, oldest first: . passed, F failed, r passed when retried."
    )
    kinds: dict[str, int] = Field(description="How often it failed with each kind of failure.")
    message: str = Field(description="The message of its last failure.")
    first_seen: str
    last_seen: str
    last_failed: str
    report: str = Field(
        description="Path and line in the newest report with its failure; empty if there is none."
    )
    sources: tuple[str, ...] = Field(description="The runs in which it failed, newest first.")


class FailuresReply(Model):
    """The tests that ever failed: those failing now first, then the flakiest."""

    feature: str | None
    tests: tuple[FailedTest, ...]
    total: int
    notes: tuple[str, ...] = ()


def _failures(services: Services, request: FailuresRequest) -> FailuresReply:
    from preread.infra.secrets import Credentials

    read = inputs.reports(services)
    notes = read.problems if read is not None else ()
    feature = None
    if request.feature is None:
        pasts = _of_project(services, request.scope or "")
    else:
        from preread.evidence.collect import failing  # heavy

        served = aliases.resolve(services.layout, request.feature)
        feature, notes = served.feature, (*served.warnings, *notes)
        resolved = resolve.resolve(services, feature=feature, scope=request.scope)
        pasts = failing(services, resolved)
    secrets = Credentials(services.layout.root)
    tests = tuple(_failed_test(past, secrets) for past in pasts[: request.limit])
    return FailuresReply(feature=feature, tests=tests, total=len(pasts), notes=notes)


def _of_project(services: Services, scope: str) -> list["Past"]:
    from preread.reports import history

    folder = packages.scope_of(services.tree, scope)
    start = f"{folder}/" if folder else ""
    return [past for past in history.pasts(services.tree) if past.file.startswith(start)]


def _failed_test(past: "Past", secrets: "Credentials") -> FailedTest:
    bad = [one for one in past.tries if one.verdict != "passed"]
    report = next((f"{one.report}:{one.line}" for one in reversed(bad) if one.report), "")
    marks = {"passed": ".", "failed": "F", "flaky": "r"}
    return FailedTest(
        test=secrets.without(past.label),
        state="failing" if past.is_failing else "flaky" if past.is_flaky else "fixed",
        runs=past.runs,
        failures=past.failures,
        retried=past.retried,
        flakiness=past.flakiness,
        recent="".join(marks[one.verdict] for one in past.tries[-MAX_RECENT:]),
        kinds=past.kinds,
        message=secrets.without(past.message),
        first_seen=_when(past.first),
        last_seen=_when(past.last),
        last_failed=_when(past.failed),
        report=report.removesuffix(":0"),
        sources=tuple(past.cited[:MAX_SOURCES]),
    )


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


OPERATION = Operation(
    name="context.failures",
    request=FailuresRequest,
    reply=FailuresReply,
    effect="read",
    doc="Show the tests that failed over time, from reports and recorded runs: "
    "how often, when, why, how flaky.",
    example="preread failures checkout --limit 5",
    run=threaded(_failures),
    command="failures",
    positional=("feature",),
)
