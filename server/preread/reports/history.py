"""The history of each test that ever failed, merged from reports and the hooks' record.

Both may describe the same run: a recorded run during which a report began adds nothing.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from preread.gates.failure_kinds import KINDS
from preread.gates.run_records import Run
from preread.project.tree import Tree
from preread.reports import results, store
from preread.reports.ingest import MAX_OUTCOMES_PER_TEST, SAME_RUN, label
from preread.reports.store import Try

MIN_FLIPS = 3  # of a flaky test; one that broke and was fixed has two
MAX_TESTS_RECORDED = 200  # the latest tests that failed in the hooks' record
SEPARATOR = re.compile(r"::| > | › ")
PROJECT = re.compile(r"^\[[^\]]*\](?: > |$)")  # of Playwright, before the groups
UNKNOWN = 60.0  # assumed seconds of a recorded run without a duration


@dataclass(frozen=True)
class Past:
    """The history of one test."""

    name: str
    file: str
    group: str
    tries: tuple[Try, ...]  # the newest ones, oldest first
    runs: int  # in which it passed or failed
    failures: int
    retried: int  # runs in which it failed, then passed on a retry
    first: float
    last: float
    failed: float  # when it last failed or had to be retried
    kinds: dict[str, int]  # kind of failure -> count
    message: str
    features: tuple[str, ...] = ()  # features of recorded runs that had only one
    recorded: str = ""  # its name in the hooks' record; empty if it is only in reports

    @property
    def label(self) -> str:
        """Its name in facts and lists."""
        return self.recorded or label(self.file, self.group, self.name)

    @property
    def is_failing(self) -> bool:
        return bool(self.tries) and self.tries[-1].verdict == "failed"

    @property
    def badness(self) -> tuple[float, float]:
        """Sort key among failing tests, or among the others; the worst comes first."""
        worst = (-float(self.failures), -self.flakiness)
        return worst if self.is_failing else worst[::-1]

    @property
    def flips(self) -> int:
        """Changes between passed and failed; a pass on a retry counts as a failure and a pass."""
        return sum(one != other for one, other in pairwise(self._passes))

    @property
    def flakiness(self) -> float:
        """The flip rate: flips divided by the possible number of flips.

        Kowalczyk et al., "Modeling and Ranking Flaky Tests at Apple", ICSE-SEIP 2020.
        """
        return round(self.flips / max(1, len(self._passes) - 1), 2)

    @property
    def is_flaky(self) -> bool:
        """Whether it passed on a retry, as Playwright defines flaky, or keeps changing."""
        return self.flips >= MIN_FLIPS or any(one.verdict == "flaky" for one in self.tries)

    @property
    def _passes(self) -> list[bool]:
        both = {"flaky": (False, True), "passed": (True,), "failed": (False,)}
        return [passed for one in self.tries for passed in both.get(one.verdict, ())]

    @property
    def kind(self) -> str:
        """Its most frequent kind of failure; empty if unknown."""
        return max(self.kinds, key=lambda kind: self.kinds[kind], default="")

    @property
    def cited(self) -> list[str]:
        """The runs in which it failed, as sources.

        The newest comes first, but one of its `kind` is among the first two.
        """
        bad = [one for one in reversed(self.tries) if one.run]
        of_kind = [one for one in bad[1:] if one.kind == self.kind]
        if bad and bad[0].kind != self.kind:
            bad[1:1] = of_kind[:1]
        return list(dict.fromkeys(f"run:{one.run}" for one in bad))


def pasts(tree: Tree) -> list[Past]:
    """The tests that ever failed: failing ones first, by failures; then the flakiest."""
    found: dict[str, list[Past]] = {}
    for stored in store.failing(tree.layout):
        kinds = {kind: count for kind, count in stored.kinds.items() if kind in KINDS}
        _add(found, Past(**stored._replace(kinds=kinds)._asdict()))
    for past in _recorded(results.runs(tree)):
        _add(found, past)
    every = [past for group in found.values() for past in group]
    return sorted(every, key=lambda past: (not past.is_failing, *past.badness, past.label))


def _add(found: dict[str, list[Past]], past: Past) -> None:
    """Add a history, merged with that of the same test."""
    group = found.setdefault(" ".join(past.name.split()).lower(), [])
    place = next((n for n, other in enumerate(group) if _is_same(other, past)), None)
    if place is None:
        group.append(past)
    else:
        group[place] = _merged(group[place], past)


def _is_same(one: Past, other: Past) -> bool:
    """Whether two tests of one name are the same: one file's path ends in the other's, same group.

    The runner's output that the hooks record may lack file and group, which then match any, and
    never names Playwright's project.
    """
    if other.recorded and not (other.file or other.group):
        return True
    files = [f"/{past.file}" for past in (one, other) if past.file]
    if len(files) == 2:
        is_same_file = files[0].endswith(files[1]) or files[1].endswith(files[0])
    else:
        is_same_file = not files or bool(other.recorded)
    groups = {one.group, PROJECT.sub("", one.group)} if other.recorded else {one.group}
    return is_same_file and other.group in groups


def _merged(one: Past, other: Past) -> Past:
    """Two histories of one test as one; runs that are in both count once."""
    more = [
        try_ for try_ in other.tries if not any(_is_same_run(try_, known) for known in one.tries)
    ]
    tries = sorted((*one.tries, *more), key=lambda try_: try_.at)[-MAX_OUTCOMES_PER_TEST:]
    verdicts = Counter(try_.verdict for try_ in more)
    kinds = Counter(one.kinds) + Counter(
        try_.kind for try_ in more if try_.verdict != "passed" and try_.kind in KINDS
    )
    newest = max((try_.at for try_ in more if try_.verdict != "passed"), default=0.0)
    return replace(
        one,
        file=max(one.file, other.file, key=len),
        group=max(one.group, other.group, key=len),
        tries=tuple(tries),
        runs=one.runs + len(more),
        failures=one.failures + verdicts["failed"],
        retried=one.retried + verdicts["flaky"],
        first=min(one.first, other.first),
        last=max(one.last, other.last),
        failed=max(one.failed, newest),
        kinds=dict(kinds),
        message=other.message if other.message and newest > one.failed else one.message,
        features=(*one.features, *other.features),
    )


def _is_same_run(one: Try, other: Try) -> bool:
    """Whether two outcomes agree and were recorded at about the same time."""
    is_same = (one.verdict == "failed") == (other.verdict == "failed")
    return is_same and one.at - one.took - SAME_RUN <= other.at <= one.at + SAME_RUN


# -- the hooks' record, which names only failed tests


class _Record:
    """The indexes of recorded runs, by failed test, by command and by target."""

    def __init__(self, runs: list[Run]) -> None:
        self.runs = runs
        self.failed: dict[str, set[int]] = {}
        self.by_command: dict[str, set[int]] = {}
        self.by_target: dict[str, set[int]] = {}
        for number, run in enumerate(runs):
            for name in failed(run):
                self.failed.setdefault(name, set()).add(number)
            if run.outcome == "passed" or (run.outcome == "failed" and run.failed):
                self.by_command.setdefault(run.command, set()).add(number)
                for target in run.targets:
                    self.by_target.setdefault(target, set()).add(number)

    def history(self, name: str) -> list[tuple[Run, bool]]:
        """The runs that a test took part in, and whether it passed.

        A record only names failed tests, so these are all runs with a command or target with which
        it failed.
        """
        broken = self.failed[name]
        commands = {self.runs[number].command for number in broken} - {""}
        targets = {target for number in broken for target in self.runs[number].targets}
        named = [self.by_command.get(command, ()) for command in commands]
        named += [self.by_target.get(target, ()) for target in targets]
        return [
            (self.runs[number], number not in broken) for number in sorted(broken.union(*named))
        ]


def _recorded(runs: list[Run]) -> Iterable[Past]:
    """The history of each of the latest failed tests."""
    record, names = _Record(runs), dict[str, None]()
    for run in reversed(runs):
        names.update(dict.fromkeys(name for name in failed(run) if name))
        if len(names) >= MAX_TESTS_RECORDED:
            break
    for name in list(names)[:MAX_TESTS_RECORDED]:
        yield _past(name, record.history(name))


def _past(name: str, history: list[tuple[Run, bool]]) -> Past:
    failures = [run for run, passed in history if not passed]
    tries = [
        Try(run.at, "passed", "", "", took=run.seconds or UNKNOWN)
        if passed
        else Try(run.at, "failed", run.kind, run.id, took=run.seconds or UNKNOWN)
        for run, passed in history[-MAX_OUTCOMES_PER_TEST:]
    ]
    file, group, own = _parts(name)
    return Past(
        name=own,
        file=file,
        group=group,
        recorded=name,
        tries=tuple(tries),
        runs=len(history),
        failures=len(failures),
        retried=0,
        first=history[0][0].at,
        last=history[-1][0].at,
        failed=failures[-1].at,
        kinds=dict(Counter(run.kind for run in failures if run.kind in KINDS)),
        message=failures[-1].message,
        features=tuple({run.features[0] for run in failures if len(run.features) == 1}),
    )


def _parts(name: str) -> tuple[str, str, str]:
    """Split a runner's name of a test into file, groups and name; `[…]` may contain anything."""
    head, bracket, parameters = name.partition("[") if "::" in name else (name, "", "")
    first, *others = [part.strip() for part in SEPARATOR.split(head)]
    if not others:
        return "", "", name
    file = first if re.search(r"/|\.\w+$", first) else ""
    groups = others[:-1] if file else [first, *others[:-1]]
    return file, " > ".join(groups), others[-1] + bracket + parameters


def failed(run: Run) -> tuple[str, ...]:
    """The tests that a recorded run names as failed; without names, its single target."""
    if run.outcome != "failed":
        return ()
    return run.failed or (run.targets if len(run.targets) == 1 else ())
