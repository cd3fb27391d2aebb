"""The dossier format: parse markdown into sections of facts with sources, and render it back."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from preread.dossier import anchors, brackets, fact_notes, sources
from preread.dossier.basenames import FILE_KINDS, Paths
from preread.dossier.sources import Ref
from preread.layout import BY_NAME
from preread.models import Draft, Fact, Fence, Problem, Section

NO_FACTS = "No facts found."
# Possessive, so that a long line of blanks takes linear time.
FENCE = re.compile(r"(`{3,}|~{3,})\s*+([\w+-]*+)\s*+$")
COMMENT = re.compile(r"<!--(?:(?!-->).)*-->")  # a person's comment, on a line of its own


def heading_source(heading: str) -> str:
    """The source in a heading that is a path without angle brackets; else empty."""
    ref = sources.parse(heading) if "." in heading or "/" in heading else None
    return heading if ref is not None and ref.kind == "path" and ref.path == heading else ""


class _Reader:
    """Reads one file in one pass over its lines."""

    def __init__(
        self, name: str, feature: str, text: str, lost: Mapping[str, str], skipped: frozenset[int]
    ) -> None:
        self.name, self.feature = name, feature
        self.lines = [line.rstrip("\r") for line in text.split("\n")]
        self.is_dossier = name in BY_NAME
        self.skipped = skipped  # the lines of retired facts
        self.remembered: list[fact_notes.Line] = []
        self.problems: list[Problem] = []
        self.sections: list[Section] = []
        self.items: list[Fact | Fence] = []
        self.head = Section("", ())
        self.paths = Paths(lost=lost)

    def problem(self, line: int, code_: str, message: str) -> None:
        self.problems.append(Problem(self.name, line, code_, message))

    def close_section(self) -> None:
        if self.head.heading or self.items:
            self.sections.append(replace(self.head, items=tuple(self.items)))
        self.items = []

    def refs(self, parts: list[str]) -> list[Ref] | None:
        """The parts as full sources; None when one of them is not a source.

        Expands basenames, and `:12` to that line of the section's source.
        """
        found = []
        for part in parts:
            short = brackets.SHORT.fullmatch(part)
            base = sources.parse(self.head.source) if self.head.source else None
            if short and base is not None and base.path:
                ref: Ref | None = Ref("lines", base.path, int(short[1]), int(short[2] or short[1]))
            else:
                ref = sources.parse(part)
            if ref is None:
                return None
            found.append(self.paths.expand(ref, part))
        return found

    def bullet(self, number: int, bullet: str) -> None:
        """Read a bullet. In the project's knowledge, its comments are not part of the fact."""
        comments = ""
        if not self.is_dossier:
            bullet, comments = fact_notes.split(bullet)
        fact = self.fact(number, bullet)
        if fact is None or number in self.skipped:
            return
        if not self.is_dossier:
            note = fact_notes.read(comments)
            self.remembered.append(fact_notes.Line(number, fact.text, note))
        if not fact.sources:
            rule = "a fact must end with its sources in round brackets, like (src/a.py:12)"
            self.problem(number, "E_FACT_SOURCE", rule + brackets.why_unread(bullet))
        self.items.append(fact)

    def fact(self, number: int, bullet: str) -> Fact | None:
        """The fact of a bullet; None, and a problem, if it has no text."""
        stop = brackets.full_stop(bullet) if self.is_dossier else ""
        text, parts = brackets.split_sources(bullet.removesuffix(stop))
        refs = self.refs(parts) if parts else None
        if not refs:
            text, refs = bullet, []
        text, anchored = self.anchored(text)
        refs = list(dict.fromkeys((*refs, *anchored)))
        if not refs and self.head.source and (base := sources.parse(self.head.source)) is not None:
            refs = [base]
        if not text.strip():
            self.problem(number, "E_FACT_EMPTY", "a fact needs text before its sources")
            return None
        return Fact(text.strip(), tuple(str(ref) for ref in refs), number)

    def anchored(self, text: str) -> tuple[str, list[Ref]]:
        """The text with full paths in its anchors, and the anchors as sources."""
        parts, refs, end = [], [], 0
        for match, ref in anchors.anchored(text, self.head.source, self.paths.expand):
            if match["path"]:
                parts += [text[end : match.start("path")], anchors.written_path(ref.path)]
                end = match.end("path")
            refs.append(ref)
        return "".join((*parts, text[end:])), refs

    def source_line(self, number: int, value: str) -> None:
        refs = self.refs([value])
        if not refs:
            self.problem(number, "E_SECTION_SOURCE", f"`{value[:80]}` is not a source")
        elif self.items:
            message = "a `Source:` line must come right after its heading"
            self.problem(number, "E_SECTION_SOURCE", message)
        else:
            self.head = replace(self.head, source=str(refs[0]))

    def fence(self, index: int, match: re.Match[str]) -> int:
        """Read the code fence that opens at `index`; returns the index of its last line."""
        marker = match[1]
        end = index + 1
        while end < len(self.lines) and not re.fullmatch(
            rf"{re.escape(marker[0])}{{{len(marker)},}}\s*", self.lines[end]
        ):
            end += 1
        if end == len(self.lines):
            self.problem(index + 1, "E_FENCE_OPEN", "this code fence is never closed")
        if not self.head.source:
            message = "a code fence needs a `Source:` line under its section's heading"
            self.problem(index + 1, "E_FENCE_SOURCE", message)
        self.items.append(Fence(match[2], tuple(self.lines[index + 1 : end]), index + 1))
        return end

    def title(self, line: str) -> None:
        row = BY_NAME.get(self.name)
        expected = f"# {row.title}: {self.feature}" if row else "# Knowledge"
        if line.strip() != expected:
            self.problem(1, "E_TITLE", f"the first line must be `{expected}`")

    def line(self, index: int) -> int:
        """Read the line at `index`, or the fence that opens there; returns the last index read."""
        number, line = index + 1, self.lines[index]
        if match := FENCE.match(line):
            return self.fence(index, match)
        if line.startswith("## "):
            self.close_section()
            heading = line[3:].strip()
            self.head = Section(heading, (), heading_source(heading), number)
            if self.head.source:
                self.paths.add(heading)
        elif line.startswith("- ") and not self.is_dossier:
            bullet, end = fact_notes.joined(self.lines, index)
            self.bullet(number, bullet[2:].strip())
            return end - 1
        elif line.startswith("- "):
            self.bullet(number, line[2:].strip())
        elif match := re.match(r"Source:\s*(.+)", line):
            self.source_line(number, match[1].strip())
        elif line.strip() and line.strip() != NO_FACTS and not COMMENT.fullmatch(line.strip()):
            self.problem(number, "E_PROSE", _why_not(line))
        return index

    def read(self) -> Draft:
        index = 0
        self.title(self.lines[0])
        while (index := index + 1) < len(self.lines):
            index = self.line(index)
        self.close_section()
        return Draft(self.name, self.feature, tuple(self.sections))


def _why_not(line: str) -> str:
    """Why a line is not part of the format."""
    if line.startswith("#"):
        return "headings start with `## `"
    if line.lstrip().startswith("Source:"):
        return "a fact's sources are at its end, in round brackets, like (src/a.py:12)"
    return "facts start with `- `; no prose"


def parse(
    name: str,
    feature: str,
    text: str,
    *,
    retired: bool = False,
    lost: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Draft, list[Problem]]:
    """Parse one file; returns its draft, and a problem for each line that breaks the format.

    In the project's knowledge, facts that were replaced or forgotten are skipped unless `retired`.
    `lost`: the paths of basenames for which the file has no path any more, or several.
    """
    text = text.removeprefix("\ufeff")
    reader = _Reader(name, feature, text, lost, frozenset())
    draft = reader.read()
    gone = frozenset() if retired else fact_notes.retired(reader.remembered)
    if gone:
        reader = _Reader(name, feature, text, lost, gone)
        draft = reader.read()
    return draft, reader.problems


def put_source(lines: list[str], section: Section, source: str) -> None:
    """Replace the `Source:` line of a section as it was read from these lines."""
    for number in _source_lines(lines, section):
        lines[number] = f"Source: {source}"


def move_source(lines: list[str], section: Section, source: str) -> None:
    """Replace a section's source, whose path stays as it is written if it is still the same."""
    ref, old = sources.parse(source), sources.parse(section.source)
    if section.heading == section.source and not _source_lines(lines, section):
        lines[section.line - 1] = f"## {source}"
    if ref is None or old is None or ref.path != old.path or ref.kind != "lines":
        put_source(lines, section, source)
        return
    numbers = f":{ref.start}" + (f"-{ref.end}" if ref.end != ref.start else "")
    for number in _source_lines(lines, section):
        lines[number] = re.sub(r":\d+(?:-\d+)?(?=\s*$)", numbers, lines[number])


def _source_lines(lines: list[str], section: Section) -> list[int]:
    """The indices of the `Source:` lines between a section's heading and its first item."""
    first = min((item.line for item in section.items), default=len(lines) + 1)
    return [at for at in range(section.line, first - 1) if lines[at].startswith("Source:")]


def render(draft: Draft, paths: Paths | None = None) -> str:
    """Render one dossier file; parsing it gives the same sections, facts and sources.

    `paths`: how to write them if the lines are to be added to a file.
    """
    return "\n".join(_lines(draft, paths or Paths(_shared_basenames(draft)))) + "\n"


def _lines(draft: Draft, paths: Paths) -> Iterator[str]:
    yield f"# {BY_NAME[draft.name].title}: {draft.feature}"
    filled = [section for section in draft.sections if section.items]
    if not filled:
        yield from ("", NO_FACTS)
    for section in filled:
        yield from ("", f"## {section.heading}")
        base = sources.parse(section.source) if section.source else None
        if base is not None and section.source == heading_source(section.heading):
            paths.add(base.path)
        elif base is not None:
            yield f"Source: {paths.shorten(base)}"
        for item in section.items:
            if isinstance(item, Fence):
                yield from fence_lines(item)
            else:
                yield _bullet(item, base, paths)


def fence_lines(fence: Fence) -> tuple[str, ...]:
    """The lines of a fence, with marks that are longer than any backticks in it."""
    longest = max(map(len, re.findall("`+", "\n".join(fence.lines))), default=0)
    mark = "`" * max(3, longest + 1)
    return (f"{mark}{fence.language}", *fence.lines, mark)


def _shared_basenames(draft: Draft) -> set[str]:
    """The basenames that several cited files share; on their own they would be ambiguous."""
    paths: set[str] = set()
    for section in draft.sections:
        for fact in section.facts:
            cited = (*fact.sources, *(one.source for one in anchors.of_fact(fact, section.source)))
            refs = (sources.parse(text) for text in (section.source, *cited) if text)
            paths |= {ref.path for ref in refs if ref is not None and ref.kind in FILE_KINDS}
    counts = Counter(path.rpartition("/")[2] for path in paths)
    return {name for name, count in counts.items() if count > 1}


def bullet(fact: Fact, source: str, paths: Paths) -> str:
    """The line of a fact in a section with this source."""
    return _bullet(fact, sources.parse(source) if source else None, paths)


def _bullet(fact: Fact, base: Ref | None, paths: Paths) -> str:
    inside = {
        anchor.source for anchor in anchors.of_fact(fact, str(base) if base is not None else "")
    }
    # Without brackets after it, such a text would lose the brackets that it ends with.
    needs_brackets = ends_in_sources(fact.text)
    inherits = base is not None and fact.sources == (str(base),)
    cited = [one for one in fact.sources if needs_brackets or not (inherits or one in inside)]
    parts = [_part(source, base, paths) for source in cited]
    text = _shortened(fact.text, base, paths)
    return f"- {text} ({', '.join(parts)})" if parts else f"- {text}"


def _part(text: str, base: Ref | None, paths: Paths) -> str:
    """One source in a fact's brackets."""
    ref = sources.parse(text)
    if ref is None:
        raise ValueError(f"{text!r} is not a source")
    if base is not None and ref.kind == "lines" and ref.path == base.path:
        return f":{ref.start}" + (f"-{ref.end}" if ref.end != ref.start else "")
    return paths.shorten(ref)


def _shortened(text: str, base: Ref | None, paths: Paths) -> str:
    """The text with the shortest paths in its anchors that are read back as the same paths."""
    parts, end = [], 0
    for match, ref in anchors.anchored(text, str(base) if base is not None else ""):
        if match["path"]:
            short = paths.shorten(ref).rpartition(":")[0]
            whole = (
                short if anchors.written_path(short) == short else anchors.written_path(ref.path)
            )
            parts += [text[end : match.start("path")], whole]
            end = match.end("path")
    return "".join((*parts, text[end:]))


def ends_in_sources(text: str) -> bool:
    """Whether a fact's text alone would be read as a fact with sources."""
    return brackets.are_sources(brackets.split_sources(text)[1]) or bool(brackets.full_stop(text))


def all_facts(drafts: Iterable[Draft]) -> Iterator[tuple[Draft, Section, Fact]]:
    """Each fact of the drafts, with the draft and section it belongs to."""
    for draft in drafts:
        for section in draft.sections:
            for fact in section.facts:
                yield draft, section, fact
