"""`backups`: the copies of what was replaced, set aside or removed."""

from pydantic import Field

from preread import backups
from preread.backups import Backup
from preread.models import Model
from preread.operations.registry import FEATURE, Operation, RequestModel, threaded
from preread.services import Services


class BackupsRequest(RequestModel):
    """Which backups to list."""

    feature: str | None = Field(None, description=f"Only those with its files. {FEATURE}")


class BackupsReply(Model):
    """Backups, the latest first."""

    backups: tuple[Backup, ...]


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
    run=threaded(_list),
    command="backups",
    positional=("feature",),
    pages="backups",
)
