"""The summary, written last: what is where, what to know before writing. Made of facts that passed the check."""

import re
from collections.abc import Sequence

from preread import dossier, sources
from preread.models import Checked, Draft, Evidence, Fact, Request, Section, Verdict

# What a person must see before writing, most urgent first.
URGENT = ("anti-patterns.md", "failures.md", "existing-tests.md")
GAPS = "Not covered"
FIRST = frozenset(
    ("Documents and code disagree", "Known traps", GAPS, "Failing in the latest report", "Failed when it was run")
)  # sections that one must know of before writing, and that hardly ever say what is beside the feature
TOLD = re.compile(r"`.+`: \w")  # a definition with what is said of it
MOST_FILES, MOST_URGENT, MOST_COMMANDS = 3, 1, 3


def summarise(request: Request, evidence: Evidence, checked: Checked) -> Draft:
    """`summary.md` for the drafts that hold; it says nothing that no checked fact says, and that briefly."""
    commands = tuple(Fact(f.text, f.sources) for f in evidence.findings if f.kind == "command")
    sections = (
        Section("Where", (*_sources(evidence, checked), *_tests(evidence, checked))),
        Section("Before you write", _urgent(checked)),
        Section("Run", commands[:MOST_COMMANDS]),
    )
    return Draft("summary.md", request.feature, tuple(section for section in sections if section.items))


def _sources(evidence: Evidence, checked: Checked) -> tuple[Fact, ...]:
    """The first files of the feature, each by the first definition of which more than its signature is told."""
    found = []
    for ranked in evidence.files[:MOST_FILES]:
        defined = [v for v in checked.verdicts if v.file == "codebase.md" and ranked.path.endswith(v.section)]
        found += [v for v in defined if _cites(v, ranked.path) and TOLD.match(v.fact.text)][:1]
    return _line("code", found)


def _tests(evidence: Evidence, checked: Checked) -> tuple[Fact, ...]:
    found = []
    for ranked in evidence.tests[:MOST_FILES]:
        held = [v for v in checked.verdicts if v.section == "Extend these" and v not in found]
        found += [v for v in held if _cites(v, ranked.path) and dossier.quotes(v.fact.text)][:1]
    return _line("tests", found)


def _line(label: str, found: Sequence[Verdict]) -> tuple[Fact, ...]:
    """What some facts are about, by what each quotes first and where that stands."""
    if not found:
        return ()
    names = ", ".join(dossier.code(dossier.quotes(v.fact.text)[0]) for v in found)
    return (Fact(f"{label}: {names}", tuple(dict.fromkeys(v.fact.sources[0] for v in found))),)


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
