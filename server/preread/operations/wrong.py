"""`wrong`: drop a wrong fact from the published dossiers, for good."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from pydantic import Field

from preread import aliases, backups, facts, publish, versions
from preread.builds import feature_lock, lost_files
from preread.check import check_unbudgeted
from preread.dossier import fact_text, markdown, path_forms, published, wrong_marks
from preread.dossier.wrong_marks import Wrong
from preread.errors import PrereadError
from preread.infra import atomic
from preread.layout import BY_NAME
from preread.models import Draft, Model
from preread.operations import previews, published_dossier
from preread.operations.published_dossier import PublishedDossier
from preread.operations.registry import (
    Context,
    Operation,
    Preview,
    RequestModel,
    in_thread,
    threaded,
)
from preread.services import Services


class WrongRequest(RequestModel):
    """Which fact is wrong."""

    fact: str = Field(description="Its id, as `facts` and `show --ids` list it, or its exact text.")
    feature: str | None = Field(
        None, description="Only in this feature's dossier. Default: in all dossiers."
    )
    undo: bool = Field(
        False, description="Take the mark off a dropped fact, so that a build may bring it back."
    )


class DroppedFact(Model):
    """A fact that is no longer published."""

    id: str
    feature: str
    file: str = Field(description="The file and line that it was on.")
    text: str


class UnmarkedFact(Model):
    """A fact that is no longer marked as wrong."""

    id: str
    feature: str
    text: str


class WrongReply(Model):
    """What was dropped; a rebuild does not bring it back."""

    dropped: tuple[DroppedFact, ...]
    unmarked: tuple[UnmarkedFact, ...] = Field((), description="After `undo`.")
    warnings: tuple[str, ...] = ()


async def wrong(context: Context, request: WrongRequest) -> WrongReply:
    services = context.services()
    if request.undo:
        marked = await in_thread(context, services, _marked, request)
        wrong_marks.remove(services.layout, {fact.id for fact in marked})
        return WrongReply(dropped=(), unmarked=marked)
    dropped = await in_thread(context, services, _matching, request)
    await in_thread(context, services, _mark, dropped)
    warnings: list[str] = []
    for feature in sorted({fact.feature for fact in dropped}):
        async with feature_lock.hold(services, feature):
            ids = {fact.id for fact in dropped if fact.feature == feature}
            warnings += await in_thread(context, services, _drop, feature, ids)
    await in_thread(context, services, facts.index, check_unbudgeted)
    return WrongReply(dropped=dropped, warnings=tuple(warnings))


def _mark(services: Services, dropped: Iterable[DroppedFact]) -> None:
    """Mark facts as wrong before they are dropped: a build running now leaves them out, too."""
    for fact in dropped:
        subjects = published_dossier.find(services, fact.feature).manifest.subjects
        mark = Wrong(feature=fact.feature, text=fact.text, subject=subjects.get(fact.id, ""))
        wrong_marks.add(services.layout, fact.id, mark)


def _preview(services: Services, request: WrongRequest) -> Preview:
    if request.undo:
        names = ", ".join(fact.id for fact in _marked(services, request))
        return Preview(notes=(f"A build could bring these facts back: {names}.",))
    changes = []
    dropped = _matching(services, request)
    for feature in sorted({fact.feature for fact in dropped}):
        ids = {fact.id for fact in dropped if fact.feature == feature}
        found = published_dossier.find(services, feature)
        for name, old in found.texts.items():
            new = _without(name, feature, old, ids)
            if new != old:
                changes.append(previews.change(f"{found.path}{name}", old, new or None))
    return Preview(changes=tuple(changes), notes=("No rebuild would bring these facts back.",))


def _matching(services: Services, request: WrongRequest) -> tuple[DroppedFact, ...]:
    """The facts with this id or text, and those with the same words elsewhere in their dossier."""
    layout = services.layout
    features = published.features(layout)
    if request.feature:
        features = [aliases.resolve(layout, request.feature).feature]
    wanted = _normalized(request.fact)
    found: list[DroppedFact] = []
    for feature in features:
        known = list(_facts(services, feature))
        matching = {_normalized(fact.text) for fact in known if request.fact == fact.id} | {wanted}
        found += [fact for fact in known if _normalized(fact.text) in matching]
    if found:
        return tuple(found)
    message = f"No published fact has the id or text {request.fact[:120]!r}."
    hint = '`preread facts "WORDS"` lists ids.'
    if request.fact in wrong_marks.ids(layout):
        message = f"The fact {request.fact} was dropped before, and is not published any more."
        hint = f"`preread wrong {request.fact} --undo` takes that back."
    raise PrereadError("E_NOT_FOUND", message, hint)


def _marked(services: Services, request: WrongRequest) -> tuple[UnmarkedFact, ...]:
    """The facts marked as wrong that have this id or text, or its words in another file.

    Raises E_NOT_FOUND.
    """
    layout = services.layout
    marked = wrong_marks.marks(layout)
    of_id = marked.get(request.fact)
    wanted = _normalized(of_id.text if of_id else request.fact)
    feature = aliases.resolve(layout, request.feature).feature if request.feature else ""
    found = tuple(
        UnmarkedFact(id=id_, feature=mark.feature, text=mark.text)
        for id_, mark in marked.items()
        if _normalized(mark.text) == wanted and feature in ("", mark.feature)
    )
    if found:
        return found
    message = f"No fact with the id or text {request.fact[:120]!r} is marked as wrong."
    hint = f"The marks are in {layout.relative(layout.wrong)}."
    raise PrereadError("E_NOT_FOUND", message, hint)


def _normalized(text: str) -> str:
    return " ".join(text.split()).lower()


def _facts(services: Services, feature: str) -> Iterator[DroppedFact]:
    found = published_dossier.find(services, feature)
    for name, fact in found.facts():
        yield DroppedFact(
            id=fact_text.fact_id(name, fact.text),
            feature=found.feature,
            file=f"{found.path}{name}:{fact.line}",
            text=fact.text,
        )


def _drop(services: Services, feature: str, ids: set[str]) -> list[str]:
    """Publish the dossier again without these facts, or only take their lines out if people have
    edited it since the last load; returns warnings.

    Requires the feature's lock.
    """
    publish.recover(services, feature)
    warnings = lost_files.restore(services, feature)
    found = published_dossier.find(services, feature)
    texts = {
        name: text
        for name, old in found.texts.items()
        if (text := _without(name, feature, old, ids)) or found.edited
    }
    own = {*found.manifest.facts}
    for name, fact in found.facts():
        id_ = fact_text.fact_id(name, fact.text)
        if id_ in ids and id_ not in own:  # a person's: no build could write it again
            backups.keep_file(services.layout, feature, name)
    if found.edited:  # publishing would hide from the next load what people changed
        _write(services, found, texts)
        return warnings
    drafts = [markdown.parse(name, feature, text)[0] for name, text in texts.items()]
    cited = _cited(drafts)
    manifest = found.manifest.model_copy(
        update={
            "facts": tuple(id_ for id_ in found.manifest.facts if id_ not in ids),
            "spans": {ref: value for ref, value in found.manifest.spans.items() if ref in cited},
            "subjects": {id_: it for id_, it in found.manifest.subjects.items() if id_ not in ids},
        }
    )
    staging = publish.stage(services, feature)
    try:
        for name, text in texts.items():
            atomic.write(staging / name, text.encode())
        publish.publish(services, staging, manifest, "marked wrong")
    except BaseException:
        with suppress(PrereadError):
            atomic.remove(staging)
        raise
    versions.keep_copy(services, feature)
    return warnings


def _write(services: Services, found: PublishedDossier, texts: Mapping[str, str]) -> None:
    """Write the texts that differ in place; one without any fact keeps its title."""
    for name, text in texts.items():
        if text != found.texts[name]:
            data = (text or markdown.render(Draft(name, found.feature))).encode()
            atomic.write(services.layout.dossier(found.feature) / name, data, durable=True)


def _cited(drafts: Iterable[Draft]) -> set[str]:
    sections = [section for draft in drafts for section in draft.sections]
    of_facts = {ref for section in sections for fact in section.facts for ref in fact.sources}
    return of_facts | {section.source for section in sections}


def _without(name: str, feature: str, text: str, ids: set[str]) -> str:
    """A file's text without these facts; empty when an optional file has nothing left."""
    draft = markdown.parse(name, feature, text)[0]
    gone = {fact.line for fact in draft.facts if fact_text.fact_id(name, fact.text) in ids}
    if not gone:
        return text
    sections = [
        replace(section, items=tuple(item for item in section.items if item.line not in gone))
        for section in draft.sections
    ]
    kept = replace(draft, sections=tuple(section for section in sections if section.items))
    if not kept.sections and not BY_NAME[name].required:
        return ""
    if not kept.sections or text == markdown.render(draft):
        return markdown.render(kept)
    return _without_lines(text, gone, kept)


def _without_lines(text: str, gone: set[int], kept: Draft) -> str:
    """A file that a person has edited, without some lines.

    Later facts may cite a path by its basename only, because one of those lines gave it in full:
    their sources are written out.
    """
    lines = [line for number, line in enumerate(text.split("\n"), 1) if number not in gone]
    reread = markdown.parse(kept.name, kept.feature, "\n".join(lines))[0]
    for before, after in zip(kept.facts, reread.facts, strict=True):
        if before.sources != after.sources:
            line = f"- {before.text} ({', '.join(before.sources)})"
            lines[after.line - 1] = path_forms.like(lines[after.line - 1], line)
    return "\n".join(lines)


OPERATION = Operation(
    name="context.wrong",
    request=WrongRequest,
    reply=WrongReply,
    effect="write",
    doc="Drop a wrong fact from the published dossiers for good, or undo that with `--undo`.",
    example="preread wrong 3f9a01bc",
    run=wrong,
    preview=threaded(_preview),
    command="wrong",
    positional=("fact",),
)
