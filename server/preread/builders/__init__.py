"""Builders: who turns a request and its evidence into drafted files, and which files a model drafts at each level."""

from typing import Protocol

from preread.builders.claude import ClaudeBuilder
from preread.builders.static import StaticBuilder
from preread.layout import FILES
from preread.models import Order, Outcome
from preread.services import Services
from preread.settings import Level


class Builder(Protocol):
    """Writes drafts of the ordered files into a staging folder. What kept it from that is the outcome's fault."""

    name: str

    async def build(self, services: Services, order: Order) -> Outcome: ...


CLAUDE, STATIC = ClaudeBuilder(), StaticBuilder()
BUILDERS: dict[str, Builder] = {builder.name: builder for builder in (CLAUDE, STATIC)}
# What the model drafts at each level; the static builder writes every other file that has facts.
DRAFTED: dict[Level, tuple[str, ...]] = {
    "light": (),
    "standard": ("patterns.md", "codebase.md", "existing-tests.md", "summary.md"),
    "full": tuple(row.name for row in FILES),
}
