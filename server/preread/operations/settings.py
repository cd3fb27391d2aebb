"""`settings`: each setting's value, and where it comes from."""

from typing import Any

from pydantic import Field

from preread import settings_loading
from preread.errors import PrereadError
from preread.models import Model
from preread.operations.arguments import nearest
from preread.operations.registry import Operation, RequestModel, threaded
from preread.services import Services
from preread.settings import Settings
from preread.settings_loading import Origin


class SettingsRequest(RequestModel):
    """Which settings."""

    key: str | None = Field(None, description="One setting. Default: all.")


class Setting(Model):
    """One setting."""

    key: str
    value: Any
    source: Origin
    doc: str


class SettingsReply(Model):
    """The settings, and what is wrong with the places that they come from."""

    settings: tuple[Setting, ...]
    warnings: tuple[str, ...] = ()


def _get(services: Services, request: SettingsRequest) -> SettingsReply:
    fields = Settings.model_fields
    if request.key is not None and request.key not in fields:
        message = f"There is no setting {request.key[:60]!a}.{nearest(request.key, fields)}"
        raise PrereadError("E_NOT_FOUND", message, "List them: `preread settings`")
    own = services.settings
    values = own.model_dump(mode="json")
    origins = settings_loading.origins(services.layout, services.environ)
    return SettingsReply(
        settings=tuple(
            Setting(key=key, value=values[key], source=origins[key], doc=str(f.description))
            for key, f in fields.items()
            if request.key in {None, key}
        ),
        warnings=(*own.broken, *own.warnings),
    )


OPERATION = Operation(
    name="config.get",
    request=SettingsRequest,
    reply=SettingsReply,
    effect="read",
    doc="Show each setting's value, and where it comes from.",
    example="preread settings timeout",
    run=threaded(_get),
    command="settings",
    positional=("key",),
)
