"""The static builder: findings put in their places, without a model, an account or a network."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

from preread import dossier, sources
from preread.infra import atomic
from preread.models import Draft, Evidence, Fact, Fence, Finding, Order, Outcome, Request, Section
from preread.services import Services

# How likely a reader has to keep a finding: of those above, of features left out of the fit, readers kept 90 %.
DOUBTFUL = 0.75
FEW = 30  # findings of a small project: all are told
ENOUGH = 12  # findings that a dossier is made of, however doubtful
SPARED = frozenset(
    ("command", "example", "marked", "reverted")
)  # kinds of which a reader wants all
RULES_VERSION = (
    "8"  # raise it when findings or their places change: standing dossiers are then built again
)
MOST_PER_SECTION = 12


class Place(NamedTuple):
    """Where findings of one kind go."""

    file: str
    heading: str


# The order of kinds is the order of sections in their file.
PLACES: dict[str, Place] = {
    "setup": Place("patterns.md", "Set up"),
    "act": Place("patterns.md", "Call"),
    "select": Place("patterns.md", "Select"),
    "wait": Place("patterns.md", "Wait"),
    "replace": Place("patterns.md", "Replace and stub"),
    "assert": Place("patterns.md", "Assert"),
    "example": Place("patterns.md", "A whole test"),
    "known way": Place("patterns.md", "Known ways"),
    "disagreement": Place("anti-patterns.md", "Documents and code disagree"),
    "reverted": Place("anti-patterns.md", "Tried, taken back"),
    "turned": Place("anti-patterns.md", "Dropped, switched, put back"),
    "known trap": Place("anti-patterns.md", "Known traps"),
    "inside": Place("anti-patterns.md", "Inside the functions"),
    "warning": Place("anti-patterns.md", "Warned about in the code"),
    "deprecated": Place("anti-patterns.md", "Deprecated"),
    "unread": Place("anti-patterns.md", "Never read"),
    "changed": Place("anti-patterns.md", "Changes what it is given"),
    "gap": Place("existing-tests.md", "Not covered"),
    "extend": Place("existing-tests.md", "Extend these"),
    "helper": Place("existing-tests.md", "Page objects and helpers"),
    "reported": Place("failures.md", "Failing in the latest report"),
    "failed": Place("failures.md", "Failed when it was run"),
    "again": Place("failures.md", "Fixed more than once"),
    "fix": Place("failures.md", "Fixed before"),
    "marked": Place("failures.md", "Skipped, flaky, expected to fail"),
    "criterion": Place("requirements.md", "Ticket"),
    "document": Place("requirements.md", "Documents"),
    "constant": Place("codebase.md", "Values"),
    "route": Place("codebase.md", "Routes"),
    "selector": Place("codebase.md", "Elements"),
    "setting": Place("codebase.md", "Settings"),
    "twin": Place("codebase.md", "Stands twice"),
    "caller": Place("codebase.md", "Called from outside"),
}
SYMBOLS = "symbol"  # placed by their file, a section each


class StaticBuilder:
    """Places findings but the doubted ones; what does not fit the budget is cut by the check, which counts it."""

    name = "static"

    async def build(self, services: Services, order: Order) -> Outcome:
        import anyio.to_thread

        await anyio.to_thread.run_sync(_write, services, order)
        return Outcome()


def _write(services: Services, order: Order) -> None:
    services.progress.say("writing the drafts", 4, 5)
    for draft in drafts(order.request, order.evidence):
        if draft.name in order.files:
            atomic.write(order.staging / draft.name, dossier.render(draft).encode())


def drafts(request: Request, evidence: Evidence) -> list[Draft]:
    """Every file that has facts, and the required ones; facts of a section are best first."""
    sections: dict[str, list[Section]] = defaultdict(list)
    seen: set[tuple[str, str]] = set()  # two rules can find the same
    left = set(map(id, doubted(evidence)))
    findings = [finding for finding in evidence.findings if id(finding) not in left]
    for kind, place in PLACES.items():
        unique = {
            f.text: f for f in findings if f.kind == kind and (place.file, f.text) not in seen
        }
        chosen = list(unique.values())[:MOST_PER_SECTION]
        seen.update((place.file, f.text) for f in chosen)
        if kind == "example":
            sections[place.file] += [_example(place, finding) for finding in chosen[:1]]
        elif chosen:
            sections[place.file].append(Section(place.heading, tuple(_fact(f) for f in chosen)))
    sections["codebase.md"] = (
        _by_file([f for f in findings if f.kind == SYMBOLS]) + sections["codebase.md"]
    )
    required = ("patterns.md", "codebase.md")
    names = [*required, *(name for name in sections if name not in required and sections[name])]
    return [Draft(name, request.feature, tuple(sections[name])) for name in names]


def doubted(evidence: Evidence) -> Sequence[Finding]:
    """The findings that a reader would doubt and that are left out; none of a few, and where few are sure the rest."""
    if len(evidence.findings) <= FEW:
        return ()
    doubtful = [one for one in evidence.findings if one.sure < DOUBTFUL and one.kind not in SPARED]
    return doubtful[max(0, ENOUGH - (len(evidence.findings) - len(doubtful))) :]


def left_out(evidence: Evidence, names: Collection[str]) -> int:
    """How many doubted findings these files would have held."""
    places = {kind: place.file for kind, place in PLACES.items()} | {SYMBOLS: "codebase.md"}
    return sum(places.get(finding.kind) in names for finding in doubted(evidence))


def _fact(finding: Finding) -> Fact:
    return Fact(finding.text, finding.sources)


def _example(place: Place, finding: Finding) -> Section:
    """A test shown whole, under the source that serves the fence."""
    ref = sources.parse(finding.sources[0])
    from preread.syntax.languages import language_of

    language = language_of(ref.path) if ref is not None else None
    lines = finding.fence
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    tag = (
        {"TypeScript": "ts", "TSX": "tsx", "JavaScript": "js"}.get(
            language.name, language.name.lower()
        )
        if language
        else ""
    )
    return Section(
        place.heading, (Fence(tag, tuple(line[indent:] for line in lines)),), finding.sources[0]
    )


def _by_file(findings: list[Finding]) -> list[Section]:
    """Symbols under a heading for each file, which gives its path once."""
    grouped: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        ref = sources.parse(finding.sources[0])
        if ref is not None:
            grouped[ref.path].append(finding)
    sections = []
    for path, group in grouped.items():
        base = path if sources.parse(path) is not None else sources.quoted_path(path)
        serving = base if (ref := sources.parse(base)) is not None and ref.kind == "path" else ""
        *_, parent, heading = ("", *path.split("/"))
        if sum(other.rsplit("/", 1)[-1] == heading for other in grouped) > 1:
            heading = f"{parent}/{heading}"
        sections.append(
            Section(heading, tuple(_fact(f) for f in group[:MOST_PER_SECTION]), serving)
        )
    return sections
