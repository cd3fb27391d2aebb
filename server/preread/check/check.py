"""Check drafts against every rule, and fit the valid facts into the budget."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from preread.check.budget import fit
from preread.check.checker import Checker
from preread.check.lookups import Answers, Lookups
from preread.check.replacements import without_corrected, without_replaced
from preread.check.screening import Screening
from preread.dossier import (
    anchors,
    fact_text,
    markdown,
    published,
    source_tracking,
    sources,
    unread_sources,
)
from preread.dossier.relocation import Relocator
from preread.dossier.sources import Span
from preread.gates.feature_names import is_feature
from preread.infra.secrets import Credentials
from preread.layout import REQUIRED
from preread.models import Checked, Draft, Manifest, Problem, Section, Verdict
from preread.services import Services
from preread.settings import Level

NOBODY: Mapping[fact_text.FactKey, bool] = {}
NOTHING: Mapping[str, str] = {}
NOTHING_MORE: Mapping[str, float] = {}


def check(
    services: Services,
    feature: str,
    drafts: Iterable[Draft],
    *,
    problems: Iterable[Problem] = (),
    budget: bool,
    level: Level = "standard",
    ranks: Mapping[str, float] | None = None,
    bonus: Mapping[str, float] = NOTHING_MORE,
    before: Checked | None = None,
    external: Iterable[str] = (),
    trust_published: bool = True,
    people: Mapping[fact_text.FactKey, bool] = NOBODY,
    replaced: Mapping[str, str] = NOTHING,
    subjects: Mapping[str, str] = NOTHING,
    credentials: Credentials | None = None,
) -> Checked:
    """Check drafts against every rule.

    - `problems`: what reading the drafts reported; they are part of the result.
    - `budget`: whether to cut what exceeds the level's budget of facts and tokens.
    - `ranks`: fact text -> score from 0 to 1. A fact without one ranks by its place in its file.
    - `bonus`: text of a fact or of a fence -> what is added to its score.
    - `before`: an earlier check of these drafts, whose counts are added to.
    - `external`: what configured servers answered in this run. An external source is valid when
      an answer contains it, or, with `trust_published`, when the published manifest lists it.
    - `people`: keys of facts that people wrote, each with whether its sources still exist. These
      facts are kept even if they do not check out, unless no dossier may contain them.
    - `replaced`: ids (or lasting ids) of facts to leave out, each with the id of the person's fact
      that counts instead. If that does not check out, both are kept.
    - `subjects`: what facts of the drafts are about, as in `Manifest.subjects`.
    - `credentials`: the project's secrets, if they have been read already.
    """
    lookups = Lookups(services, feature, Answers(external), trust_published=trust_published)
    screening = Screening(credentials or Credentials(services.layout.root))
    checker = Checker(services, lookups, people, screening, subjects)
    drafts = list(drafts)
    lookups.read_commits(source for one in drafts for fact in one.facts for source in fact.sources)
    checked = [checker.draft(draft) for draft in drafts]
    kept = [one.draft for one in checked]
    verdicts = [verdict for one in checked for verdict in one.verdicts]
    kept, verdicts = without_corrected(kept, verdicts)
    kept, verdicts = without_replaced(kept, verdicts, replaced, subjects)
    dropped, cut = (before.dropped, before.cut) if before else (0, 0)
    dropped += sum(one.dropped for one in checked)
    over_budget: list[Verdict] = []
    if budget:
        limit = services.settings.tokens(level)
        ranks = ranks or {}
        kept, verdicts, over_budget = fit(
            services, kept, verdicts, ranks, {id_ for id_, _ in people}, limit, bonus
        )
        cut += len(over_budget)
        checker.report_cut(over_budget, ranks)
    spans = _digests(lookups, kept, verdicts)
    kept = [d for d in kept if d.sections or d.name in REQUIRED or not budget]
    all_problems = (*map(screening.redacted, problems), *checker.problems)
    over = tuple(over_budget)
    removed = tuple(checker.removed)
    return Checked(tuple(kept), tuple(verdicts), all_problems, dropped, cut, spans, over, removed)


def _digests(
    lookups: Lookups, drafts: Iterable[Draft], verdicts: Iterable[Verdict]
) -> dict[str, str]:
    """The digest of each source's span that a verified fact, a fence or a heading cites."""
    verified = [verdict for verdict in verdicts if verdict.state != "unverified"]
    cited = {source for verdict in verified for source in verdict.fact.sources}
    sections = [section for draft in drafts for section in draft.sections]
    cited |= {one.source for one in sections if one.fences or _cites_lines(one)}
    spans = {source: lookups.span(source) for source in sorted(cited) if source}
    return {source: span.digest for source, span in spans.items() if isinstance(span, Span)}


def _cites_lines(section: Section) -> bool:
    ref = sources.parse(section.source) if section.source else None
    return ref is not None and ref.kind == "lines"


def check_unbudgeted(services: Services, feature: str, drafts: list[Draft]) -> Checked:
    """Check published drafts without cutting any; the fact index gets its states from this.

    A person's fact that does not check out counts once a build has seen it.
    """
    found = published.read(services.layout, feature) if is_feature(feature) else None
    manifest = found.manifest if found else None
    people = _peoples_facts(manifest, drafts) if manifest else NOBODY
    checked = check(
        services,
        feature,
        drafts,
        budget=False,
        people=people,
        subjects=manifest.subjects if manifest else NOTHING,
        credentials=services.credentials,
    )
    verdicts = tuple(
        one
        for one in checked.verdicts
        if one.state != "unverified" or (manifest and published.is_unverified(manifest, one.fact))
    )
    return replace(checked, verdicts=verdicts)


def check_published(
    services: Services, manifest: Manifest, drafts: Iterable[Draft], problems: Iterable[Problem]
) -> Checked:
    """Check published drafts and report everything, also what people's unverified facts lack."""
    drafts = list(drafts)
    people = _peoples_facts(manifest, drafts)
    unread = [
        Problem(one.file, one.fact.line, "E_SOURCE_FORM", one.message)
        for one in unread_sources.of_people(services.layout.root, manifest, drafts)
    ]
    relocator = Relocator(services.tree)
    for draft, section, fact in markdown.all_facts(drafts):
        key = fact_text.fact_key(draft.name, fact)
        if not people.get(key, True) and fact_text.quotes(fact.text):
            marks = source_tracking.sought(manifest, draft.name, fact)
            lost = source_tracking.find_lost(relocator, marks).lost
            own = anchors.own_quotes(fact, section.source)
            people[key] = all(own.get(one) for one in lost)  # the quotes say whether it is valid
    return check(
        services,
        manifest.feature,
        drafts,
        problems=(*problems, *unread),
        budget=False,
        people=people,
        subjects=manifest.subjects,
    )


def _peoples_facts(manifest: Manifest, drafts: Iterable[Draft]) -> dict[fact_text.FactKey, bool]:
    """The keys of the published facts that people wrote, each with whether its sources count.

    A manifest without facts does not say who wrote them, so only unverified ones must be theirs.
    """
    return {
        fact_text.fact_key(draft.name, fact): not is_unverified
        for draft, _, fact in markdown.all_facts(drafts)
        if not published.is_built(manifest, draft.name, fact)
        and ((is_unverified := published.is_unverified(manifest, fact)) or manifest.facts)
    }
