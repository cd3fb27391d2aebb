"""The budget of facts and tokens: what ranks highest is kept, the rest is cut and counted."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from preread import dossier
from preread.layout import BY_NAME, REQUIRED
from preread.models import Draft, Fact, Fence, Verdict
from preread.services import Services

SUMMARY_SHARE = 0.08  # of the budget, kept for summary.md
CODEBASE_SHARE = 0.25
# What is cut first is what is cheap to find again.
WEIGHT = {
    "anti-patterns.md": 1.0, "requirements.md": 0.97, "failures.md": 0.88, "patterns.md": 0.92,
    "existing-tests.md": 0.85, "codebase.md": 0.85, "summary.md": 1.0,
}  # fmt: skip
FAIR, DEAR = 40, 0.6  # tokens of a usual fact; how much one that takes more than that falls behind
DECAY = 0.95  # each further fact of a file or of its gaps counts this much less


class _Candidate(NamedTuple):
    score: float
    draft: int
    section: int
    item: int
    cost: int


def fit(
    services: Services, drafts: list[Draft], verdicts: list[Verdict], ranks: Mapping[str, float]
) -> tuple[list[Draft], list[Verdict], int]:
    """Keep the facts that rank highest within the budget of facts and tokens; the rest is cut and counted."""
    limit = services.settings.max_tokens
    has_summary = any(draft.name == "summary.md" for draft in drafts)
    left = whole = limit if has_summary else int(limit * (1 - SUMMARY_SHARE))
    facts_left = services.settings.max_facts - (
        0 if has_summary else max(1, services.settings.max_facts // 8)
    )
    left -= sum(dossier.tokens(f"# {BY_NAME[d.name].title}: {d.feature}\n\n") for d in drafts)
    codebase = int(limit * CODEBASE_SHARE)
    kept: dict[tuple[int, int, int], float] = {}
    opened: set[tuple[int, int]] = set()
    cited: dict[int, set[str]] = {}  # paths that each draft has written out
    for candidate in sorted(_candidates(drafts, ranks), key=lambda c: -c.score):
        draft, section = (
            drafts[candidate.draft],
            drafts[candidate.draft].sections[candidate.section],
        )
        known = cited.setdefault(candidate.draft, set())
        item = section.items[candidate.item]
        cost = _cost(item, known)
        if (candidate.draft, candidate.section) not in opened:
            cost += dossier.tokens(
                f"\n## {section.heading}\nSource: {section.source}\n"
                if section.source
                else f"\n## {section.heading}\n"
            )
        is_fact = isinstance(item, Fact)
        if (
            cost > left
            or (is_fact and facts_left < 1)
            or (draft.name == "codebase.md" and cost > codebase)
        ):
            continue
        left -= cost
        facts_left -= is_fact
        codebase -= cost if draft.name == "codebase.md" else 0
        opened.add((candidate.draft, candidate.section))
        known |= {_path(source) for source in (item.sources if isinstance(item, Fact) else ())}
        kept[candidate.draft, candidate.section, candidate.item] = candidate.score
    fitted = _trimmed(services, drafts, kept, whole)
    standing = {(draft.name, fact.text) for draft, _, fact in dossier.all_facts(fitted)}
    held = [v for v in verdicts if (v.file, v.fact.text) in standing]
    return fitted, held, len(verdicts) - len(held)


def _candidates(drafts: list[Draft], ranks: Mapping[str, float]) -> Iterable[_Candidate]:
    for d, draft in enumerate(drafts):
        order: dict[bool, int] = {}
        rows = [
            (s, i, item)
            for s, section in enumerate(draft.sections)
            for i, item in enumerate(section.items)
        ]
        # Sections take turns: the first of each counts before the second of any.
        rows.sort(key=lambda row: (row[1], row[0]))
        for s, i, item in rows:
            gap = isinstance(item, Fact) and any(
                source.startswith("absent:") for source in item.sources
            )
            place = order[gap] = order.get(gap, -1) + 1
            weight = 0.98 if gap else WEIGHT[draft.name]
            rank, cost = ranks.get(item.text) if isinstance(item, Fact) else None, _cost(item)
            score = weight * DECAY**place if rank is None else rank * (FAIR / max(cost, 1)) ** DEAR
            yield _Candidate(score, d, s, i, cost)


def _cost(item: Fact | Fence, known: Collection[str] = ()) -> int:
    """About how many tokens an item takes, where these paths are written out already."""
    if isinstance(item, Fence):
        return dossier.tokens("\n".join(item.lines) + "\n```\n```\n")
    shown, told = [], set(known)
    for source in item.sources:
        path = _path(source)
        shown.append(source.replace(path, path.rpartition("/")[2], 1) if path in told else source)
        told.add(path)
    return dossier.tokens(f"- {item.text} ({', '.join(shown)})\n")


def _path(source: str) -> str:
    """The path of a source in the tree, as it stands in it; nothing for the others."""
    return (
        ""
        if source.startswith(("absent:", "commit:"))
        else source.partition("::")[0].rpartition(":")[0]
    )


def _trimmed(
    services: Services, drafts: list[Draft], kept: dict[tuple[int, int, int], float], limit: int
) -> list[Draft]:
    """The drafts as chosen; what the estimates took for less than it is goes again, lowest first."""
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
