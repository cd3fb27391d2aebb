"""`documents.load`: read documents, so that dossiers and searches use them."""

import hashlib
import os
import shlex
from pathlib import Path

from pydantic import Field

from preread import passages
from preread.documents import catalog, reading
from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.models import Model
from preread.operations.documents.entries import Entry, entry
from preread.operations.registry import Change, Context, Operation, Preview, RequestModel, in_thread
from preread.services import Services


class LoadRequest(RequestModel):
    """What to load."""

    paths: tuple[str, ...] = Field(
        (), description="Files or folders; without any, those that were loaded before."
    )


class Failed(Model):
    """A document that could not be read."""

    path: str
    code: str
    message: str
    hint: str = ""


class LoadReply(Model):
    """What was loaded."""

    documents: tuple[Entry, ...]
    failed: tuple[Failed, ...] = ()
    next: str = ""


async def load(context: Context, request: LoadRequest) -> LoadReply:
    return await in_thread(context, context.services(), _load, context, request)


def _load(services: Services, context: Context, request: LoadRequest) -> LoadReply:
    services.layout.guard()
    places = _places(services, context, request.paths)
    found, failed = [], []
    for number, place in enumerate(places):
        doing = f"reading {place.name}", number, len(places)
        services.progress.say(*doing)
        try:
            found.append(entry(services.tree_with_progress(*doing), _inside(services, place)))
        except PrereadError as error:
            if len(places) == 1 or error.code in reading.WHOLE:
                raise
            shown = _name(services, place)
            failed.append(
                Failed(path=shown, code=error.code, message=error.message, hint=error.hint)
            )
    catalog.add(services.layout, {one.path: one.digest for one in found})
    passages.index(services)
    following = f"Read it: `preread read {shlex.quote(found[0].path)}`" if found else ""
    return LoadReply(documents=tuple(found), failed=tuple(failed), next=following)


def _places(services: Services, context: Context, paths: tuple[str, ...]) -> list[Path]:
    """The files to load. Raises E_NOT_FOUND; E_NOT_ALLOWED for what an agent may not copy."""
    layout = services.layout
    if not paths:
        return [layout.inside(path) for path in catalog.loaded(layout)]
    found = []
    for path in paths:
        place = Path(os.path.realpath(Path(context.start, os.path.expanduser(path))))  # noqa: PTH111
        if context.is_agent and not place.is_relative_to(layout.root):
            raise PrereadError(
                "E_NOT_ALLOWED",
                f"{path} is outside the project, and an agent cannot copy it into the project.",
                f"A person can: `preread documents {path}` in a terminal",
            )
        found += catalog.files_at(place)
    for place in found:
        reading.known_kind(place.name)
    return list(dict.fromkeys(found))


def _name(services: Services, place: Path) -> str:
    root = services.layout.root
    return services.layout.relative(place) if place.is_relative_to(root) else str(place)


def _inside(services: Services, place: Path) -> str:
    """A file's path in the project; one from outside is copied into it.

    Raises E_DOCUMENT_LIMIT, E_READ, E_WRITE.
    """
    layout = services.layout
    if place.is_relative_to(layout.root):
        return layout.relative(place)
    data = plain_bytes(place, reading.MAX_BYTES)
    if data is None:
        raise PrereadError(
            "E_DOCUMENT_LIMIT",
            f"{place} is larger than {reading.MAX_BYTES // 1_000_000} MB.",
            details={"path": str(place), "reason": "size"},
        )
    copy = layout.documents / catalog.copy_name(place, data)
    if plain_bytes(layout.real(copy)) != data:
        atomic.write(copy, data, durable=True)
    return layout.relative(copy)


async def preview(context: Context, request: LoadRequest) -> Preview:
    return await in_thread(context, context.services(), _preview, context, request)


def _preview(services: Services, context: Context, request: LoadRequest) -> Preview:
    layout = services.layout
    places = _places(services, context, request.paths)
    outside = [place for place in places if not place.is_relative_to(layout.root)]
    copies = [
        Change(path=layout.relative(layout.documents / catalog.copy_name(place, data)), diff="")
        for place in outside
        if (data := plain_bytes(place, reading.MAX_BYTES)) is not None
    ]
    digests = [hashlib.sha256(plain_bytes(place) or b"").hexdigest() for place in places]
    is_new = set(digests) - set(catalog.loaded(layout).values())
    listed = [Change(path=layout.relative(layout.loaded), diff="")] if is_new else []
    return Preview(changes=(*copies, *listed))


OPERATION = Operation(
    name="documents.load",
    request=LoadRequest,
    reply=LoadReply,
    effect="write",
    doc="Read documents (PDF, DOCX, PPTX, HTML, EPUB, Markdown, …), for dossiers and searches.",
    example="preread documents docs/",
    run=load,
    preview=preview,
    command="documents",
    positional=("paths",),
    pages="documents",
)
