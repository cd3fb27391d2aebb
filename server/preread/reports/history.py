"""The past of each test that ever failed: what reports said, and what the hooks recorded, as one.

Both may tell of one run: a recorded run within whose time a report of the test began adds nothing to it.
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
from preread.reports.fold import MOST_OUTCOMES, SAME_RUN, label
from preread.reports.store import Try

TURNS = 3  # changes between passed and failed; a test that was broken and mended has two
MOST_NAMES = 200  # tests that the record has as failed, the latest
PARTED = re.compile(r"::| > | › ")
PROJECT = re.compile(r"^\[[^\]]*\](?: > |$)")  # of Playwright, before the groups
UNKNOWN = 60.0  # seconds that a recorded run may have taken which does not say


@dataclass(frozen=True)
class Past:
    """What is known of one test."""

    name: str
    file: str
    group: str
    tries: tuple[Try, ...]  # the newest, oldest first
    runs: int  # those in which it passed or failed
    failures: int
    retried: int  # runs in which it failed, and passed when it was tried again
    first: float
    last: float
    failed: float  # when it failed last, or had to be tried again
    kinds: dict[str, int]  # how often it failed with each
    message: str
    features: tuple[str, ...] = ()  # which alone a recorded run was of
    recorded: str = ""  # how the hooks' record names it; empty: only reports do

    @property
    def label(self) -> str:
        """How it is named where its failures are told of."""
        return self.recorded or label(self.file, self.group, self.name)

    @property
    def is_failing(self) -> bool:
        return bool(self.tries) and self.tries[-1].verdict == "failed"

    @property
    def badness(self) -> tuple[float, float]:
        """The order of tests that fail, and that of the others; the worst is the least."""
        worst = (-float(self.failures), -self.flakiness)
        return worst if self.is_failing else worst[::-1]

    @property
    def flips(self) -> int:
        """Changes between passed and failed; a pass that took more tries than one is a failure and a pass."""
        return sum(one != other for one, other in pairwise(self._passes))

    @property
    def flakiness(self) -> float:
        """The flip rate: flips by the number that there could be.

        Kowalczyk et al., "Modeling and Ranking Flaky Tests at Apple", ICSE-SEIP 2020.
        """
        return round(self.flips / max(1, len(self._passes) - 1), 2)

    @property
    def is_flaky(self) -> bool:
        """Whether it was flaky as Playwright has it, passed when it was tried again, or keeps changing."""
        return self.flips >= TURNS or any(one.verdict == "flaky" for one in self.tries)

    @property
    def _passes(self) -> list[bool]:
        both = {"flaky": (False, True), "passed": (True,), "failed": (False,)}
        return [passed for one in self.tries for passed in both.get(one.verdict, ())]

    @property
    def kind(self) -> str:
        """With what it failed most often; empty when nobody knows."""
        return max(self.kinds, key=lambda kind: self.kinds[kind], default="")

    @property
    def cited(self) -> list[str]:
        """The runs in which it failed, as sources: the newest first, but one of its kind among the first two."""
        bad = [one for one in reversed(self.tries) if one.run]
        of_kind = [one for one in bad[1:] if one.kind == self.kind]
        if bad and bad[0].kind != self.kind:
            bad[1:1] = of_kind[:1]
        return list(dict.fromkeys(f"run:{one.run}" for one in bad))


def pasts(tree: Tree) -> list[Past]:
    """The tests that ever failed: those that fail now first, the most often first; then those that change most."""
    found: dict[str, list[Past]] = {}
    for kept in store.failing(tree.layout):
        kinds = {kind: times for kind, times in kept.kinds.items() if kind in KINDS}
        _into(found, Past(**kept._replace(kinds=kinds)._asdict()))
    for past in _recorded(results.runs(tree)):
        _into(found, past)
    every = [past for group in found.values() for past in group]
    return sorted(every, key=lambda past: (not past.is_failing, *past.badness, past.label))


def _into(found: dict[str, list[Past]], past: Past) -> None:
    """Add a past to those found, to that of the same test if it is there."""
    group = found.setdefault(" ".join(past.name.split()).lower(), [])
    place = next((n for n, other in enumerate(group) if _is_same(other, past)), None)
    if place is None:
        group.append(past)
    else:
        group[place] = _one(group[place], past)


def _is_same(one: Past, other: Past) -> bool:
    """Whether two tests of one name are one: the file of one is the end of the other's, and their groups are the same.

    A runner that the hooks heard may leave out file and groups, which may then be any; and none names Playwright's
    project.
    """
    if other.recorded and not (other.file or other.group):
        return True
    files = [f"/{past.file}" for past in (one, other) if past.file]
    if len(files) == 2:
        alike = files[0].endswith(files[1]) or files[1].endswith(files[0])
    else:
        alike = not files or bool(other.recorded)
    groups = {one.group, PROJECT.sub("", one.group)} if other.recorded else {one.group}
    return alike and other.group in groups


def _one(one: Past, other: Past) -> Past:
    """Two tellings of one test's past; what both tell counts once."""
    more = [
        try_
        for try_ in other.tries
        if not any(_tell_of_one_run(try_, known) for known in one.tries)
    ]
    tries = sorted((*one.tries, *more), key=lambda try_: try_.at)[-MOST_OUTCOMES:]
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


def _tell_of_one_run(one: Try, other: Try) -> bool:
    """Whether a try and another came to the same in each other's time."""
    return (one.verdict == "failed") == (
        other.verdict == "failed"
    ) and one.at - one.took - SAME_RUN <= other.at <= one.at + SAME_RUN


# -- the hooks' record: it names what failed


class _Record:
    """The recorded runs by what they name, as numbers in their order."""

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
        """The runs in which a test took part, as far as can be told, and whether it passed: others of the commands and
        targets with which it failed."""
        broken = self.failed[name]
        commands = {self.runs[number].command for number in broken} - {""}
        targets = {target for number in broken for target in self.runs[number].targets}
        named = [self.by_command.get(command, ()) for command in commands]
        named += [self.by_target.get(target, ()) for target in targets]
        return [
            (self.runs[number], number not in broken) for number in sorted(broken.union(*named))
        ]


def _recorded(runs: list[Run]) -> Iterable[Past]:
    """A past for each of the latest failed tests; a run that names none stands by its one target."""
    record, names = _Record(runs), dict[str, None]()
    for run in reversed(runs):
        names.update(dict.fromkeys(name for name in failed(run) if name))
        if len(names) >= MOST_NAMES:
            break
    for name in list(names)[:MOST_NAMES]:
        yield _past(name, record.history(name))


def _past(name: str, history: list[tuple[Run, bool]]) -> Past:
    failures = [run for run, passed in history if not passed]
    tries = [
        Try(run.at, "passed", "", "", took=run.seconds or UNKNOWN)
        if passed
        else Try(run.at, "failed", run.kind, run.id, took=run.seconds or UNKNOWN)
        for run, passed in history[-MOST_OUTCOMES:]
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
    """File, groups and own name of a test as a runner names it; brackets of parameters may hold anything."""
    head, bracket, parameters = name.partition("[") if "::" in name else (name, "", "")
    first, *others = [part.strip() for part in PARTED.split(head)]
    if not others:
        return "", "", name
    file = first if re.search(r"/|\.\w+$", first) else ""
    return (
        file,
        " > ".join(others[:-1] if file else (first, *others[:-1])),
        others[-1] + bracket + parameters,
    )


def failed(run: Run) -> tuple[str, ...]:
    """The tests that a recorded run names as failed."""
    if run.outcome != "failed":
        return ()
    return run.failed or (run.targets if len(run.targets) == 1 else ())
