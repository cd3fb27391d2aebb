"""Facts that only name files, for files without a section of their own."""

from collections.abc import Collection
from dataclasses import replace

from preread.models import Draft, Fact, Fence

CODE, TESTS = "files", "test files"  # kinds of files


def likely(kind: str) -> str:
    """The text of a fact that names files of a kind."""
    return f"more {kind}, the likeliest first"


def less_likely(kind: str) -> str:
    return f"less likely {kind}"


TEXTS = frozenset(text(kind) for text in (likely, less_likely) for kind in (CODE, TESTS))


def without_repeats(draft: Draft) -> Draft:
    """The draft, in which such facts do not name files that have a section of their own."""
    if TEXTS.isdisjoint(fact.text for fact in draft.facts):
        return draft
    known = {section.source for section in draft.sections if section.items}
    sections = [
        replace(one, items=tuple(filter(None, (_rest(item, known) for item in one.items))))
        for one in draft.sections
    ]
    return replace(draft, sections=tuple(one for one in sections if one.items))


def _rest(item: Fact | Fence, known: Collection[str]) -> Fact | Fence | None:
    """The item; of a fact that only names files those that are not known, None if all are."""
    if isinstance(item, Fence) or item.text not in TEXTS:
        return item
    left = tuple(source for source in item.sources if source not in known)
    return replace(item, sources=left) if left else None
