"""Check each fact and fence of a draft: its text, its sources, its state and its confidence."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from preread.check.budget import fit
from preread.check.lookups import Answers, Lookups, only_said
from preread.dossier import anchors, brackets, fact_text, markdown, published, sources, wrong_marks
from preread.dossier.sources import SourceError, Span
from preread.gates.feature_names import is_feature
from preread.infra import orders
from preread.infra.secrets import Credentials
from preread.layout import BY_NAME, REQUIRED
from preread.models import Checked, Draft, Fact, Fence, Problem, Section, State, Verdict
from preread.services import Services
from preread.settings import Level

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
NOBODY: Mapping[str, bool] = {}
NOTHING: Mapping[str, str] = {}
# Limits of one fact with its sources. A whole dossier has 8,000 characters by default.
MAX_FACT_CHARACTERS, MAX_FACT_SOURCES, MAX_FACT_QUOTES = 2000, 30, 30
MAX_FENCE_LINES = 500
# A file is checked up to this many facts, or this many times the budget if that is more.
MAX_FILE_FACTS, MAX_FILE_BUDGETS = 240, 4


class _Checker:
    """State of one check of one dossier: its source lookups and the problems found so far."""

    def __init__(
        self,
        services: Services,
        feature: str,
        lookups: Lookups,
        people: Mapping[str, bool],
        credentials: Credentials | None,
    ) -> None:
        self.services, self.feature, self.lookups = services, feature, lookups
        self.people = people
        self.credentials = credentials or Credentials(services.layout.root)
        self.problems: list[Problem] = []
        self.wrong = wrong_marks.ids(services.layout)
        self.wrong_shapes = wrong_marks.shapes(services.layout)
        self.seen: set[tuple[str, str]] = set()

    def problem(self, name: str, line: int, code: str, message: str) -> None:
        self.problems.append(Problem(name, line, code, message))

    def may_be_published(self, name: str, line: int, text: str) -> bool:
        """Report a text that contains a secret, invisible characters or orders to an assistant.

        Call this before reporting any problem whose message quotes the text.
        """
        if fact_text.INVISIBLE.search(text):
            self.problem(
                name,
                line,
                "E_UNSEEN",
                "contains control characters or others that a reader cannot see",
            )
        elif kind := self.credentials.found(text.replace("\t", "\n")):  # each part is a line
            self.problem(name, line, "E_SECRET", f"contains what looks like a secret: {kind}")
        elif order := orders.found(text):
            self.problem(name, line, "E_ORDER", f"gives orders to an assistant: it {order}")
        else:
            return True
        return False

    def has_quoted_its_orders(self, name: str, fact: Fact) -> bool:
        """Report words of a fact's own that a reader might obey, because no source proves them."""
        if found := orders.in_own_words(fact_text.own_words(fact.text)):
            message = f"says `{found}` in its own words; quote it from its source, or leave it out"
            self.problem(name, fact.line, "E_ORDER", message)
        return not found

    def redacted(self, problem: Problem) -> Problem:
        """A format problem without any secret or invisible characters that its message quotes."""
        if kind := self.credentials.found(f"{problem.path} {problem.message}"):
            path = problem.path if problem.path in BY_NAME else "a file"
            return replace(problem, path=path, message=f"contains what looks like a secret: {kind}")
        message = fact_text.INVISIBLE.sub("\N{REPLACEMENT CHARACTER}", problem.message)
        return replace(problem, message=message)

    def fact(self, name: str, section: Section, fact: Fact) -> Verdict | None:
        """The verdict on a fact, with only its valid sources; None when the fact is dropped."""
        quotes = fact_text.quotes(fact.text)
        identity = fact_text.fact_id(name, fact.text)
        place = (
            identity,
            markdown.heading_source(section.heading),
        )  # files may have equal outlines
        if place in self.seen:
            self.problem(name, fact.line, "E_FACT_TWICE", "this file already has the same fact")
            return None
        if not self.is_acceptable(name, fact, quotes, identity):
            return None
        self.seen.add(place)
        spans: dict[str, Span] = {}
        is_refuted = False  # by a text that it says is absent; other sources do not make up for it
        for source in fact.sources:
            found = self.lookups.span(source)
            if isinstance(found, SourceError):
                is_refuted |= found.code == "E_SOURCE_PRESENT"
                near = [
                    f"; `{q[:80]}` is at {at}" for q in quotes if (at := self.places(q, [source]))
                ]
                self.problem(name, fact.line, found.code, "".join((str(found), *near)))
            else:
                spans[source] = found
        is_there = self.people.get(identity, True) and not is_refuted
        if is_there and spans and self.quotes_check_out(name, section, fact, spans):
            state, valid = _state(fact.text, spans), replace(fact, sources=tuple(spans))
        elif identity in self.people:
            state, valid = "unverified", fact
        else:
            return None
        row = BY_NAME.get(name)
        confidence = CONFIDENCE[state] * (KIND_FACTOR[row.kind] if row else 1.0)
        return Verdict(name, section.heading, valid, state, round(confidence, 2))

    def quotes_check_out(
        self, name: str, section: Section, fact: Fact, spans: Mapping[str, Span]
    ) -> bool:
        """Whether each quote is in a source, and those with a line on it; reports each miss."""
        if only_said(spans):
            is_known = name not in BY_NAME or self.lookups.is_known(fact.text)
            if not is_known:
                message = "is not in .project/knowledge.md, or not any more"
                self.problem(name, fact.line, "E_SOURCE_SAID", message)
            return is_known
        misplaced = [
            (anchor.quote, f"is not at {anchor.source}", [anchor.source])
            for anchor in anchors.of_fact(fact, section.source)
            if not self.is_in(anchor.quote, spans, [anchor.source])
        ]
        missing = [
            (quote, "does not appear in any of its sources", [*fact.sources])
            for quote in dict.fromkeys(fact_text.quotes(fact.text))
            if not self.is_in(quote, spans, spans) and quote not in {row[0] for row in misplaced}
        ]
        identity = fact_text.fact_id(name, fact.text)
        if missing and self.lookups.was_verified(identity, spans):
            missing = []
        for quote, what, places in (*misplaced, *missing):
            at = self.places(quote, places)
            hint = f"; it is at {at}" if at else brackets.why_not_last(fact.text)
            self.problem(name, fact.line, "E_QUOTE", f"`{quote[:80]}` {what}{hint}")
        return not misplaced and not missing

    def is_in(self, quote: str, spans: Mapping[str, Span], cited: Iterable[str]) -> bool:
        return any(self.lookups.contains(quote, one, spans[one]) for one in cited if one in spans)

    def places(self, quote: str, cited: Iterable[str]) -> str:
        """The lines of the cited files that have a quote, as sources; empty if there are none."""
        found = dict.fromkeys(at for one in cited for at in self.lookups.lines_with(quote, one))
        return " and ".join(f"{path}:{line}" for path, line in found)

    def is_acceptable(self, name: str, fact: Fact, quotes: list[str], identity: str) -> bool:
        """Apply the rules that need no source lookup: size, secrets, wrong marks, duplicates."""
        whole = "\t".join((fact.text, *fact.sources))
        if (
            len(whole) > MAX_FACT_CHARACTERS
            or len(fact.sources) > MAX_FACT_SOURCES
            or len(quotes) > MAX_FACT_QUOTES
        ):
            message = "is too long, or has too many sources or quotes"
            self.problem(name, fact.line, "E_FACT_LONG", message)
        elif not self.may_be_published(name, fact.line, whole):
            pass  # reported there, like the next
        elif not self.has_quoted_its_orders(name, fact):
            pass
        elif identity in self.wrong:
            self.problem(name, fact.line, "E_FACT_WRONG", f"was marked as wrong: {identity}")
        elif identity not in self.people and self.has_wrong_shape(name, fact):
            message = "was marked as wrong, with other numbers"
            self.problem(name, fact.line, "E_FACT_WRONG", message)
        else:
            return True
        return False

    def has_wrong_shape(self, name: str, fact: Fact) -> bool:
        shapes = self.wrong_shapes  # mostly none
        return bool(shapes) and (name, fact_text.shape(fact.text)) in shapes

    def fence_is_valid(self, name: str, section: Section, fence: Fence) -> bool:
        """Whether a fence can be published; reports why not."""
        source = section.source
        found = (
            self.lookups.span(source)
            if source
            else SourceError("E_FENCE_SOURCE", "a fence needs a source")
        )
        if isinstance(found, SourceError):
            self.problem(name, fence.line, found.code, str(found))
            return False
        if len(fence.lines) > MAX_FENCE_LINES:
            message = f"has more than {MAX_FENCE_LINES} lines"
            self.problem(name, fence.line, "E_FENCE_LONG", message)
            return False
        if not self.may_be_published(name, fence.line, "\t".join((fence.language, *fence.lines))):
            return False
        for i, line in enumerate(fence.lines, 1):
            if line.strip() and not self.lookups.contains(line.strip(), source, found):
                message = f"this line does not appear in {source}"
                self.problem(name, fence.line + i, "E_FENCE_LINE", message)
                return False
        return True

    def draft(self, draft: Draft) -> tuple[Draft, list[Verdict], int]:
        """Check a draft: what is valid of it, its verdicts, and how many facts were dropped."""
        sections: list[Section] = []
        verdicts: list[Verdict] = []
        limit = max(MAX_FILE_FACTS, MAX_FILE_BUDGETS * self.services.settings.max_facts)
        # The project's knowledge has no budget.
        left = limit if draft.name in BY_NAME else None
        for section in draft.sections:
            items: list[Fact | Fence] = []
            heading = f"{section.heading}\t{section.source}"
            if not self.may_be_published(draft.name, section.line, heading):
                continue
            for item in section.items:
                if left is not None and (left := left - 1) < 0:
                    if left == -1:
                        message = "has far more facts than a dossier may have; the rest is dropped"
                        self.problem(draft.name, item.line, "E_FILE_LONG", message)
                elif isinstance(item, Fence):
                    items += [item] if self.fence_is_valid(draft.name, section, item) else []
                elif (verdict := self.fact(draft.name, section, item)) is not None:
                    items.append(verdict.fact)
                    verdicts.append(verdict)
            is_valid = section.source and isinstance(self.lookups.span(section.source), Span)
            source = section.source if is_valid else ""
            sections.append(replace(section, items=tuple(items), source=source))
        valid = replace(draft, sections=tuple(section for section in sections if section.items))
        return valid, verdicts, len(draft.facts) - len(verdicts)

    def name_cut(
        self, valid: list[Verdict], left: list[Verdict], ranks: Mapping[str, float]
    ) -> None:
        """Report the facts that the budget cut; those with a rank are found again at no cost."""
        remaining = {(verdict.file, verdict.fact.text) for verdict in left}
        for file, fact in ((verdict.file, verdict.fact) for verdict in valid):
            if (file, fact.text) not in remaining and fact.text not in ranks:
                self.problem(file, fact.line, "E_BUDGET", f"no room for: {fact.text[:200]}")


def _state(text: str, spans: dict[str, Span]) -> State:
    if only_said(spans):
        return "said"
    kinds = {ref.kind for source in spans if (ref := sources.parse(source)) is not None}
    if "external" in kinds:
        return "external"
    if "absent" in kinds:
        return "computed"
    return "quoted" if fact_text.quotes(text) else "located"


def check(
    services: Services,
    feature: str,
    drafts: Iterable[Draft],
    *,
    problems: Iterable[Problem] = (),
    budget: bool,
    level: Level = "standard",
    ranks: Mapping[str, float] | None = None,
    before: Checked | None = None,
    external: Iterable[str] = (),
    trust_published: bool = True,
    people: Mapping[str, bool] = NOBODY,
    replaced: Mapping[str, str] = NOTHING,
    credentials: Credentials | None = None,
) -> Checked:
    """Check drafts against every rule.

    - `problems`: what reading the drafts reported; they are part of the result.
    - `budget`: whether to cut what exceeds the level's budget of facts and tokens.
    - `ranks`: fact text -> score from 0 to 1. A fact without one ranks by its place in its file.
    - `before`: an earlier check of these drafts, whose counts are added to.
    - `external`: what configured servers answered in this run. An external source is valid when
      an answer contains it, or, with `trust_published`, when the published manifest lists it.
    - `people`: ids of facts that people wrote, each with whether its sources are still there.
      These facts are kept even if they no longer check out.
    - `replaced`: ids of facts to leave out (or their lasting ids), each with that of the person's
      fact that counts instead. If that does not check out, both are kept.
    - `credentials`: the project's secrets, if they were read just now.
    """
    lookups = Lookups(services, feature, Answers(external), trust_published=trust_published)
    checker = _Checker(services, feature, lookups, people, credentials)
    drafts = list(drafts)
    lookups.read_commits(source for one in drafts for fact in one.facts for source in fact.sources)
    kept, verdicts, dropped = [], [], before.dropped if before else 0
    for draft in drafts:
        valid, found, invalid = checker.draft(draft)
        kept.append(valid)
        verdicts += found
        dropped += invalid
    if replaced:
        kept, verdicts = _without_replaced(kept, verdicts, replaced)
    cut = before.cut if before else 0
    if budget:
        limit = services.settings.tokens(level)
        ranks, before_cut = ranks or {}, verdicts
        kept, verdicts, more = fit(services, kept, before_cut, ranks, people, limit)
        cut += more
        checker.name_cut(before_cut, verdicts, ranks)
    checked = [verdict for verdict in verdicts if verdict.state != "unverified"]
    cited = {source for verdict in checked for source in verdict.fact.sources}
    cited |= {
        s.source
        for d in kept
        for s in d.sections
        if s.source and any(isinstance(i, Fence) for i in s.items)
    }
    spans = {s: span.digest for s in sorted(cited) if isinstance(span := lookups.span(s), Span)}
    kept = [d for d in kept if d.sections or d.name in REQUIRED or not budget]
    all_problems = (*map(checker.redacted, problems), *checker.problems)
    return Checked(tuple(kept), tuple(verdicts), all_problems, dropped, cut, spans)


def _without_replaced(
    drafts: list[Draft], verdicts: list[Verdict], replaced: Mapping[str, str]
) -> tuple[list[Draft], list[Verdict]]:
    """Without the facts that a person's, which checks out, counts instead of."""
    if not replaced:
        return drafts, verdicts
    valid = {
        fact_text.fact_id(verdict.file, verdict.fact.text)
        for verdict in verdicts
        if verdict.state != "unverified"
    }
    hidden = {id_ for draft in drafts for id_, by in _instead(draft, replaced) if by in valid}

    def is_left(name: str, item: Fact | Fence) -> bool:
        return isinstance(item, Fence) or fact_text.fact_id(name, item.text) not in hidden

    left = []
    for draft in drafts:
        sections = [
            replace(one, items=tuple(item for item in one.items if is_left(draft.name, item)))
            for one in draft.sections
        ]
        left.append(replace(draft, sections=tuple(one for one in sections if one.items)))
    return left, [one for one in verdicts if is_left(one.file, one.fact)]


def _instead(draft: Draft, replaced: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The ids of the draft's facts that a person replaced, each with that of the person's fact.

    A fact with other numbers than the replaced one is meant if it is the only one of its kind.
    """
    facts = {fact_text.fact_id(draft.name, fact.text): fact for fact in draft.facts}
    lasting = {
        id_: fact_text.lasting_id(draft.name, fact.text, fact.sources)
        for id_, fact in facts.items()
        if id_ not in replaced.values()
    }
    alike = Counter(lasting.values())
    for id_, kind in lasting.items():
        if id_ in replaced or (kind in replaced and alike[kind] == 1):
            yield id_, replaced.get(id_) or replaced[kind]


def check_unbudgeted(services: Services, feature: str, drafts: list[Draft]) -> Checked:
    """Check published drafts without cutting any; the fact index gets its states from this."""
    found = published.read(services.layout, feature) if is_feature(feature) else None
    unverified = found.manifest.unverified if found and found.manifest else ()
    people = {
        fact_text.fact_id(draft.name, fact.text): False
        for draft in drafts
        for fact in draft.facts
        if fact.text in unverified
    }
    credentials = services.credentials
    return check(services, feature, drafts, budget=False, people=people, credentials=credentials)
