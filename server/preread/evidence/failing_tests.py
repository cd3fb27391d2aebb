"""The tests of a feature that failed, from reports and from runs recorded by the hooks.

Facts about them are history, which remains true: a later run does not make a dossier stale.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from preread import inputs
from preread.dossier import sources
from preread.dossier.fact_text import code
from preread.evidence.rule import Found
from preread.evidence.view import View
from preread.index import words
from preread.reports import history
from preread.reports.history import Past

OWN = 0.25  # of the best test's score: tests below only share the file
MAX_RUNS = 3  # runs cited by one fact
MAX_NAMES = 4  # tests in one fact that failed alike in one run
MAX_MESSAGE = 130  # characters


class _OwnTests(NamedTuple):
    """A feature's own tests by name, and the files that have mostly such tests."""

    files_of: dict[str, list[str]]  # folded name -> files
    files: frozenset[str]

    def has(self, past: Past) -> bool:
        name = _folded(past.name)
        paths = self.files_of.get(name) or self.files_of.get(name.partition("[")[0]) or ()
        return bool(paths) and (not past.file or any(_is_in(path, past) for path in paths))


def found(view: View, *, reported: bool) -> Iterator[Found]:
    """The feature's failing and flaky tests, grouped by run and message.

    If `reported`, those that fail in the latest reports; otherwise those known from recorded runs.
    """
    looked = inputs.reports(view.services)
    current = looked.current if looked is not None else frozenset()
    unstable = [past for past in view.once(belonging) if past.is_failing or past.is_flaky]
    alike: dict[tuple[str, ...], list[Past]] = defaultdict(list)
    for past in unstable:
        is_reported = past.is_failing and past.tries[-1].of in current
        if is_reported == reported and (cited := _cited(past)):
            alike[cited[0], counted(past), past.message].append(past)
    yield from map(_fact, alike.values())


def belonging(view: View) -> list[Past]:
    """The feature's tests with a history: failing ones first, then its own."""
    own = _own_tests(view)
    every = history.pasts(view.services.tree)
    found = [(past, strength) for past in every if (strength := _strength(view, past, own))]
    return [past for past, _ in sorted(found, key=lambda one: (not one[0].is_failing, -one[1]))]


def _own_tests(view: View) -> _OwnTests:
    """None for a thin feature: only tests that have its name are certain to be its own."""
    ranked = view.cases if not view.thin else []
    own = [one for one in ranked if one.score >= OWN * ranked[0].score]
    counts = Counter(one.file.path for one in own)
    mostly = {file.path for file in view.tests if 2 * counts[file.path] >= len(file.outline.tests)}
    files_of: dict[str, list[str]] = defaultdict(list)
    for one in own:
        files_of[_folded(one.case.name)].append(one.file.path)
    return _OwnTests(files_of, frozenset(mostly & counts.keys()))


def _strength(view: View, past: Past, own: _OwnTests) -> int:
    """2 for one of the feature's own tests, 1 for one in a file with mostly such tests, or 0."""
    is_among_own = any(_is_in(path, past) for path in own.files)
    if past.file and not past.file.startswith(view.query.scope) and not is_among_own:
        return 0
    if own.has(past) or view.request.feature in past.features:
        return 2
    is_named = view.relevance.feature <= words.stems_of(past.label)
    return int(is_among_own or view.whole_project or is_named)


def _folded(name: str) -> str:
    return " ".join(name.split()).lower()


def _is_in(path: str, past: Past) -> bool:
    """Whether a test is in this file, which reports may give as a package or module."""
    if path in past.label:
        return True
    if past.file:
        return f"/{path}".endswith(f"/{past.file}")
    module, parts = path.removesuffix(".py").replace("/", "."), past.group.split(".")
    stem = module.rpartition(".")[2]
    return stem in parts and f".{module}".endswith("." + ".".join(parts[: parts.index(stem) + 1]))


def _cited(past: Past) -> list[str]:
    """The runs in which it failed, if they can be written as sources."""
    return [source for source in past.cited if sources.parse(source) is not None]


def _fact(tests: Sequence[Past]) -> Found:
    """One fact for tests that failed in the same run, equally often, with the same message."""
    past = tests[0]
    names = ", ".join(
        code(" ".join((one.recorded or one.name).split())) for one in tests[:MAX_NAMES]
    )
    more = f" and {len(tests) - MAX_NAMES} more" if len(tests) > MAX_NAMES else ""
    said = f": {_message(past.message)}" if past.message else ""
    score = min(0.95, 0.8 + 0.03 * past.failures) if past.is_failing else 0.75
    return Found(f"{names}{more} {counted(past)}{said}", tuple(_cited(past)[:MAX_RUNS]), score)


def _message(text: str) -> str:
    """A message as prose, cut between words: neither a quote nor a source."""
    folded = " ".join(text.split()).replace("`", "'")
    if len(folded) > MAX_MESSAGE:
        folded = folded[:MAX_MESSAGE].rpartition(" ")[0] or folded[:MAX_MESSAGE]
        folded = folded.rstrip(" ,;:.-(") + " …"
    return folded.replace("(", "[").replace(")", "]") if folded.endswith(")") else folded


def counted(past: Past) -> str:
    """How often a test failed, when last, and how most often."""
    day = time.strftime("%Y-%m-%d", time.gmtime(past.failed))
    text = (
        f"{_times(past)}, last {day}" if past.failures != 1 or past.is_flaky else f"failed on {day}"
    )
    if not past.kind or not any(one.kind == past.kind for one in past.tries if one.run):
        return text  # the run is gone, so nothing would prove it
    times = past.kinds.get(past.kind, 0)
    alone = times >= past.failures + past.retried
    return (
        f"{text}, with {code(past.kind)}"
        if alone
        else f"{text}, {times} times with {code(past.kind)}"
    )


def _times(past: Past) -> str:
    in_runs = f"in {past.failures} of {past.runs} runs"
    if past.is_flaky and not past.failures:
        return f"passed only on retry in {past.retried} of {past.runs} runs"
    if past.is_flaky:
        again = f", passed on retry in {past.retried}" if past.retried else ""
        return f"is flaky: failed {in_runs}{again}"
    return f"failed {in_runs if past.runs > past.failures else f'{past.failures} times'}"
