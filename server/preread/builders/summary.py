"""The summary, written last: what is where, what to know before writing. Made of facts that passed the check."""

import re
from collections import Counter
from collections.abc import Sequence

from preread import dossier, sources
from preread.models import Checked, Draft, Evidence, Fact, Request, Section, Verdict

# What a person must see before writing, most urgent first.
URGENT = ("anti-patterns.md", "failures.md", "existing-tests.md")
GAPS = "Not covered"
FIRST = frozenset(
    ("Documents and code disagree", "Known traps", GAPS, "Failing in the latest report", "Failed when it was run")
)  # sections that one must know of before writing, and that hardly ever say what is beside the feature
INSIDE, EXTEND, ELSEWHERE = "Inside the functions", "Extend these", "also, elsewhere"
FUNCTION = re.compile(r"`([\w.:#]{4,})`(?: of [^:]+)?: ")  # what a fact about a passage begins with
ENDING = re.compile(r"(?:ing|ed|es|s|e)$")  # of a word
SEVERAL = re.compile(r"\d|on ")  # how a fact about tests begins that belong to no block
TOLD = re.compile(r"`.+`: \w")  # a definition with what is said of it
MOST_FILES, MOST_URGENT, MOST_COMMANDS = 3, 1, 3


def summarise(request: Request, evidence: Evidence, checked: Checked) -> Draft:
    """`summary.md` for the drafts that hold; it says nothing that no checked fact says, and that briefly."""
    commands = tuple(Fact(f.text, f.sources) for f in evidence.findings if f.kind == "command")
    sections = (
        Section("Where", (*_sources(request, evidence, checked), *_tests(evidence, checked))),
        Section("Before you write", _urgent(checked)),
        Section("Run", commands[:MOST_COMMANDS]),
    )
    return Draft("summary.md", request.feature, tuple(section for section in sections if section.items))


def _sources(request: Request, evidence: Evidence, checked: Checked) -> tuple[Fact, ...]:
    """The first files of the feature, each by the function of which the most is told, rather one that is called so,
    else by a definition; a further file has to be called so, too."""
    words = [ENDING.sub("", word) for word in request.feature.split("-")]
    found: list[tuple[str, Verdict]] = []
    for ranked in evidence.files[:MOST_FILES]:
        here = [v for v in checked.verdicts if _cites(v, ranked.path)]
        inside = [v for v in here if v.section == INSIDE and FUNCTION.match(v.fact.text)]
        told, called = Counter(map(_first, inside)), {_first(v): _held(words, _first(v)) for v in inside}
        about = [v for v in inside if 2 * _held(words, ranked.path + v.fact.text) > len(words)]
        about = [v for v in about if not found or called[_first(v)] or _held(words, ranked.path)]
        best = max(about, key=lambda v: (called[_first(v)] > 0, told[_first(v)], called[_first(v)]), default=None)
        defined = (v for v in here if v.file == "codebase.md" and ranked.path.endswith(v.section))
        best = best or next((v for v in defined if TOLD.match(v.fact.text)), None)
        found += [(dossier.code(_first(best)), best)] if best is not None else []
    return _line("code", found)


def _first(verdict: Verdict) -> str:
    """What a fact quotes first."""
    return dossier.quotes(verdict.fact.text)[0]


def _held(words: Sequence[str], text: str) -> int:
    """How many of these words a text has."""
    return sum(word in text.lower() for word in words)


def _tests(evidence: Evidence, checked: Checked) -> tuple[Fact, ...]:
    """The first test files, each by the block or the first of the tests that it is told to be extended at."""
    found: list[tuple[str, Verdict]] = []
    for ranked in evidence.tests[:MOST_FILES]:
        held = (v for v in checked.verdicts if v.section == EXTEND and not v.fact.text.startswith(ELSEWHERE))
        best = next((v for v in held if _cites(v, ranked.path) and dossier.quotes(v.fact.text)), None)
        if best is not None and all(best is not other for _, other in found):
            name = sources.quoted_path(ranked.path.rpartition("/")[2])
            others = len(dossier.quotes(best.fact.text)) > 1 and SEVERAL.match(best.fact.text)
            found.append((f"{dossier.code(_first(best))}{' and others' if others else ''} in {name}", best))
    return _line("tests", found)


def _line(label: str, found: Sequence[tuple[str, Verdict]]) -> tuple[Fact, ...]:
    """What some facts are about, and where the first of each stands."""
    if not found:
        return ()
    said = ", ".join(text for text, _ in found)
    return (Fact(f"{label}: {said}", tuple(dict.fromkeys(v.fact.sources[0] for _, v in found))),)


def _cites(verdict: Verdict, path: str) -> bool:
    return any((ref := sources.parse(s)) is not None and ref.path == path for s in verdict.fact.sources)


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
                said = verdict.fact.text.partition("`")[0].strip()  # "no test names": what is missing proves no more
                label = said if verdict.section == GAPS and said else verdict.section.lower()
                pointer = f"{label}: {dossier.code(quoted[0])}, see {verdict.file}"
                facts.append(Fact(pointer, verdict.fact.sources))
    return tuple(facts[:MOST_URGENT])
