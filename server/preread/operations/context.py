"""Operations on dossiers."""

from pydantic import Field

from preread import pipeline, project
from preread.models import LoadReply, Model
from preread.operations.registry import Context, Operation
from preread.settings import Level


class LoadRequest(Model):
    """What a dossier is wanted for."""

    feature: str = Field(description="The feature's name, like `checkout`; `_project` for the whole project.")
    ticket: str | None = Field(None, description="A ticket's id, like SHOP-142, whose criteria belong in.")
    description: str | None = Field(
        None, description="What is to be written, in a sentence: guides the search."
    )
    force: bool = Field(False, description="Build again even if a dossier stands.")
    level: Level | None = Field(None, description="How deep. Default: as deep as can be built here.")


async def load(context: Context, request: LoadRequest) -> LoadReply:
    services = context.services()
    asked = project.resolve(services, **request.model_dump())
    return await pipeline.load(services, asked, context.jobs, context.caller)


LOAD = Operation(
    name="context.load",
    request=LoadRequest,
    reply=LoadReply,
    effect="write",
    doc="Make sure a feature's dossier is there and up to date, and return it.",
    example="preread load checkout --ticket SHOP-142",
    run=load,
    command="load",
    positional=("feature",),
)
