"""Why a builder could not finish."""

from pydantic import Field

from preread.models.base import Model


class Fault(Model):
    """Why a builder could not finish: an error code, the reason in words, what to do about it."""

    code: str
    reason: str
    hint: str = Field("", description="`{feature}` stands for the feature until it is published.")
