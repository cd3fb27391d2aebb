"""Search the loaded documents: a derived full-text index of their parts."""

import re
import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from preread.documents import catalog, reading
from preread.documents.model import Part
from preread.dossier.sources import Ref
from preread.errors import PrereadError
from preread.infra import db, sqlite
from preread.services import Services

WORD = re.compile(r"\w+")
MAX_TERMS = 32
MAX_PARTS = 10
STEM = 6  # letters that inflected forms of a word share
SENTENCE = re.compile(r"(?<=[.!?;:])\s+(?=[A-Z(\[“\"])")
BLOCK = re.compile(r"\n\s*\n")
HEADING = re.compile(r"^\d+(?:\.\d+)*\.? +[A-Z].{0,80}(?<![.,;:])$", re.MULTILINE)
MAX_SENTENCE = 300  # characters


class Passage(NamedTuple):
    """A part of a document, as a search result."""

    path: str
    number: int
    part: Part

    @property
    def source(self) -> str:
        return str(Ref("doc", self.path, self.number))


class Sentence(NamedTuple):
    """A sentence on one line, and its first line in its part."""

    line: int
    text: str


def index(services: Services) -> None:
    """Bring the index up to date with the documents; unreadable ones are left out."""
    db.use(services.layout, lambda connection: _index(services, connection))


def _index(services: Services, connection: sqlite3.Connection) -> None:
    known = catalog.loaded(services.layout)
    select = "SELECT DISTINCT path, digest FROM document_words"
    indexed = set(connection.execute(select))
    current = {}
    for path in known:
        try:
            current[path] = reading.read(services.tree, path)
        except PrereadError:
            continue
    gone = indexed - {(path, found.digest) for path, found in current.items()}
    new = [(p, f) for p, f in current.items() if (p, f.digest) not in indexed]
    if not (gone or new):
        return
    with sqlite.transaction(connection):
        connection.executemany("DELETE FROM document_words WHERE path = ? AND digest = ?", gone)
        for path, found in new:
            rows = [
                (path, found.digest, number, "\n".join((part.title, *part.lines)))
                for number, part in enumerate(found.document.parts, 1)
            ]
            insert = "INSERT INTO document_words (path, digest, part, text) VALUES (?, ?, ?, ?)"
            connection.executemany(insert, rows)


def search(services: Services, text: str, limit: int) -> list[Passage]:
    """The parts that match these words best, by BM25. Brings the index up to date."""
    terms = list(dict.fromkeys(WORD.findall(text.lower())))[:MAX_TERMS]
    if not terms or not catalog.loaded(services.layout):
        return []
    query = " OR ".join(f'"{term}"' for term in terms)
    sql = "SELECT path, part FROM document_words WHERE document_words MATCH ? ORDER BY rank LIMIT ?"

    def work(connection: sqlite3.Connection) -> list[tuple[str, int]]:
        _index(services, connection)  # again if the database has to be replaced
        return connection.execute(sql, (query, limit)).fetchall()

    rows = db.use(services.layout, work)
    found = []
    for path, part in rows:
        parts = reading.read(services.tree, path).document.parts
        found.append(Passage(path, part, parts[part - 1]))
    return found


def sentences(part: Part) -> Iterator[Sentence]:
    """The sentences of a part, without its heading and what is longer than MAX_SENTENCE."""
    lines = list(part.lines)
    if lines and lines[0].strip("# ") == part.title and not part.title.endswith((".", "!", "?")):
        lines[0] = ""
    blocks = BLOCK.split(HEADING.sub(r"\n\g<0>\n", "\n".join(lines)))
    # Only white space is removed, so the line of a sentence can be found by counting words.
    places = [number for number, line in enumerate(lines, 1) for _ in line.split()]
    words = 0
    for block in blocks:
        for text in filter(None, SENTENCE.split(" ".join(block.split()))):
            if len(text) <= MAX_SENTENCE:
                yield Sentence(places[words], text)
            words += len(text.split())


def sentences_about(services: Services, text: str, limit: int) -> list[tuple[str, str]]:
    """The sentences with the most of these words, each with its source."""
    terms = {term[:STEM] for term in WORD.findall(text.lower()) if len(term) > 2}
    found = []
    for place, passage in enumerate(search(services, text, MAX_PARTS)):
        for _, sentence in sentences(passage.part):
            shared = terms & {word[:STEM] for word in WORD.findall(sentence.lower())}
            found += [(-len(shared), place, sentence, passage.source)] if shared else []
    return [(sentence, source) for _, _, sentence, source in sorted(found)[:limit]]
