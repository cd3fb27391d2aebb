"""HTML: blocks of text by headings, tables; scripts and styles are left out."""

import re
from html.parser import HTMLParser

from preread.documents.model import Document, Part, Table

BLOCKS = frozenset(
    "p div section article header footer main aside nav ul ol li dl dt dd table tr blockquote pre "
    "figure figcaption form fieldset hr br h1 h2 h3 h4 h5 h6 body html".split()
)
HIDDEN = frozenset({"script", "style", "template", "noscript", "svg", "iframe", "object"})
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
# Names of <meta> -> metadata keys; names for scholarly indexes come first.
META = {"citation_title": "title", "dc.title": "title", "citation_author": "authors",
        "dc.creator": "authors", "author": "authors", "citation_doi": "doi",
        "citation_publication_date": "date", "dc.date": "date", "date": "date"}  # fmt: skip


def read(data: bytes) -> Document:
    return parsed(decoded(data))


def decoded(data: bytes) -> str:
    """Decode by the byte order mark, else by the declared encoding, else as UTF-8."""
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return data.decode("utf-16", "replace")
    named = re.search(rb"(?i)charset\s*=\s*[\"']?([\w-]{1,30})", data[:2048])
    for name in (named[1].decode() if named else "utf-8", "utf-8"):
        try:
            return data.decode(name).removeprefix("\ufeff")
        except (UnicodeDecodeError, LookupError):
            continue
    return data.decode("latin-1")


def parsed(text: str) -> Document:
    reader = _Reader()
    reader.feed(text)
    reader.close()
    reader.end_part("")
    warnings = ("it has scripts, which were not run",) if reader.has_scripts else ()
    parts = tuple(reader.parts) or (Part(()),)
    return Document(parts, reader.about, tuple(reader.tables), warnings)


class _Reader(HTMLParser):
    """Collects lines until a heading begins the next part."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[Part] = []
        self.tables: list[Table] = []
        self.about: dict[str, str] = {}
        self.has_scripts = False
        self._lines: list[str] = []
        self._line: list[str] = []
        self._title = ""  # of the part
        self._hidden = 0
        self._inside = ""  # a heading or <title>
        self._pre = 0
        self._rows: list[list[str]] | None = None
        self._cell: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in HIDDEN:
            self._hidden += 1
            self.has_scripts |= tag == "script"
            return
        if tag in BLOCKS:
            self._end_line()
        if tag in HEADINGS:
            self.end_part(tag)
        elif tag == "title" and not self.about.get("title"):
            self._inside = tag
        elif tag == "pre":
            self._pre += 1
        elif tag in {"meta", "html"}:
            self._note({name: value or "" for name, value in attrs})
        else:
            self._start_of_table(tag)

    def _start_of_table(self, tag: str) -> None:
        if tag == "table":
            self._rows = []
        elif self._rows is not None and tag == "tr":
            self._rows.append([])
        elif self._rows and tag in {"td", "th"}:
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        if tag in HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag == self._inside:
            self._end_of_title(tag)
        elif tag == "pre":
            self._pre = max(0, self._pre - 1)
        else:
            self._end_of_table(tag)
        if tag in BLOCKS:
            self._end_line()

    def _end_of_table(self, tag: str) -> None:
        if tag in {"td", "th"} and self._cell is not None and self._rows:
            self._rows[-1].append(_plain("".join(self._cell)))
            self._cell = None
            self._line.append("\t")
        elif tag == "table" and self._rows is not None:
            rows = tuple(tuple(row) for row in self._rows if row)
            self.tables += [Table(len(self.parts) + 1, rows)] if rows else []
            self._rows = self._cell = None

    def _end_of_title(self, tag: str) -> None:
        text = _plain("".join(self._line))
        self._inside = ""
        if tag == "title":
            self._line = []
            self.about.setdefault("title", text)
        else:
            self._title = text
            self._end_line()

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        if self._cell is not None:
            self._cell.append(data)
        if self._pre and not self._inside:
            *whole, last = data.split("\n")
            for line in whole:
                self._line.append(line)
                self._lines.append("".join(self._line).rstrip())
                self._line = []
            self._line.append(last)
        else:
            self._line.append(data)

    def _note(self, given: dict[str, str]) -> None:
        if given.get("lang"):
            self.about["language"] = given["lang"]
        key = META.get((given.get("name") or given.get("property") or "").lower())
        if key and (value := _plain(given.get("content", ""))):
            known = self.about.get(key)
            self.about[key] = f"{known}; {value}" if known and key == "authors" else value

    def _end_line(self) -> None:
        text = "".join(self._line).rstrip() if self._pre else _plain("".join(self._line))
        self._line = []
        if text:
            self._lines.append(text)

    def end_part(self, tag: str) -> None:
        """End a part at a heading or at the end of the document."""
        self._end_line()
        if self._lines:
            self.parts.append(Part(tuple(self._lines), self._title))
        self._lines, self._title, self._inside = [], "", tag


def _plain(text: str) -> str:
    return " ".join(text.split())
