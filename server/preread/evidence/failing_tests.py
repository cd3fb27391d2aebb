"""The tests of a feature that failed, from reports and from runs recorded by the hooks.

What is said of them is history, which stays true: a later run does not make a dossier stale.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

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


def found(view: View, *, reported: bool) -> Iterator[Found]:
    """The feature's failing and flaky tests, grouped by run and message.

    `reported` are those that fail in the latest reports; the others come from recorded runs.
    """
    looked = inputs.reports(view.services)
    current = looked.current if looked is not None else frozenset()
    alike: dict[tuple[str, ...], list[Past]] = defaultdict(list)
    for past in view.once(belonging):
        is_reported = past.is_failing and past.tries[-1].of in current
        if is_reported == reported and (past.is_failing or past.is_flaky) and _cited(past):
            alike[_cited(past)[0], counted(past), past.message].append(past)
    for tests in alike.values():
        yield _fact(tests)


def belonging(view: View) -> list[Past]:
    """The feature's tests with a history: failing ones first, then its own."""
    ranked = view.cases if not view.thin else []  # of a thin one only what has its name is sure
    own = [one for one in ranked if one.score >= OWN * ranked[0].score]
    counts = Counter(one.file.path for one in own)
    mostly = {file.path for file in view.tests if 2 * counts[file.path] >= len(file.outline.tests)}
    files_of: dict[str, list[str]] = defaultdict(list)
    for one in own:
        files_of[_folded(one.case.name)].append(one.file.path)
    found = [
        (past, _belongs(view, past, mostly & counts.keys(), files_of))
        for past in history.pasts(view.services.tree)
    ]
    found = [(past, strength) for past, strength in found if strength]
    return [past for past, _ in sorted(found, key=lambda one: (not one[0].is_failing, -one[1]))]


def _belongs(view: View, past: Past, mostly: set[str], files_of: dict[str, list[str]]) -> int:
    """2 for one of the feature's own tests, 1 for one in a file that is mostly theirs, or 0."""
    name = _folded(past.name)
    in_mostly = any(_is_in(path, past) for path in mostly)
    if past.file and not past.file.startswith(view.query.scope) and not in_mostly:
        return 0
    paths = files_of.get(name) or files_of.get(name.partition("[")[0]) or ()
    is_own = bool(paths) and (not past.file or any(_is_in(path, past) for path in paths))
    if is_own or view.request.feature in past.features:
        return 2
    is_named = view.relevance.feature <= words.stems_of(past.label)
    return int(in_mostly or view.whole_project or is_named)


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
