"""Collect: a request → ranked, bounded, sourced findings."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from preread import inputs
from preread.dossier import fact_text
from preread.dossier.fact_text import INVISIBLE
from preread.evidence import failing_tests
from preread.evidence.files import FileView
from preread.evidence.novelty import novel_findings
from preread.evidence.relevance import Relevance
from preread.evidence.rule import Found, Rule
from preread.evidence.rules import RULES
from preread.evidence.thin import is_thin
from preread.evidence.view import View
from preread.gates.feature_names import PROJECT
from preread.index import gitlog, indexer
from preread.index.analysis import AnalysisCache
from preread.models import Evidence, Finding, Ranked, Request
from preread.ranking import fusion, lines
from preread.ranking.fusion import Hit
from preread.ranking.query import Query, query_of
from preread.ranking.search import Lookup
from preread.reports.history import Past
from preread.services import Services

TURN = 1_000  # tokens that a rule of weight 1 may use before its score is halved
LIMITS = {"files": 16, "tests": 14, "helpers": 4, "docs": 6}
FURTHER = 12  # files and tests after these, which a dossier names by their paths alone
RANKED = LIMITS | {kind: LIMITS[kind] + FURTHER for kind in ("files", "tests")}


def collect(services: Services, request: Request, *, located: bool = True) -> Evidence:
    """Everything the rules find for a request. Blocks; the first run reads the whole project.

    `located`: also which lines of the ranked files matter; only a model and people read that.
    """
    services.progress.say("reading the project's files", 0, 5)

    def work(connection: sqlite3.Connection) -> Evidence:
        return _collect(services, request, connection, located=located)[1]

    return indexer.use(services, work)


def collect_novel(services: Services, request: Request, earlier: str) -> tuple[Evidence, Evidence]:
    """All evidence, and of it what is about words that the `earlier` description lacks."""
    services.progress.say("reading the project's files", 0, 5)

    def work(connection: sqlite3.Connection) -> tuple[Evidence, Evidence]:
        view, evidence = _collect(services, request, connection, located=True)
        about = tuple(novel_findings(view, evidence.findings, earlier))
        return evidence, evidence.model_copy(update={"findings": about})

    return indexer.use(services, work)


def failing(services: Services, request: Request) -> list[Past]:
    """The feature's tests that ever failed, worst first, without running the rules."""
    services.progress.say("reading the project's files", 0, 2)

    def work(connection: sqlite3.Connection) -> list[Past]:
        inputs.reports(services)
        services.progress.say("looking for the feature's tests", 1, 2)
        view = viewed(services, request, connection)
        found = failing_tests.belonging(view)
        view.analyses.store()
        return found

    return indexer.use(services, work)


def viewed(services: Services, request: Request, connection: sqlite3.Connection) -> View:
    """The view of a request that rules and other users of the ranking share."""
    ticket = inputs.ticket(services.tree, request.ticket) if request.ticket else None
    query = query_of(request, ticket or "")
    analyses = AnalysisCache(services.tree, connection)
    weight = services.settings.file_meaning
    lookup = Lookup(connection, query.weights, query.text, query.scope, analyses.text, weight)
    hits, thin = _hits(request, query, lookup, analyses)
    files = {
        kind: [FileView(hit.path, services, analyses, *hit[1:]) for hit in own]
        for kind, own in hits.items()
    }
    read = {kind: own[: LIMITS[kind]] for kind, own in files.items()}
    further = {kind: own[LIMITS[kind] :] for kind, own in files.items()}
    # Each source that defines nothing, such as a template, makes room for one more.
    missing = sum(not file.outline.symbols for file in read["files"])
    more = list(islice((file for file in further["files"] if file.outline.symbols), missing))
    further["files"] = [file for file in further["files"] if file not in more]
    tests = sorted(read["tests"] + read["helpers"], key=lambda file: (-file.score, file.path))
    view = View(
        services,
        connection,
        request,
        query,
        analyses,
        Relevance(query, lookup.rarities),
        sources=[*read["files"], *more],
        tests=tests,
        docs=read["docs"],
        ranked={"files": read["files"], "tests": tests, "docs": read["docs"]},
        further=further,
        ticket=ticket or "",
        knowledge=services.tree.text(".project/knowledge.md") or "",
        thin=thin,
        notes=[*_notes(request, ticket)],
    )
    if not any(map(view.mentions_request, view.sources)):
        view.sources.clear()  # only tests or documents mention it: no code belongs to it
    return view


def _hits(
    request: Request, query: Query, lookup: Lookup, analyses: AnalysisCache
) -> tuple[dict[str, list[Hit]], bool]:
    """The ranked files by kind, and whether the feature is thin."""
    if request.feature == PROJECT:
        return _central(query, lookup, analyses), False
    hits = fusion.ranked(lookup, query, RANKED)
    if not is_thin(query, lookup, hits):
        return hits, False
    # Still show how tests are written here: fall back to central files, also where the only hits
    # are by meaning.
    lookup.meaning = 0.0
    central = _central(query, lookup, analyses)
    by_words = fusion.ranked(lookup, query, RANKED)
    return {kind: own or central[kind] for kind, own in by_words.items()}, True


def _central(query: Query, lookup: Lookup, analyses: AnalysisCache) -> dict[str, list[Hit]]:
    """The project's central files of each kind, whatever the request."""
    churn = gitlog.churn(analyses.log)
    return {
        kind: fusion.central(lookup.connection, kind, churn, LIMITS[kind], query.scope)
        for kind in fusion.ROLES
    }


def _notes(request: Request, ticket: str | None) -> Iterator[str]:
    if request.ticket and ticket is None:
        yield f"there is no .project/tickets/{request.ticket}.md"
    if request.scope:
        yield f"only files in {request.scope} are ranked"


def _collect(
    services: Services, request: Request, connection: sqlite3.Connection, *, located: bool
) -> tuple[View, Evidence]:
    services.progress.say("ranking files and tests", 0.5, 5)
    # Before the inputs are read, so that a change in between makes the dossier stale.
    used = inputs.digests(services, request)
    view = viewed(services, request, connection)
    findings: list[Finding] = []
    for number, rule in enumerate(RULES):
        done = round(0.6 + 0.4 * number / len(RULES), 3)  # the model's share begins at 1
        services.progress.say(f"collecting evidence: {rule.name}", done, 5)
        if rule.for_thin or not view.thin:
            findings += _findings(rule, rule.find(view))
    finder = lines.SpanFinder(view.query, view.query.text) if located else None
    ranked = {
        kind: tuple(_ranked(view, file, finder) for file in files)
        for kind, files in view.ranked.items()
    }
    view.analyses.store()
    evidence = Evidence(
        feature=request.feature,
        words=view.query.all,
        **ranked,
        findings=tuple(findings),
        total=len(findings),
        thin=view.thin,
        used=used,
        notes=tuple(view.notes),
    )
    return view, evidence


def _findings(rule: Rule, found: Iterable[Found]) -> list[Finding]:
    """A rule's findings in the order in which they are read, each scored by its turn.

    Every rule takes its turns in proportion to its weight, its best findings first. So a budget
    that is filled by score gives each rule its share, and the others what a rule does not use.
    A finding with the score 0 waits until no rule has a better one.
    """
    listed = [one for one in found if _is_visible(one)]
    spent, scores = 0, [0.0] * len(listed)
    for place in sorted(range(len(listed)), key=lambda n: -listed[n].score):
        one = listed[place]
        scores[place] = 1 / (1 + spent / (rule.weight * TURN)) if one.score > 0 else 0.0
        spent += fact_text.tokens("".join((one.text, *one.sources, *one.fence)))
    return [
        Finding(
            rule=rule.name,
            file=rule.file,
            section=one.section or rule.heading,
            text=one.text,
            sources=one.sources,
            score=round(score, 4),
            fence=one.fence,
            about=one.about,
        )
        for one, score in zip(listed, scores, strict=True)
    ]


def _is_visible(one: Found) -> bool:
    """Whether a reader sees all of it: no control characters, no reversed text."""
    return not any(map(INVISIBLE.search, (one.text, *one.sources, *one.fence)))


def _ranked(view: View, file: FileView, finder: lines.SpanFinder | None) -> Ranked:
    """A file as ranked, with its lines that matter if a finder is given."""
    spans = _spans(view, file, finder) if finder is not None else ()
    return Ranked(
        path=file.path,
        score=file.score,
        reasons=file.reasons,
        lines=tuple((span.start, span.end) for span in spans),
        symbols=tuple(", ".join(span.symbols) for span in spans),
    )


def _spans(view: View, file: FileView, finder: lines.SpanFinder) -> Sequence[lines.Span]:
    """The lines of a file that matter; of the whole project, its first definitions."""
    if not view.whole_project:
        return finder.spans(file.path, file.text, file.outline)
    named = [(one.start, one.end, one.name) for one in file.outline.tests]
    named += [(one.start, one.end, one.name) for one in file.outline.symbols]
    return lines.first_spans(named)
