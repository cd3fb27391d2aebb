"""Replies of `load` and `extend`: the dossier itself, its counts, and what to do next."""

from collections.abc import Iterable, Iterator, Sequence

from preread.builds import peoples_warnings, recording
from preread.builds.assembly import Assembled
from preread.dossier import (
    build_records,
    fact_history,
    fact_text,
    markdown,
    published,
)
from preread.dossier.build_records import BuildRecord
from preread.dossier.published import Published
from preread.errors import PrereadError, Unreadable
from preread.infra.plural import counted
from preread.layout import BY_NAME
from preread.models import (
    Checked,
    Fault,
    How,
    LoadReply,
    LostFact,
    Manifest,
    Refresh,
    Request,
    Stats,
)
from preread.records import spending
from preread.services import Services

# Which files come first when a dossier is larger than a reply may be.
INLINE_ORDER = (
    "summary.md", "anti-patterns.md", "failures.md", "patterns.md", "existing-tests.md",
    "requirements.md", "codebase.md",
)  # fmt: skip
# A reply does not know whether a gate refused anything.
RETRY = (
    "Go on. If a gate refused a write, a dispatch or a command because the dossier was missing, "
    "retry it."
)
MAX_LOST, MAX_SHOWN = 5, 160  # facts named in a warning, and characters of each


def inline(texts: dict[str, str], limit: int) -> tuple[str, tuple[str, ...]]:
    """The dossier as one text of at most `limit` tokens, and the names of files cut or left out."""
    parts: list[str] = []
    left, cut = limit, []
    for name in INLINE_ORDER:
        text = texts.get(name, "").strip()
        if not text:
            continue
        kept: list[str] = []
        for line in text.split("\n"):
            blank = "\n" * bool(parts and not kept)  # between two files
            left -= fact_text.tokens(f"{blank}{line}\n")
            if left < 0:
                cut.append(name)
                break
            kept.append(line)
        if kept:
            parts.append("\n".join(kept))
        left = max(left, 0)
    return "\n\n".join(parts), tuple(cut)


def refreshed(reply: LoadReply, lost: Sequence[LostFact], found: Refresh | None) -> LoadReply:
    """The reply to a refresh, with what the model's files lost; `cached` if nothing changed."""
    if found is None:
        return reply.model_copy(update={"state": "cached"})
    warnings = [*reply.warnings]
    if lost:
        shown = "; ".join(f"{one.file}: {one.text[:MAX_SHOWN]}" for one in lost[:MAX_LOST])
        fences = sum(one.is_fence for one in lost)
        numbers = ((len(lost) - fences, "fact"), (fences, "code block"))
        what = " and ".join(counted(number, noun) for number, noun in numbers if number)
        are, cites = ("is", "it cites") if len(lost) == 1 else ("are", "they cite")
        warnings.append(f"{what} {are} gone, because what {cites} changed: {shown}")
    return reply.model_copy(update={"warnings": tuple(warnings), "refresh": found})


def with_doubt(reply: LoadReply, why: str) -> LoadReply:
    """The reply, with a warning that the dossier may be out of date."""
    doubt = f"It may be out of date: {why.rstrip('.')}."
    return reply.model_copy(update={"warnings": (*reply.warnings, doubt), "code": Unreadable.CODE})


def returned_facts(services: Services, before: Published | None, made: Assembled) -> list[str]:
    """A warning about facts that will be back although people deleted their lines."""
    gone = fact_history.deleted_by_people(services, before, made.replaced) if before else set()
    back = [
        (draft.name, fact.text)
        for draft, _, fact in markdown.all_facts(made.checked.drafts if gone else ())
        if gone & {
            fact_text.fact_id(draft.name, fact.text),
            fact_text.lasting_id(draft.name, fact.text, fact.sources),
        }
    ]  # fmt: skip
    if not back:
        return []
    shown = "; ".join(
        f"{name}: {text[:MAX_SHOWN]} ({fact_text.fact_id(name, text)})"
        for name, text in back[:MAX_LOST]
    )
    facts = "1 fact is" if len(back) == 1 else f"{len(back)} facts are"
    why = "because the project still says so"
    return [f"{facts} back whose lines were deleted, {why}: {shown}. `preread wrong ID` drops one."]


def renumbered(made: Assembled) -> Iterator[str]:
    """Warnings about numbers in builds' facts that people changed, and that are as before again."""
    for one in made.renumbered[:MAX_LOST]:
        yield (
            "Line numbers that a person changed are as before, because only there is what the "
            f"fact quotes: {one[:MAX_SHOWN]}"
        )
    if (more := len(made.renumbered) - MAX_LOST) > 0:
        yield f"So are those of {counted(more, 'more fact')}."


def joined(made: Assembled) -> Iterator[str]:
    """Warnings about people's code blocks of which a merge joined two versions."""
    for one in made.joined_fences[:MAX_LOST]:
        yield f"Both sides of a merge changed this code block; git kept the lines of both: {one}."


def removed(made: Assembled) -> Iterator[str]:
    """Warnings about what people wrote, and no dossier may contain."""
    for what, problems in (("fact", made.checked.removed), ("code block", made.removed_fences)):
        if not problems:
            continue
        shown = "; ".join(f"{one.path}:{one.line} {one.message}" for one in problems[:MAX_LOST])
        found = f"1 {what} that a person wrote was" if len(problems) == 1 else (
            f"{len(problems)} {what}s that people wrote were"
        )  # fmt: skip
        yield f"{found} removed: {shown}. `preread backups` lists the copies of edited files."


def built(
    services: Services, request: Request, seconds: float, how: How, warnings: Iterable[str]
) -> LoadReply:
    """The reply to a build that was just published, with the build's warnings."""
    found = published.read(services.layout, request.feature)
    if found is None:
        raise PrereadError(
            "E_NOT_FOUND",
            f"The dossier of {request.feature} vanished while it was being read.",
            "Try again.",
        )
    reply = from_published(services, request, found, how, seconds)
    return reply.model_copy(update={"warnings": (*reply.warnings, *warnings)})


def not_extended(
    services: Services, request: Request, run: BuildRecord, fault: Fault, warnings: Iterable[str]
) -> LoadReply:
    """The reply when nothing could be added to a dossier, which is unchanged."""
    reply = built(services, request, run.stats.seconds, "cached", warnings)
    why = f"Nothing was added, and the dossier is unchanged: {fault.reason}."
    failure = {"status": "degraded", "code": fault.code, "hint": fault.hint or None}
    return reply.model_copy(update={**failure, "warnings": (*reply.warnings, why)})


def unsaved(
    services: Services,
    texts: dict[str, str],
    checked: Checked,
    seconds: float,
    error: PrereadError,
) -> LoadReply:
    """The reply to a build that could not be published; it contains the whole dossier."""
    text, cut = inline(texts, services.settings.inline_tokens)
    why = (
        "The static builder wrote this dossier, and it is only in this reply, because it could "
        f"not be saved: {error.message}"
    )
    shortened = (f"{name} is longer than a reply may be, and was cut." for name in cut)
    return LoadReply(
        status="degraded",
        state="built",
        builder="static",
        level="light",
        dossier=text,
        warnings=(why, *shortened),
        next="Read it now. " + RETRY,
        stats=Stats(
            **recording.counts(checked),
            dropped=checked.dropped,
            cut=checked.cut,
            seconds=round(seconds, 3),
        ),
        code=error.code,
        hint=error.hint,
        details=error.details,
    )


def from_published(
    services: Services, request: Request, found: Published, how: How, seconds: float
) -> LoadReply:
    """The reply for a published dossier."""
    layout, manifest = services.layout, found.manifest or Manifest(feature=request.feature)
    text, cut = inline(found.texts, services.settings.inline_tokens)
    run = build_records.read(layout, request.feature)
    stats = run.stats if run is not None else _counted(found)
    if not found.is_as_built:
        stats = stats.model_copy(update=_counted(found).model_dump(include={"facts", "tokens"}))
    path = layout.relative(layout.dossier(request.feature)) + "/"
    fault = manifest.fault or Fault(code="", reason="")
    warnings = [
        *(f"{name} is longer than a reply may be; read {path}{name}." for name in cut),
        *_fallback_warnings(manifest, fault),
        *_thin_warnings(request.feature, manifest, run),
        *peoples_warnings.of(layout, found, manifest),
    ]
    missing = manifest.missing if manifest.status == "partial" else ()
    shown = {"seconds": round(seconds, 3), "cost_today_usd": _cost_today(services, stats)}
    return LoadReply(
        status=manifest.status,
        path=path,
        thin=manifest.thin,
        files=tuple(name for name in BY_NAME if name in found.texts),
        state=how,
        builder=manifest.builder,
        level=manifest.level,
        dossier=text,
        missing=tuple(f"{name}: {fault.reason}" for name in missing),
        warnings=tuple(warnings),
        next=RETRY,
        stats=stats.model_copy(update=shown),
        code=fault.code or None,
        hint=fault.hint or None,
    )


def _fallback_warnings(manifest: Manifest, fault: Fault) -> Iterator[str]:
    """Warnings about files that the model should have drafted, and who wrote them instead."""
    if fault.code == Unreadable.CODE:
        yield f"The dossier is incomplete, and is built again at the next call: {fault.reason}."
        return
    if manifest.status == "degraded" and not manifest.drafted:
        yield f"The static builder wrote everything: {fault.reason}."
        return
    earlier = [name for name in manifest.missing if name in manifest.drafted]
    static = [name for name in manifest.missing if name not in manifest.drafted]
    if earlier:
        names = ", ".join(earlier)
        yield f"An earlier draft is used for {names}, as far as it is still valid: {fault.reason}."
    if static:
        yield f"The static builder wrote {', '.join(static)}: {fault.reason}."


def _thin_warnings(feature: str, manifest: Manifest, run: BuildRecord | None) -> Iterator[str]:
    """A warning if the project says nothing, or next to nothing, about the feature."""
    if run is not None and run.stats.facts == 0:
        yield f"Nothing in this project is about {feature}; say more in `description`."
    elif manifest.thin:
        yield (
            f"The project says next to nothing about {feature}: "
            "the dossier has what is nearest and how tests are written here. "
            "If it is known by other words, say more in `description`."
        )


def _cost_today(services: Services, stats: Stats) -> float:
    """The cost of the project's builds today; skipped for a dossier that cost nothing."""
    return round(spending.totals(services.layout).today, 6) if stats.turns else 0.0


def _counted(found: Published) -> Stats:
    """Counts for a dossier without a run record, for example one that came with the repository."""
    drafts = [markdown.parse(name, "", text)[0] for name, text in found.texts.items()]
    tokens = sum(fact_text.tokens(text) for text in found.texts.values())
    return Stats(facts=sum(len(draft.facts) for draft in drafts), tokens=tokens)


def building(services: Services, request: Request, seconds: float) -> LoadReply:
    """The reply to a caller who cannot wait longer."""
    return LoadReply(
        status="building",
        path=services.layout.relative(services.layout.dossier(request.feature)) + "/",
        level=request.level,
        next=f"Call again with the same arguments, `preread load {request.feature}`: that call "
        "joins the build.",
        stats=Stats(seconds=round(seconds, 3)),
    )


def failed(error: PrereadError) -> LoadReply:
    """The reply to an expected failure; nothing published was changed."""
    return LoadReply(
        status="error",
        next=error.hint or "Fix what the message says, then try again.",
        code=error.code,
        message=error.message,
        hint=error.hint,
        details=error.details,
    )
