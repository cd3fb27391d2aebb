"""The summary, written last: what is where, what to know before writing. Made of facts that passed the check."""

import re
from collections.abc import Sequence

from preread import dossier, sources
from preread.gates.feature_names import PROJECT
from preread.models import Checked, Draft, Evidence, Fact, Request, Section, Verdict

URGENT = (
    "anti-patterns.md",
    "failures.md",
)  # what a person must see before writing, most urgent first
FIRST = frozenset(
    (
        "Documents and code disagree",
        "Known traps",
        "Failing in the latest report",
        "Failed when it was run",
    )
)  # sections that one must know of before writing, and that hardly ever say what is beside the feature
EXTEND, ELSEWHERE = "Extend these", "also, elsewhere"
ENDING = re.compile(r"(?:ing|ed|es|s|e)$")  # of a word
SEVERAL = re.compile(r"\d|on ")  # how a fact about tests begins that belong to no block
OF_TESTS = re.compile(
    r"(?i)tests?$|^tests?|specs?$|[\W_]"
)  # of a test file's name, what its source's has not
MOST_FILES, MOST_URGENT, MOST_COMMANDS = 3, 1, 3


def summarise(request: Request, evidence: Evidence, checked: Checked) -> Draft:
    """`summary.md` for the drafts that hold; the main definitions, the tests, what is urgent, the commands."""
    code = tuple(Fact(f"code: {f.text}", f.sources) for f in evidence.findings if f.kind == "main")
    commands = tuple(Fact(f.text, f.sources) for f in evidence.findings if f.kind == "command")
    sections = (
        Section("Where", (*code, *_tests(request, evidence, checked))),
        Section("Before you write", _urgent(checked)),
        Section("Run", commands[:MOST_COMMANDS]),
    )
    return Draft(
        "summary.md", request.feature, tuple(section for section in sections if section.items)
    )


def _tests(request: Request, evidence: Evidence, checked: Checked) -> tuple[Fact, ...]:
    """The test files that have the feature's name or that of its first file, each by the block, or the first of the
    tests, that has most of the name; where there are none, the first file that has a word of it."""
    words = [ENDING.sub("", word) for word in request.feature.split("-")]
    held = [
        v for v in checked.verdicts if v.section == EXTEND and not v.fact.text.startswith(ELSEWHERE)
    ]
    first = evidence.files[0].path if evidence.files else ""
    named: list[tuple[str, Verdict]] = []
    touched: list[tuple[str, Verdict]] = []
    for path in dict.fromkeys((*(ranked.path for ranked in evidence.tests), first)):
        here = [v for v in held if _cites(v, path) and dossier.quotes(v.fact.text)]
        if not here:
            continue
        best = max(here, key=lambda v: _held(words, v.fact.text))
        name = sources.quoted_path(path.rpartition("/")[2])
        quoted = dossier.quotes(best.fact.text)
        others = len(quoted) > 1 and SEVERAL.match(best.fact.text)
        row = (f"{dossier.code(quoted[0])}{' and others' if others else ''} in {name}", best)
        whole = _held(words, path.rpartition("/")[2] + quoted[0]) == len(words) or _stem(
            path
        ) == _stem(first)
        if whole or request.feature == PROJECT:
            named.append(row)
        elif _held(words, path + best.fact.text):
            touched.append(row)
    return _line("tests", named[:MOST_FILES] or touched[:1])


def _stem(path: str) -> str:
    """What a source and the file of its tests are both called."""
    return OF_TESTS.sub("", path.rpartition("/")[2].partition(".")[0]).lower()


def _held(words: Sequence[str], text: str) -> int:
    """How many of these words a text has."""
    return sum(word in text.lower() for word in words)


def _line(label: str, found: Sequence[tuple[str, Verdict]]) -> tuple[Fact, ...]:
    """What some facts are about, and where the first of each stands."""
    if not found:
        return ()
    said = ", ".join(text for text, _ in found)
    return (Fact(f"{label}: {said}", tuple(dict.fromkeys(v.fact.sources[0] for _, v in found))),)


def _cites(verdict: Verdict, path: str) -> bool:
    return any(
        (ref := sources.parse(s)) is not None and ref.path == path for s in verdict.fact.sources
    )


def _urgent(checked: Checked) -> tuple[Fact, ...]:
    """The first fact of each urgent section, as a pointer to where it stands whole."""
    facts, seen = [], set()
    for name in URGENT:
        for verdict in checked.verdicts:
            key = (verdict.file, verdict.section)
            if verdict.file != name or key in seen or verdict.section not in FIRST:
                continue
            seen.add(key)
            quoted = dossier.quotes(verdict.fact.text)
            if quoted:
                pointer = (
                    f"{verdict.section.lower()}: {dossier.code(quoted[0])}, see {verdict.file}"
                )
                facts.append(Fact(pointer, verdict.fact.sources))
    return tuple(facts[:MOST_URGENT])
