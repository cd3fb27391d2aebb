"""Each fact and fence held to every rule: what it says, what its sources say, its state and confidence."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from preread import dossier, published, sources
from preread.check.budget import fit
from preread.check.lookups import Answers, Lookups
from preread.infra.secrets import Credentials
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
# Of one fact with its sources, and of one fence. With the default budget a whole dossier has 8,000 characters.
MOST_CHARACTERS, MOST_SOURCES, MOST_QUOTES, MOST_LINES = 2000, 30, 30, 500
MOST_FACTS, MOST_TIMES = (
    240,
    4,
)  # of one file, or so many times the budget's: what comes after is not looked at


class _Checker:
    """One check of one dossier: what its sources say, problems found so far."""

    def __init__(self, services: Services, feature: str, lookups: Lookups) -> None:
        self.services, self.feature, self.lookups = services, feature, lookups
        self.credentials = Credentials(services.layout.root)
        self.problems: list[Problem] = []
        self.wrong = published.wrong_ids(services.layout)
        self.seen: set[tuple[str, str]] = set()

    def problem(self, name: str, line: int, code: str, message: str) -> None:
        self.problems.append(Problem(name, line, code, message))

    def may_be_published(self, name: str, line: int, text: str) -> bool:
        """Whether a text holds no secret, and nothing that a reader would not see. Comes before what quotes it."""
        if dossier.UNSEEN.search(text):
            self.problem(
                name,
                line,
                "E_UNSEEN",
                "holds control characters, or others that a reader does not see",
            )
        elif kind := self.credentials.found(text):
            self.problem(name, line, "E_SECRET", f"holds what looks like a secret: {kind}")
        else:
            return True
        return False

    def shown(self, problem: Problem) -> Problem:
        """A problem that the format's rules found, without a secret or hidden characters that it may quote."""
        if kind := self.credentials.found(f"{problem.path} {problem.message}"):
            path = problem.path if problem.path in BY_NAME else "a file"
            return replace(problem, path=path, message=f"holds what looks like a secret: {kind}")
        return replace(
            problem, message=dossier.UNSEEN.sub("\N{REPLACEMENT CHARACTER}", problem.message)
        )

    def fact(self, name: str, section: Section, fact: Fact) -> Verdict | None:
        """The verdict on one fact, with only the sources that hold; None when the fact falls."""
        quotes = dossier.quotes(fact.text)
        identity = dossier.fact_id(name, fact.text)
        place = (identity, dossier.heading_source(section.heading))  # files may share an outline
        if place in self.seen:
            self.problem(name, fact.line, "E_FACT_TWICE", "the same fact stands here already")
            return None
        if not self.is_sound(name, fact, quotes, identity):
            return None
        self.seen.add(place)
        spans: dict[str, Span] = {}
        for source in fact.sources:
            found = self.lookups.span(source)
            if isinstance(found, SourceError):
                self.problem(name, fact.line, found.code, str(found))
            else:
                spans[source] = found
        if not spans or not self.anchors_check_out(name, section, fact, spans):
            return None
        missing = next(
            (
                q
                for q in quotes
                if not any(self.lookups.stands(q, s, span) for s, span in spans.items())
            ),
            "",
        )
        if missing and not self.lookups.was_verified(identity, spans):
            self.problem(
                name, fact.line, "E_QUOTE", f"`{missing[:80]}` stands in none of its sources"
            )
            return None
        state = _state(fact.text, spans)
        row = BY_NAME.get(name)
        sure = CONFIDENCE[state] * (KIND_FACTOR[row.kind] if row else 1.0)
        return Verdict(
            name, section.heading, replace(fact, sources=tuple(spans)), state, round(sure, 2)
        )

    def anchors_check_out(
        self, name: str, section: Section, fact: Fact, spans: Mapping[str, Span]
    ) -> bool:
        """Whether each name that a fact gives a line for is on that line."""
        for quote, source in dossier.anchors(fact, section.source):
            span = spans.get(source)
            if span is None or not self.lookups.stands(quote, source, span):
                message = f"`{quote[:80]}` is not at {source}"
                self.problem(name, fact.line, "E_QUOTE", message)
                return False
        return True

    def is_sound(self, name: str, fact: Fact, quotes: list[str], identity: str) -> bool:
        """What is asked of a fact before its sources are."""
        whole = " ".join((fact.text, *fact.sources))
        if (
            len(whole) > MOST_CHARACTERS
            or len(fact.sources) > MOST_SOURCES
            or len(quotes) > MOST_QUOTES
        ):
            self.problem(
                name,
                fact.line,
                "E_FACT_LONG",
                "is longer, or has more sources or quotes, than a fact can have",
            )
        elif not self.may_be_published(name, fact.line, whole):
            pass
        elif identity in self.wrong:
            self.problem(name, fact.line, "E_FACT_WRONG", f"marked as wrong before: {identity}")
        else:
            return True
        return False

    def fence_holds(self, name: str, section: Section, fence: Fence) -> bool:
        source = section.source
        found = (
            self.lookups.span(source)
            if source
            else SourceError("E_FENCE_SOURCE", "a fence needs a source")
        )
        if isinstance(found, SourceError):
            self.problem(name, fence.line, found.code, str(found))
            return False
        if len(fence.lines) > MOST_LINES:
            self.problem(
                name, fence.line, "E_FENCE_LONG", f"a fence has at most {MOST_LINES} lines"
            )
            return False
        if not self.may_be_published(name, fence.line, "\t".join((fence.language, *fence.lines))):
            return False
        for i, line in enumerate(fence.lines, 1):
            if line.strip() and not self.lookups.stands(line.strip(), source, found):
                self.problem(
                    name, fence.line + i, "E_FENCE_LINE", f"this line does not stand in {source}"
                )
                return False
        return True

    def draft(self, draft: Draft) -> tuple[Draft, list[Verdict], int]:
        """A draft with only what holds, its verdicts, and how many of its facts fell."""
        sections: list[Section] = []
        verdicts: list[Verdict] = []
        most = max(MOST_FACTS, MOST_TIMES * self.services.settings.max_facts)
        left = (
            most if draft.name in BY_NAME else None
        )  # the project's knowledge grows without a budget
        for section in draft.sections:
            items: list[Fact | Fence] = []
            if not self.may_be_published(
                draft.name, section.line, f"{section.heading}\t{section.source}"
            ):
                continue
            for item in section.items:
                if left is not None and (left := left - 1) < 0:
                    if left == -1:
                        self.problem(
                            draft.name,
                            item.line,
                            "E_FILE_LONG",
                            "has far more facts than a dossier keeps",
                        )
                elif isinstance(item, Fence):
                    items += [item] if self.fence_holds(draft.name, section, item) else []
                elif (verdict := self.fact(draft.name, section, item)) is not None:
                    items.append(verdict.fact)
                    verdicts.append(verdict)
            holds = section.source and isinstance(self.lookups.span(section.source), Span)
            sections.append(
                replace(section, items=tuple(items), source=section.source if holds else "")
            )
        held = replace(draft, sections=tuple(section for section in sections if section.items))
        return held, verdicts, len(draft.facts) - len(verdicts)


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
    external: Iterable[str] = (),
    standing: bool = True,
) -> Checked:
    """Hold drafts to every rule. `budget` cuts what is too much; `before` is an earlier check whose counts go on.

    `ranks` gives facts, by their text, a score from 0 to 1; a fact without one ranks by its place in its file.
    `external` is what configured servers answered in this run: an external source holds when it stands there, or,
    with `standing`, in the manifest of the dossier that is published.
    """
    lookups = Lookups(services, feature, Answers(external), standing=standing)
    checker = _Checker(services, feature, lookups)
    kept, verdicts, dropped = [], [], before.dropped if before else 0
    for draft in drafts:
        held, found, fell = checker.draft(draft)
        kept.append(held)
        verdicts += found
        dropped += fell
    cut = before.cut if before else 0
    if budget:
        kept, verdicts, more = fit(services, kept, verdicts, ranks or {})
        cut += more
    cited = {source for verdict in verdicts for source in verdict.fact.sources}
    cited |= {
        s.source
        for d in kept
        for s in d.sections
        if s.source and any(isinstance(i, Fence) for i in s.items)
    }
    spans = {s: span.digest for s in sorted(cited) if isinstance(span := lookups.span(s), Span)}
    kept = [d for d in kept if d.sections or d.name in REQUIRED or not budget]
    told = (*map(checker.shown, problems), *checker.problems)
    return Checked(tuple(kept), tuple(verdicts), told, dropped, cut, spans)


def judge(services: Services, feature: str, drafts: list[Draft]) -> Checked:
    """The check without a budget: what the index of facts asks for states."""
    return check(services, feature, drafts, budget=False)
