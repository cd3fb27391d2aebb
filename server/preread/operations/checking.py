"""Operations that judge a published dossier: check every rule and source, drop a fact that is wrong."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial

from pydantic import Field

from preread import (
    cache,
    dossier,
    facts,
    pipeline,
    publish,
    published,
    runlog,
    stale_hints,
    wrong_marks,
)
from preread.build_key import recipe
from preread.check import check as check_drafts
from preread.check import check_unbudgeted
from preread.errors import PrereadError
from preread.gates import aliases
from preread.infra import atomic
from preread.layout import BY_NAME, REQUIRED
from preread.models import Draft, Model
from preread.operations.registry import FEATURE, Asked, Context, Operation, in_thread
from preread.operations.standing import Standing, serving, standing
from preread.services import Services


class CheckRequest(Asked):
    """Which dossier to check."""

    feature: str = Field(description=FEATURE)
    run: bool = Field(False, description="Check its run log instead, as far as that goes.")


class ProblemFound(Model):
    """One broken rule on one line."""

    path: str
    line: int
    code: str
    message: str


class RunLog(Model):
    """How far a run log is."""

    path: str
    stage: str = Field(description="The last stage that holds something; empty before the first.")
    finished: bool
    runs: int
    rounds: int = Field(description="Rounds of fixes.")


class CheckReply(Model):
    """What was found in a published dossier or a run log, whoever wrote it; `ok` when that is nothing."""

    feature: str
    ok: bool
    facts: int | None = Field(None, description="Facts of the dossier that hold.")
    run: RunLog | None = Field(None, description="How far the run log is.")
    problems: tuple[ProblemFound, ...]
    warnings: tuple[str, ...] = ()


async def check(context: Context, request: CheckRequest) -> CheckReply:
    return await in_thread(context, context.services(), _check, request)


def _check(services: Services, request: CheckRequest) -> CheckReply:
    if request.run:
        return _check_run(services, request.feature)
    found = serving(services, request.feature)
    drafts, format_problems = found.parsed()
    checked = check_drafts(services, found.feature, drafts, problems=format_problems, budget=False)
    problems = [
        ProblemFound(path=f"{found.path}{p.path}", line=p.line, code=p.code, message=p.message)
        for p in sorted(checked.problems, key=lambda p: (p.path, p.line))
    ]
    problems += [
        ProblemFound(
            path=f"{found.path}{name}",
            line=1,
            code="E_FILE_MISSING",
            message="no dossier is without it",
        )
        for name in REQUIRED
        if not found.texts.get(name, "").strip()
    ]
    if problems:
        _hint(services, found)
    return CheckReply(
        feature=found.feature,
        ok=not problems,
        facts=len(checked.verdicts),
        problems=tuple(problems),
        warnings=found.warnings,
    )


def _hint(services: Services, found: Standing) -> None:
    """Tell the gates of a dossier that does not hold, if a load would build it again."""
    looked = cache.lookup(services, pipeline.as_built(found.manifest), partial(recipe, services))
    if not looked.covers:
        stale_hints.mark(services.layout, found.feature, looked.why)


def _check_run(services: Services, name: str) -> CheckReply:
    served = aliases.served(services.layout, name)
    services.layout.guard(served.feature)
    found = runlog.check(services, served.feature)
    if found is None:
        path = services.layout.relative(services.layout.run_log(served.feature))
        raise PrereadError(
            "E_NOT_FOUND",
            f"There is no run log {path}.",
            "It is begun with the work that it tells of.",
        )
    about = RunLog(
        path=found.path,
        stage=found.stage,
        finished=found.finished,
        runs=found.runs,
        rounds=found.rounds,
    )
    problems = [
        ProblemFound(path=p.path, line=p.line, code=p.code, message=p.message)
        for p in found.problems
    ]
    return CheckReply(
        feature=served.feature,
        ok=not problems,
        run=about,
        problems=tuple(problems),
        warnings=served.warnings,
    )


class WrongRequest(Asked):
    """Which fact is wrong."""

    fact: str = Field(description="Its id, as `facts` and `show --ids` give it, or its exact text.")
    feature: str | None = Field(
        None, description="Only in this feature's dossier. Default: in all."
    )


class Dropped(Model):
    """A fact that is no longer published."""

    id: str
    feature: str
    file: str = Field(description="The file and line that held it.")
    text: str


class WrongReply(Model):
    """What was dropped; it will not come back by a rebuild."""

    dropped: tuple[Dropped, ...]


async def wrong(context: Context, request: WrongRequest) -> WrongReply:
    services = context.services()
    dropped = await in_thread(context, services, _matching, request)
    for fact in dropped:  # first, so that a build which runs now leaves it out too
        wrong_marks.add(services.layout, fact.id, fact.feature, fact.text)
    for feature in sorted({fact.feature for fact in dropped}):
        async with pipeline.feature_lock(services, feature):
            ids = {fact.id for fact in dropped if fact.feature == feature}
            await in_thread(context, services, _drop, feature, ids)
    await in_thread(context, services, facts.index, check_unbudgeted)
    return WrongReply(dropped=dropped)


def _matching(services: Services, request: WrongRequest) -> tuple[Dropped, ...]:
    """The facts that are meant: of this id or text, and the same words in other files of that dossier."""
    layout = services.layout
    features = (
        [aliases.served(layout, request.feature).feature]
        if request.feature
        else published.features(layout)
    )
    found: list[Dropped] = []
    for feature in features:
        there = list(_facts(standing(services, feature)))
        meant = {
            _words(f.text)
            for f in there
            if request.fact == f.id or _words(request.fact) == _words(f.text)
        }
        found += [fact for fact in there if _words(fact.text) in meant]
    if found:
        return tuple(found)
    message = f"No published fact is or says {request.fact[:120]!r}."
    if request.fact in wrong_marks.ids(services.layout):
        message = f"The fact {request.fact} was dropped before; nothing publishes it."
    raise PrereadError(
        "E_NOT_FOUND",
        message,
        'Ids are listed by: preread facts "WORDS", preread show FEATURE --ids',
    )


def _words(text: str) -> str:
    return " ".join(text.split()).lower()


def _facts(found: Standing) -> Iterator[Dropped]:
    for draft, _, fact in dossier.all_facts(found.parsed()[0]):
        id_ = dossier.fact_id(draft.name, fact.text)
        place = f"{found.path}{draft.name}:{fact.line}"
        yield Dropped(id=id_, feature=found.feature, file=place, text=fact.text)


def _drop(services: Services, feature: str, ids: set[str]) -> None:
    """Publish the dossier again without these facts; the caller holds the feature's lock."""
    publish.recover(services, feature)
    found = standing(services, feature)
    texts = {
        name: text
        for name, old in found.texts.items()
        if (text := _without(name, feature, old, ids))
    }
    drafts = [dossier.parse(name, feature, text)[0] for name, text in texts.items()]
    cited = _cited(drafts)
    manifest = found.manifest.model_copy(
        update={
            "facts": tuple(id_ for id_ in found.manifest.facts if id_ not in ids),
            "spans": {ref: value for ref, value in found.manifest.spans.items() if ref in cited},
        }
    )
    staging = publish.stage(services, feature)
    try:
        for name, text in texts.items():
            atomic.write(staging / name, text.encode())
        publish.publish(services, staging, manifest)
    except BaseException:
        with suppress(PrereadError):
            atomic.remove(staging)
        raise


def _cited(drafts: Iterable[Draft]) -> set[str]:
    sections = [section for draft in drafts for section in draft.sections]
    return {s.source for s in sections} | {
        ref for s in sections for fact in s.facts for ref in fact.sources
    }


def _without(name: str, feature: str, text: str, ids: set[str]) -> str:
    """One file without these facts, otherwise as it is; empty when an optional file has nothing left."""
    draft = dossier.parse(name, feature, text)[0]
    gone = {fact.line for fact in draft.facts if dossier.fact_id(name, fact.text) in ids}
    if not gone:
        return text
    sections = [
        replace(section, items=tuple(item for item in section.items if item.line not in gone))
        for section in draft.sections
    ]
    kept = replace(draft, sections=tuple(section for section in sections if section.items))
    if not kept.sections and not BY_NAME[name].required:
        return ""
    if not kept.sections or text == dossier.render(draft):
        return dossier.render(kept)
    # A person wrote in it: only lines go, and a path that others cite by its basename is written whole elsewhere.
    lines = [line for number, line in enumerate(text.split("\n"), 1) if number not in gone]
    reread = dossier.parse(name, feature, "\n".join(lines))[0]
    for meant, said in zip(kept.facts, reread.facts, strict=True):
        if meant.sources != said.sources:
            lines[said.line - 1] = f"- {meant.text} ({', '.join(meant.sources)})"
    return "\n".join(lines)


CHECK = Operation(
    name="context.check",
    request=CheckRequest,
    reply=CheckReply,
    effect="read",
    doc="Check a published dossier, whoever wrote it: every rule of the format, every source; `--run`: a run log.",
    example="preread check checkout",
    run=check,
    command="check",
    positional=("feature",),
)
WRONG = Operation(
    name="context.wrong",
    request=WrongRequest,
    reply=WrongReply,
    effect="write",
    doc="Drop a fact that is wrong from what is published, and remember it.",
    example="preread wrong 3f9a01bc",
    run=wrong,
    command="wrong",
    positional=("fact",),
)
OPERATIONS = (CHECK, WRONG)
