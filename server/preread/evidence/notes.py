"""What people wrote down: the project's knowledge, the ticket's criteria, the documents' sections."""

import re
from collections.abc import Iterator

from preread import dossier, sources
from preread.dossier import code
from preread.evidence import phrases, prose
from preread.evidence.nearness import nearness
from preread.evidence.view import FileView, View
from preread.models import Finding
from preread.syntax import Symbol

NEVER = re.compile(
    r"(?i)\b(never|don['’]?t|do not|not|avoid|trap|careful|wrong|flaky|known|only|nothing)\b"
)
CRITERIA = re.compile(
    r"(?i)accept|criteri|requirement|definition of done|expected|must|scenario|should|steps|behaviou?r"
    r"|out of scope|notes?$"
)
MOST, MOST_SECTIONS = 14, 4


def knowledge(view: View) -> Iterator[Finding]:
    """Facts of the project's knowledge.md that are about the feature or cite its files."""
    if not view.knowledge:
        return
    draft, problems = dossier.parse("knowledge.md", "", view.knowledge)
    view.notes.extend(f".project/{problem}" for problem in problems[:3])
    helpers = [file for file in view.tests if file.role == "support"]
    own = {file.path for file in (*view.sources[:6], *view.tests[:6], *helpers)}
    for section in draft.sections:
        for fact in section.facts:
            about = view.relevance(fact.text, section.heading)
            refs = [sources.parse(source) for source in fact.sources]
            cites = any(ref is not None and ref.path in own for ref in refs)
            if not fact.sources or (about < 1 and not cites):
                continue
            yield Finding(
                rule="knowledge",
                kind="known trap" if NEVER.search(fact.text) else "known way",
                text=fact.text,
                sources=fact.sources,
                reason="the project's knowledge says so",
                score=0.7 + 0.25 * min(1.0, about),
            )


def requirements(view: View) -> Iterator[Finding]:
    """The ticket's criteria, one fact each, as they are written."""
    if not view.ticket:
        return
    source = f"ticket:{view.request.ticket}"
    lines = [line.rstrip("\r") for line in view.ticket.split("\n")]
    title = next((line.lstrip("# ").strip() for line in lines if line.startswith("#")), "")
    if phrases.provable(title):
        yield _requirement(f"ticket: {phrases.quote(title, 120)}", source, 1.0)
    heading, n = "", 0
    for line in lines:
        if match := re.match(r"#{2,}\s*(.+)|\*\*(.+?)\*\*:?\s*$", line):
            heading = match[1] or match[2]
        item = re.match(r"\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s*)?(.+)", line) or re.match(
            r"\s*((?:Given|When|Then|And|But|Scenario:)\b.+)", line
        )
        if not item or n >= MOST or not (CRITERIA.search(heading) or not heading):
            continue
        text = " ".join(item[1].split())
        if len(text) < 8:
            continue
        n += 1
        outside = re.search(r"(?i)out of scope|not included|non-goals", heading)
        yield _requirement(
            f"{'out of scope: ' if outside else ''}{phrases.quote(text, 190)}",
            source,
            0.9 - 0.02 * n - (0.2 if outside else 0),
        )


def _requirement(text: str, source: str, score: float) -> Finding:
    return Finding(
        rule="requirements",
        kind="criterion",
        text=text,
        sources=(source,),
        reason="the ticket asks for it",
        score=score,
    )


def documents(view: View) -> Iterator[Finding]:
    """Sections of the project's documents about the feature, where no sentence of them is told."""
    n = 0
    if prose.limits(view) and not view.whole_project:
        return
    for doc in view.docs:
        if prose.OTHER_DOCS.search(doc.path):
            continue
        for symbol in doc.outline.symbols:
            named = view.relevance(symbol.name) if not view.whole_project else 0.5
            at_home = view.relevance(doc.path) >= 1 and not view.whole_project
            if not view.whole_project and not _is_about(view, doc, symbol):
                continue
            if (
                n >= MOST_SECTIONS
                or symbol.end - symbol.start > 200
                or not phrases.provable(symbol.name)
                or (named < 1 and not at_home)
            ):
                continue
            if view.whole_project and n >= 4:
                return
            n += 1
            yield Finding(
                rule="documents",
                kind="document",
                text=code(symbol.name),
                sources=(
                    doc.cite(symbol.start, min(symbol.end, len(doc.lines))),
                ),  # a final line end is no line
                reason="a section of the documents about the feature",
                score=0.4 + 0.2 * named + doc.score * 0.1,
            )


def _is_about(view: View, doc: FileView, section: Symbol) -> bool:
    """Whether a section says the feature's name itself, in its heading or below."""
    return nearness(view).named_in("\n".join(doc.lines[section.start - 1 : section.end]))
