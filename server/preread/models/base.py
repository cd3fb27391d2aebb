"""The base of shapes that cross a face."""

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Base of shapes that cross a face: immutable, and unknown keys are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)
