"""`capture`: keep what a finished run log says was learned, if the person agrees."""

from functools import partial
from typing import Literal

from pydantic import Field

from preread import aliases
from preread.errors import PrereadError
from preread.gates.feature_names import PROJECT
from preread.models import Model
from preread.operations.memory import keeping
from preread.operations.memory.keeping import KeptReply, New
from preread.operations.registry import (
    FEATURE,
    Context,
    Operation,
    Preview,
    RequestModel,
    in_thread,
)
from preread.records import runlog
from preread.services import Services

ANYTHING = "Lessons"  # the collection of facts that concern no single feature


class CaptureRequest(RequestModel):
    """Whose run log to read."""

    feature: str = Field(description=FEATURE)
    yes: bool = Field(False, description="Keep the facts without asking.")


class Proposed(Model):
    """A fact from the run log that is not in the project's knowledge yet."""

    text: str
    sources: tuple[str, ...]
    collection: str


class CaptureReply(Model):
    """What the run log says was learned, and whether it was kept."""

    feature: str
    state: Literal["kept", "proposed", "declined", "nothing"]
    proposed: tuple[Proposed, ...]
    kept: tuple[KeptReply, ...] = ()
    refused: tuple[str, ...] = Field((), description="Lines that cannot be kept, and why.")
    next: str = ""


class _Found(Model):
    """The facts of a run log: those that may be kept, and those that may not."""

    feature: str
    facts: tuple[Proposed, ...]
    refused: tuple[str, ...]


async def capture(context: Context, request: CaptureRequest) -> CaptureReply:
    found = await in_thread(context, context.services(), _find, context, request.feature)
    reply = partial(
        CaptureReply, feature=found.feature, proposed=found.facts, refused=found.refused
    )
    if not found.facts:
        return reply(state="nothing", next="There is nothing new in the run log's LEARN.")
    facts = [f"{fact.text} ({', '.join(fact.sources)})" for fact in found.facts]
    command = f"capture {found.feature}"
    if refused := await keeping.refusal(context, facts, command, yes=request.yes):
        return reply(**refused)
    kept = [await keeping.keep(context, _new(fact)) for fact in found.facts]
    return reply(state="kept", kept=tuple(kept))


async def preview(context: Context, request: CaptureRequest) -> Preview:
    found = await in_thread(context, context.services(), _find, context, request.feature)
    news = [_new(fact) for fact in found.facts]
    return await keeping.preview(context, *news) if news else Preview()


def _find(services: Services, context: Context, name: str) -> _Found:
    feature = aliases.resolve(services.layout, name).feature
    services.layout.guard(feature)
    log = runlog.check(services, feature)
    path = services.layout.relative(services.layout.run_log(feature))
    if log is None:
        hint = f"The stages of the work write it; what comes next: `preread workflow {feature}`"
        raise PrereadError("E_NOT_FOUND", f"There is no run log {path}.", hint)
    problems = [one for one in log.problems if one.code != "E_RUN_LEARN"]
    if not log.finished or problems:
        why = f": {problems[0].code} {problems[0].message}" if problems else ""
        raise PrereadError(
            "E_CHECK",
            f"{path} is not a finished run log{why}.",
            f"Finish it first; this lists what is missing: `preread check --run {feature}`",
        )
    facts, refused = [], []
    who = keeping.who(services, context)
    for line in log.unknown:
        try:
            fact = keeping.checked(services, who, New(line, _collection(feature)))
            facts.append(
                Proposed(text=fact.text, sources=fact.sources, collection=fact.new.collection)
            )
        except PrereadError as error:
            refused.append(f"{line[:200]}: {error.message}")
    return _Found(feature=feature, facts=tuple(facts), refused=tuple(refused))


def _collection(feature: str) -> str:
    return ANYTHING if feature == PROJECT else feature.replace("-", " ").capitalize()


def _new(fact: Proposed) -> New:
    return New(fact.text, fact.collection, fact.sources)


OPERATION = Operation(
    name="knowledge.capture",
    request=CaptureRequest,
    reply=CaptureReply,
    effect="write",
    doc="Propose the lessons of a finished run log as facts, and keep them if the person agrees.",
    example="preread capture checkout",
    run=capture,
    preview=preview,
    command="capture",
    positional=("feature",),
)
