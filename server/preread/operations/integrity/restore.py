"""`restore`: put the files of a backup back; what they replace is backed up first."""

from contextlib import AsyncExitStack
from pathlib import Path

from pydantic import Field

from preread import backups, facts, publish, versions
from preread.builds import feature_lock
from preread.check import check_unbudgeted
from preread.dossier import fact_history, published
from preread.errors import PrereadError
from preread.gates.spans import decoded
from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.layout import MANIFEST, Layout
from preread.models import Model
from preread.operations import previews
from preread.operations.registry import Context, Operation, Preview, RequestModel, in_thread
from preread.services import Services


class RestoreRequest(RequestModel):
    """Which backup to restore."""

    id: str = Field(description="The backup's id, as `backups` lists it.")
    partly: bool = Field(False, description="Of a damaged backup, restore the undamaged files.")


class RestoreReply(Model):
    """What was restored, and how to undo that."""

    restored: tuple[str, ...] = Field(description="The files that changed.")
    damaged: tuple[str, ...] = Field((), description="Its damaged files, which were left out.")
    backup: str = Field(description="The id of the backup of what they replaced; may be empty.")
    next: str


async def restore(context: Context, request: RestoreRequest) -> RestoreReply:
    services = context.services()
    services.layout.guard()
    copies, damaged = await in_thread(context, services, _copies, request)
    async with AsyncExitStack() as locks:
        for feature in _features(services.layout, copies):
            services.layout.guard(feature)
            await locks.enter_async_context(feature_lock.hold(services, feature))
            await in_thread(context, services, publish.recover, feature)
        reply = await in_thread(context, services, _restore, copies)
    await in_thread(context, services, facts.index, check_unbudgeted)
    return reply.model_copy(update={"damaged": damaged})


async def preview(context: Context, request: RestoreRequest) -> Preview:
    services = context.services()
    services.layout.guard()
    copies, _ = await in_thread(context, services, _copies, request)
    changes = [
        previews.change(services.layout.relative(path), decoded(plain_bytes(path)), decoded(data))
        for path, data in copies.items()
        if plain_bytes(path) != data
    ]
    return Preview(changes=tuple(changes))


def _copies(
    services: Services, request: RestoreRequest
) -> tuple[dict[Path, bytes], tuple[str, ...]]:
    """The backup's intact files, and its damaged ones. Raises E_NOT_FOUND and E_BACKUP."""
    layout = services.layout
    backup = backups.find(layout, request.id)
    damaged = backups.damaged(layout, backup)
    if damaged and not request.partly:
        what = "; ".join(f"{name} {why}" for name, why in damaged.items())
        raise PrereadError(
            "E_BACKUP",
            f"The backup {backup.id} is not whole: {what}. Nothing was restored.",
            f"Restore its other files: `preread restore {backup.id} --partly`",
            {"files": damaged},
        )
    return backups.copies(layout, backup), tuple(damaged)


def _features(layout: Layout, copies: dict[Path, bytes]) -> list[str]:
    return sorted({path.parent.name for path in copies if path.parent.parent == layout.context})


def _restore(services: Services, copies: dict[Path, bytes]) -> RestoreReply:
    layout = services.layout
    changed = [path for path, data in copies.items() if plain_bytes(path) != data]
    for path in changed:
        layout.real(path)
    feature_lock.remove_unfinished_backups(services)
    backup = backups.keep(layout, "restore", changed)
    features = _features(layout, copies)
    versions.forget(services, features)
    before = {feature: published.in_place(layout, feature) for feature in features}
    # The manifest last: until then, readers see files that a person edited.
    for path in sorted(changed, key=lambda path: path.name == MANIFEST):
        atomic.write(path, copies[path], durable=True)
    for feature, found in before.items():
        now = published.in_place(layout, feature)
        fact_history.record_replacement(services, feature, found, now, fact_history.RESTORED)
        versions.keep_copy(services, feature)
    return RestoreReply(
        restored=tuple(map(layout.relative, changed)),
        backup=backup,
        next=f"To undo it: `preread restore {backup}`" if backup else "",
    )


OPERATION = Operation(
    name="integrity.restore",
    request=RestoreRequest,
    reply=RestoreReply,
    effect="write",
    doc="Put the files of a backup back; what they replace is backed up first.",
    example="preread restore 20261122-154000-remove-checkout",
    run=restore,
    preview=preview,
    command="restore",
    people_only=True,
    positional=("id",),
)
