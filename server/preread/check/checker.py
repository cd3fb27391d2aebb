"""Check each fact and fence of a draft: its text, its sources, its state and its confidence."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import NamedTuple

from preread.check.lookups import Lookups, only_said
from preread.check.screening import Rejection, Screening, orders_in_own_words
from preread.dossier import anchors, brackets, fact_text, markdown, sources, wrong_marks
from preread.dossier.sources import SourceError, Span
from preread.layout import BY_NAME
from preread.models import Draft, Fact, Fence, Problem, Section, State, Verdict
from preread.services import Services

# Confidence by state. KIND_FACTOR lowers it for kinds of facts that interpret what they cite.
CONFIDENCE: dict[State, float] = {
    "computed": 0.95,
    "quoted": 0.9,
    "external": 0.7,
    "located": 0.4,
    "said": 0.3,
    "unverified": 0.2,
}
KIND_FACTOR: dict[str, float] = {
    "requirement": 1.0,
    "code": 1.0,
    "test": 1.0,
    "failure": 0.95,
    "pattern": 0.95,
    "trap": 0.9,
    "summary": 0.9,
}
# Limits of one fact with its sources. A whole dossier has 8,000 characters by default.
MAX_FACT_CHARACTERS, MAX_FACT_SOURCES, MAX_FACT_QUOTES = 2000, 30, 30
MAX_FENCE_LINES = 500
# A file is checked up to this many facts, or this many times the budget if that is more.
MAX_FILE_FACTS, MAX_FILE_BUDGETS = 240, 4


class CheckedDraft(NamedTuple):
    """The valid part of a draft, the verdicts on its facts, and how many facts were dropped."""

    draft: Draft
    verdicts: list[Verdict]
    dropped: int


class _Miss(NamedTuple):
    """A quote that is not where it should be, and the sources whose files may contain it."""

    quote: str
    message: str
    cited: list[str]


class Checker:
    """State of one check of one dossier: its source lookups and the problems found so far."""

    def __init__(
        self,
        services: Services,
        lookups: Lookups,
        people: Mapping[fact_text.FactKey, bool],
        screening: Screening,
        subjects: Mapping[str, str],
    ) -> None:
        self.services, self.lookups = services, lookups
        self.people, self.screening, self.subjects = people, screening, subjects
        self.problems: list[Problem] = []
        self.removed: list[Problem] = []  # facts of people that no dossier may contain
        self._wrong = wrong_marks.ids(services.layout)
        self._wrong_shapes = wrong_marks.shapes(services.layout)
        self._wrong_subjects = wrong_marks.subjects(services.layout)
        self._seen: set[tuple[fact_text.FactKey, str]] = set()

    def draft(self, draft: Draft) -> CheckedDraft:
        """Check a draft."""
        sections: list[Section] = []
        verdicts: list[Verdict] = []
        numbers = count(1)
        for section in draft.sections:
            heading = f"{section.heading}\t{section.source}"
            rejection = self.screening.rejection(heading)
            if self._report(draft.name, section.line, rejection):
                for fact in section.facts:
                    self._note_removed(draft.name, fact, rejection)
                continue
            valid = list(self._valid_items(draft.name, section, numbers))
            verdicts += [one for one in valid if isinstance(one, Verdict)]
            items = tuple(one.fact if isinstance(one, Verdict) else one for one in valid)
            is_valid = section.source and isinstance(self.lookups.span(section.source), Span)
            source = section.source if is_valid else ""
            sections.append(replace(section, items=items, source=source))
        kept = replace(draft, sections=tuple(section for section in sections if section.items))
        return CheckedDraft(kept, verdicts, len(draft.facts) - len(verdicts))

    def report_cut(self, cut: Iterable[Verdict], ranks: Mapping[str, float]) -> None:
        """Report the facts that the budget cut, except ranked ones, which the map finds again."""
        for file, fact in ((verdict.file, verdict.fact) for verdict in cut):
            if fact.text not in ranks:
                self._problem(file, fact.line, "E_BUDGET", f"no room for: {fact.text[:200]}")

    def _problem(self, name: str, line: int, code: str, message: str) -> None:
        self.problems.append(Problem(name, line, code, message))

    def _report(self, name: str, line: int, rejection: Rejection | None) -> bool:
        """Report a rejection; returns whether there is one."""
        if rejection is not None:
            self._problem(name, line, *rejection)
        return rejection is not None

    def _note_removed(self, name: str, fact: Fact, rejection: Rejection | None) -> None:
        key = fact_text.fact_key(name, fact)
        if rejection is not None and key in self.people:
            self.removed.append(Problem(name, fact.line, *rejection))

    def _valid_items(
        self, name: str, section: Section, numbers: Iterator[int]
    ) -> Iterator[Verdict | Fence]:
        """The verdicts on a section's facts, and its fences; `numbers` counts a file's items."""
        limit = max(MAX_FILE_FACTS, MAX_FILE_BUDGETS * self.services.settings.max_facts)
        is_limited = name in BY_NAME  # the project's knowledge has no budget
        for item, number in zip(section.items, numbers, strict=False):
            if is_limited and number > limit:
                if number == limit + 1:
                    message = "has far more facts than a dossier may have; the rest is dropped"
                    self._problem(name, item.line, "E_FILE_LONG", message)
            elif isinstance(item, Fence):
                yield from [item] if self._is_valid_fence(name, section, item) else []
            elif (verdict := self._verdict(name, section, item)) is not None:
                yield verdict

    # -- facts

    def _verdict(self, name: str, section: Section, fact: Fact) -> Verdict | None:
        """The verdict on a fact, with only its valid sources; None when the fact is dropped."""
        identity = fact_text.fact_id(name, fact.text)
        key = fact_text.fact_key(name, fact)
        heading = markdown.heading_source(section.heading)  # files may have equal outlines
        place = (key if key in self.people else (identity, frozenset()), heading)
        rejection = (
            Rejection("E_FACT_TWICE", "this file already has the same fact")
            if place in self._seen
            else self._rejection(name, fact, key)
        )
        if self._report(name, fact.line, rejection):
            if place not in self._seen:
                self._note_removed(name, fact, rejection)
            return None
        self._seen.add(place)
        spans = self._spans(name, fact)
        sources_exist = self.people.get(key, True)
        if key in self.people and len(spans) < len({*fact.sources}):
            sources_exist = False  # it stays as it is, and is not shown to be true
        if spans and sources_exist and self._quotes_check_out(name, section, fact, spans):
            state, valid = _state(fact.text, spans), replace(fact, sources=tuple(spans))
        elif key in self.people:
            state, valid = "unverified", fact
        else:
            return None
        row = BY_NAME.get(name)
        confidence = CONFIDENCE[state] * (KIND_FACTOR[row.kind] if row else 1.0)
        is_persons = key in self.people
        return Verdict(name, section.heading, valid, state, round(confidence, 2), is_persons)

    def _rejection(self, name: str, fact: Fact, key: fact_text.FactKey) -> Rejection | None:
        """What is wrong with a fact by the rules that need no source lookup."""
        whole = "\t".join((fact.text, *fact.sources))
        return (
            _too_large(fact, whole)
            or self.screening.rejection(whole)
            or (None if key in self.people else orders_in_own_words(fact))
            or self._wrong_mark(name, fact, key)
        )

    def _wrong_mark(self, name: str, fact: Fact, key: fact_text.FactKey) -> Rejection | None:
        if key[0] in self._wrong:
            return Rejection("E_FACT_WRONG", f"was marked as wrong: {key[0]}")
        if key in self.people:
            return None
        if self.subjects.get(key[0]) in self._wrong_subjects:
            return Rejection("E_FACT_WRONG", "was marked as wrong, with other details")
        shapes = self._wrong_shapes  # mostly none
        if shapes and (name, fact_text.shape(fact.text)) in shapes:
            return Rejection("E_FACT_WRONG", "was marked as wrong, with other numbers")
        return None

    def _spans(self, name: str, fact: Fact) -> dict[str, Span]:
        """A fact's valid sources with their spans; the others are reported.

        Returns none at all if the fact states the absence of something that exists: its other
        sources do not make up for that.
        """
        found = {source: self.lookups.span(source) for source in fact.sources}
        quotes = fact_text.quotes(fact.text)
        for source, error in found.items():
            if isinstance(error, SourceError):
                places = {quote: self._places(quote, [source]) for quote in quotes}
                near = [f"; `{quote[:80]}` is at {at}" for quote, at in places.items() if at]
                self._problem(name, fact.line, error.code, "".join((str(error), *near)))
        if any(getattr(error, "code", "") == "E_SOURCE_PRESENT" for error in found.values()):
            return {}
        return {source: span for source, span in found.items() if isinstance(span, Span)}

    def _quotes_check_out(
        self, name: str, section: Section, fact: Fact, spans: Mapping[str, Span]
    ) -> bool:
        """Whether each quote is in a source, and each anchor on its line; reports every miss."""
        if only_said(spans):
            is_known = name not in BY_NAME or self.lookups.is_known(fact.text)
            message = "is not, or no longer, in .project/knowledge.md"
            return not self._report(
                name, fact.line, None if is_known else Rejection("E_SOURCE_SAID", message)
            )
        misses = self._misses(name, section, fact, spans)
        for miss in misses:
            at = self._places(miss.quote, miss.cited)
            hint = f"; it is at {at}" if at else brackets.why_not_last(fact.text)
            message = f"`{miss.quote[:80]}` {miss.message}{hint}"
            self._problem(name, fact.line, "E_QUOTE", message)
        return not misses

    def _misses(
        self, name: str, section: Section, fact: Fact, spans: Mapping[str, Span]
    ) -> list[_Miss]:
        misplaced = [
            _Miss(anchor.quote, f"is not at {anchor.source}", [anchor.source])
            for anchor in anchors.of_fact(fact, section.source)
            if not self._is_in(anchor.quote, spans, [anchor.source])
        ]
        known = {miss.quote for miss in misplaced}
        missing = [
            _Miss(quote, "does not appear in any of its sources", [*fact.sources])
            for quote in dict.fromkeys(fact_text.quotes(fact.text))
            if not self._is_in(quote, spans, spans) and quote not in known
        ]
        if missing and self.lookups.was_verified(fact_text.fact_id(name, fact.text), spans):
            missing = []
        return [*misplaced, *missing]

    def _is_in(self, quote: str, spans: Mapping[str, Span], cited: Iterable[str]) -> bool:
        return any(self.lookups.contains(quote, one, spans[one]) for one in cited if one in spans)

    def _places(self, quote: str, cited: Iterable[str]) -> str:
        """The lines of the cited files that have a quote, as sources; empty if there are none."""
        found = dict.fromkeys(at for one in cited for at in self.lookups.lines_with(quote, one))
        return " and ".join(f"{path}:{line}" for path, line in found)

    # -- fences

    def _is_valid_fence(self, name: str, section: Section, fence: Fence) -> bool:
        """Whether a fence can be published; reports why not."""
        source = section.source
        found = self.lookups.span(source) if source else None
        if not isinstance(found, Span):
            error = found or SourceError("E_FENCE_SOURCE", "a fence needs a source")
            self._problem(name, fence.line, error.code, str(error))
            return False
        if self._report(name, fence.line, self._fence_rejection(fence)):
            return False
        for i, line in enumerate(map(str.strip, fence.lines), 1):
            if line and not self.lookups.contains(line, source, found):
                message = f"this line does not appear in {source}"
                self._problem(name, fence.line + i, "E_FENCE_LINE", message)
                return False
        return True

    def _fence_rejection(self, fence: Fence) -> Rejection | None:
        if len(fence.lines) > MAX_FENCE_LINES:
            return Rejection("E_FENCE_LONG", f"has more than {MAX_FENCE_LINES} lines")
        return self.screening.rejection("\t".join((fence.language, *fence.lines)))


def _too_large(fact: Fact, whole: str) -> Rejection | None:
    sizes = (len(whole), len(fact.sources), len(fact_text.quotes(fact.text)))
    limits = (MAX_FACT_CHARACTERS, MAX_FACT_SOURCES, MAX_FACT_QUOTES)
    if all(size <= limit for size, limit in zip(sizes, limits, strict=True)):
        return None
    return Rejection("E_FACT_LONG", "is too long, or has too many sources or quotes")


def _state(text: str, spans: dict[str, Span]) -> State:
    if only_said(spans):
        return "said"
    kinds = {ref.kind for source in spans if (ref := sources.parse(source)) is not None}
    if "external" in kinds:
        return "external"
    if "absent" in kinds:
        return "computed"
    return "quoted" if fact_text.quotes(text) else "located"
