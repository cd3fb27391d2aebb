"""`builds.list`: the builds that run or wait, in this process and in others, and what each does."""

import time
from typing import Literal

from pydantic import Field

from preread.builds.job import Job
from preread.models import Model
from preread.operations.registry import Context, Operation, RequestModel, in_thread
from preread.records import live_builds
from preread.records.live_builds import Live
from preread.services import Services
from preread.settings import Level


class ListRequest(RequestModel):
    """Which builds."""

    feature: str | None = Field(None, description="Only this feature's build, with all its steps.")


class Step(Model):
    """Something that a build did."""

    at: float = Field(description="In epoch seconds.")
    text: str


class Build(Model):
    """A build of this server."""

    feature: str
    level: Level
    state: Literal["running", "waiting"] = Field(description="`waiting` for its turn.")
    message: str
    done: float = Field(description="How much is done, of `total`.")
    total: float
    seconds: float = Field(description="Since it began to run; 0 while it waits.")
    callers: int = Field(description="How many calls wait for it.")
    steps: tuple[Step, ...] = Field(
        description="What it did, as what its model read and wrote, oldest first; without "
        "`feature` only the last."
    )


class Elsewhere(Model):
    """A build of another process."""

    feature: str
    pid: int
    level: Level | None = None
    message: str
    done: float = Field(description="How much is done, of `total`.")
    total: float
    seconds: float = Field(description="Since it began.")
    until: float = Field(description="When its time is up, in epoch seconds.")
    steps: tuple[Step, ...] = Field(description="As for a build of this server.")


class ListReply(Model):
    """The builds of a project."""

    builds: tuple[Build, ...]
    elsewhere: tuple[Elsewhere, ...] = Field(description="Builds of other processes.")


async def list_(context: Context, request: ListRequest) -> ListReply:
    services = context.services()
    jobs = [
        job
        for job in context.jobs.running(services.layout.root)
        if request.feature in {None, job.request.feature}
    ]
    mine = {job.request.feature for job in jobs}
    others = await in_thread(context, services, _running, request.feature)
    whole = request.feature is not None
    return ListReply(
        builds=tuple(_build(job, whole=whole) for job in jobs),
        elsewhere=tuple(
            _elsewhere(one, whole=whole) for one in others if one.begin.feature not in mine
        ),
    )


def _running(services: Services, feature: str | None) -> list[Live]:
    return live_builds.running(services.layout, feature)


def _build(job: Job, *, whole: bool) -> Build:
    message, done, total = job.latest
    steps = list(job.steps) if whole else list(job.steps)[-1:]
    return Build(
        feature=job.request.feature,
        level=job.request.level,
        state="waiting" if job.begun is None else "running",
        message=message,
        done=done,
        total=total,
        seconds=round(time.monotonic() - job.begun, 1) if job.begun is not None else 0.0,
        callers=job.callers,
        steps=tuple(Step(at=at, text=text) for at, text in steps),
    )


def _elsewhere(build: Live, *, whole: bool) -> Elsewhere:
    begin, last = build.begin, build.steps[-1:]
    return Elsewhere(
        feature=begin.feature,
        pid=begin.pid or 0,
        level=begin.level,
        message=last[0].text if last else "",
        done=last[0].done or 0 if last else 0,
        total=last[0].total or 0 if last else 0,
        seconds=round(max(0.0, time.time() - begin.at), 1),
        until=begin.until or 0,
        steps=tuple(Step(at=one.at, text=one.text) for one in (build.steps if whole else last)),
    )


OPERATION = Operation(
    name="builds.list",
    request=ListRequest,
    reply=ListReply,
    effect="read",
    doc="List the running builds of every process, and what each did, read and wrote.",
    example="preread builds list",
    run=list_,
    command="builds list",
)
