"""`facts`: search the facts of every dossier and of the knowledge file."""

from typing import Literal

from pydantic import Field

from preread import check, facts
from preread.errors import PrereadError
from preread.facts import FoundFact
from preread.models import Model
from preread.operations.published_dossier import find_serving
from preread.operations.registry import Operation, RequestModel, threaded
from preread.services import Services

Kind = Literal[
    "pattern", "code", "trap", "test", "failure", "requirement", "summary", "knowledge"
]  # fmt: skip


class SearchRequest(RequestModel):
    """What to look for among the facts."""

    query: str = Field(description="Words to look for.")
    feature: str | None = Field(None, description="Only in this feature's dossier.")
    kind: Kind | None = Field(None, description="Only facts of this kind.")
    confidence: float = Field(0.0, ge=0, le=1, description="The minimum confidence.")
    limit: int = Field(20, ge=1, le=1000, description="The maximum number of facts.")


class SearchReply(Model):
    """Facts, best first."""

    facts: tuple[FoundFact, ...]


def _search(services: Services, request: SearchRequest) -> SearchReply:
    feature = find_serving(services, request.feature).feature if request.feature else None
    wanted = facts.Wanted(feature, request.kind, request.confidence)
    try:
        found = facts.search(services, request.query, wanted, request.limit, check.check_unbudgeted)
    except PrereadError as error:
        if error.code not in {"E_WRITE", "E_READ"}:
            raise
        details = {"because": error.code, **error.details}
        raise PrereadError("E_SEARCH", error.message, error.hint, details) from error
    return SearchReply(facts=tuple(found))


OPERATION = Operation(
    name="knowledge.search",
    request=SearchRequest,
    reply=SearchReply,
    effect="read",
    doc="Search the facts of all dossiers and of the project's knowledge.",
    example='preread facts "coupon rounding" --limit 5',
    run=threaded(_search),
    command="facts",
    positional=("query",),
    pages="facts",
)
