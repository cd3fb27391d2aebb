"""Test runs that the hooks wrote down: tests that fail again and again, or that pass and fail by turns."""

import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from preread import results, sources
from preread.evidence import phrases
from preread.evidence.view import View
from preread.models import Finding
from preread.results import Run

KINDS = frozenset({"locator", "wait", "assertion", "auth", "environment", "network"})  # `other` says nothing
MOST, MOST_RUNS = 4, 3  # findings, and runs that one of them cites
MOST_NAMES = 50  # failed tests that are looked at, the latest
TURNS = 3  # changes between passed and failed; a test that was broken and mended has two


def recorded(view: View) -> Iterator[Finding]:
    """The feature's tests that failed when they were last run here, and those whose outcome keeps changing.

    Each is told as history, which stays true: a later run does not make a standing dossier stale.
    """
    runs = results.runs(view.services.tree)
    told = {_last_name(name) for name in view.reported}
    found = [f for name in _names(view, runs) if _last_name(name) not in told and (f := _told(name, runs))]
    yield from sorted(found, key=lambda finding: -finding.score)[:MOST]


def _names(view: View, runs: list[Run]) -> list[str]:
    """The failed tests that belong to the feature, the latest first; a run that names none stands by its one target."""
    paths = {hot.file.path for hot in view.cases}
    cases = {hot.case.name for hot in view.cases}
    names: dict[str, None] = {}
    for run in reversed(runs):
        alone = run.features == (view.request.feature,)
        for name in _failed(run):
            own = alone or _last_name(name) in cases or any(path in name for path in paths)
            if name and (own or view.relevance(name) >= 1):
                names.setdefault(name)
        if len(names) >= MOST_NAMES:
            break
    return list(names)


def _failed(run: Run) -> tuple[str, ...]:
    if run.outcome != "failed":
        return ()
    return run.failed or (run.targets if len(run.targets) == 1 else ())


def _last_name(name: str) -> str:
    """A test's own name, as a report has it, too: without file and groups, whatever parts them."""
    for mark in (" > ", " › ", "::"):
        name = name.rpartition(mark)[2]
    return " ".join(name.split()).lower()


def _told(name: str, runs: list[Run]) -> Finding | None:
    """What the runs say of one test, if that is worth knowing."""
    history = list(_history(name, runs))
    failures = [run for run, passed in history if not passed]
    turns = sum(one[1] != other[1] for one, other in pairwise(history))
    if history[-1][1] and turns < TURNS:
        return None  # mended
    text = f"{phrases.quote(name, 90)} {_counted(failures, len(history), turns)}"
    last = failures[-1]
    if last.message:
        text += f": {phrases.plain(phrases.clip(last.message, 130))}"
    cited = [f"run:{run.id}" for run in reversed(failures)]
    cited = [source for source in dict.fromkeys(cited) if sources.parse(source) is not None][:MOST_RUNS]
    if not cited:
        return None
    return Finding(
        rule="recorded",
        kind="failed",
        text=text,
        sources=tuple(cited),
        reason="recorded runs have it as failed" if turns < TURNS else "recorded runs disagree about it",
        score=min(0.95, 0.8 + 0.03 * len(failures)),
    )


def _history(name: str, runs: list[Run]) -> Iterator[tuple[Run, bool]]:
    """The runs in which this test took part, as far as can be told, and whether it passed."""
    broken = [run for run in runs if name in _failed(run)]
    commands, targets = (
        {run.command for run in broken if run.command},
        {target for run in broken for target in run.targets},
    )
    for run in runs:
        if name in _failed(run):
            yield run, False
        elif (run.command in commands or not targets.isdisjoint(run.targets)) and (
            run.outcome == "passed" or (run.outcome == "failed" and run.failed)
        ):
            yield run, True


def _counted(failures: list[Run], runs: int, turns: int) -> str:
    """How often it failed, when last, and with which kind most."""
    day = time.strftime("%Y-%m-%d", time.gmtime(failures[-1].at))
    if turns >= TURNS:
        text = f"passes and fails by turns: failed in {len(failures)} of {runs} runs, last {day}"
    elif len(failures) > 1:
        text = f"failed {len(failures)} times, last {day}"
    else:
        text = f"failed on {day}"
    kind, times = Counter(run.kind for run in failures).most_common(1)[0]
    if kind not in KINDS:
        return text
    return f"{text}, with `{kind}`" if times == len(failures) else f"{text}, {times} times with `{kind}`"
