"""A builder's order, and the outcome of its run."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import Field

from preread.models.base import Model
from preread.models.evidence import Evidence
from preread.models.faults import Fault
from preread.models.requests import Request


class Outcome(Model):
    """How a builder's run went, besides its drafts. The static builder's is all defaults."""

    model: str = Field("", description="The model that answered, as the service names it.")
    version: str = Field("", description="The version of the Claude Code program.")
    turns: int = 0
    tokens: dict[str, int] = Field(
        default_factory=dict, description="input, output, cache_read, cache_creation."
    )
    cost_usd: float | None = Field(
        0.0, description="Null when the run ended before it reported its cost."
    )
    seconds: float = Field(0.0, description="How long the child process ran.")
    denials: tuple[str, ...] = Field((), description="Tool calls that its permissions denied.")
    prompt: str = Field("", description="Digest of the prompt.")
    stderr: str = Field("", description="The end of its standard error.")
    sent_back: bool = Field(
        False, description="Whether drafts that failed the check went back to be corrected."
    )
    fault: Fault | None = None
    warnings: tuple[str, ...] = Field(
        (), description="What it had to do without, such as a server that did not answer."
    )
    external: tuple[str, ...] = Field(
        (), exclude=True, description="Answers of configured MCP servers, for external sources."
    )


def _no_review(_answers: Iterable[str], /, *, in_own_run: bool) -> str:  # noqa: ARG001 - by name
    return ""


def _no_ledger(_outcome: Outcome) -> None:
    """Record no cost."""


def _ignore_delay(_fault: Fault) -> None:
    """Ignore delays."""


class Review(Protocol):
    """Returns the message that asks the model to correct its drafts; empty if there is none.

    `in_own_run`: the model corrects them in a run of its own, so the message says where they are.
    """

    def __call__(self, answers: Iterable[str], /, *, in_own_run: bool) -> str:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Order:
    """What a builder has to draft: `files`, into the folder `staging`."""

    request: Request
    evidence: Evidence
    staging: Path
    files: tuple[str, ...]
    prompt: Callable[[], str] = str  # pure; called while the program starts
    review: Review = _no_review  # takes the answers of MCP servers so far
    # Called once for each run of a program, as soon as its cost is known or lost.
    spent: Callable[[Outcome], None] = _no_ledger
    # Called once from the builder's thread when the model's service makes it wait, with the reason.
    delayed: Callable[[Fault], None] = _ignore_delay
