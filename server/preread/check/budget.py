"""Fit a dossier into its budget of facts and tokens: keep what ranks highest, count the rest."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from preread import dossier
from preread.layout import BY_NAME, REQUIRED
from preread.models import Draft, Fact, Fence, Verdict
from preread.services import Services

SUMMARY_SHARE = 0.08  # of the budget, reserved for summary.md
CODEBASE_SHARE = 0.25
# Facts that are cheap to find again are cut first.
WEIGHT = {
    "anti-patterns.md": 1.0, "requirements.md": 0.97, "failures.md": 0.88, "patterns.md": 0.92,
    "existing-tests.md": 0.85, "codebase.md": 0.85, "summary.md": 1.0,
}  # fmt: skip
TYPICAL_TOKENS = 40  # of one fact
LENGTH_PENALTY = 0.6  # exponent: how much a longer fact's score falls
DECAY = 0.95  # factor on the score of each further fact of a file, and of each further gap
GAP_WEIGHT = 0.98  # of facts that cite an absence


class _Candidate(NamedTuple):
    score: float
    draft: int
    section: int
    item: int
    cost: int


def fit(
    services: Services, drafts: list[Draft], verdicts: list[Verdict], ranks: Mapping[str, float]
) -> tuple[list[Draft], list[Verdict], int]:
    """Keep the highest-ranking facts within the budget; the last value is how many were cut.

    Without a summary among the drafts, room for one is reserved.
    """
    limit, max_facts = services.settings.max_tokens, services.settings.max_facts
    has_summary = any(draft.name == "summary.md" for draft in drafts)
    available = limit if has_summary else int(limit * (1 - SUMMARY_SHARE))
    titles = sum(dossier.tokens(f"# {BY_NAME[d.name].title}: {d.feature}\n\n") for d in drafts)
    tokens_left = available - titles
    facts_left = max_facts if has_summary else max_facts - max(1, max_facts // 8)
    codebase_left = int(limit * CODEBASE_SHARE)
    kept: dict[tuple[int, int, int], float] = {}
    opened: set[tuple[int, int]] = set()
    cited: dict[int, set[str]] = {}  # draft -> paths it has written out
    for candidate in sorted(_candidates(drafts, ranks), key=lambda c: -c.score):
        draft = drafts[candidate.draft]
        section = draft.sections[candidate.section]
        known = cited.setdefault(candidate.draft, set())
        item = section.items[candidate.item]
        cost = _cost(item, known)
        if (candidate.draft, candidate.section) not in opened:
            source = f"Source: {section.source}\n" if section.source else ""
            cost += dossier.tokens(f"\n## {section.heading}\n{source}")
        is_fact, is_codebase = isinstance(item, Fact), draft.name == "codebase.md"
        if cost > tokens_left or facts_left < is_fact or (is_codebase and cost > codebase_left):
            continue
        tokens_left -= cost
        facts_left -= is_fact
        codebase_left -= cost if is_codebase else 0
        opened.add((candidate.draft, candidate.section))
        known |= {_path(source) for source in (item.sources if isinstance(item, Fact) else ())}
        kept[candidate.draft, candidate.section, candidate.item] = candidate.score
    fitted = _trimmed(services, drafts, kept, available)
    texts = {(draft.name, fact.text) for draft, _, fact in dossier.all_facts(fitted)}
    remaining = [v for v in verdicts if (v.file, v.fact.text) in texts]
    return fitted, remaining, len(verdicts) - len(remaining)


def _candidates(drafts: list[Draft], ranks: Mapping[str, float]) -> Iterable[_Candidate]:
    for d, draft in enumerate(drafts):
        order: dict[bool, int] = {}
        rows = [
            (s, i, item)
            for s, section in enumerate(draft.sections)
            for i, item in enumerate(section.items)
        ]
        # Sections take turns: the first item of each ranks before the second item of any.
        rows.sort(key=lambda row: (row[1], row[0]))
        for s, i, item in rows:
            gap = isinstance(item, Fact) and any(
                source.startswith("absent:") for source in item.sources
            )
            place = order[gap] = order.get(gap, -1) + 1
            weight = GAP_WEIGHT if gap else WEIGHT[draft.name]
            rank, cost = ranks.get(item.text) if isinstance(item, Fact) else None, _cost(item)
            if rank is None:
                score = weight * DECAY**place
            else:
                score = rank * (TYPICAL_TOKENS / max(cost, 1)) ** LENGTH_PENALTY
            yield _Candidate(score, d, s, i, cost)


def _cost(item: Fact | Fence, known: Collection[str] = ()) -> int:
    """Estimated tokens of an item, in a file that has already written out the `known` paths."""
    if isinstance(item, Fence):
        return dossier.tokens("\n".join(item.lines) + "\n```\n```\n")
    shown, written = [], set(known)
    for source in item.sources:
        path = _path(source)
        basename = path.rpartition("/")[2]
        shown.append(source.replace(path, basename, 1) if path in written else source)
        written.add(path)
    return dossier.tokens(f"- {item.text} ({', '.join(shown)})\n")


def _path(source: str) -> str:
    """The path that a source cites, as it is written there; empty for an absence or a commit."""
    if source.startswith(("absent:", "commit:")):
        return ""
    return source.partition("::")[0].rpartition(":")[0]


def _trimmed(
    services: Services, drafts: list[Draft], kept: dict[tuple[int, int, int], float], limit: int
) -> list[Draft]:
    """The drafts with only the kept items, and fewer if they still exceed `limit`.

    Rendering can take more tokens than `_cost` estimated. The lowest-ranking items go first.
    """
    while True:
        services.progress.check()
        fitted = [_only(draft, d, kept) for d, draft in enumerate(drafts)]
        sizes = [
            dossier.tokens(dossier.render(d)) if d.sections or d.name in REQUIRED else 0
            for d in fitted
        ]
        over = {
            d for d, draft in enumerate(fitted) if draft.name == "codebase.md" and draft.sections
        }
        if all(sizes[d] <= int(services.settings.max_tokens * CODEBASE_SHARE) for d in over):
            over = set(range(len(fitted))) if sum(sizes) > limit else set()
        lowest = min(
            (key for key in kept if key[0] in over), key=lambda key: kept[key], default=None
        )
        if lowest is None:
            return fitted
        del kept[lowest]


def _only(draft: Draft, number: int, kept: Collection[tuple[int, int, int]]) -> Draft:
    sections = [
        replace(
            section,
            items=tuple(item for i, item in enumerate(section.items) if (number, s, i) in kept),
        )
        for s, section in enumerate(draft.sections)
    ]
    return replace(draft, sections=tuple(section for section in sections if section.items))
