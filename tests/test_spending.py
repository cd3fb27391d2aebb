"""What builds cost: recorded once per run, added up by day and month, limited per month."""

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TypeVar

import pytest
from pydantic import ValidationError

from _evidence_project import services
from _files_project import program, program_environ
from preread.client import Client
from preread.errors import PrereadError
from preread.models import Outcome
from preread.records import spending
from preread.records.spending import Spent
from preread.services import Services

T = TypeVar("T")
NOON = time.mktime((2026, 11, 15, 12, 0, 0, 0, 0, -1))
DAY, HOUR = 86_400.0, 3600.0
TOKENS = {"input": 120, "output": 5210, "cache_read": 90_310, "cache_creation": 2110}


@pytest.fixture
def project(tmp_path: Path) -> Services:
    return services(tmp_path)


def cost(dollars: float | None, **more: object) -> Outcome:
    return Outcome(
        model="claude-sonnet-4-5", turns=12, tokens=TOKENS, seconds=74.2, cost_usd=dollars, **more
    )


def spend(project: Services, dollars: float | None, when: float = NOON) -> None:
    spending.add(project, "checkout", cost(dollars), now=when)


def lines(project: Services) -> list[str]:
    return project.layout.spending.read_text().split("\n")


# -- the ledger


def test_a_run_is_one_line_of_json(project: Services) -> None:
    spending.add(project, "checkout", cost(0.1234567), run="a1b2", now=NOON + 0.12345)
    *written, end = lines(project)
    assert end == ""
    assert [json.loads(line) for line in written] == [
        {
            "time": NOON + 0.123, "cost_usd": 0.123457, "feature": "checkout",
            "model": "claude-sonnet-4-5",
            "turns": 12, "tokens": TOKENS, "seconds": 74.2, "run": "a1b2",
        }
    ]  # fmt: skip


def test_without_a_ledger_nothing_was_spent(project: Services) -> None:
    assert spending.totals(project.layout) == Spent()
    assert not project.layout.state.exists()


def test_a_run_that_started_no_child_is_not_recorded(project: Services) -> None:
    spending.add(project, "checkout", Outcome(version="2.1.329"))
    assert not project.layout.spending.exists()


@pytest.mark.parametrize("dollars", [None, float("nan"), float("inf")])
def test_a_cost_that_is_not_a_number_is_unknown(project: Services, dollars: float | None) -> None:
    spend(project, dollars)
    assert spending.totals(project.layout, NOON) == Spent(runs_today=1, runs_month=1, unknown=1)


@pytest.mark.parametrize("dollars", [0.0, 1e-6, 0.000123, 0.1, 1.0, 12.5, 999_999.0])
def test_a_cost_is_read_back_exactly(project: Services, dollars: float) -> None:
    spend(project, dollars)
    assert spending.totals(project.layout, NOON).today == pytest.approx(dollars)
    assert spending.totals(project.layout, NOON).runs_today == 1


def test_long_names_and_odd_ones_leave_a_line_whole_and_short(project: Services) -> None:
    outcome = cost(0.5).model_copy(
        update={"model": 'é"\n' * 5000, "tokens": {"k" * 500 + str(n): 10**15 for n in range(99)}}
    )
    spending.add(project, "f" * 5000, outcome, run='"\n' * 5000, now=NOON)
    written, end = lines(project)
    assert end == ""
    assert len(written) < 4096
    assert json.loads(written)["cost_usd"] == 0.5
    assert spending.totals(project.layout, NOON).today == 0.5


def test_days_and_months_are_those_of_the_local_clock(
    project: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        for zone in ("UTC", "Pacific/Auckland", "America/Los_Angeles"):
            monkeypatch.setenv("TZ", zone)
            time.tzset()
            project.layout.spending.unlink(missing_ok=True)
            midnight = time.mktime(
                (2026, 11, 1, 0, 0, 0, 0, 0, -1)
            )  # clocks are set back in Los Angeles on that day
            noon = time.mktime((2026, 11, 1, 12, 0, 0, 0, 0, -1))
            for dollars, when in (
                (1.0, midnight - 1),
                (2.0, midnight),
                (4.0, noon),
                (8.0, midnight - DAY),
            ):
                spend(project, dollars, when)
            assert spending.totals(project.layout, noon) == Spent(
                today=6.0, month=6.0, runs_today=2, runs_month=2
            )
            assert (
                spending.totals(project.layout, midnight - 1).today == 15.0
            )  # what is later counts: none is lost
            assert spending.totals(project.layout, noon + DAY) == Spent(month=6.0, runs_month=2)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_truncated_line_is_ignored_and_the_next_one_counts(
    project: Services,
) -> None:
    spend(project, 1.0)
    path = project.layout.spending
    whole = path.read_bytes()
    for cut in range(1, len(whole) - 1, 7):
        path.write_bytes(whole + whole[:cut])
        spend(project, 2.0)
        assert spending.totals(project.layout, NOON) == Spent(
            today=3.0, month=3.0, runs_today=2, runs_month=2
        ), cut


def test_lines_that_are_not_runs_are_ignored(project: Services) -> None:
    spend(project, 1.0)
    garbage = [
        b"\xff\xfe\0", b"{}", b"[]", b"null", b'{"time": "x", "cost_usd": 1}', b"<<<<<<< HEAD",
        b"", b'{"time": 1e99',
        b'{"time": 1763204400.0, "cost_usd": -5, "feature": "x", "run": "x"}', b"a" * 100_000,
        b'{"time": 1763204400.0, "cost_usd": 1.2.3, "feature": "x", "run": "x"}',
    ]  # fmt: skip
    with project.layout.spending.open("ab") as file:
        file.write(b"\n".join(garbage) + b"\n")
    spend(project, 2.0)
    assert spending.totals(project.layout, NOON) == Spent(
        today=3.0, month=3.0, runs_today=2, runs_month=2
    )


def test_processes_that_write_at_the_same_time_lose_nothing(project: Services) -> None:
    code = (
        "import sys; from pathlib import Path; from _evidence_project import services; from "
        "preread.records import spending;"
        "from preread.models import Outcome\n"
        "for n in range(10): spending.add(services(Path(sys.argv[1])), sys.argv[2] * 300, "
        "Outcome(turns=1))"
    )
    names = "abcd"
    children = [
        subprocess.Popen(program("-c", code, project.layout.root, name), env=program_environ())
        for name in names
    ]
    assert [child.wait(timeout=120) for child in children] == [0] * len(names)
    *written, end = lines(project)
    assert end == ""
    features = [json.loads(line)["feature"] for line in written]
    assert sorted(features) == sorted(name * 300 for name in names for _ in range(10))
    assert spending.totals(project.layout).runs_month == 40


def test_a_shortened_ledger_keeps_thirteen_months_and_all_of_this_one(
    project: Services,
) -> None:
    months = [(2026, 11, 1.0), (2026, 1, 2.0), (2025, 11, 4.0), (2025, 10, 8.0), (2024, 11, 16.0)]
    for year, month, dollars in months:
        spend(project, dollars, time.mktime((year, month, 10, 12, 0, 0, 0, 0, -1)))
    path = project.layout.spending
    path.write_bytes(path.read_bytes() + b"x" * spending.MAX_BYTES + b"\n")
    spend(project, 32.0)
    assert [json.loads(line)["cost_usd"] for line in lines(project)[:-1]] == [1.0, 2.0, 4.0, 32.0]
    assert spending.totals(project.layout, NOON).month == 33.0


def test_the_oldest_months_are_dropped_first_and_this_one_never(
    project: Services,
) -> None:
    spend(project, 1.0, NOON - 60 * DAY)
    old = project.layout.spending.read_bytes()
    project.layout.spending.unlink()
    spend(project, 2.0)
    new = project.layout.spending.read_bytes()
    count = spending.MAX_BYTES // len(new)
    project.layout.spending.write_bytes(old * 2000 + new * count)
    spend(project, 4.0)
    assert spending.totals(project.layout, NOON).runs_month == count + 1
    assert project.layout.spending.stat().st_size <= len(new) * (count + 2)
    spend(project, 4.0)
    assert spending.totals(project.layout, NOON).runs_month == count + 2


@pytest.mark.parametrize(
    "make", [lambda p: p.mkdir(), os.mkfifo, lambda p: p.symlink_to(p.parent / "target")]
)
def test_something_else_in_the_ledger_s_place_is_reported_and_not_changed(
    project: Services, make
) -> None:
    project.layout.state.mkdir(parents=True)
    (project.layout.state / "target").write_text("precious")
    make(project.layout.spending)
    assert spending.totals(project.layout) == Spent()
    with pytest.raises(PrereadError) as caught:
        spend(project, 1.0)
    assert caught.value.code == "E_WRITE"
    assert (project.layout.state / "target").read_text() == "precious"


def test_a_thousand_runs_are_summed_without_a_parser_for_each(project: Services) -> None:
    """What a cached reply has the time for; how long it takes is bench/'s."""
    spend(project, 0.25)
    one = project.layout.spending.read_bytes()
    counts = []
    for runs in (10, 1000):
        project.layout.spending.write_bytes(one * runs)
        found, called = calls_beyond(
            spending.__file__, lambda: spending.totals(project.layout, NOON)
        )
        assert found.today == 0.25 * runs
        counts.append(called)
    assert counts[0] == counts[1]


def calls_beyond(path: str, work: Callable[[], T]) -> tuple[T, int]:
    """What work returns, and how many functions of Python outside of one file it called."""
    called = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal called
        called += event == "call" and frame.f_code.co_filename != path

    before = sys.getprofile()
    gc.disable()  # what other tests left over has finalizers
    sys.setprofile(count)
    try:
        return work(), called
    finally:
        sys.setprofile(before)
        gc.enable()


# -- the limit of a month


def limited(tmp_path: Path, month: float, most: float = 1.0) -> Services:
    return services(tmp_path, month_usd=month, max_usd=most)


def test_without_a_limit_everything_is_allowed(tmp_path: Path) -> None:
    spend(limited(tmp_path, 0), 1e6)
    assert spending.allows(limited(tmp_path, 0), NOON)


@pytest.mark.parametrize(
    ("costs", "allowed"),
    [
        ([], True),
        ([4.0], True),
        ([0.1] * 10 + [3.0], True),
        ([4.01], False),
        ([9.0], False),
        ([None] * 4, True),
        ([None] * 5, False),
        ([3.5, None], False),
    ],
)
def test_one_more_build_fits_into_the_month_at_the_most_that_it_may_cost(
    tmp_path: Path, costs: list[float | None], allowed: bool
) -> None:
    project = limited(tmp_path, 5.0)
    for dollars in costs:
        spend(project, dollars, NOON - 3 * DAY)
        spend(project, 100.0, NOON - 30 * DAY)
    assert spending.allows(project, NOON) is allowed


def test_a_limit_below_the_cost_of_one_build_allows_no_build(tmp_path: Path) -> None:
    assert not spending.allows(limited(tmp_path, 0.5), NOON)


def test_an_agreement_lasts_until_the_month_ends_or_the_limit_changes(
    tmp_path: Path,
) -> None:
    project = limited(tmp_path, 5.0)
    spend(project, 9.0)
    assert not spending.allows(project, NOON)
    spending.agree(project, NOON)
    assert project.layout.agreement.read_text() == "2026-11 5.0\n"
    spend(project, 900.0)
    assert spending.allows(project, NOON + DAY)
    assert not spending.allows(limited(tmp_path, 6.0), NOON)
    spend(project, 9.0, NOON + 30 * DAY)
    assert not spending.allows(project, NOON + 30 * DAY)


@pytest.mark.parametrize(
    "text", ["", "yes", "2026-11", "2026-11 50.0\n", "2026-10 5.0\n", "x" * 100_000]
)
def test_an_agreement_to_anything_else_does_not_count(tmp_path: Path, text: str) -> None:
    project = limited(tmp_path, 5.0)
    spend(project, 9.0)
    project.layout.agreement.write_text(text)
    assert not spending.allows(project, NOON)


def test_the_question_and_the_refusal_state_what_was_spent_and_what_to_do(tmp_path: Path) -> None:
    project = limited(tmp_path, 5.0, most=2.0)
    spend(project, 4.25, time.time())
    spend(project, None, time.time())
    for text in (spending.question(project), spending.refusal(project).reason):
        assert all(
            part in text for part in ("$4.25", "$5.00", "$2.00", "1 build of unknown cost")
        ), text
    fault = spending.refusal(project)
    assert (fault.code, "month_usd" in fault.hint) == ("E_MONEY", True)


def test_sums_are_a_shape_that_replies_can_carry() -> None:
    assert json.loads(Spent(today=0.5).model_dump_json())["today"] == 0.5
    with pytest.raises(ValidationError):
        Spent(yesterday=1)  # type: ignore[call-arg]


def test_a_reservation_counts_for_other_processes_until_its_own_has_ended(tmp_path: Path) -> None:
    here = limited(tmp_path, month=2.5)
    script = (
        "import sys\nfrom pathlib import Path\nfrom preread.records import spending\n"
        "from preread.layout import Layout\nfrom preread.services import Services\n"
        "from preread.settings import Settings\n"
        "layout = Layout(Path(sys.argv[1]))\n"
        "settings = Settings(month_usd=2.5, max_usd=1.0)\n"
        "with spending.reservation(Services(layout, settings, {})) as fits:\n"
        "    print(fits, flush=True)\n    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(here.layout.root)],
        env=program_environ(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"True\n"
        with spending.reservation(here) as fits:
            assert fits
            assert spending.reserved(here.layout) == 2.0
            with spending.reservation(here) as third:
                assert not third
            assert "$2.00 is reserved" in spending.refusal(here).reason
        assert spending.reserved(here.layout) == 1.0
        other.kill()
    assert spending.reserved(here.layout) == 0.0
    here.layout.reserved.write_text("no JSON")
    assert spending.allows(here)


def test_days_are_told_oldest_first_whichever_run_was_written_first(project: Services) -> None:
    now = time.time()
    for age in (0, 2, 1):
        spend(project, 0.25, now - age * DAY)
    with Client(project.layout.root) as client:
        days = [one.name for one in client.history.costs().days]
    assert len(days) == 3
    assert days == sorted(days)
