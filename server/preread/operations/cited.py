"""The facts of a published dossier with what proves each: state, age, and the lines it cites."""

from collections.abc import Iterable
from functools import partial
from typing import Literal

from pydantic import Field

from preread.dossier import fact_text, markdown, sources
from preread.dossier.sources import SourceError
from preread.errors import PrereadError
from preread.infra.secrets import Credentials
from preread.models import Draft, Fact, Manifest, Model, State, Verdict
from preread.operations.published_dossier import PublishedDossier
from preread.services import Services

MAX_LINES, MAX_LINE = 40, 400  # shown of one source, and characters of each line
Freshness = Literal["fresh", "changed", "gone", "unknown"]


class CitedSource(Model):
    """One source of a fact, and what it says now."""

    source: str
    freshness: Freshness = Field(
        description="Whether it still says what it said when the dossier was published; `unknown` "
        "if a person added it."
    )
    start: int = Field(0, description="The number of the first line; 0 if it has no numbers.")
    lines: tuple[str, ...] = Field((), description="The first of its lines, without secrets.")
    total: int = Field(0, description="How many lines it has.")


class CitedFact(Model):
    """One fact, and what proves it."""

    id: str
    file: str
    section: str
    line: int
    text: str
    state: State | Literal["failed"] = Field(description="`failed`: its sources are invalid.")
    confidence: float
    since: float | None = Field(
        description="When it was added or changed, in epoch seconds; none if that is not known."
    )
    sources: tuple[CitedSource, ...]


def facts(services: Services, found: PublishedDossier, drafts: Iterable[Draft]) -> list[CitedFact]:
    """The facts of these files of a dossier, in their order."""
    from preread import check  # slow to import, and `show` needs it only here

    chosen = list(drafts)
    checked = check.check_unbudgeted(services, found.feature, chosen)
    verdicts = {(one.file, one.fact.line): one for one in checked.verdicts}
    since = _since(services, found.feature)
    source = partial(_source, services, Credentials(services.layout.root), found.manifest)
    built = frozenset(found.manifest.facts)

    def fact(file: str, heading: str, one: Fact) -> CitedFact:
        id_, verdict = fact_text.fact_id(file, one.text), verdicts.get((file, one.line))
        failed: Literal["failed", "unverified"] = "failed" if id_ in built else "unverified"
        return CitedFact(
            id=id_,
            file=file,
            section=heading,
            line=one.line,
            text=one.text,
            state=verdict.state if verdict else failed,
            confidence=verdict.confidence if verdict else 0.0,
            since=since.get((file, id_)),
            sources=tuple(source(verdict, each) for each in one.sources),
        )

    return [
        fact(draft.name, section.heading, one) for draft, section, one in markdown.all_facts(chosen)
    ]


def _source(
    services: Services, credentials: Credentials, manifest: Manifest,
    verdict: Verdict | None, text: str,
) -> CitedSource:  # fmt: skip
    """A source as it is now, unread if the check did not accept it: it may be a file of secrets."""
    ref = sources.parse(text)
    if ref is None or not _accepted(verdict, text):
        return CitedSource(source=text, freshness="gone")
    services.progress.check()
    if not sources.ROWS[ref.kind].local:
        return CitedSource(source=text, freshness="unknown")
    try:
        span = sources.resolve(ref, services.tree)
    except SourceError:
        return CitedSource(source=text, freshness="gone")
    known = manifest.spans.get(text)
    freshness: Freshness = "unknown" if known is None else "changed"
    lines = (credentials.without(line)[:MAX_LINE] for line in span.lines[:MAX_LINES])
    return CitedSource(
        source=text,
        freshness="fresh" if known == span.digest else freshness,
        start=ref.start if ref.kind == "lines" else 0,
        lines=tuple(lines),
        total=len(span.lines),
    )


def _accepted(verdict: Verdict | None, source: str) -> bool:
    if verdict is None or verdict.state == "unverified":
        return False
    return source in verdict.fact.sources


def _since(services: Services, feature: str) -> dict[tuple[str, str], float]:
    """When each fact was last added or reworded, by its file and id."""
    from preread.dossier import fact_history

    found: dict[tuple[str, str], float] = {}
    try:
        past = fact_history.events(services.layout, feature)
    except PrereadError:
        return {}  # it cannot be read
    for event in past:
        for change in event.changes:
            if change.now is not None:
                was = (change.was.file, change.was.id) if change.was is not None else None
                at = found.get(was, event.at) if was and change.kind == "moved" else event.at
                found[change.now.file, change.now.id] = at
    return found
