"""`diff`: the facts that were added, removed, moved and changed since some time, and why."""

from pydantic import Field

from preread import aliases
from preread.dossier import damaged_history, fact_history
from preread.dossier.fact_changes import Change, Kind, Known, compare
from preread.dossier.fact_history import Event
from preread.models import Model
from preread.operations import published_dossier
from preread.operations.history import versions
from preread.operations.registry import FEATURE, Operation, RequestModel, threaded
from preread.services import Services


class DiffRequest(RequestModel):
    """Which dossier, and since when."""

    feature: str = Field(description=FEATURE)
    since: str | None = Field(
        None,
        description="A time span like `2h` or `3d`, a date, or a commit. Default: the last change.",
    )


class FactChange(Model):
    """How one fact changed."""

    kind: Kind
    id: str
    file: str
    text: str
    sources: tuple[str, ...]
    before: Known | None = Field(None, description="What it was; for `moved` and `changed`.")
    how: str = Field(description="What changed it: `built`, `refreshed`, `edited`, …")
    at: float | None = Field(None, description="When, in epoch seconds.")
    why: str


class DiffReply(Model):
    """The changes of a dossier's facts."""

    feature: str
    since: float = Field(description="The time of the version that was compared, in epoch seconds.")
    version: str = Field(description="What that version is.")
    changes: tuple[FactChange, ...]
    warnings: tuple[str, ...] = ()


def _diff(services: Services, request: DiffRequest) -> DiffReply:
    served = aliases.resolve(services.layout, request.feature)
    now, past = versions.of_now(services, published_dossier.find(services, served.feature))
    if request.since:
        when = versions.time_of(services, request.since)
    else:
        # A person's edit and the refresh that found it are of the same moment.
        at = max((event.at for event in past if event.at < past[-1].at), default=0.0)
        when = versions.When(at)
    base = versions.before(services, served.feature, past, when)
    later = [event for event in past if event.at > base.at or not base.facts]
    changes = compare(base.facts, now)
    return DiffReply(
        feature=served.feature,
        since=base.at,
        version=base.label,
        changes=tuple(_described(change, later) for change in changes),
        warnings=(*served.warnings, *damaged_history.warnings(services.layout, served.feature)),
    )


def _described(change: Change, later: list[Event]) -> FactChange:
    shown = change.now or change.was
    if shown is None:
        raise ValueError("a change needs a fact")
    event, cause = _cause(change, later)
    why = fact_history.reason(event, cause) if event is not None and cause is not None else ""
    return FactChange(
        kind=change.kind,
        id=shown.id,
        file=shown.file,
        text=shown.text,
        sources=shown.sources,
        before=change.was if change.now is not None else None,
        how=event.how if event else "",
        at=event.at if event else None,
        why=why,
    )


def _cause(change: Change, later: list[Event]) -> tuple[Event | None, Change | None]:
    """The last event that did this to the fact, or else the last that did anything to it."""
    if change.now is not None:
        steps = list(fact_history.lineage(later, change.now))
    else:
        steps = list(fact_history.fate(later, change.was)) if change.was is not None else []
    fitting = (step for step in steps if step[1].kind == change.kind)
    return next(fitting, steps[0] if steps else (None, None))


OPERATION = Operation(
    name="history.diff",
    request=DiffRequest,
    reply=DiffReply,
    effect="read",
    doc="List a dossier's facts that were added, removed, moved or changed, and why.",
    example="preread diff checkout --since 3d",
    run=threaded(_diff),
    command="diff",
    positional=("feature",),
    pages="changes",
)
