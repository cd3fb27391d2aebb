"""`builds.cancel`: end a running build, in this process or in another one."""

import os

from pydantic import Field

from preread.builds.job import Job
from preread.errors import PrereadError
from preread.models import Model
from preread.names import feature_name
from preread.operations.registry import (
    FEATURE,
    Context,
    Operation,
    Preview,
    RequestModel,
    in_thread,
)
from preread.records import live_builds
from preread.records.live_builds import Live
from preread.services import Services

WAIT_SECONDS, POLL_SECONDS = 10.0, 0.05


class CancelRequest(RequestModel):
    """Which build."""

    feature: str = Field(description=FEATURE)


class CancelReply(Model):
    """A build that was cancelled. Its callers get `E_CANCELLED`; a published dossier stays."""

    feature: str
    elsewhere: tuple[int, ...] = Field(
        (), description="Ids of other processes that were asked to end their build of it."
    )
    ended: bool = Field(description="Whether it has ended; otherwise it ends at its next step.")


async def cancel(context: Context, request: CancelRequest) -> CancelReply:
    from anyio import move_on_after, sleep

    feature = feature_name(request.feature)
    services = context.services()
    jobs, others = await _found(context, services, feature)
    for job in jobs:
        job.stop()
    for build in others:
        live_builds.cancel(build)
    with move_on_after(WAIT_SECONDS) as waited:
        for job in jobs:
            await job.ended()
        while await in_thread(context, services, _any_runs, others):  # noqa: ASYNC110 - processes
            await sleep(POLL_SECONDS)
    return CancelReply(
        feature=feature,
        elsewhere=tuple(build.begin.pid or 0 for build in others),
        ended=not waited.cancelled_caught,
    )


def _any_runs(_services: Services, builds: list[Live]) -> bool:
    return any(live_builds.is_running(build) for build in builds)


async def preview(context: Context, request: CancelRequest) -> Preview:
    feature = feature_name(request.feature)
    _, others = await _found(context, context.services(), feature)
    where = "".join(f" in process {build.begin.pid}" for build in others)
    return Preview(notes=(f"The build of {feature}{where} would end.",))


async def _found(
    context: Context, services: Services, feature: str
) -> tuple[list[Job], list[Live]]:
    """The builds of the feature, here and in other processes. Raises E_NOT_FOUND."""
    running = context.jobs.running(services.layout.root)
    jobs = [job for job in running if job.request.feature == feature]
    everywhere = await in_thread(context, services, _everywhere, feature)
    others = [one for one in everywhere if not jobs or one.begin.pid != os.getpid()]
    if not jobs and not others:
        message = f"No build of {feature} is running."
        raise PrereadError("E_NOT_FOUND", message, "`preread builds list` lists those that run.")
    return jobs, others


def _everywhere(services: Services, feature: str) -> list[Live]:
    return live_builds.running(services.layout, feature)


OPERATION = Operation(
    name="builds.cancel",
    request=CancelRequest,
    reply=CancelReply,
    effect="write",
    doc="Cancel a running build, also in another process; a published dossier stays as it is.",
    example="preread builds cancel checkout",
    run=cancel,
    preview=preview,
    command="builds cancel",
    positional=("feature",),
)
