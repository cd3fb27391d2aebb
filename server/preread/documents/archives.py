"""DOCX, PPTX and EPUB: zip archives of XML, read with limits on their unpacked size."""

import io
import posixpath
import re
import zipfile
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote

from preread.documents import hypertext
from preread.documents.model import Document, Part, Table, Unusable

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_UNPACKED = 100_000_000  # bytes, of all members that are read
MAX_MEMBERS = 20_000
OLE = b"\xd0\xcf\x11\xe0"  # the container of an encrypted DOCX, and of older formats
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
DC = "{http://purl.org/dc/elements/1.1/}"
TERMS = "{http://purl.org/dc/terms/}"
HEADING = re.compile(r"(?i)(heading|title|berschrift)\s*(\d*)")


class Archive:
    """The members of an archive. Raises Unusable if it is invalid, encrypted or a zip bomb."""

    def __init__(self, data: bytes) -> None:
        if data.startswith(OLE):
            raise Unusable("encrypted", "it is encrypted, or in a format from before 2007")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
            raise Unusable("damaged", "it is not a zip archive, or it is damaged") from error
        self.names = {info.filename for info in self._zip.infolist()}
        self._left = MAX_UNPACKED
        if len(self.names) > MAX_MEMBERS:
            raise Unusable("size", f"it has {len(self.names)} members")
        if any(info.flag_bits & 1 for info in self._zip.infolist()):
            raise Unusable("encrypted", "it is encrypted")

    def read(self, name: str) -> bytes:
        """The bytes of a member; empty if there is no such member."""
        if name not in self.names:
            return b""
        try:
            with self._zip.open(name) as member:
                data = member.read(self._left + 1)
        except Exception as error:  # zlib, bz2, lzma and zipfile raise different errors
            raise Unusable("damaged", f"its member {name[:80]} is damaged") from error
        self._left -= len(data)
        if self._left < 0:
            raise Unusable("size", f"it unpacks to more than {MAX_UNPACKED // 1_000_000} MB")
        return data

    def xml(self, name: str) -> "Element | None":
        """The root element of a member, or None. XML entities are refused."""
        from xml.etree.ElementTree import ParseError

        from defusedxml import DefusedXmlException, ElementTree

        data = self.read(name)
        if not data:
            return None
        try:
            root: Element = ElementTree.fromstring(data)
        except DefusedXmlException as error:
            raise Unusable("size", f"its member {name[:80]} declares entities") from error
        except (ParseError, ValueError, LookupError) as error:
            raise Unusable("damaged", f"its member {name[:80]} is not XML") from error
        return root


def _core(root: "Element | None") -> dict[str, str]:
    """Dublin Core metadata, which all three formats use."""
    found: dict[str, str] = {}
    if root is None:
        return found
    names = {"title": (f"{DC}title",), "language": (f"{DC}language",),
             "date": (f"{DC}date", f"{TERMS}created")}  # fmt: skip
    for key, tags in names.items():
        text = next((one.text or "" for tag in tags for one in root.iter(tag)), "").strip()
        if text:
            found[key] = text[:10] if key == "date" else text
    authors = [(one.text or "").strip() for one in root.iter(f"{DC}creator")]
    if any(authors):
        found["authors"] = "; ".join(filter(None, authors))
    return found


def docx(data: bytes) -> Document:
    """Sections that begin at headings."""
    archive = Archive(data)
    root = archive.xml("word/document.xml")
    body = None if root is None else root.find(f"{W}body")
    if body is None:
        raise Unusable("damaged", "it has no word/document.xml")
    parts: list[Part] = []
    tables: list[Table] = []
    lines: list[str] = []
    title = ""
    for block in body:
        if block.tag == f"{W}tbl":
            rows = tuple(_row(row) for row in block.iter(f"{W}tr"))
            tables.append(Table(len(parts) + 1, rows))
            lines += ["\t".join(row) for row in rows]
            continue
        text = _text(block)
        if _is_heading(block) and text:
            parts += [Part(tuple(lines), title)] if lines else []
            lines, title = [], text
        lines += [text] if text else []
    parts += [Part(tuple(lines), title)] if lines or not parts else []
    warnings = ("it has macros, which were not run",) if _has_macros(archive) else ()
    return Document(
        tuple(parts), _about(parts, archive.xml("docProps/core.xml")), tuple(tables), warnings
    )


def _about(parts: list[Part], core: "Element | None") -> dict[str, str]:
    """Metadata; the default title is that of the first part."""
    title = {"title": parts[0].title} if parts and parts[0].title else {}
    return title | _core(core)


def _has_macros(archive: Archive) -> bool:
    return any(name.endswith("vbaProject.bin") for name in archive.names)


def _row(row: "Element") -> tuple[str, ...]:
    return tuple(
        " ".join(filter(None, map(_text, cell.iter(f"{W}p")))) for cell in row.iter(f"{W}tc")
    )


def _text(block: "Element") -> str:
    """The text of a paragraph, without tracked deletions (`delText`)."""
    return "".join(_pieces(block)).strip()


def _pieces(block: "Element") -> Iterator[str]:
    blank = {f"{W}tab": "\t", f"{W}br": " ", f"{W}cr": " "}
    for one in block.iter():
        if one.tag == f"{W}t":
            yield one.text or ""
        elif one.tag in blank:
            yield blank[one.tag]


def _is_heading(block: "Element") -> bool:
    style = block.find(f"{W}pPr/{W}pStyle")
    return style is not None and bool(HEADING.match(style.get(f"{W}val", "")))


def pptx(data: bytes) -> Document:
    """A part for each slide, with the text of its notes."""
    archive = Archive(data)
    slides = sorted(
        (int(match[1]), name)
        for name in archive.names
        if (match := re.fullmatch(r"ppt/slides/slide(\d{1,5})\.xml", name))
    )
    if not slides:
        raise Unusable("damaged", "it has no slides")
    parts, tables = [], []
    for place, (number, name) in enumerate(slides, 1):
        root = archive.xml(name)
        notes = archive.xml(f"ppt/notesSlides/notesSlide{number}.xml")
        lines = [*_paragraphs(root), *_paragraphs(notes)]
        tables += [Table(place, rows) for rows in _slide_tables(root)]
        parts.append(Part(tuple(lines), lines[0] if lines else ""))
    warnings = ("it has macros, which were not run",) if _has_macros(archive) else ()
    about = {"pages": str(len(parts)), **_about(parts, archive.xml("docProps/core.xml"))}
    return Document(tuple(parts), about, tuple(tables), warnings)


def _paragraphs(root: "Element | None") -> Iterable[str]:
    blocks = () if root is None else root.iter(f"{A}p")
    return filter(None, (_drawn(block) for block in blocks))


def _drawn(block: "Element") -> str:
    texts = {f"{A}t": None, f"{A}br": " "}  # of a line break
    found = (texts[one.tag] or one.text or "" for one in block.iter() if one.tag in texts)
    return "".join(found).strip()


def _slide_tables(root: "Element | None") -> Iterator[tuple[tuple[str, ...], ...]]:
    for table in () if root is None else root.iter(f"{A}tbl"):
        yield tuple(
            tuple(_drawn(cell) for cell in row.iter(f"{A}tc")) for row in table.iter(f"{A}tr")
        )


def epub(data: bytes) -> Document:
    """The chapters in reading order, each divided at its headings."""
    archive = Archive(data)
    place = next(_attributes(archive.xml("META-INF/container.xml"), "rootfile", "full-path"), "")
    package = archive.xml(place)
    if package is None:
        raise Unusable("damaged", "it has no package document")
    names = _chapters(package, posixpath.dirname(place))
    if not _encrypted(archive).isdisjoint(names):
        raise Unusable("encrypted", "it is encrypted")
    parts: list[Part] = []
    tables: list[Table] = []
    missing = [name for name in names if name not in archive.names]
    warnings = dict.fromkeys(_incomplete(missing, len(names)))
    for name in names:
        chapter = hypertext.read(archive.read(name))
        tables += [Table(one.part + len(parts), one.rows) for one in chapter.tables]
        parts += [part for part in chapter.parts if part.lines]
        warnings |= dict.fromkeys(chapter.warnings)
    about = _about(parts, package)
    return Document(tuple(parts) or (Part(()),), about, tuple(tables), tuple(warnings))


def _chapters(package: "Element", folder: str) -> list[str]:
    """The members to read, without repeats: some books list every section of a chapter."""
    items = {one.get("id", ""): one.get("href", "") for one in package.iter() if _is(one, "item")}
    hrefs = (items.get(name, "") for name in _attributes(package, "itemref", "idref"))
    files = (unquote(href.partition("#")[0]) for href in hrefs)
    return list(dict.fromkeys(posixpath.normpath(posixpath.join(folder, it)) for it in files if it))


def _incomplete(missing: list[str], count: int) -> Iterator[str]:
    if missing:
        yield f"{len(missing)} of its {count} chapters are missing, first {missing[0][:80]}"


def _encrypted(archive: Archive) -> set[str]:
    """The encrypted members; often only fonts."""
    listed = archive.xml("META-INF/encryption.xml")
    return {unquote(uri) for uri in _attributes(listed, "CipherReference", "URI")}


def _is(element: "Element", name: str) -> bool:
    return isinstance(element.tag, str) and element.tag.rpartition("}")[2] == name


def _attributes(root: "Element | None", tag: str, name: str) -> Iterator[str]:
    for one in () if root is None else root.iter():
        if _is(one, tag) and one.get(name):
            yield one.get(name, "")
