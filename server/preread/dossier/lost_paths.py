"""The paths that an edited file's facts have lost: a person removed the line that had them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import groupby, zip_longest

from preread.dossier import anchors, brackets, fact_text, markdown, path_forms, sources
from preread.dossier.basenames import FILE_KINDS, Paths
from preread.dossier.sources import Ref
from preread.models import Fact, Fence, Manifest, Section


def restored(name: str, text: str, manifest: Manifest, lost: Mapping[str, str]) -> str:
    """The text with the paths that the last load wrote.

    `lost`: the paths of basenames for which the file may have no path any more.
    """
    is_crlf = text.count("\r\n") == text.count("\n") > 0
    found = with_basenames(name, manifest.feature, text.replace("\r\n", "\n"), lost)
    found = _with_bases(name, found, manifest, lost) if manifest.cited else found
    found = found.replace("\n", "\r\n") if is_crlf else found
    return text if found.splitlines() == text.splitlines() else found


def with_basenames(name: str, feature: str, text: str, lost: Mapping[str, str]) -> str:
    """The text, with basenames written out whose only path a person or a merge removed."""
    before = markdown.parse(name, feature, text)[0]
    lines = text.split("\n")
    for old, now in zip(
        before.sections, markdown.parse(name, feature, text, lost=lost)[0].sections, strict=True
    ):
        if now.source != old.source:
            markdown.put_source(lines, now, now.source)
        for fact, whole in zip(old.facts, now.facts, strict=True):
            if (fact.text, fact.sources) != (whole.text, whole.sources):
                lines[whole.line - 1] = markdown.bullet(whole, now.source, Paths())
    return "\n".join(lines)


def _with_bases(name: str, text: str, manifest: Manifest, lost: Mapping[str, str]) -> str:
    """The text, in which builds' facts that lost their section's source have it again.

    A person renamed or removed the heading, or moved the facts below another one.
    """
    file = _File(name, text, manifest, lost)
    for section in reversed(file.draft.sections):  # a line that is added moves those after it
        found = {fact.line: base for fact, base in file.moved(section)}
        base = next(iter(found.values()), "")
        if {*found.values()} == {base} and file.can_have(base, section, found):
            file.lines.insert(section.line, f"Source: {base}")
            continue
        for items, base, after in reversed(list(_runs(section, found))):
            if base:
                file.give_paths(section, items, base, after)
    return "\n".join(file.lines)


def _runs(
    section: Section, found: Mapping[int, str]
) -> Iterator[tuple[list[Fact | Fence], str, Fact | Fence | None]]:
    """Items in a row with the same base, which is empty if they need none, and the item after."""
    runs = [
        (base, list(items))
        for base, items in groupby(section.items, key=lambda item: found.get(item.line, ""))
    ]
    for (base, items), after in zip_longest(runs, runs[1:]):
        yield items, base, after[1][0] if after else None


class _File:
    """An edited file, and what the last load wrote."""

    def __init__(self, name: str, text: str, manifest: Manifest, lost: Mapping[str, str]) -> None:
        self.draft = markdown.parse(name, manifest.feature, text)[0]
        self.lines = text.split("\n")
        self.manifest, self.lost = manifest, lost
        self.cited = {*manifest.cited}

    def moved(self, section: Section) -> Iterator[tuple[Fact, str]]:
        """Each of a section's facts that a build wrote below another source, and this source."""
        if section.source and not self._is_builds(section):
            return  # a person may have corrected the source
        for fact in section.facts:
            text = fact.text if fact.sources else brackets.without_lines(fact.text)
            if fact_text.fact_id(self.draft.name, text) not in self.manifest.facts:
                continue
            if self._is_cited(fact):
                continue
            bases = (one for one in self._bases if self._is_cited(self.with_base(fact.line, one)))
            if (base := next(bases, "")) != "":
                yield fact, base

    def _is_builds(self, section: Section) -> bool:
        """Whether a heading is a path that the last load wrote. Git merges lines below others."""
        is_merged = self.manifest.files.get(self.draft.name) == ""
        heading = fact_text.heading_id(self.draft.name, section.heading)
        is_path = bool(markdown.heading_source(section.heading))
        return is_path and heading in (self.manifest.headings or ()) and not is_merged

    def can_have(self, base: str, section: Section, found: Mapping[int, str]) -> bool:
        """Whether a section can get this source, which its `found` facts need.

        It may not change what others cite. Those that cite nothing get it if they are a minority.
        """
        if section.source or not section.line or section.fences:
            return False
        without = 0
        for fact in section.facts:
            now = self.with_base(fact.line, base).sources
            # Lines of no file are a person's new fact, which is about the section's file, too.
            is_known = not fact.sources or self.manifest.spans.keys() >= {*now}
            is_known &= now != (base,)
            without += now == (base,) != fact.sources and fact.line not in found
            if not (fact.line in found or now in {fact.sources, (base,)} or is_known):
                return False
        return without < len(found)

    def give_paths(
        self, section: Section, items: list[Fact | Fence], base: str, after: Fact | Fence | None
    ) -> None:
        """Write a path into the facts, or above them if paths in their texts would change these."""
        numbers = [item.line for item in items]
        facts = [self.with_base(number, base) for number in numbers]
        full = [_in_full(fact, base) for fact in facts]
        heading = markdown.heading_source(section.heading)
        has_heading = markdown.heading_source(base) and (after is None or heading)
        if full == facts or not has_heading:
            for number, fact in zip(numbers, full, strict=True):
                line = markdown.bullet(fact, section.source, Paths())
                self.lines[number - 1] = path_forms.like(self.lines[number - 1], line)
            return
        if after is not None:
            self.lines[after.line - 1 : after.line - 1] = ["", f"## {heading}"]
        self.lines[numbers[0] - 1 : numbers[0] - 1] = ["", f"## {base}"]

    def with_base(self, number: int, base: str) -> Fact:
        """The fact in a line as it would be read in a section with this source."""
        text = "\n".join(("", "## Section", f"Source: {base}", self.lines[number - 1]))
        draft, _ = markdown.parse(self.draft.name, self.draft.feature, text, lost=self.lost)
        [fact] = draft.facts
        return fact

    def _is_cited(self, fact: Fact) -> bool:
        return fact_text.cited_digest(self.draft.name, fact) in self.cited

    @cached_property
    def _bases(self) -> list[str]:
        """What may have been a section's source: first the files that are cited, then the lines."""
        refs = [ref for one in self.manifest.spans if (ref := sources.parse(one))]
        refs = [ref for ref in refs if ref.kind in FILE_KINDS]
        files = {str(Ref("path", ref.path)) for ref in refs}
        return [*sorted(files), *sorted({*map(str, refs)} - files)]


def _in_full(fact: Fact, base: str) -> Fact:
    """The fact with a path in each anchor, so that it does not depend on its section."""
    parts, end = [], 0
    for match, ref in anchors.anchored(fact.text, base):
        if not match["path"]:
            parts += [fact.text[end : match.start("path")], anchors.written_path(ref.path)]
            end = match.end("path")
    return replace(fact, text="".join((*parts, fact.text[end:])))
