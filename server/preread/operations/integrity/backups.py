"""`backups`: the copies of what was replaced, set aside or removed."""

from pydantic import Field

from preread import backups
from preread.backups import Backup
from preread.models import Model
from preread.operations.registry import FEATURE, Context, Operation, RequestModel, in_thread
from preread.services import Services


class BackupsRequest(RequestModel):
    """Which backups to list."""

    feature: str | None = Field(None, description=f"Only those with its files. {FEATURE}")


class BackupsReply(Model):
    """Backups, the latest first."""

    backups: tuple[Backup, ...]


async def list_backups(context: Context, request: BackupsRequest) -> BackupsReply:
    return await in_thread(context, context.services(), _list, request)


def _list(services: Services, request: BackupsRequest) -> BackupsReply:
    services.layout.guard()
    found = backups.list_all(services.layout)
    if request.feature:
        start = services.layout.relative(services.layout.dossier(request.feature)) + "/"
        found = [one for one in found if any(name.startswith(start) for name in one.files)]
    return BackupsReply(backups=tuple(found))


OPERATION = Operation(
    name="integrity.backups",
    request=BackupsRequest,
    reply=BackupsReply,
    effect="read",
    doc="List the backups of files that were replaced, set aside or removed, latest first.",
    example="preread backups",
    run=list_backups,
    command="backups",
    positional=("feature",),
    pages="backups",
)
