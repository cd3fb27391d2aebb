"""The summary, written last: what is where, what to know before writing. Made of facts that passed the check."""

from preread import dossier, sources
from preread.models import Checked, Draft, Evidence, Fact, Request, Section, Verdict

# What a person must see before writing, most urgent first.
URGENT = ("anti-patterns.md", "failures.md", "existing-tests.md")
GAPS = "Not covered"
CALLERS = "Called from outside"
MOST_URGENT = 3


def summarise(request: Request, evidence: Evidence, checked: Checked) -> Draft:
    """`summary.md` for the drafts that hold; it says nothing that no checked fact says."""
    sections = (
        Section("Where", (*_sources(evidence, checked), *_tests(evidence, checked))),
        Section("Before you write", _urgent(checked)),
        Section("Run", tuple(Fact(f.text, f.sources) for f in evidence.findings if f.kind == "command")[:2]),
    )
    return Draft("summary.md", request.feature, tuple(section for section in sections if section.items))


def _sources(evidence: Evidence, checked: Checked) -> tuple[Fact, ...]:
    """The first files of the feature, each by the definition that matters most."""
    facts = []
    for ranked in evidence.files[:3]:
        own = [v for v in checked.verdicts if v.file == "codebase.md" and v.section != CALLERS]
        held = [v for v in own if _cites(v, ranked.path) and dossier.quotes(v.fact.text)]
        held.sort(key=lambda v: not ranked.path.endswith(v.section))  # definitions before values and routes
        if not held:
            continue
        names = ", ".join(dossier.code(dossier.quotes(v.fact.text)[0]) for v in held[:2])
        why = ranked.reasons[0].replace("`", '"') if ranked.reasons else "chosen"
        facts.append(
            Fact(f"code: {names}; {why}", tuple(dict.fromkeys(s for v in held[:2] for s in v.fact.sources[:1])))
        )
    return tuple(facts)


def _tests(evidence: Evidence, checked: Checked) -> tuple[Fact, ...]:
    facts = []
    for ranked in evidence.tests[:3]:
        held = [v for v in checked.verdicts if v.section == "Extend these" and _cites(v, ranked.path)]
        if held:
            names = ", ".join(dossier.code(q) for v in held[:2] for q in dossier.quotes(v.fact.text)[:1])
            facts.append(Fact(f"tests: {names}", tuple(dict.fromkeys(s for v in held[:2] for s in v.fact.sources[:1]))))
    return tuple(facts)


def _cites(verdict: Verdict, path: str) -> bool:
    return any((ref := sources.parse(s)) is not None and ref.path == path for s in verdict.fact.sources)


def _urgent(checked: Checked) -> tuple[Fact, ...]:
    """The first fact of each urgent section, as a pointer to where it stands whole."""
    facts, seen = [], set()
    for name in URGENT:
        for verdict in checked.verdicts:
            key = (verdict.file, verdict.section)
            if verdict.file != name or key in seen or (name == "existing-tests.md" and verdict.section != GAPS):
                continue
            seen.add(key)
            quoted = dossier.quotes(verdict.fact.text)
            if quoted:
                pointer = f"{verdict.section.lower()}: {dossier.code(quoted[0])}, see {verdict.file}"
                facts.append(Fact(pointer, verdict.fact.sources))
    return tuple(facts[:MOST_URGENT])
