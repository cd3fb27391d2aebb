"""Code that people quote in a dossier's file: its `Source:` line follows it."""

from collections.abc import Container
from typing import NamedTuple

from preread.dossier import fact_text, markdown, sources
from preread.dossier.relocation import Relocator


class Followed(NamedTuple):
    """A file's text with current `Source:` lines, and the sources that have their code."""

    text: str
    sources: tuple[str, ...]


def follow(
    relocator: Relocator, name: str, feature: str, text: str, ids: Container[str]
) -> Followed:
    """Update the sources of the fences with these ids whose code is in another place of its file.

    A source that has other lines besides the fence's stays as it is.
    """
    lines, found = text.split("\n"), []
    for section in markdown.parse(name, feature, text)[0].sections:
        ref = sources.parse(section.source) if section.source else None
        fences = [one for one in section.fences if fact_text.fence_id(name, one.lines) in ids]
        if ref is None or ref.kind != "lines" or len(fences) != 1:
            continue
        now = relocator.quoted_lines(ref, fences[0].lines)
        if now is not None:
            found.append(str(now))
        if now is not None and now != ref:
            markdown.put_source(lines, section, str(now))
    return Followed("\n".join(lines), tuple(found))
