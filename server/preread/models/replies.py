"""The reply of `load`."""

from typing import Any, Literal

from pydantic import Field

from preread.models.base import Model
from preread.settings import Level

Status = Literal["ok", "building", "partial", "degraded", "error"]
How = Literal["built", "cached", "refreshed", "extended", "joined"]


class Stats(Model):
    """Counts of the dossier's facts, and what its build took."""

    facts: int = 0
    quoted: int = 0
    computed: int = 0
    external: int = 0
    located: int = 0
    said: int = 0
    unverified: int = 0
    dropped: int = 0
    cut: int = 0
    tokens: int = Field(0, description="Estimated at 4 characters each.")
    seconds: float = 0.0
    turns: int = 0
    cost_usd: float = 0.0
    cost_today_usd: float = 0.0


class Refresh(Model):
    """What a refresh changed, by facts, and code blocks that a model's files lost.

    Counts are of all of them; the lists are cut.
    """

    moved: int = Field(description="Facts that are the same in another place.")
    changed: tuple[str, ...] = Field(
        (),
        description="Facts with other words now, and a model's facts and code blocks whose lines "
        "changed; as they were.",
    )
    gone: tuple[str, ...] = Field((), description="Others that the dossier no longer has.")
    changed_count: int = 0
    gone_count: int = 0
    code: int = Field(0, description="How many of the changed and gone are code blocks.")
    added: int = 0


class LoadReply(Model):
    """The dossier, or why there is none; `next` says what to do now."""

    status: Status
    path: str = ""
    files: tuple[str, ...] = ()
    state: How | None = None
    builder: str = ""
    level: Level | None = None
    dossier: str = Field("", description="The dossier itself, so that it need not be read again.")
    missing: tuple[str, ...] = Field(
        (), description="Files that a `partial` dossier lacks, each with the reason."
    )
    thin: bool = Field(False, description="The project says next to nothing about the feature.")
    warnings: tuple[str, ...] = ()
    next: str = ""
    refresh: Refresh | None = Field(None, description="What the refresh changed, if there was one.")
    stats: Stats | None = None
    code: str | None = None
    message: str | None = None
    hint: str | None = None
    details: dict[str, Any] | None = None
