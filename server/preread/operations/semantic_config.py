"""`get_semantic_config`: whether meaning counts in recall and ranking, and how much."""

from pydantic import Field

from preread import meaning, settings_loading
from preread.infra import embedding
from preread.models import Model
from preread.operations.registry import Context, NothingRequest, Operation, in_thread
from preread.services import Services
from preread.settings_loading import Origin


class SemanticReply(Model):
    """How meaning is set up."""

    installed: bool
    model: str = Field("", description="The model, if it is installed.")
    weight: float = Field(description="The setting `meaning`: its weight in recall.")
    source: Origin = Field(description="Where the setting comes from.")
    files: float = Field(description="The setting `file_meaning`: its weight in ranking files.")
    source_of_files: Origin = Field(description="Where that setting comes from.")
    vectors: int = Field(description="How many vectors are stored.")
    hint: str = ""


async def get(context: Context, request: NothingRequest) -> SemanticReply:  # noqa: ARG001
    return await in_thread(context, context.services(), reply)


def reply(services: Services) -> SemanticReply:
    installed = embedding.is_installed()
    origins = settings_loading.origins(services.layout, services.environ)
    return SemanticReply(
        installed=installed,
        model=embedding.NAME if installed else "",
        weight=services.settings.meaning,
        source=origins["meaning"],
        files=services.settings.file_meaning,
        source_of_files=origins["file_meaning"],
        vectors=meaning.stored(services.layout),
        hint="" if installed else f"To install it: {embedding.HOW_TO_INSTALL}.",
    )


OPERATION = Operation(
    name="config.get_semantic_config",
    request=NothingRequest,
    reply=SemanticReply,
    effect="read",
    doc="Show how much meaning counts in recall and ranking: model, weights, stored vectors.",
    example="preread call config.get_semantic_config",
    run=get,
)
