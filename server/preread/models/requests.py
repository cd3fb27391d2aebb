"""A resolved request for a dossier."""

from pydantic import Field

from preread.models.base import Model
from preread.settings import Level

LEVELS: tuple[Level, ...] = ("light", "standard", "full")


class Request(Model):
    """A resolved request for a dossier: valid names, and a definite level."""

    feature: str
    ticket: str = ""
    description: str = ""
    scope: str = Field(
        "", description="The folder whose files are ranked, relative to the root; empty for all."
    )
    level: Level = "light"
    auto: bool = Field(
        False, description="The level was left open: a history of failures raises it to full."
    )
    force: bool = False
    extend: tuple[str, ...] = Field((), description="The only files that the model is to draft.")
