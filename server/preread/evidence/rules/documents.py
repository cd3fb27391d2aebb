"""The headings of the project's documents that are about the feature."""

import re
from collections.abc import Iterator

from preread.evidence import quoting
from preread.evidence.files import FileView
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View
from preread.syntax import Symbol

MAX_DOCUMENTS, MAX_HEADINGS = 5, 6
MIN_BODY = 0.5  # of a section's text, where its heading does not have the feature's name
MAX_HEADING = 80  # characters
CHANGELOG = re.compile(r"(?i)^(change|history|news|release)")


def find(view: View) -> Iterator[Found]:
    """One fact per document, its headings in their order."""
    if view.whole_project:
        return
    docs = [doc for doc in view.docs if not CHANGELOG.match(doc.path.rpartition("/")[2])]
    told: set[tuple[str, ...]] = set()  # the same document may be there for several releases
    for doc in docs[:MAX_DOCUMENTS]:
        headings = [one for one in doc.outline.symbols if _is_quotable(doc, one)]
        scores = [(one, _score(view, doc, one)) for one in headings]
        about = [(one, score) for one, score in scores if score > 0]
        best = sorted(about, key=lambda pair: -pair[1])[:MAX_HEADINGS]
        if best:
            shown = sorted(((one.name, one.start) for one, _ in best), key=lambda pair: pair[1])
            names = tuple(name for name, _ in shown)
            if names not in told:
                told.add(names)
                yield Found(quoting.in_file(doc.path, shown), (), doc.score * best[0][1])


def _is_quotable(doc: FileView, heading: Symbol) -> bool:
    """Whether a heading is short, and its line has it as its name says."""
    line = " ".join(doc.line(heading.start).split())
    is_there = " ".join(heading.name.split()) in line
    is_short = quoting.is_provable(heading.name) and len(heading.name) <= MAX_HEADING
    return is_there and is_short and quoting.can_be_anchored(heading.name)


def _score(view: View, doc: FileView, heading: Symbol) -> float:
    """How much a section is about the feature: by its heading, its document, its first lines."""
    if view.relevance.has_feature(heading.name):
        return 1.0
    own = view.relevance.of(heading.name)
    body = view.relevance.of(doc.span_text(heading.start, min(heading.end, heading.start + 8)))
    if view.relevance.has_feature(doc.path.rpartition("/")[2]):
        return 0.4 + 0.5 * own
    return 0.4 * body if body >= MIN_BODY and own else 0.0


RULE = Rule(
    name="documents",
    file="requirements.md",
    heading="Documents",
    weight=0.06,
    find=find,
    example="`Enabling Completion` docs/shell-completion.md:21, `Custom Types` :139",
)
