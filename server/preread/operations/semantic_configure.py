"""`configure_semantic`: set how much meaning counts, in the project's settings file."""

from pydantic import Field

from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.operations import previews
from preread.operations.registry import Context, Operation, Preview, RequestModel, in_thread
from preread.operations.semantic_config import SemanticReply, reply
from preread.services import Services


class ConfigureRequest(RequestModel):
    """What to set."""

    weight: float | None = Field(
        None, ge=0, le=1, description="Meaning's weight when facts are recalled; 0: only words."
    )
    files: float | None = Field(
        None, ge=0, le=1, description="Meaning's weight when files are ranked; 0: only words."
    )


async def configure(context: Context, request: ConfigureRequest) -> SemanticReply:
    _check(request)
    await in_thread(context, context.services(), _write, request)
    return await in_thread(context, context.services(), reply)


async def preview(context: Context, request: ConfigureRequest) -> Preview:
    _check(request)
    return await in_thread(context, context.services(), _preview, request)


def _check(request: ConfigureRequest) -> None:
    if request.weight is None and request.files is None:
        raise PrereadError(
            "E_USAGE", "config.configure_semantic needs `weight` or `files`.", "From 0 to 1."
        )


def _write(services: Services, request: ConfigureRequest) -> None:
    _, before, after = _texts(services, request)
    if before != after:
        atomic.write(services.layout.config, after.encode(), durable=True)


def _preview(services: Services, request: ConfigureRequest) -> Preview:
    return previews.of_file(*_texts(services, request))


def _texts(services: Services, request: ConfigureRequest) -> tuple[str, str | None, str]:
    """The settings file's path, its text, and its text with the new value; its comments stay."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    path = services.layout.config
    data = plain_bytes(path)
    try:
        before = None if data is None else data.decode("utf-8")
        document = tomlkit.parse(before or "")
    except (UnicodeDecodeError, TOMLKitError) as error:
        raise PrereadError(
            "E_SETTINGS", f"{path} is not valid TOML: {error}.", "Correct it, then try again."
        ) from error
    wanted = {"meaning": request.weight, "file_meaning": request.files}
    document.update({key: value for key, value in wanted.items() if value is not None})
    return services.layout.relative(path), before, tomlkit.dumps(document)


OPERATION = Operation(
    name="config.configure_semantic",
    request=ConfigureRequest,
    reply=SemanticReply,
    effect="write",
    doc="Set how much meaning counts in recall and in the ranking of files, in the settings.",
    example="""preread call config.configure_semantic '{"weight": 0.7}'""",
    run=configure,
    preview=preview,
    people_only=True,
)
