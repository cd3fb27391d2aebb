"""Check: format rules, every source looked up, states and confidence computed, the budget kept."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from preread import dossier, published, sources
from preread.layout import BY_NAME, REQUIRED
from preread.models import Checked, Draft, Fact, Fence, Problem, Section, State, Verdict
from preread.services import Services
from preread.sources import SourceError, Span

# How sure a fact is, by its state; a kind that interprets is surer when it quotes, never surer than this.
CONFIDENCE: dict[State, float] = {"computed": 0.95, "quoted": 0.9, "external": 0.7, "located": 0.4}
KIND_FACTOR: dict[str, float] = {
    "requirement": 1.0,
    "code": 1.0,
    "test": 1.0,
    "failure": 0.95,
    "pattern": 0.95,
    "trap": 0.9,
    "summary": 0.9,
}

SUMMARY_SHARE = 0.14  # of the budget, kept for summary.md
CODEBASE_SHARE = 0.25
# What is cut first is what is cheap to find again.
WEIGHT = {
    "anti-patterns.md": 1.0, "requirements.md": 0.97, "failures.md": 0.88, "patterns.md": 0.92,
    "existing-tests.md": 0.85, "codebase.md": 0.85, "summary.md": 1.0,
}  # fmt: skip
MOST_READINGS = 64  # spans kept in the form in which quotes are looked for
DECAY = 0.95  # each further fact of a file or of its gaps counts this much less
COMMENT_MARK = re.compile(r"^\s*(?:#+!?|//+!?|/?\*+/?|--|<!--|\"\"\"|;+|%+)\s?|\s*(?:\*/|-->)\s*$")


def staged(services: Services, feature: str, staging: Path) -> tuple[tuple[Draft, ...], tuple[Problem, ...]]:
    """The drafts in a staging folder: plain files of the dossier's table, everything else named as a problem."""
    drafts, problems = [], []
    for path in sorted(staging.iterdir()):
        if path.name not in BY_NAME or path.is_symlink() or not path.is_file():
            problems.append(Problem(ascii(path.name)[1:-1], 1, "E_FILE_NAME", "is no file of a dossier"))
            continue
        text = services.tree.read(services.layout.relative(path))
        if text is None:
            problems.append(Problem(path.name, 1, "E_FILE_TEXT", "is not text, or is larger than any dossier"))
            continue
        draft, found = dossier.parse(path.name, feature, text)
        drafts.append(draft)
        problems += found
    return tuple(drafts), tuple(problems)


def with_people(services: Services, feature: str, drafts: Iterable[Draft]) -> tuple[Draft, ...]:
    """The drafts with the facts that people added to the published files: first, and checked like all others."""
    by_name = {draft.name: draft for draft in drafts}
    standing = published.read(services.layout, feature)
    if standing is None or standing.manifest is None:
        return tuple(by_name.values())
    ours = set(standing.manifest.facts)
    for name, text in standing.texts.items():
        draft, _ = dossier.parse(name, feature, text)
        added = [
            replace(section, items=tuple(f for f in section.facts if dossier.fact_id(name, f.text) not in ours))
            for section in draft.sections
        ]
        added = [section for section in added if section.items]
        if added and name != "summary.md":
            old = by_name.get(name, Draft(name, feature))
            by_name[name] = replace(old, sections=(*added, *old.sections))
    return tuple(by_name.values())


class _Checker:
    """One check of one dossier: spans already resolved, problems found so far."""

    def __init__(self, services: Services, feature: str) -> None:
        self.services, self.feature = services, feature
        self.resolved: dict[str, Span | SourceError] = {}
        self.readings: dict[str, tuple[str, ...]] = {}
        self.problems: list[Problem] = []
        self.wrong = published.wrong_ids(services.layout)
        self.seen: set[str] = set()

    def span(self, text: str) -> Span | SourceError:
        if text not in self.resolved:
            self.services.progress.check()
            ref = sources.parse(text)
            try:
                if ref is None:
                    raise SourceError("E_SOURCE_FORM", f"`{text[:80]}` is no source")
                self.resolved[text] = sources.resolve(ref, self.services.tree)
            except SourceError as error:
                self.resolved[text] = error
        return self.resolved[text]

    def stands(self, quote: str, source: str, span: Span) -> bool:
        """Whether a quote stands in a span, white space collapsed; comment marks at line ends count as white space."""
        if len(self.readings) > MOST_READINGS:
            self.readings.clear()
        if source not in self.readings:
            self.readings[source] = tuple(_readings(span))
        needle = " ".join(quote.split())
        return any(needle in reading for reading in self.readings[source]) or needle in span.names

    def problem(self, name: str, line: int, code: str, message: str) -> None:
        self.problems.append(Problem(name, line, code, message))

    def fact(self, name: str, section: Section, fact: Fact) -> Verdict | None:
        """The verdict on one fact, with only the sources that hold; None when the fact falls."""
        identity = dossier.fact_id(name, fact.text)
        if identity in self.wrong:
            self.problem(name, fact.line, "E_FACT_WRONG", f"marked as wrong before: {identity}")
            return None
        if identity in self.seen:
            self.problem(name, fact.line, "E_FACT_TWICE", "the same fact stands here already")
            return None
        self.seen.add(identity)
        spans: dict[str, Span] = {}
        for source in fact.sources:
            found = self.span(source)
            if isinstance(found, SourceError):
                self.problem(name, fact.line, found.code, str(found))
            else:
                spans[source] = found
        if not spans:
            return None
        missing = [
            q for q in dossier.quotes(fact.text) if not any(self.stands(q, s, span) for s, span in spans.items())
        ]
        if missing:
            self.problem(name, fact.line, "E_QUOTE", f"`{missing[0][:80]}` stands in none of its sources")
            return None
        state = _state(fact.text, spans)
        row = BY_NAME.get(name)
        sure = CONFIDENCE[state] * (KIND_FACTOR[row.kind] if row else 1.0)
        return Verdict(name, section.heading, replace(fact, sources=tuple(spans)), state, round(sure, 2))

    def fence_holds(self, name: str, section: Section, fence: Fence) -> bool:
        found = self.span(section.source) if section.source else SourceError("E_FENCE_SOURCE", "a fence needs a source")
        if isinstance(found, SourceError):
            self.problem(name, fence.line, found.code, str(found))
            return False
        for i, line in enumerate(fence.lines, 1):
            if line.strip() and not self.stands(line.strip(), section.source, found):
                self.problem(name, fence.line + i, "E_FENCE_LINE", f"this line does not stand in {section.source}")
                return False
        return True

    def draft(self, draft: Draft) -> tuple[Draft, list[Verdict], int]:
        """A draft with only what holds, its verdicts, and how many of its facts fell."""
        sections, verdicts, dropped = [], [], 0
        for section in draft.sections:
            items: list[Fact | Fence] = []
            for item in section.items:
                if isinstance(item, Fence):
                    if self.fence_holds(draft.name, section, item):
                        items.append(item)
                    continue
                verdict = self.fact(draft.name, section, item)
                if verdict is None:
                    dropped += 1
                    continue
                items.append(verdict.fact)
                verdicts.append(verdict)
            sections.append(replace(section, items=tuple(items)))
        return replace(draft, sections=tuple(s for s in sections if s.items)), verdicts, dropped


def _readings(span: Span) -> Iterable[str]:
    """A span on one line: as it is, and without its comment marks."""
    yield " ".join(" ".join(span.lines).split())
    yield " ".join(" ".join(COMMENT_MARK.sub("", line) for line in span.lines).split())


def _state(text: str, spans: dict[str, Span]) -> State:
    kinds = {ref.kind for source in spans if (ref := sources.parse(source)) is not None}
    if "external" in kinds:
        return "external"
    if "absent" in kinds:
        return "computed"
    return "quoted" if dossier.quotes(text) else "located"


def check(
    services: Services,
    feature: str,
    drafts: Iterable[Draft],
    *,
    problems: Iterable[Problem] = (),
    budget: bool,
    ranks: Mapping[str, float] | None = None,
    before: Checked | None = None,
) -> Checked:
    """Hold drafts to every rule. `budget` cuts what is too much; `before` is an earlier check whose counts go on.

    `ranks` gives facts, by their text, a score from 0 to 1; a fact without one ranks by its place in its file.
    """
    checker = _Checker(services, feature)
    kept, verdicts, dropped = [], [], before.dropped if before else 0
    for draft in drafts:
        held, found, fell = checker.draft(draft)
        kept.append(held)
        verdicts += found
        dropped += fell
    cut = before.cut if before else 0
    if budget:
        kept, verdicts, more = _fit(services, kept, verdicts, ranks or {})
        cut += more
    cited = {source for verdict in verdicts for source in verdict.fact.sources}
    cited |= {s.source for d in kept for s in d.sections if s.source and any(isinstance(i, Fence) for i in s.items)}
    spans = {s: span.digest for s in sorted(cited) if isinstance(span := checker.span(s), Span)}
    kept = [d for d in kept if d.sections or d.name in REQUIRED or not budget]
    return Checked(tuple(kept), tuple(verdicts), (*problems, *checker.problems), dropped, cut, spans)


def judge(services: Services, feature: str, drafts: list[Draft]) -> Checked:
    """The check without a budget: what the index of facts asks for states."""
    return check(services, feature, drafts, budget=False)


class _Candidate(NamedTuple):
    score: float
    draft: int
    section: int
    item: int
    cost: int


def _fit(
    services: Services, drafts: list[Draft], verdicts: list[Verdict], ranks: Mapping[str, float]
) -> tuple[list[Draft], list[Verdict], int]:
    """Keep the facts that rank highest within the budget of facts and tokens; the rest is cut and counted."""
    limit = services.settings.max_tokens
    has_summary = any(draft.name == "summary.md" for draft in drafts)
    left = whole = limit if has_summary else int(limit * (1 - SUMMARY_SHARE))
    facts_left = services.settings.max_facts - (0 if has_summary else max(1, services.settings.max_facts // 8))
    left -= sum(dossier.tokens(f"# {BY_NAME[d.name].title}: {d.feature}\n\n") for d in drafts)
    codebase = int(limit * CODEBASE_SHARE)
    kept: dict[tuple[int, int, int], float] = {}
    opened: set[tuple[int, int]] = set()
    for candidate in sorted(_candidates(drafts, ranks), key=lambda c: -c.score):
        draft, section = drafts[candidate.draft], drafts[candidate.draft].sections[candidate.section]
        cost = candidate.cost
        if (candidate.draft, candidate.section) not in opened:
            cost += dossier.tokens(
                f"\n## {section.heading}\nSource: {section.source}\n" if section.source else f"\n## {section.heading}\n"
            )
        is_fact = isinstance(section.items[candidate.item], Fact)
        if cost > left or (is_fact and facts_left < 1) or (draft.name == "codebase.md" and cost > codebase):
            continue
        left -= cost
        facts_left -= is_fact
        codebase -= cost if draft.name == "codebase.md" else 0
        opened.add((candidate.draft, candidate.section))
        kept[candidate.draft, candidate.section, candidate.item] = candidate.score
    fitted = _trimmed(services, drafts, kept, whole)
    standing = {(draft.name, fact.text) for draft, _, fact in dossier.all_facts(fitted)}
    held = [v for v in verdicts if (v.file, v.fact.text) in standing]
    return fitted, held, len(verdicts) - len(held)


def _candidates(drafts: list[Draft], ranks: Mapping[str, float]) -> Iterable[_Candidate]:
    for d, draft in enumerate(drafts):
        order: dict[bool, int] = {}
        rows = [(s, i, item) for s, section in enumerate(draft.sections) for i, item in enumerate(section.items)]
        # Sections take turns: the first of each counts before the second of any.
        rows.sort(key=lambda row: (row[1], row[0]))
        for s, i, item in rows:
            gap = isinstance(item, Fact) and any(source.startswith("absent:") for source in item.sources)
            place = order[gap] = order.get(gap, -1) + 1
            weight = 0.98 if gap else WEIGHT[draft.name]
            rank = ranks.get(item.text) if isinstance(item, Fact) else None
            score = weight * (DECAY**place if rank is None else rank * DECAY**i)
            yield _Candidate(score, d, s, i, _cost(item))


def _cost(item: Fact | Fence) -> int:
    if isinstance(item, Fence):
        return dossier.tokens("\n".join(item.lines) + "\n```\n```\n")
    shown = [source.rsplit("/", 1)[-1] if i else source for i, source in enumerate(item.sources)]
    return dossier.tokens(f"- {item.text} ({', '.join(shown)})\n")


def _trimmed(
    services: Services, drafts: list[Draft], kept: dict[tuple[int, int, int], float], limit: int
) -> list[Draft]:
    """The drafts as chosen; what the estimates took for less than it is goes again, lowest first."""
    while True:
        services.progress.check()
        fitted = [_only(draft, d, kept) for d, draft in enumerate(drafts)]
        sizes = [dossier.tokens(dossier.render(d)) if d.sections or d.name in REQUIRED else 0 for d in fitted]
        over = {d for d, draft in enumerate(fitted) if draft.name == "codebase.md" and draft.sections}
        if all(sizes[d] <= int(services.settings.max_tokens * CODEBASE_SHARE) for d in over):
            over = set(range(len(fitted))) if sum(sizes) > limit else set()
        lowest = min((key for key in kept if key[0] in over), key=lambda key: kept[key], default=None)
        if lowest is None:
            return fitted
        del kept[lowest]


def _only(draft: Draft, number: int, kept: Collection[tuple[int, int, int]]) -> Draft:
    sections = [
        replace(section, items=tuple(item for i, item in enumerate(section.items) if (number, s, i) in kept))
        for s, section in enumerate(draft.sections)
    ]
    return replace(draft, sections=tuple(section for section in sections if section.items))
