"""A file of remembered facts: its entries, and changes to single lines of it.

People edit these files, too, so a change touches only the lines that it has to. Every other byte
stays as it is: comments, order, line endings. If an editor wrapped a fact, a change of it makes it
one line again.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import takewhile
from typing import NamedTuple

from preread.dossier import basenames, brackets, fact_notes, fact_text, markdown, sources
from preread.dossier.fact_notes import words_of
from preread.errors import PrereadError
from preread.models import Fact, Section

NAME, TITLE = fact_notes.FILE, "# Knowledge"
SIMILAR, MAX_SIMILAR = 0.6, 5  # minimum share of common words for two facts to be similar


@dataclass(frozen=True)
class Entry:
    """One remembered fact. `note` is its parsed comment; a person's line may have none."""

    id: str
    text: str
    collection: str
    sources: tuple[str, ...]
    lines: tuple[int, ...]  # after a merge of branches, there may be several, the latest first
    note: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_retired(self) -> bool:
        return fact_notes.is_retired(self.note)

    @property
    def topics(self) -> frozenset[tuple[str, str]]:
        """Its topic with each collection that it counts to there, if it has a topic.

        A merge may move a line below another heading, so the note says where it was added.
        """
        topic, added = self.note.get("topic"), self.note.get(fact_notes.ADDED_TO, "")
        names = (self.collection, added) if topic else ()
        return frozenset((topic or "", name.casefold()) for name in names if name)

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(filter(None, self.note.get("tags", "").split(", ")))


def tidy_tags(words: Iterable[str]) -> tuple[str, ...]:
    """Tags in the form that notes use; a comma separates two tags."""
    parts = (part for word in words for part in word.split(","))
    kept = (re.sub(r"[^\w./+-]+", "-", part).strip("-").lower() for part in parts)
    return tuple(dict.fromkeys(filter(None, kept)))


class Added(NamedTuple):
    """The outcome for a new fact: `added`, `merged` with an equal one, `revived` or `known`."""

    id: str
    state: str


class Book:
    """One file of remembered facts, to read or to change."""

    def __init__(self, text: str | None) -> None:
        self.is_changed = False
        self._ending = "\r" if text and "\r\n" in text else ""
        if not text:
            text = f"{TITLE}\n"
        elif not text.endswith("\n"):
            text += f"{self._ending}\n"
        self._rows = text.split("\n")

    @property
    def text(self) -> str:
        return "\n".join(self._rows)

    @cached_property
    def _sections(self) -> tuple[Section, ...]:
        return markdown.parse(NAME, "", self.text, retired=True)[0].sections

    @property
    def _facts(self) -> list[Fact]:
        return [fact for section in self._sections for fact in section.facts]

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """All facts in file order."""
        at = {fact.line: (one.heading, fact) for one in self._sections for fact in one.facts}
        lines = [
            fact_notes.Line(line, fact.text, fact_notes.read(self._split(line)[1]))
            for line, (_, fact) in at.items()
        ]
        return tuple(
            reduce(_joined, (_entry(id_, line, *at[line.number]) for line in same))
            for id_, same in fact_notes.entries(lines).items()
        )

    @property
    def live(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if not entry.is_retired)

    def find(self, wanted: str) -> Entry | None:
        """The entry with this id or text, preferably one in use."""
        words = words_of(wanted)
        for entry in (*self.live, *self.entries):
            own = (entry.id, fact_text.fact_id(NAME, entry.text))
            if wanted in own or words == words_of(entry.text):
                return entry
        return None

    # -- changes

    def add(self, collection: str, text: str, cited: Iterable[str], note: dict[str, str]) -> Added:
        """Add a fact; if one with the same words exists, add the sources and tags to that one."""
        old = self.find(text)
        if old is not None:
            return self._merge(old, cited, note)
        id_ = fact_text.fact_id(NAME, text)
        self._insert(collection, text, tuple(cited), fact_notes.written("", {"id": id_, **note}))
        if self.find(id_) is None:
            raise PrereadError(
                "E_REMEMBER",
                f"A code block in {NAME} is never closed, and would hide what is added.",
                "Close it with a line of three backticks.",
            )
        return Added(id_, "added")

    def _merge(self, old: Entry, cited: Iterable[str], note: dict[str, str]) -> Added:
        more = [source for source in cited if source not in old.sources]
        tags = dict.fromkeys((*old.tags, *note.get("tags", "").split(", ")))
        kept = {key: value for key, value in old.note.items() if key not in fact_notes.MARKS}
        values = {**note, **kept, **(note if old.is_retired else {})}
        if old.is_retired and "at" in note:
            values["at"] = fact_notes.after(fact_notes.since(old.note), note["at"])
        values["tags"] = ", ".join(filter(None, tags))
        values["topic"] = note.get("topic") or kept.get("topic", "")
        same = ("tags", "topic")
        if not (more or old.is_retired or any(values[k] != kept.get(k, "") for k in same)):
            return Added(old.id, "known")
        if more:
            self._cite(old, more)
        self.set_note(old, values)
        return Added(old.id, "revived" if old.is_retired else "merged")

    def set_note(self, entry: Entry, values: Mapping[str, str]) -> None:
        """Set an entry's note; empty values are left out."""
        for line in sorted(entry.lines, reverse=True):
            bullet, comments = self._split(line)
            note = fact_notes.written(comments, {"id": entry.id} | dict(values))
            self._write(line, f"{bullet} {note}")

    def retire(self, entry: Entry, mark: str, value: str, at: str) -> None:
        """Mark an entry as `forgotten` or `replaced-by`, since a time."""
        since = max(at, entry.note.get("at", ""))
        self.set_note(entry, {**entry.note, mark: value, fact_notes.RETIRED_AT: since})

    def move(self, entry: Entry, collection: str) -> None:
        """Move an entry to another collection."""
        comments = self._split(entry.lines[0])[1]
        if fact_notes.ADDED_TO in entry.note:
            note = {**entry.note, "id": entry.id, fact_notes.ADDED_TO: collection}
            comments = fact_notes.written(comments, note)
        self._insert(collection, entry.text, entry.sources, comments, instead_of=entry.lines)

    def heal(self) -> None:
        """Join the lines that a merge of branches left for one entry."""
        while double := next(
            (one for one in self.entries if len(one.lines) > 1 and one.note), None
        ):
            if self._unwrap(double.lines):
                continue
            first, *others = double.lines
            own = next(fact.sources for fact in self._facts if fact.line == first)
            only = replace(double, sources=own, lines=(first,))
            if more := [source for source in double.sources if source not in own]:
                self._cite(only, more)
            self.set_note(only, double.note)
            self._delete(others)

    def _insert(
        self,
        collection: str,
        text: str,
        cited: tuple[str, ...],
        comments: str,
        instead_of: Iterable[int] = (),
    ) -> None:
        """Add a line at the end of a collection; the sources of other lines stay unambiguous."""
        meant = [fact.sources for fact in self._facts if fact.line not in instead_of]
        below = [row for line in instead_of for row in self._below(line)]
        self._delete(instead_of, below=True)
        at = self._end_of(collection)
        added = [f"{_bullet(text, cited)} {comments}".rstrip()]
        if at is None:
            at, added = len(self._rows) - 1, ["", f"## {collection}", *added]
        self._rows[at:at] = [*(row + self._ending for row in added), *below]
        self._changed()
        meant.insert(sum(fact.line < at + len(added) for fact in self._facts), cited)
        pairs = list(zip(self._facts, meant, strict=False))
        for fact, wanted in reversed(pairs):  # the lines below a wrapped fact may move up
            if fact.sources != wanted:  # the short path would now refer to another file
                own = self._split(fact.line)[1]
                self._write(fact.line, f"{_bullet(fact.text, map(_full, wanted))} {own}".rstrip())

    def _end_of(self, collection: str) -> int | None:
        """The row after a collection's last fact and what is indented below it, or its heading.

        None if the collection does not exist.
        """
        wanted = collection.casefold()
        same = [one for one in self._sections if one.heading.casefold() == wanted]
        if not same:
            return None
        if same[-1].facts:
            last = same[-1].facts[-1].line
            return self._end(last) + len(self._below(last))
        line = same[-1].line
        return line + self._rows[line].startswith("Source:")

    def _cite(self, entry: Entry, more: Iterable[str]) -> None:
        """Add sources to an entry's first line."""
        bullet, comments = self._split(entry.lines[0])
        if brackets.are_sources(brackets.split_sources(bullet)[1]):
            bullet = f"{bullet[:-1]}, {', '.join(map(_full, more))})"
        else:
            bullet = _bullet(bullet[2:], map(_full, (*entry.sources, *more)))
        self._write(entry.lines[0], f"{bullet} {comments}".rstrip())

    def _split(self, line: int) -> tuple[str, str]:
        return fact_notes.at(self._rows, line)

    def _end(self, line: int) -> int:
        """The number of a fact's last line; higher than its first one's if an editor wrapped it."""
        return fact_notes.joined(self._rows, line - 1)[1]

    def _below(self, line: int) -> list[str]:
        """The indented rows below a fact that are not part of it."""
        return list(takewhile(fact_notes.INDENTED.match, self._rows[self._end(line) :]))

    def _write(self, line: int, text: str) -> None:
        ending = "\r" if self._rows[line - 1].endswith("\r") else ""
        self._rows[line - 1 : self._end(line)] = [text + ending]
        self._changed()

    def _unwrap(self, lines: Iterable[int]) -> bool:
        """Make each of these facts one line; False if all of them were."""
        wrapped = [line for line in sorted(lines, reverse=True) if self._end(line) > line]
        for line in wrapped:
            self._write(line, fact_notes.joined(self._rows, line - 1)[0])
        return bool(wrapped)

    def _delete(self, lines: Iterable[int], *, below: bool = False) -> None:
        """Delete facts and, with `below`, what is indented below them."""
        for line in sorted(lines, reverse=True):
            del self._rows[line - 1 : self._end(line) + below * len(self._below(line))]
        self._changed()

    def _changed(self) -> None:
        self.is_changed = True
        for name in ("_sections", "entries"):
            self.__dict__.pop(name, None)


def similar(book: Book, text: str) -> list[tuple[float, Entry]]:
    """Other facts in use that share most of their words with a text, most similar first."""
    own = _tokens(text)
    found = []
    for entry in book.live:
        other = _tokens(entry.text)
        share = len(own & other) / (len(own | other) or 1)
        if share >= SIMILAR and words_of(entry.text) != words_of(text):
            found.append((round(share, 2), entry))
    return sorted(found, key=lambda pair: -pair[0])[:MAX_SIMILAR]


def _tokens(text: str) -> set[str]:
    return set(re.findall(r"\w{2,}", text.casefold()))


def _entry(id_: str, line: fact_notes.Line, heading: str, fact: Fact) -> Entry:
    note = line.note and {**line.note, "id": id_}
    return Entry(id_, fact.text, heading, fact.sources, (fact.line,), note)


def _joined(first: Entry, second: Entry) -> Entry:
    """Two lines of the same entry as one; the first takes precedence, and has all of the marks."""
    tags = ", ".join(dict.fromkeys((*first.tags, *second.tags)))
    older = {key: value for key, value in second.note.items() if key not in fact_notes.MARKS}
    note = {**older, **first.note} | ({"tags": tags} if tags else {})
    cited = tuple(dict.fromkeys((*first.sources, *second.sources)))
    return replace(first, sources=cited, lines=(*first.lines, *second.lines), note=note)


def _bullet(text: str, cited: Iterable[str]) -> str:
    listed = ", ".join(cited)
    return f"- {text} ({listed})" if listed else f"- {text}"


def _full(source: str) -> str:
    """A source whose path earlier lines of the file cannot make ambiguous."""
    ref = sources.parse(source)
    if ref is None or ref.kind not in basenames.FILE_KINDS or source.startswith("<"):
        return source
    return source if "/" in ref.path else f"<{ref.path}>{source[len(ref.path) :]}"
