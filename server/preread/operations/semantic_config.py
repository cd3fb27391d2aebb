"""`get_semantic_config`: whether, and how much, meaning counts when facts are recalled."""

from pydantic import Field

from preread import meaning, settings_loading
from preread.infra import embedding
from preread.models import Model
from preread.operations.registry import Context, Operation, RequestModel, in_thread
from preread.services import Services
from preread.settings_loading import Origin


class SemanticRequest(RequestModel):
    """It needs nothing."""


class SemanticReply(Model):
    """How recall by meaning is set up."""

    installed: bool
    model: str = Field("", description="The model, if it is installed.")
    weight: float = Field(description="The setting `meaning`.")
    source: Origin = Field(description="Where the setting comes from.")
    vectors: int = Field(description="How many vectors are stored.")
    hint: str = ""


async def get(context: Context, request: SemanticRequest) -> SemanticReply:  # noqa: ARG001
    return await in_thread(context, context.services(), reply)


def reply(services: Services) -> SemanticReply:
    installed = embedding.is_installed()
    return SemanticReply(
        installed=installed,
        model=embedding.NAME if installed else "",
        weight=services.settings.meaning,
        source=settings_loading.origins(services.layout, services.environ)["meaning"],
        vectors=meaning.stored(services.layout),
        hint="" if installed else f"To install it: {embedding.HOW_TO_INSTALL}.",
    )


OPERATION = Operation(
    name="config.get_semantic_config",
    request=SemanticRequest,
    reply=SemanticReply,
    effect="read",
    doc="Show how recall by meaning is set up: the model, its weight, the stored vectors.",
    example="preread call config.get_semantic_config",
    run=get,
)
