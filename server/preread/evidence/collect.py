"""Collect: a request → ranked, bounded, sourced findings. The rules run one after the other over one view."""

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable

from preread import inputs
from preread.dossier import UNSEEN
from preread.evidence import (
    alike,
    beside,
    changelog,
    commands,
    contradictions,
    coverage,
    definitions,
    digests,
    doubts,
    failures,
    formerly,
    gaps,
    idioms,
    notes,
    prose,
    remarks,
    repairs,
    repeated,
    reversals,
    reworked,
    samples,
    scaffolding,
    shape,
    together,
    traps,
    untested,
    worth,
)
from preread.evidence.view import View, views_of
from preread.gates.feature_names import PROJECT
from preread.index import gitlog, indexer, words
from preread.index.analysis import Kept
from preread.infra import db
from preread.models import Evidence, Finding, Ranked, Request
from preread.ranking import fusion, lines, search
from preread.ranking.fusion import Hit
from preread.reports.history import Past
from preread.services import Services

BESIDE = re.compile(rf"(?i)(?:{search.SHOWS.pattern}|(?:^|/)(?:docs?_src|legacy|snippets?)/)")
VERSION = re.compile(r"(?:^|/)v(\d+)/")
MOST = {"files": 10, "tests": 10, "helpers": 5, "docs": 6}

Rule = Callable[[View], Iterable[Finding]]
RULES: tuple[Rule, ...] = (
    definitions.symbols,
    definitions.mains,
    shape.constants,
    shape.routes,
    shape.selectors,
    shape.environment,
    shape.callers,
    alike.twins,
    together.facades,
    together.listed_again,
    together.companions,
    commands.commands,
    commands.checks,
    scaffolding.fixtures,
    scaffolding.hooks,
    idioms.calls,
    idioms.keywords,
    idioms.avoided,
    samples.steps,
    samples.modules,
    samples.said_in_tests,
    samples.assertions,
    samples.example,
    coverage.groups,
    coverage.tables,
    beside.helpers,
    beside.inputs,
    gaps.unmentioned_symbols,
    gaps.unmentioned_messages,
    untested.unmentioned_members,
    gaps.unmentioned_options,
    untested.unmentioned_texts,
    untested.unmentioned_codes,
    untested.replaced_functions,
    digests.inside,
    remarks.warnings,
    traps.version_notes,
    traps.deprecated,
    contradictions.documents_against_code,
    contradictions.side_by_side,
    traps.unread_parameters,
    traps.changed_arguments,
    reversals.reverts,
    reversals.back_and_forth,
    reversals.replaced_sleeps,
    failures.failed,
    reworked.reworked,
    reworked.fixed_functions,
    repeated.repeated_fixes,
    repairs.turned_round,
    repairs.fixes,
    formerly.formerly,
    failures.marked,
    changelog.changelog,
    notes.knowledge,
    notes.requirements,
    prose.limits,
    notes.documents,
)


def collect(services: Services, request: Request) -> Evidence:
    """Everything that the rules find for a request. Blocks; cold, it reads the whole project once."""
    services.progress.say("reading the project's files", 0, 5)
    indexer.update(services)
    services.progress.say("ranking files and tests", 0.5, 5)
    return db.use(services.layout, lambda connection: _collect(services, request, connection))


def _collect(services: Services, request: Request, connection: sqlite3.Connection) -> Evidence:
    used = inputs.digests(
        services, request
    )  # before they are read: what changes meanwhile makes it stale
    view, hits, tests = _viewed(services, request, connection)
    query, kept = view.query, view.kept
    findings: list[Finding] = []
    for number, rule in enumerate(RULES):
        done = round(0.6 + 0.4 * number / len(RULES), 3)  # the model's share begins at 1
        services.progress.say(f"looking for {rule.__name__.replace('_', ' ')}", done, 5)
        findings += filter(_can_be_shown, rule(view))
    lists = {"files": hits["files"], "tests": tests, "docs": hits["docs"]}
    ranked = {name: _ranked(view, listed) for name, listed in lists.items()}
    findings = [
        one.model_copy(update={"sure": doubts.sure(view, one)}) for one in worth.weighed(findings)
    ]
    kept.store()
    return Evidence(
        feature=request.feature,
        words=query.all,
        **ranked,
        findings=tuple(findings),
        kinds=dict(Counter(finding.kind for finding in findings)),
        used=used,
        notes=tuple(view.notes),
    )


def _viewed(
    services: Services, request: Request, connection: sqlite3.Connection
) -> tuple[View, dict[str, list[Hit]], list[Hit]]:
    """What rules look at, the files that were chosen for it, and the tests and their helpers on one scale."""
    ticket = inputs.ticket(services.tree, request.ticket) if request.ticket else None
    query = fusion.query_of(request, ticket or "")
    kept = Kept(services.tree, connection)
    hits = _hits(request, query, connection, kept)
    tests = sorted(hits["tests"] + hits["helpers"], key=lambda hit: (-hit.score, hit.path))
    own = hits["files"] if request.feature == PROJECT else _own(hits["files"], query)
    view = View(
        services,
        connection,
        request,
        query,
        kept,
        sources=views_of(services, kept, own),
        tests=views_of(
            services, kept, tests if request.feature == PROJECT else _latest(tests, query)
        ),
        docs=views_of(services, kept, hits["docs"]),
        ticket=ticket or "",
        knowledge=services.tree.text(".project/knowledge.md") or "",
    )
    if request.ticket and ticket is None:
        view.notes.append(f"there is no .project/tickets/{request.ticket}.md")
    if request.scope:
        view.notes.append(f"only files in {request.scope} are ranked")
    return view, hits, tests


def _own(hits: list[Hit], query: fusion.Query) -> list[Hit]:
    """Without what only shows or precedes the feature: examples, and old versions of a file that is there, too.

    All of them where nothing else is, and what the request names.
    """
    asked = frozenset(map(words.stem, query.feature))

    def is_beside(path: str) -> bool:
        beside = BESIDE.search(path.removeprefix(query.scope))
        return beside is not None and not asked & words.stems_of(beside[0])

    return [hit for hit in _latest(hits, query) if not is_beside(hit.path)] or hits


def _latest(hits: list[Hit], query: fusion.Query) -> list[Hit]:
    """Without files of which a later version is there, told by a folder as `v3`, unless the request names that."""
    latest: dict[str, int] = {}
    for hit in hits:
        name, found = hit.path.rpartition("/")[2], VERSION.search(hit.path)
        latest[name] = max(latest.get(name, 0), int(found[1]) if found else 0)

    def is_old(path: str) -> bool:
        old = VERSION.search(path)
        if old is None or old[0].strip("/") in query.feature:
            return False
        return int(old[1]) < latest[path.rpartition("/")[2]]

    return [hit for hit in hits if not is_old(hit.path)]


def failing(services: Services, request: Request) -> list[Past]:
    """The feature's tests that ever failed, the worst first; no other rule is run."""
    services.progress.say("reading the project's files", 0, 2)
    indexer.update(services)
    inputs.reports(services)
    services.progress.say("looking for the feature's tests", 1, 2)

    def work(connection: sqlite3.Connection) -> list[Past]:
        view, _hits, _tests = _viewed(services, request, connection)
        found = failures.belonging(view)
        view.kept.store()
        return found

    return db.use(services.layout, work)


def _can_be_shown(finding: Finding) -> bool:
    """Whether a reader sees all of it: the check lets nothing else pass, and a quote cannot be mended."""
    return not any(map(UNSEEN.search, (finding.text, *finding.sources, *finding.fence)))


def _hits(
    request: Request, query: fusion.Query, connection: sqlite3.Connection, kept: Kept
) -> dict[str, list[Hit]]:
    if request.feature == PROJECT:
        churn = gitlog.churn(kept.log)
        return {
            kind: fusion.central(connection, kind, churn, MOST[kind], query.scope)
            for kind in fusion.ROLES
        }
    return fusion.ranked(connection, query, MOST, kept.text)


def _ranked(view: View, hits: list[Hit]) -> tuple[Ranked, ...]:
    wanted = lines.Wanted(view.query, f"{view.request.description}\n{view.ticket}")
    found = []
    for hit in hits:
        if view.whole_project:
            hot = [
                (h.symbol.start, h.symbol.end, h.symbol.name)
                for h in view.symbols
                if h.file.path == hit.path
            ]
            hot += [
                (h.case.start, h.case.end, h.case.name)
                for h in view.cases
                if h.file.path == hit.path
            ]
            spans = lines.firsts(hot)
        else:
            spans = wanted.spans(
                hit.path, view.services.tree.text(hit.path) or "", view.outline(hit.path)
            )
        found.append(
            Ranked(
                path=hit.path,
                score=hit.score,
                reasons=hit.reasons,
                lines=tuple((span.start, span.end) for span in spans),
                symbols=tuple(", ".join(span.symbols) for span in spans),
            )
        )
    return tuple(found)
