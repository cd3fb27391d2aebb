"""The works that a document cites, from its list of references."""

import re
from collections.abc import Iterator

from preread.documents.model import Document
from preread.models import Model

HEADING = re.compile(r"(?i)^\W*(?:\d+\.?\s+)?(references|bibliography|works cited|literature)\W*$")
# The start of an entry: `[12]`, `[Knuth97]`, `12.`; else a line that starts with a name.
MARK = re.compile(r"^\s*(?:\[([A-Za-z0-9+:_-]{1,24})\]|(\d{1,3})\.)\s+(?=\S)")
NAMED = re.compile(r"^[A-Z][\w'’-]+,? (?:[A-Z]\.|[A-Z][\w-]+).{0,200}?\(?\b(?:19|20)\d\d\b")
DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>{}]+[^\s\"<>{}.,;)\]]")
URL = re.compile(r"https?://[^\s<>\"{}]+[^\s<>\"{}.,;)\]]")
YEAR = re.compile(r"\b(?:19[3-9]|20[0-4])\d\b")
QUOTED = re.compile(r"[“\"]([^“”\"]{6,250}?)[,.]?[”\"]")
ENTRY_LINES = 12  # an entry with more lines is something else
_PERSON = (
    r"(?:[A-Z][\w'’-]+, [A-Z]\.(?:[ -]?[A-Z]\.)*|(?:[A-Z]\. ?)+[A-Z][\w'’-]+|"
    r"[A-Z][\w'’-]+ [A-Z][\w'’-]+)"
)
PEOPLE = re.compile(rf"^({_PERSON}(?:(?:,? and |, |; |,? & ){_PERSON})*)")


class Reference(Model):
    """One cited work. Fields that cannot be parsed reliably are empty."""

    part: int
    line: int
    label: str = ""
    text: str
    authors: str = ""
    title: str = ""
    year: str = ""
    doi: str = ""
    url: str = ""


def references(document: Document) -> tuple[Reference, ...]:
    """The entries of the last list of references, in order."""
    return tuple(_entries(_list(document)))


def _list(document: Document) -> list[tuple[int, int, str]]:
    """The lines after the last heading of a list of references."""
    lines = [
        (number, place, line)
        for number, part in enumerate(document.parts, 1)
        for place, line in enumerate(part.lines, 1)
    ]
    starts = [at for at, (_, _, line) in enumerate(lines) if HEADING.match(line)]
    return lines[starts[-1] + 1 :] if starts else []


def text_of(document: Document) -> list[tuple[str, ...]]:
    """The lines of each part; those of the list of references are empty."""
    entries, listed = references(document), _list(document)
    if not entries:
        return [part.lines for part in document.parts]
    first, last = listed[0][:2], (entries[-1].part, entries[-1].line)
    return [
        tuple(
            "" if first <= (number, place) <= last else line
            for place, line in enumerate(part.lines, 1)
        )
        for number, part in enumerate(document.parts, 1)
    ]


def _entry_start(lines: list[tuple[int, int, str]]) -> re.Pattern[str]:
    """The pattern that the entries of a list begin with: a mark, or names."""
    marks = [bool(MARK.match(line)) for *_, line in lines[:40] if line.strip()]
    is_marked = sum(marks) > 1 or marks[:1] == [True]  # a list of one entry starts with it
    return MARK if is_marked else NAMED


def _entries(lines: list[tuple[int, int, str]]) -> Iterator[Reference]:
    begins = _entry_start(lines)
    entry: list[str] = []
    at = (0, 0)
    for part, place, line in (*lines, (0, 0, "")):
        if begins.match(line) or not part or len(entry) >= ENTRY_LINES:
            if entry:
                yield _record(at, " ".join(" ".join(entry).split()))
            entry, at = ([line], (part, place)) if begins.match(line) else ([], at)
        elif entry and line.strip():
            entry.append(line)


def _record(at: tuple[int, int], text: str) -> Reference:
    mark = MARK.match(text)
    content = text[mark.end() :] if mark else text
    doi, url, year = DOI.search(content), URL.search(content), YEAR.search(content)
    people = PEOPLE.match(content)
    quoted = QUOTED.search(content)
    title = quoted[1] if quoted else _title(content[people.end() if people else 0 :])
    return Reference(
        part=at[0],
        line=at[1],
        label=(mark[1] or mark[2]) if mark else "",
        text=content,
        authors=people[1].strip(" ,.") if people else "",
        title=title,
        year=year[0] if year else "",
        doi=doi[0] if doi else "",
        url=url[0] if url else "",
    )


def _title(rest: str) -> str:
    """The first sentence after the authors and the year in round brackets, if any."""
    plain = re.sub(r"^[\s.,:;]*(?:\((?:19|20)\d\d\w?\)|(?:19|20)\d\d\w?)?[\s.,:;]*", "", rest)
    sentence = re.split(r"(?<=[^A-Z])[.?!](?:\s|$)", plain, maxsplit=1)[0]
    return sentence if 6 <= len(sentence) <= 250 else ""


def doi_of(document: Document) -> str:
    """The document's own DOI, if it comes before the text."""
    if doi := document.about.get("doi"):
        return doi
    head = [*document.about.values(), *(line for part in document.parts[:1] for line in part.lines)]
    found = (DOI.search(text) for text in head[:60])
    return next((match[0] for match in found if match), "")
