"""The table of document formats."""

from pathlib import PurePosixPath
from typing import NamedTuple


class Kind(NamedTuple):
    """One format: the `module.function` that reads it, and the optional package it needs."""

    reader: str
    in_child: bool
    package: str = ""


TEXT, MARKDOWN = Kind("plain.text", False), Kind("plain.markdown", False)
HTML = Kind("hypertext.read", True)
KINDS = {
    ".pdf": Kind("pdf.read", True, "pypdfium2"),
    ".docx": Kind("archives.docx", True),
    ".docm": Kind("archives.docx", True),
    ".pptx": Kind("archives.pptx", True),
    ".epub": Kind("archives.epub", True),
    ".html": HTML,
    ".htm": HTML,
    ".xhtml": HTML,
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".rst": Kind("plain.rst", True),  # docutils is slow
    ".txt": TEXT,
    ".text": TEXT,
}


def kind_of(path: str) -> Kind | None:
    """The format of a file, by its suffix."""
    return KINDS.get(PurePosixPath(path).suffix.lower())
