"""One reader for every language: what the query of a language captures, sorted and put together.

`queries/<language>.scm` says which nodes of a grammar are definitions, tests, calls and so on, in
the words that the head of `queries/python.scm` explains. `captures` runs a query, `definitions`,
`imports` and `contents` each go once through what it found, in the order of the text.
"""

import threading

from preread.languages import Language
from preread.roles import may_contain_tests, role_of
from preread.syntax.captures import captured
from preread.syntax.comments import joined_comments
from preread.syntax.contents import ContentReader
from preread.syntax.definitions import DefinitionReader
from preread.syntax.grammars import Source, parse
from preread.syntax.imports import imports_of
from preread.syntax.model import Details, Member, Outline
from preread.syntax.places import Places
from preread.syntax.queries import Section, contents_of, definitions_of
from preread.syntax.recovery import recovered

# The last file of each thread, because details are usually read right after the outline.
_last = threading.local()


class Reading:
    """A parsed file with its outline; details are extracted on demand."""

    def __init__(self, source: Source, language: Language, section: Section) -> None:
        self._source = source
        self._language = language
        self._found = captured(section, source, may_contain_tests(source.path))
        self._definitions = DefinitionReader(source)
        self._definitions.read(self._found)
        self.outline = Outline(
            self._definitions.symbols(),
            self._definitions.tests(),
            imports_of(source, self._found),
        )
        misread = [entry.node for entry in self._found if entry.role == "misread"]
        if source.root.has_error or misread:
            self.outline = recovered(source, language, self.outline, misread)

    def details(self) -> Details:
        """What is inside the definitions."""
        section = contents_of(self._language)
        if section is None:
            return Details()
        places = Places(self.outline)
        in_tests = role_of(self._source.path) in ("test", "support")
        reader = ContentReader(self._source, places, in_tests=in_tests)
        reader.read(captured(section, self._source, in_tests))
        comments = [entry.node for entry in self._found if entry.role == "comment"]
        members = _merge(reader.members, self._definitions.constants)
        return Details(
            reader.calls(),
            joined_comments(self._source, places, comments),
            tuple(members),
            reader.raises(),
            tuple(reader.attributes),
        )


def _merge(members: list[Member], constants: list[Member]) -> list[Member]:
    """Both in line order, without duplicates of the same name and line."""
    by_place: dict[tuple[str, int], Member] = {(one.name, one.line): one for one in constants}
    chosen = []
    for member in members:
        known = by_place.get((member.name, member.line))
        if known is None or member.kind != "field" or known.value == "":
            chosen.append(member)
            by_place.pop((member.name, member.line), None)
    return sorted((*chosen, *by_place.values()), key=lambda member: member.line)


def read(path: str, text: str, language: Language) -> Reading | None:
    """The parsed file; None without a query for its language or if the text cannot be parsed."""
    key = (path, language.name, text)
    if getattr(_last, "key", None) == key:
        found: Reading | None = _last.reading
        return found
    section = definitions_of(language)
    source = parse(path, text, language) if section is not None else None
    reading = Reading(source, language, section) if source is not None and section else None
    _last.key, _last.reading = key, reading
    return reading
