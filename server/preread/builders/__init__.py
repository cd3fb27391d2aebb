"""Builders turn a request and its evidence into drafts of a dossier's files."""

from typing import Protocol

from preread.builders.claude import ClaudeBuilder
from preread.builders.static import StaticBuilder
from preread.models import Order, Outcome
from preread.services import Services
from preread.settings import Level


class Builder(Protocol):
    """Writes drafts of the ordered files into a staging folder.

    A builder does not raise when it cannot finish: the outcome's `fault` says why.
    """

    name: str

    async def build(self, services: Services, order: Order) -> Outcome: ...


CLAUDE, STATIC = ClaudeBuilder(), StaticBuilder()
BUILDERS: dict[str, Builder] = {builder.name: builder for builder in (CLAUDE, STATIC)}
# In the order in which a model drafts them, so that a run that is cut off keeps the best.
DRAFTING_ORDER = (
    "anti-patterns.md", "existing-tests.md", "patterns.md", "codebase.md", "failures.md",
    "requirements.md", "summary.md",
)  # fmt: skip
# The files that the model drafts at each level. The static builder writes every other file for
# which there are facts.
DRAFTED: dict[Level, tuple[str, ...]] = {
    "light": (),
    "standard": ("existing-tests.md", "patterns.md", "codebase.md", "summary.md"),
    "full": DRAFTING_ORDER,
}
