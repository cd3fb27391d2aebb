"""Warnings in replies about what people wrote in a published dossier."""

from collections.abc import Iterator
from pathlib import Path

from preread.dossier import brackets, fact_text, markdown, published, sources, unread_sources
from preread.dossier.published import Published
from preread.infra.plural import counted
from preread.layout import Layout
from preread.models import Manifest

MAX_NAMED, MAX_SHOWN = 5, 160  # facts named in a warning, and characters of each


def of(layout: Layout, found: Published, manifest: Manifest) -> Iterator[str]:
    """Warnings about what cannot be verified, follows nothing, or is not read."""
    yield from _unverified(found, manifest)
    yield from _unread(found, manifest)
    yield from _unread_sources(layout.root, found, manifest)
    yield from _fences(found, manifest)
    yield from published.unknown_files(layout, manifest.feature)


def _unverified(found: Published, manifest: Manifest) -> Iterator[str]:
    """Warnings about what people wrote that is not in its sources, or has none."""
    if not (manifest.unverified or found.edited):
        return
    drafts = [markdown.parse(name, manifest.feature, text)[0] for name, text in found.texts.items()]
    unverified = [
        fact
        for draft, _, fact in markdown.all_facts(drafts)
        if not published.is_built(manifest, draft.name, fact)
        and (
            published.is_unverified(manifest, fact)
            or (not fact.sources and draft.name in found.edited)  # no build has seen it yet
        )
    ]
    for fact in unverified[:MAX_NAMED]:
        why, cited, hint = "it names no source", "", brackets.why_unread(fact.text)
        if fact.sources:
            why, cited = "its sources do not say it", f" ({', '.join(fact.sources)})"[:MAX_SHOWN]
            hint = brackets.why_not_last(fact.text)
        yield f"A person wrote this, and {why}: {fact.text[:MAX_SHOWN]}{cited}{hint}"
    if (more := len(unverified) - MAX_NAMED) > 0:
        yield (
            f"People wrote {counted(more, 'more fact')} that cannot be verified; "
            f"`preread check {manifest.feature}` lists all."
        )


def _unread(found: Published, manifest: Manifest) -> Iterator[str]:
    """Warnings about what people wrote that cites lines of files, but not as a fact."""
    edited = {*found.edited, *manifest.by_hand}
    in_conflict = [name for name in edited if _has_conflict(found.texts.get(name, ""))]
    if in_conflict:
        yield f"Git left marks of a conflict in {', '.join(sorted(in_conflict))}; resolve it there."
    unread = [
        f"{name}:{problem.line}"
        for name, text in found.texts.items()
        if name in edited
        for problem in markdown.parse(name, manifest.feature, text)[1]
        if problem.code in {"E_PROSE", "E_SECTION_SOURCE"}
        and _cites_lines(text.split("\n")[problem.line - 1])
    ]
    if unread:
        shown = ", ".join(unread[:MAX_NAMED]) + (", …" if len(unread) > MAX_NAMED else "")
        yield (
            f"These lines cite files, but are not facts, so nothing keeps them true: {shown}. "
            "A fact is one line that starts with `- ` and ends with its sources; a `Source:` line "
            "comes right after a heading that starts with `## `."
        )


def _unread_sources(root: Path, found: Published, manifest: Manifest) -> Iterator[str]:
    """Warnings about lines that people's facts name, but do not cite."""
    drafts = [
        markdown.parse(name, manifest.feature, found.texts[name])[0]
        for name in found.texts.keys() & {*found.edited, *manifest.by_hand}
    ]
    unread = [
        one
        for one in unread_sources.of_people(root, manifest, sorted(drafts, key=lambda d: d.name))
        if not published.is_unverified(manifest, one.fact)
    ]
    for one in unread[:MAX_NAMED]:
        yield f"A person wrote this, and {one.message}: {one.fact.text[:MAX_SHOWN]}"
    if (more := len(unread) - MAX_NAMED) > 0:
        yield (
            f"{counted(more, 'more fact')} of people name lines in such a way; "
            f"`preread check {manifest.feature}` lists all."
        )


def _has_conflict(text: str) -> bool:
    return any(line.startswith(("<<<<<<< ", ">>>>>>> ")) for line in text.split("\n"))


def _cites_lines(line: str) -> bool:
    refs = (sources.parse(match[0].strip("*_|[]`")) for match in fact_text.PLACE.finditer(line))
    return any(ref is not None and "." in ref.path for ref in refs)


def _fences(found: Published, manifest: Manifest) -> Iterator[str]:
    """Warnings about people's code blocks that are not in their sources."""
    lost = {key for key, is_valid in manifest.peoples_fences.items() if not is_valid}
    drafts = [
        markdown.parse(name, manifest.feature, text)[0]
        for name, text in (found.texts.items() if lost else ())
    ]
    shown = dict.fromkeys(
        f'{draft.name}, "{section.heading}" ({section.source})'
        for draft in drafts
        for section in draft.sections
        for fence in section.fences
        if fact_text.fence_key(draft.name, section, fence) in lost
    )
    for one in [*shown][:MAX_NAMED]:
        yield (
            f"A person's code block has a line that is not in its source: {one}. "
            f"See `preread check {manifest.feature}`."
        )
    if (more := len(shown) - MAX_NAMED) > 0:
        yield (
            f"{counted(more, 'more code block')} of people cannot be verified; "
            f"`preread check {manifest.feature}` lists all."
        )
