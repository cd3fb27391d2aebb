"""How replies about documents look to a person."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from preread.cli.terminal import Block, Marked

if TYPE_CHECKING:
    from preread.operations.documents.load import LoadReply
    from preread.operations.documents.read import ReadReply
    from preread.operations.literature.save import SaveReply


def load(reply: "LoadReply") -> Iterator[Block]:
    for one in reply.documents:
        yield f"{one.path}: {one.parts} parts, {one.words} words  {one.about.title}".rstrip()
        yield from (Marked("note", f": {warning}") for warning in one.warnings)
    for failed in reply.failed:
        yield Marked("warning", f": {failed.code}: {failed.message} {failed.hint}")
    if not reply.documents and not reply.failed:
        yield "No documents were loaded yet: `preread documents FILE`"


def read(reply: "ReadReply") -> Iterator[Block]:
    for part in reply.parts:
        yield f"## {part.cite} {part.title}".rstrip()
        yield part.text
    for one in reply.references:
        yield f"[{one.label}] {one.text}"
    yield from (Marked("note", f": {warning}") for warning in reply.warnings)


def report(reply: "SaveReply") -> Iterator[Block]:
    yield f"{reply.folder}: {', '.join(reply.files)}"
