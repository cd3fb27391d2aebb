"""The static builder: writes findings into the dossier without a model, account or network."""

from collections.abc import Collection, Iterable, Sequence

from preread.dossier import fact_text, markdown, sources
from preread.dossier.sources import Ref
from preread.infra import atomic
from preread.layout import FILES, REQUIRED
from preread.models import Draft, Evidence, Fact, Fence, Finding, Order, Outcome, Request, Section
from preread.services import Services

MAP_VERSION = "16"  # raise it when rules or their sections change, so that dossiers are rebuilt
BEFORE = "Before you write"
URGENT = ("failing", "reverts")  # rules whose first finding the summary links to
TAGS = {
    "C#": "csharp",
    "TypeScript": "ts",
    "TSX": "tsx",
    "JavaScript": "js",
}  # fence tags; default: the language's name


class StaticBuilder:
    """Writes every finding; the check cuts and counts what exceeds the budget."""

    name = "static"

    async def build(self, services: Services, order: Order) -> Outcome:
        import anyio.to_thread

        await anyio.to_thread.run_sync(_write, services, order)
        return Outcome()


def _write(services: Services, order: Order) -> None:
    services.progress.say("writing the drafts", 4, 5)
    for draft in drafts(order.request, order.evidence):
        if draft.name in order.files:
            atomic.write(order.staging / draft.name, markdown.render(draft).encode())


def drafts(request: Request, evidence: Evidence) -> list[Draft]:
    """Every file with facts, and the required ones."""
    found = [*evidence.findings, *_pointers(evidence), *_run_command(evidence)]
    made = []
    for row in FILES:
        findings_of_file = [finding for finding in found if finding.file == row.name]
        if findings_of_file or row.name in REQUIRED:
            paths = {ranked.path for ranked in (*evidence.files, *evidence.tests)}
            draft = Draft(row.name, request.feature, tuple(_sections(findings_of_file, paths)))
            # Reading it back adds the sources cited inside the text.
            made.append(markdown.parse(row.name, request.feature, markdown.render(draft))[0])
    return made


def _sections(findings: Iterable[Finding], paths: Collection[str]) -> Iterable[Section]:
    """The findings by heading; a path that is not a valid source as a heading gets a `Source:`."""
    grouped: dict[str, list[Finding]] = {}
    for finding in findings:
        grouped.setdefault(finding.section, []).append(finding)
    for heading, own in grouped.items():
        source = markdown.heading_source(heading)
        if not source and heading in paths:
            source = str(Ref("path", heading))
        yield from _fences(heading, own)
        facts = {f.text: Fact(f.text, f.sources) for f in own if not f.fence}
        if facts:
            yield Section(heading, tuple(facts.values()), source)


def _fences(heading: str, findings: Sequence[Finding]) -> Iterable[Section]:
    """Code shown in full, each block in a section with its source."""
    from preread.languages import language_of

    for finding in findings:
        if not finding.fence:
            continue
        ref = sources.parse(finding.sources[0])
        language = language_of(ref.path) if ref is not None else None
        tag = TAGS.get(language.name, language.name.lower()) if language is not None else ""
        rows = [line for line in finding.fence if line.strip()]
        indent = min((len(row) - len(row.lstrip()) for row in rows), default=0)
        lines = tuple(line[indent:] for line in finding.fence)
        yield Section(heading, (Fence(tag, lines),), finding.sources[0])


def _pointers(evidence: Evidence) -> list[Finding]:
    """The reading list of the summary: where the most urgent findings are."""
    found = []
    for rule in URGENT:
        first = next((one for one in evidence.findings if one.rule == rule), None)
        quoted = fact_text.quotes(first.text) if first is not None else []
        if first is not None and quoted:
            text = f"{first.section}: {fact_text.code(quoted[0])}, see {first.file}"
            update = {"file": "summary.md", "section": BEFORE, "text": text, "score": 1.0}
            found.append(first.model_copy(update=update))
    return found


def _run_command(evidence: Evidence) -> list[Finding]:
    """The first command that runs the feature's tests, repeated in the summary."""
    first = next((one for one in evidence.findings if one.rule == "run"), None)
    if first is None:
        return []
    command = first.text.partition(";")[0]
    update = {"file": "summary.md", "text": command, "sources": first.sources[:1]}
    return [first.model_copy(update=update)]
