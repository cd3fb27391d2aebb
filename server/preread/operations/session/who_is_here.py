"""`who_is_here`: the sessions in this project, the running builds, the files being written."""

import time
from collections.abc import Sequence

from pydantic import Field

from preread.infra.reading import plain_bytes
from preread.layout import Layout
from preread.models import Model
from preread.operations.registry import Context, NothingRequest, Operation, in_thread
from preread.operations.session import shared
from preread.records import sessions
from preread.records.sessions import Session
from preread.services import Services


class RunningBuild(Model):
    """A build that runs now."""

    feature: str
    until: float = Field(description="When its time is up, in epoch seconds.")
    by: tuple[str, ...] = Field((), description="Ids of the sessions that work on the feature.")


class WhoReply(Model):
    """Who is here."""

    you: str = Field(description="The id of the calling session.")
    sessions: tuple[Session, ...]
    builds: tuple[RunningBuild, ...] = ()


async def who_is_here(context: Context, _: NothingRequest) -> WhoReply:
    return await in_thread(context, context.services(), _who, shared.me(context).id)


def _who(services: Services, you: str) -> WhoReply:
    found = sessions.live_sessions(services.layout)
    return WhoReply(you=you, sessions=tuple(found), builds=running(services.layout, found))


def running(layout: Layout, found: Sequence[Session] = ()) -> tuple[RunningBuild, ...]:
    """The builds of every process, with those of these sessions that work on the feature."""
    folder = layout.building("x").parent
    builds = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        try:
            until = float(plain_bytes(path) or b"0")
        except ValueError:
            continue
        if until > time.time():
            by = tuple(one.id for one in found if one.feature == path.name)
            builds.append(RunningBuild(feature=path.name, until=until, by=by))
    return tuple(builds)


OPERATION = Operation(
    name="session.who_is_here",
    request=NothingRequest,
    reply=WhoReply,
    effect="read",
    doc="List the sessions in this project: what each works on and writes, and which builds run.",
    example="preread who",
    run=who_is_here,
    command="who",
    pages="sessions",
)
