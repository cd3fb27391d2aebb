"""PDF, with pdfium: the text of each page, and the metadata of the information dictionary.

pdfium does not run scripts. It may crash on a hostile file, so it runs in a child process.
"""

import ctypes
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from preread.documents import pdf_tables
from preread.documents.model import Document, Part, Table, Unusable

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument  # type: ignore[import-untyped]

MAX_PAGES = 5_000  # an ordinary page takes 2 to 7 ms of the child's 30 s
# A word that was divided at the end of a line. pdfium writes U+0002 for a hyphen at the end of a
# line, whatever follows. Before a capital or a digit, as in UTF-8, the hyphen is part of the word.
HYPHEN = re.compile("[\ufffe\u00ad](?:\r?\n)?|\x02(?=[^\\W\\d_A-Z])")
DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?")
FAULTS = {3: ("damaged", "it is not a PDF, or it is damaged"), 4: ("encrypted", "it is encrypted"),
          5: ("encrypted", "it uses a security handler that is not supported")}  # fmt: skip


def read(data: bytes) -> Document:
    """Read a PDF. Raises Unusable, and ImportError without the extra."""
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        number = getattr(error, "err_code", 3)
        raise Unusable(*FAULTS.get(number or 3, FAULTS[3])) from error
    if len(pdf) > MAX_PAGES:
        message = f"it has {len(pdf):,} pages, more than the {MAX_PAGES:,} that are read"
        raise Unusable("pages", message)
    warnings = []
    parts = []
    tables: list[Table] = []
    for number in range(len(pdf)):
        try:
            part, found = _page(pdf, number)
            parts.append(part)
            tables += found
        except pypdfium2.PdfiumError:
            parts.append(Part(()))
            warnings.append(f"page {number + 1} is damaged")
    if not any(part.lines for part in parts):
        warnings.append("it has no text: its pages may be pictures")
    if _has_scripts(data):
        warnings.append("it has scripts, which were not run")
    return Document(tuple(parts), _about(pdf), tuple(tables), tuple(warnings))


def _page(pdf: "PdfDocument", number: int) -> tuple[Part, list[Table]]:
    page = pdf[number]
    text_page = page.get_textpage()
    try:
        text = HYPHEN.sub("", text_page.get_text_bounded()).replace("\x02", "-")
        tables = [Table(number + 1, rows) for rows in pdf_tables.tables(page, text_page)]
    finally:
        text_page.close()
        page.close()
    return Part(tuple(line.rstrip() for line in text.replace("\0", "").splitlines())), tables


def _about(pdf: "PdfDocument") -> dict[str, str]:
    """The metadata, without damaged entries."""
    found = {"pages": str(len(pdf))}
    with suppress(Exception):
        given = pdf.get_metadata_dict(skip_empty=True)
        if date := DATE.match(given.get("CreationDate", "")):
            found["date"] = "-".join(filter(None, date.groups()))
        found |= {key: given[name] for key, name in NAMES.items() if given.get(name, "").strip()}
    with suppress(Exception):
        if language := _language(pdf):
            found["language"] = language
    return found


NAMES = {"title": "Title", "authors": "Author", "subject": "Subject"}


def _language(pdf: "PdfDocument") -> str:
    from pypdfium2 import raw

    length = raw.FPDFCatalog_GetLanguage(pdf, None, 0)
    buffer = (ctypes.c_ushort * (length // 2))()
    raw.FPDFCatalog_GetLanguage(pdf, buffer, length)
    return bytes(buffer).decode("utf-16-le", "replace").rstrip("\0")


def _has_scripts(data: bytes) -> bool:
    return b"/JavaScript" in data or b"/Launch" in data
