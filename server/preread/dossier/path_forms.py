"""The paths in an edited file: in full where a basename would be read as another file."""

from collections.abc import Iterator

from preread.dossier import brackets, fact_text, markdown, sources
from preread.dossier.basenames import Paths
from preread.models import Draft, Fact, Section


def with_full_paths(text: str, draft: Draft) -> str:
    """The text with full paths where facts or fences would be parsed with other sources.

    A basename relies on an earlier line with the full path, which may be gone or further down now.
    A path that is written out can make a later basename ambiguous, which is written out next.
    """
    meant = _meant_by_line(markdown.parse(draft.name, draft.feature, text)[0], draft)
    for _ in range(len(draft.facts) + 2):  # each pass can make one more basename ambiguous
        if (now := _corrected(text, draft, meant)) == text:
            break
        text = now
    return text.rstrip("\n") + "\n"


def with_short_paths(text: str, old: str, draft: Draft) -> str:
    """The text with the paths of new lines as short as in a file that nobody edited."""
    known, lines = {*old.split("\n")}, text.split("\n")
    written = markdown.parse(draft.name, draft.feature, text)[0]
    short = markdown.render(written)
    facts = markdown.parse(draft.name, draft.feature, short)[0].facts
    of_short = short.split("\n")
    for fact, same in zip(written.facts, facts, strict=True):
        if lines[fact.line - 1] not in known:
            lines[fact.line - 1] = like(lines[fact.line - 1], of_short[same.line - 1])
    found = "\n".join(lines)
    # A heading without facts may make a basename ambiguous.
    return found if markdown.parse(draft.name, draft.feature, found)[0] == written else text


def misread(written: Draft, draft: Draft) -> dict[int, Fact]:
    """Line of each fact in a file that is read with other words or sources -> the draft's fact."""
    lines = {fact.line: fact for fact in written.facts}
    meant = _meant_by_line(written, draft)
    return {line: one for line, one in meant.items() if not _is_read_as(lines[line], one)}


def like(old: str, line: str) -> str:
    """A fact's new line, with the link `[name](src/a.py:3)` or full stop that a person wrote."""
    line = line.replace("] (", "](") if "](" in old else line
    ends_in_sources = brackets.are_sources(brackets.split_sources(line)[1])
    return line + brackets.full_stop(old.rstrip()) if ends_in_sources else line


def _meant_by_line(written: Draft, draft: Draft) -> dict[int, Fact]:
    """Line of each fact in a file -> the draft's fact that is meant, also if it is misread."""
    found: dict[int, Fact] = {}
    left = list(draft.facts)
    for is_same in (_is_read_as, _has_same_text, _differs_in_places):
        for fact in written.facts:
            same = [] if fact.line in found else [one for one in left if is_same(fact, one)]
            if same:
                found[fact.line] = same[0]
                left = [one for one in left if one is not same[0]]
    return found


def _is_read_as(fact: Fact, other: Fact) -> bool:
    return fact.text == other.text and {*fact.sources} == {*other.sources}


def _has_same_text(fact: Fact, other: Fact) -> bool:
    return fact.text == other.text


def _differs_in_places(fact: Fact, other: Fact) -> bool:
    """Whether a fact equals another one except for folders of files, and brackets not understood.

    `(:12)` is not a source in a section that has none.
    """
    texts = (fact.text, brackets.split_sources(fact.text)[0])
    return _with_names(other.text) in map(_with_names, texts)


def _with_names(text: str) -> str:
    return fact_text.PLACE.sub(lambda place: _name(place[0]), text)


def _name(place: str) -> str:
    return place.rpartition("/")[2].replace("<", "").replace(">", "")


def _corrected(text: str, draft: Draft, meant: dict[int, Fact]) -> str:
    """The text, with full paths in the lines that are not read as they are meant."""
    lines, written = text.split("\n"), markdown.parse(draft.name, draft.feature, text)[0]
    paths = in_full(draft, written)
    of_fences = {one.lines: section.source for section in draft.sections for one in section.fences}
    for section in written.sections:
        for fence in section.fences:
            source = of_fences.get(fence.lines, section.source)
            if source != section.source:
                ref = sources.parse(source)
                markdown.put_source(lines, section, paths.shorten(ref) if ref else source)
        for fact in section.facts:
            now = meant.get(fact.line)
            if now is not None and not _is_read_as(fact, now):
                line = markdown.bullet(now, section.source, paths)
                lines[fact.line - 1] = like(lines[fact.line - 1], line)
    return "\n".join(lines)


def in_full(*drafts: Draft) -> Paths:
    """The paths of drafts for one file, all of them to be written so that they are unambiguous."""
    cited = {path for one in drafts for section in one.sections for path in _paths(section)}
    paths = Paths(shared={path.rpartition("/")[2] for path in cited})
    for path in sorted(one for one in cited if "/" in one):
        paths.add(path)
    return paths


def _paths(section: Section) -> Iterator[str]:
    cited = (section.source, *(one for fact in section.facts for one in fact.sources))
    refs = (sources.parse(one) for one in cited if one)
    yield from (ref.path for ref in refs if ref is not None and ref.path)
