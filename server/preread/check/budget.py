"""Fit a dossier into its budget of facts and tokens: keep what ranks highest, count the rest."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from preread.dossier import anchors, basenames, fact_text, markdown, named_files, sources
from preread.layout import BY_NAME, REQUIRED
from preread.models import Draft, Fact, Fence, Section, Verdict
from preread.services import Services

CODEBASE_SHARE = 0.25  # of the budget, for what a model writes about code: it is easy to find again
# Weight of a model's facts by file: what is cheap to find again is cut first.
WEIGHT = {
    "anti-patterns.md": 1.0, "requirements.md": 0.97, "failures.md": 0.88, "patterns.md": 0.92,
    "existing-tests.md": 0.85, "codebase.md": 0.85, "summary.md": 1.0,
}  # fmt: skip
ABSENCE = 0.98  # weight of a fact that cites an absence, in any file
DECAY = 0.95  # factor for each further fact of a file
SUMMARY_FACTOR = 2.0  # the summary ranks above everything that a build writes
# What is added to the score of what a refresh finds published. Of the map's facts: only what is
# clearly better takes their room. Of a model's: only another run could find them again. What people
# wrote ranks above that, and is never cut.
PUBLISHED, DRAFTED, PERSON = 0.25, 2.0, 3.0

Key = tuple[int, int, int]  # of an item: its draft, section and place


class _Candidate(NamedTuple):
    score: float
    key: Key
    section: Section
    item: Fact | Fence
    in_codebase: bool  # counts against the share of codebase.md
    by_person: bool  # never cut


@dataclass
class _Room:
    """What is left of the budget, and what has been taken so far."""

    tokens: int
    facts: int
    codebase: int
    opened: set[tuple[int, int]] = field(default_factory=set)
    cited: dict[int, set[str]] = field(default_factory=dict)  # the paths each draft has written out

    def take(self, candidate: _Candidate) -> bool:
        """Take an item if there is room for it and its section's heading; returns whether it is."""
        draft, section, _ = candidate.key
        known = self.cited.setdefault(draft, set())
        cost = _cost(candidate.item, candidate.section, known)
        if (draft, section) not in self.opened:
            cost += fact_text.tokens(_heading(candidate.section))
        is_fact = isinstance(candidate.item, Fact)
        lacks_room = cost > self.tokens or self.facts < is_fact
        if lacks_room and not candidate.by_person:
            return False
        if candidate.in_codebase:
            if cost > self.codebase:
                return False
            self.codebase -= cost
        self.tokens -= cost
        self.facts -= is_fact
        self.opened.add((draft, section))
        known |= {_path(source) for source in getattr(candidate.item, "sources", ())}
        return True


def fit(
    services: Services,
    drafts: list[Draft],
    verdicts: list[Verdict],
    ranks: Mapping[str, float],
    people: Collection[str],
    limit: int,
    bonus: Mapping[str, float],
) -> tuple[list[Draft], list[Verdict], list[Verdict]]:
    """Keep what ranks highest in `limit` tokens; the last value is the facts that were cut.

    Facts whose ids are in `people` are never cut; `bonus` is added to the scores of those that it
    names by their texts.
    """
    found = _candidates(drafts, ranks, people, bonus)
    candidates = {one.key: one for one in sorted(found, key=lambda one: -one.score)}
    while True:
        taken = _taken(services, drafts, candidates.values(), limit)
        kept = _trimmed(services, drafts, taken, limit)
        if len(kept) == len(taken):
            break
        # Others may fit into the room of those that did not fit after all.
        candidates = {
            key: one for key, one in candidates.items() if key in kept or key not in taken
        }
    fitted = _with(drafts, kept)
    left: dict[tuple[str, str], list[Fact]] = {}
    for draft, _, fact in markdown.all_facts(fitted):
        left.setdefault((draft.name, fact.text), []).append(fact)
    remaining = [
        replace(verdict, fact=still)
        for verdict in verdicts
        if (still := _what_is_left(verdict, left.get((verdict.file, verdict.fact.text), [])))
    ]
    had_room = {(drafts[key[0]].name, one.item) for key, one in kept.items()}
    return fitted, remaining, [v for v in verdicts if (v.file, v.fact) not in had_room]


def _what_is_left(verdict: Verdict, facts: Iterable[Fact]) -> Fact | None:
    """Of the facts with the same words that are left, the one of a verdict: it may cite less."""
    same = (one for one in facts if {*one.sources} <= {*verdict.fact.sources})
    return max(same, key=lambda one: len(one.sources), default=None)


def _taken(
    services: Services, drafts: list[Draft], candidates: Iterable[_Candidate], limit: int
) -> dict[Key, _Candidate]:
    """Those for which there is room, by an estimate, in the order in which they come."""
    titles = sum(fact_text.tokens(f"# {BY_NAME[d.name].title}: {d.feature}\n\n") for d in drafts)
    room = _Room(limit - titles, services.settings.max_facts, int(limit * CODEBASE_SHARE))
    kept: dict[Key, _Candidate] = {}
    is_exact = True  # what the room says is left
    for candidate in candidates:
        is_taken = room.take(candidate)
        if not is_taken and not is_exact:
            services.progress.check()
            # Rendering shortens paths, which the estimates do not know.
            room.tokens, is_exact = limit - sum(map(_size, _with(drafts, kept))), True
            is_taken = room.take(candidate)
        if is_taken:
            kept[candidate.key] = candidate
            is_exact = False
    return kept


def _candidates(
    drafts: list[Draft],
    ranks: Mapping[str, float],
    people: Collection[str],
    bonus: Mapping[str, float],
) -> Iterable[_Candidate]:
    for number, draft in enumerate(drafts):
        places = Counter[bool]()
        is_summary, in_codebase = draft.name == "summary.md", draft.name == "codebase.md"
        # Sections take turns: the first item of each ranks before the second item of any.
        for i, s, section, item in sorted(_items(draft), key=lambda row: row[:2]):
            rank = ranks.get(item.text) if isinstance(item, Fact) else None
            by_model = rank is None  # the map's facts have ranks
            if rank is None:
                absence = _cites_absence(item)
                rank = (ABSENCE if absence else WEIGHT[draft.name]) * DECAY ** places[absence]
                places[absence] += 1
            rank *= SUMMARY_FACTOR if is_summary else 1
            rank += bonus.get(item.text, 0)
            by_person = _is_among(people, draft.name, item)
            rank += PERSON if by_person else 0
            counts = in_codebase and by_model and not by_person
            yield _Candidate(rank, (number, s, i), section, item, counts, by_person)


def _cites_absence(item: Fact | Fence) -> bool:
    return isinstance(item, Fact) and any(one.startswith("absent:") for one in item.sources)


def _is_among(people: Collection[str], name: str, item: Fact | Fence) -> bool:
    return isinstance(item, Fact) and fact_text.fact_id(name, item.text) in people


def _items(draft: Draft) -> Iterable[tuple[int, int, Section, Fact | Fence]]:
    for s, section in enumerate(draft.sections):
        for i, item in enumerate(section.items):
            yield i, s, section, item


def _heading(section: Section) -> str:
    return f"\n## {section.heading}\n" + (f"Source: {section.source}\n" if section.source else "")


def _cost(item: Fact | Fence, section: Section, known: Collection[str]) -> int:
    """Estimated tokens of an item, in a file that has already written out the `known` paths."""
    if isinstance(item, Fence):
        return fact_text.tokens("\n".join(item.lines) + "\n```\n```\n")
    inside = {anchor.source for anchor in anchors.of_fact(item, section.source)}
    shown, written = [], set(known)
    for source in item.sources:
        path = _path(source)
        if source not in inside:
            name = path.rpartition("/")[2]
            shown.append(source.replace(path, name, 1) if path in written else source)
        written.add(path)
    return fact_text.tokens(f"- {item.text} ({', '.join(shown)})\n")


def _path(source: str) -> str:
    """The path that a source cites; empty for sources without a file."""
    ref = sources.parse(source)
    return ref.path if ref is not None and ref.kind in basenames.FILE_KINDS else ""


def _trimmed(
    services: Services, drafts: list[Draft], taken: Mapping[Key, _Candidate], limit: int
) -> dict[Key, _Candidate]:
    """The taken items, or fewer if they exceed `limit` after all; the lowest-ranking go first.

    Rendering can take more tokens than estimated.
    """
    kept, allowed = dict(taken), int(limit * CODEBASE_SHARE)
    while True:
        services.progress.check()
        fitted = _with(drafts, kept)
        sizes = [*map(_size, fitted)]
        drafted = {key[0] for key, one in kept.items() if one.in_codebase}
        too_large = {number for number in drafted if sizes[number] > allowed}
        if not too_large and sum(sizes) > limit:
            too_large = set(range(len(fitted)))
        expendable = [one for one in kept.values() if one.key[0] in too_large]
        expendable = [one for one in expendable if not one.by_person]
        if not expendable:
            return kept
        del kept[min(expendable, key=lambda one: one.score).key]


def _size(draft: Draft) -> int:
    """The tokens of a draft; none if it is not written."""
    is_written = draft.sections or draft.name in REQUIRED
    return fact_text.tokens(markdown.render(draft)) if is_written else 0


def _with(drafts: list[Draft], kept: Collection[Key]) -> list[Draft]:
    """The drafts with only the kept items."""
    return [_only(draft, number, kept) for number, draft in enumerate(drafts)]


def _only(draft: Draft, number: int, kept: Collection[Key]) -> Draft:
    sections = [
        replace(
            section,
            items=tuple(item for i, item in enumerate(section.items) if (number, s, i) in kept),
        )
        for s, section in enumerate(draft.sections)
    ]
    filled = tuple(section for section in sections if section.items)
    return named_files.without_repeats(replace(draft, sections=filled))
