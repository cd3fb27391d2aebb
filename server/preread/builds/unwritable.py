"""The reply to a build whose project, or its record of builds, cannot be written."""

from contextlib import nullcontext
from functools import partial

from preread import cache
from preread.builds import replies
from preread.builds.build import without_publishing
from preread.builds.build_key import build_key
from preread.errors import Cancelled, PrereadError
from preread.infra import db
from preread.models import LoadReply, Request
from preread.services import Services, step


async def reply(services: Services, request: Request, error: PrereadError) -> LoadReply:
    """The reply if something cannot be written: the published dossier, or one in the reply only.

    The published one even if it is out of date, if there is no other. Raises any other error, and
    this one if a published dossier was to be replaced.
    """
    if error.code != "E_WRITE" or request.extend:
        raise error
    unforced = request.model_copy(update={"force": False})
    found = await step(cache.lookup, services, unforced, partial(build_key, services))
    if not found.covers or found.published is None:
        unsaved = await _unsaved(services, request, error)
        if unsaved is not None:
            return unsaved
    if request.force or found.published is None or found.needs == "build":
        raise error
    made = replies.from_published(services, request, found.published, "cached", 0.0)
    why = f"It, or the record of it, could not be refreshed: {error.message}"
    if not found.covers:
        why = f"It is out of date ({found.why}), and could not be refreshed: {error.message}"
    more = {"code": error.code, "hint": error.hint} if not found.covers else {}
    return made.model_copy(update={"warnings": (*made.warnings, why), **more})


async def _unsaved(services: Services, request: Request, error: PrereadError) -> LoadReply | None:
    """A dossier in the reply only; None if that fails, too."""
    for place in (nullcontext(), db.in_memory(services.layout)):  # no room for the index either
        try:
            with place:
                return await without_publishing(services, request, error)
        except Cancelled:
            raise
        except PrereadError as failure:
            if failure.code != "E_WRITE":
                break
    return None
