"""Write a new draft into a file that a person edited, keeping its order and its other lines."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from preread.dossier import anchors, fact_text, markdown, path_forms
from preread.models import Draft, Fact, Fence, Section

Lines = dict[int, list[str]]  # number of an old line -> its new content


def render_into(old: str, draft: Draft, keep: Container[str] = ()) -> str:
    """The old text with the draft's facts: each on its old line, new ones at their section's end.

    Facts and fences that the draft no longer has are left out, and headings that have nothing under
    them any more, except the fences and headings to `keep`, by id.
    Parsing the result gives the draft's facts.
    """
    before = markdown.parse(draft.name, draft.feature, old)[0]
    pairs = _pairs(before, draft)
    lines: Lines = {number: [line] for number, line in enumerate(old.split("\n"), 1)}
    _update_facts(before, draft, pairs, lines)
    for number in _dropped_fences(before, draft, keep):
        lines[number] = []
    _move_headings(before, draft, pairs, lines)
    _move_sources(before, draft, pairs, lines)
    added = _add_items(before, draft, pairs, lines)
    _drop_empty_sections(before, lines, keep)
    if added:
        _add_sections(before, markdown.render(replace(draft, sections=added)), lines)
    text = "\n".join(line for number in sorted(lines) for line in lines[number])
    text = path_forms.with_full_paths(text, draft)
    text = path_forms.with_short_paths(_with_own_sections(text, draft, keep), old, draft)
    is_crlf = old.count("\r\n") == old.count("\n") > 0
    return text.replace("\r\n", "\n").replace("\n", "\r\n") if is_crlf else text


def _update_facts(before: Draft, draft: Draft, pairs: Mapping[int, Fact], lines: Lines) -> None:
    """Rewrite the lines of facts that changed, and remove those of facts that are gone."""
    bases = {id(fact): section.source for _, section, fact in markdown.all_facts([draft])}
    for _, _, fact in markdown.all_facts([before]):
        now = pairs.get(fact.line)
        if now is None:
            lines[fact.line] = []
        elif (now.text, now.sources) != (fact.text, fact.sources):
            [line] = lines[fact.line]
            lines[fact.line] = [path_forms.like(line, _bullet(now, bases[id(now)]))]


def _add_items(
    before: Draft, draft: Draft, pairs: Mapping[int, Fact], lines: Lines
) -> tuple[Section, ...]:
    """Add the new items at the ends of their sections; returns what needs a new section."""
    matched = {id(fact) for fact in pairs.values()}
    added: list[Section] = []
    for section in draft.sections:
        new = [item for item in section.items if _is_new(item, before, matched)]
        home = _home_of(before, section, pairs)
        if home is not None:
            last = max((_last_line(item, lines) for item in home.items), default=home.line)
            end = lines[last]
            takes_fences = _takes_fences(home, section, lines)
            for item in new:
                if isinstance(item, Fact):
                    end.append(_bullet(item, section.source))
                elif takes_fences:
                    end += markdown.fence_lines(item)
            new = [] if takes_fences else [item for item in new if isinstance(item, Fence)]
        if new:
            added.append(replace(section, items=tuple(new)))
    return tuple(added)


def _add_sections(before: Draft, rendered: str, lines: Lines) -> None:
    """Add sections at the end, but not inside a fence that a person has not closed."""
    new = rendered.rstrip("\n").split("\n")[1:]
    for section in before.sections:
        for fence in section.fences:
            if _is_open(fence, lines):
                lines[(section.line or fence.line) - 1] += [*new, ""]
                return
    last = max(lines)
    while last > 1 and not any(map(str.strip, lines[last])):
        lines[last] = []
        last -= 1
    lines[last] += [*new, ""]


def _takes_fences(home: Section, section: Section, lines: Lines) -> bool:
    """Whether an old section can have a section's new fences: it has, or can get, their source."""
    if home.source == section.source:
        return True
    is_empty = not any(lines[item.line] for item in home.items)
    return is_empty and bool(home.source) and not markdown.heading_source(home.heading)


def _bullet(fact: Fact, base: str = "") -> str:
    """The line of a fact in a section with the source `base`; anchors need no second mention."""
    inside = {anchor.source for anchor in anchors.of_fact(fact, base)}
    is_clear = not markdown.ends_in_sources(fact.text)
    cited = [one for one in fact.sources if not (is_clear and one in inside)]
    return f"- {fact.text} ({', '.join(cited)})" if cited else f"- {fact.text}"


def _pairs(before: Draft, draft: Draft) -> dict[int, Fact]:
    """Line of each old fact -> the new fact with the same words, or else with other numbers.

    The latter in the same section, else in one that the other side does not have, as it was
    renamed, else in any.
    """
    found: dict[int, Fact] = {}
    left = [(section.heading, fact) for _, section, fact in markdown.all_facts([draft])]
    old = [(section.heading, fact) for _, section, fact in markdown.all_facts([before])]
    kept = {heading for heading, _ in old} & {heading for heading, _ in left}

    def is_renamed(one: tuple[str, Fact], other: tuple[str, Fact]) -> bool:
        return kept.isdisjoint((one[0], other[0])) and _is_shape(one[1], other[1])

    tests = (
        _same_fact, _same_place, _same_words, _same_shape, is_renamed, _same_elsewhere, _was_moved,
    )  # fmt: skip
    for is_same in tests:
        for heading, fact in old:
            if fact.line in found:
                continue
            for candidate in left:
                if is_same((heading, fact), candidate):
                    found[fact.line] = candidate[1]
                    left.remove(candidate)
                    break
    return found


def _same_fact(one: tuple[str, Fact], other: tuple[str, Fact]) -> bool:
    return _same_place(one, other) and one[1].sources == other[1].sources


def _same_place(one: tuple[str, Fact], other: tuple[str, Fact]) -> bool:
    return one[0] == other[0] and one[1].text == other[1].text


def _same_words(one: tuple[str, Fact], other: tuple[str, Fact]) -> bool:
    return one[1].text == other[1].text


def _same_shape(one: tuple[str, Fact], other: tuple[str, Fact]) -> bool:
    return one[0] == other[0] and _is_shape(one[1], other[1])


def _same_elsewhere(one: tuple[str, Fact], other: tuple[str, Fact]) -> bool:
    """Whether two facts of a section differ only in the places that they name: a file moved."""
    texts = [fact_text.without_places(fact.text) for _, fact in (one, other)]
    return one[0] == other[0] and texts[0] == texts[1]


def _was_moved(one: tuple[str, Fact], other: tuple[str, Fact]) -> bool:
    """Whether two facts of any sections differ only in numbers: a person moved one."""
    files = [[source.partition(":")[0] for source in fact.sources] for _, fact in (one, other)]
    return files[0] == files[1] and _is_shape(one[1], other[1])


def _is_shape(one: Fact, other: Fact) -> bool:
    return fact_text.shape(one.text) == fact_text.shape(other.text)


def _dropped_fences(before: Draft, draft: Draft, keep: Container[str]) -> Iterator[int]:
    """The numbers of the lines of fences that the draft no longer has, except those to `keep`."""
    kept = {item.lines for section in draft.sections for item in section.fences}
    for section in before.sections:
        for fence in section.fences:
            if fence.lines not in kept and fact_text.fence_id(draft.name, fence.lines) not in keep:
                yield from range(fence.line, fence.line + len(fence.lines) + 2)


def _is_new(item: Fact | Fence, before: Draft, matched: set[int]) -> bool:
    if isinstance(item, Fact):
        return id(item) not in matched
    return all(item.lines != one.lines for section in before.sections for one in section.fences)


def _move_headings(before: Draft, draft: Draft, pairs: Mapping[int, Fact], lines: Lines) -> None:
    """Update the headings that are paths. A person's heading stays, and gets the path as source."""
    now = {id(fact): section for _, section, fact in markdown.all_facts([draft])}
    for section in before.sections:
        of_facts = [now[id(pairs[fact.line])] for fact in section.facts if fact.line in pairs]
        if not section.line or not of_facts or of_facts[0].heading == section.heading:
            continue
        if markdown.heading_source(section.heading):
            lines[section.line] = [f"## {of_facts[0].heading}"]
        elif of_facts[0].source and not section.source:
            lines[section.line].append(f"Source: {of_facts[0].source}")


def _move_sources(before: Draft, draft: Draft, pairs: Mapping[int, Fact], lines: Lines) -> None:
    """Update the `Source:` lines of sections without code: it takes along the line above it."""
    now = {id(fact): section for _, section, fact in markdown.all_facts([draft])}
    for section in before.sections:
        of_facts = [now[id(pairs[fact.line])] for fact in section.facts if fact.line in pairs]
        if not of_facts or any(lines[fence.line] for fence in section.fences):
            continue
        heading, source = of_facts[0].heading, of_facts[0].source
        if (heading, source) == (section.heading, section.source) or heading != section.heading:
            continue
        for number in range(section.line + 1, min(item.line for item in section.items)):
            if any(line.startswith("Source:") for line in lines[number]):
                lines[number] = [f"Source: {source}"] if source else []


def _home_of(before: Draft, section: Section, pairs: Mapping[int, Fact]) -> Section | None:
    """The old section with a section's heading, else with one of its facts; None without either."""
    new = set(map(id, section.facts))
    for old in sorted(before.sections, key=lambda old: old.heading != section.heading):
        shares = any(id(pairs.get(fact.line)) in new for fact in old.facts)
        # Nothing may come before a `Source:` line of its own.
        takes_facts = old.items or old.source == markdown.heading_source(old.heading)
        if shares or (old.heading == section.heading and old.line and takes_facts):
            return old
    return None


def _last_line(item: Fact | Fence, lines: Lines) -> int:
    """The last line of an item; of a fence that is never closed, the one before it."""
    if isinstance(item, Fact):
        return item.line
    return item.line - 1 if _is_open(item, lines) else item.line + len(item.lines) + 1


def _is_open(fence: Fence, lines: Lines) -> bool:
    return fence.line + len(fence.lines) + 1 not in lines


def _drop_empty_sections(before: Draft, lines: Lines, keep: Container[str]) -> None:
    """Remove the headings without a line below them, except a person's."""
    starts = [section.line for section in before.sections if section.line]
    of_people = {
        section.line
        for section in before.sections
        if fact_text.heading_id(before.name, section.heading) in keep
    }
    for start, end in pairwise([*starts, max(lines) + 1]):
        if start in of_people:
            continue
        body = [line for number in range(start, end) for line in lines[number]][1:]
        if not any(line.strip() and not line.startswith("Source:") for line in body):
            for number in range(start, end):
                lines[number] = []


def _with_own_sections(text: str, draft: Draft, keep: Container[str]) -> str:
    """The text, with sections at the end for facts that are misread where they are.

    A line without a path belongs to the section's file, so they need a section with their source.
    """
    for _ in draft.sections:  # a fact that moves may take a path along that others rely on
        written = markdown.parse(draft.name, draft.feature, text)[0]
        misread = path_forms.misread(written, draft)
        if not misread:
            break
        lines: Lines = {number: [line] for number, line in enumerate(text.split("\n"), 1)}
        lines |= {number: [] for number in misread}
        _drop_empty_sections(written, lines, keep)
        moved = {*map(id, misread.values())}
        sections = tuple(
            replace(section, items=tuple(one for one in section.facts if id(one) in moved))
            for section in draft.sections
        )
        paths = path_forms.in_full(draft, written)
        _add_sections(written, markdown.render(replace(draft, sections=sections), paths), lines)
        text = "\n".join(line for number in sorted(lines) for line in lines[number])
        text = path_forms.with_full_paths(text, draft)
    return text


def says_more(text: str) -> bool:
    """Whether a file contains anything besides its title."""
    return any(line.strip() and not line.startswith("# ") for line in text.split("\n"))
