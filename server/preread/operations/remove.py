"""`remove`: remove a feature's dossier; copies of its files stay in `.project/.state/backups/`."""

import os

from pydantic import Field

from preread import backups, facts, publish, versions
from preread.builds import feature_lock
from preread.check import check_unbudgeted
from preread.dossier import fact_history, published
from preread.dossier.published import Published
from preread.infra import atomic
from preread.layout import BY_NAME, MANIFEST
from preread.models import Model
from preread.operations import previews, published_dossier
from preread.operations.registry import (
    FEATURE,
    Context,
    Operation,
    Preview,
    RequestModel,
    in_thread,
)
from preread.records import stale_hints
from preread.services import Services

LIST = "List the dossiers: `preread status`"


class RemoveRequest(RequestModel):
    """Which dossier to remove."""

    feature: str = Field(description=FEATURE)


class RemoveReply(Model):
    """What was removed, and where its copies are."""

    feature: str
    removed: tuple[str, ...]
    backup: str = Field(description="The id of the backup with a copy of each removed file.")
    kept: tuple[str, ...] = Field(description="Files in its folder that are not Preread's.")
    next: str


async def remove(context: Context, request: RemoveRequest) -> RemoveReply:
    services = context.services()
    # Not by an alias: that would remove the dossier of another feature.
    feature = published_dossier.find(services, request.feature, hint=LIST).feature
    async with feature_lock.hold(services, feature):
        reply = await in_thread(context, services, _remove, feature)
    await in_thread(context, services, facts.index, check_unbudgeted)
    return reply


async def preview(context: Context, request: RemoveRequest) -> Preview:
    services = context.services()
    found = published_dossier.find(services, request.feature, hint=LIST)
    folder = services.layout.relative(services.layout.backup_sets)
    changes = [
        previews.change(f"{found.path}{name}", text, None) for name, text in found.texts.items()
    ]
    return Preview(changes=tuple(changes), notes=(f"Copies would be kept in {folder}/.",))


def _remove(services: Services, feature: str) -> RemoveReply:
    layout = services.layout
    publish.recover(services, feature)
    published_dossier.find(services, feature, hint=LIST)  # another call may have removed it
    feature_lock.remove_unfinished_backups(services)
    before = published.in_place(layout, feature)
    folder = layout.dossier(feature)
    present = {path.name for path in folder.iterdir()}
    own = [name for name in (*BY_NAME, MANIFEST) if name in present]
    record = layout.run_record(feature)
    paths = [*(folder / name for name in own), record]
    backup = backups.keep(layout, f"remove-{feature}", paths)
    # The manifest first: without it, no reader takes the rest for a whole dossier.
    for name in reversed(own):
        atomic.remove(folder / name)
    kept = sorted(present - set(own))
    if not kept:
        atomic.remove(folder)
    atomic.remove(record)
    stale_hints.clear(layout, feature)
    versions.forget(services, [feature])
    nothing = Published(None, {}, ())
    fact_history.record_replacement(services, feature, before, nothing, "removed")
    return RemoveReply(
        feature=feature,
        removed=tuple(layout.relative(folder / name) for name in own),
        backup=backup,
        kept=tuple(layout.relative(folder) + os.sep + name for name in kept),
        next=f"Undo: `preread restore {backup}`. Build it again: `preread load {feature}`",
    )


OPERATION = Operation(
    name="context.remove",
    request=RemoveRequest,
    reply=RemoveReply,
    effect="write",
    doc="Remove a feature's dossier; copies of its files stay in .project/.state/backups/.",
    example="preread remove checkout",
    run=remove,
    preview=preview,
    command="remove",
    people_only=True,
    positional=("feature",),
)
