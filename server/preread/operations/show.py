"""`show`: a published dossier as it is on disk."""

import time
from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from preread import fingerprint
from preread.builds.replies import INLINE_ORDER
from preread.dossier import fact_text, markdown, published
from preread.errors import PrereadError
from preread.layout import BY_NAME
from preread.models import Model
from preread.operations import cited
from preread.operations.cited import CitedFact
from preread.operations.published_dossier import PublishedDossier, find_serving
from preread.operations.registry import FEATURE, Context, Operation, RequestModel, in_thread
from preread.services import Services

Author = Literal["person", "build"]
EDITED = "Files that a person changed since they were published."


class ShowRequest(RequestModel):
    """Which published dossier, and how much of it."""

    feature: str = Field(description=FEATURE)
    file: str | None = Field(
        None, description="One of its files, like `patterns.md`. Default: all of them."
    )
    ids: bool = Field(False, description="List the facts with the ids that `wrong` takes.")
    cited: bool = Field(
        False, description="List the facts with their state, age, and the lines that they cite."
    )


class ShownFact(Model):
    """One fact, with its place and the id that `wrong` takes."""

    id: str
    file: str
    line: int
    text: str
    by: Author = Field(description="Who wrote it: a person's is never lost.")


class ShowReply(Model):
    """A published dossier, as it is on disk."""

    feature: str
    path: str
    files: tuple[str, ...]
    edited: tuple[str, ...] = Field(description=EDITED)
    builder: str
    level: str
    status: str
    reason: str
    ticket: str
    description: str
    text: str
    facts: tuple[ShownFact, ...] | None = None
    cited: tuple[CitedFact, ...] | None = None
    warnings: tuple[str, ...] = ()


async def show(context: Context, request: ShowRequest) -> ShowReply:
    # With cited lines, a reply depends on many other files: it is not cached.
    replies, key = None if request.cited else context.reply_cache, (context.start, request)
    shown: ShowReply | None = replies.get(key) if replies is not None else None
    if shown is not None:
        return shown
    begun = time.time_ns()
    services = context.services()
    shown = await in_thread(context, services, _show, request)
    if replies is not None and services.layout.root == context.start:
        replies.put(key, fingerprint.of_dossier(services, shown.feature, begun), shown)
    return shown


def _show(services: Services, request: ShowRequest) -> ShowReply:
    found = find_serving(services, request.feature)
    manifest, texts = found.manifest, _texts(found, request.file)
    return ShowReply(
        feature=found.feature,
        path=found.path,
        files=tuple(name for name in BY_NAME if name in found.texts),
        edited=found.edited,
        builder=manifest.builder,
        level=manifest.level,
        status=manifest.status,
        reason=manifest.fault.reason if manifest.fault else "",
        ticket=manifest.ticket,
        description=manifest.description,
        text="\n".join(texts[name].rstrip("\n") + "\n" for name in INLINE_ORDER if name in texts),
        facts=tuple(_facts(found, texts)) if request.ids else None,
        cited=_cited(services, found, texts) if request.cited else None,
        warnings=found.warnings,
    )


def _facts(found: PublishedDossier, texts: dict[str, str]) -> Iterator[ShownFact]:
    for name, text in texts.items():
        for fact in markdown.parse(name, found.feature, text)[0].facts:
            id_ = fact_text.fact_id(name, fact.text)
            by: Author = "person"
            if published.is_built(found.manifest, name, fact):
                by = "build"
            yield ShownFact(id=id_, file=name, line=fact.line, text=fact.text, by=by)


def _cited(
    services: Services, found: PublishedDossier, texts: dict[str, str]
) -> tuple[CitedFact, ...]:
    drafts = [markdown.parse(name, found.feature, text)[0] for name, text in texts.items()]
    return tuple(cited.facts(services, found, drafts))


def _texts(found: PublishedDossier, file: str | None) -> dict[str, str]:
    """The texts to show, of one file or of all. Raises E_NOT_FOUND."""
    if file is None:
        return found.texts
    name = file if file in BY_NAME else f"{file}.md"
    if name not in found.texts:
        files = list(found.texts)
        raise PrereadError(
            "E_NOT_FOUND",
            f"The dossier of {found.feature} has no file {file!r}; it has {', '.join(files)}.",
            f"Run: `preread show {found.feature}`",
            {"files": files},
        )
    return {name: found.texts[name]}


OPERATION = Operation(
    name="context.show",
    request=ShowRequest,
    reply=ShowReply,
    effect="read",
    doc="Show a published dossier without building anything.",
    example="preread show checkout patterns.md",
    run=show,
    command="show",
    positional=("feature", "file"),
)
