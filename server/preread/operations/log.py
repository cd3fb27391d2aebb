"""`log`: the calls that changed something."""

import json

from pydantic import Field

from preread.models import Model
from preread.operations.registry import Operation, RequestModel, threaded
from preread.records import audit
from preread.records.audit import Entry
from preread.services import Services


class LogRequest(RequestModel):
    """Which calls to list."""

    method: str | None = Field(None, description="Only calls of this operation.")
    by: str | None = Field(None, description="Only calls by this client, or by `person`.")
    query: str = Field("", description="Only calls with these words in method, caller or params.")
    limit: int = Field(50, ge=1, le=10_000, description="The maximum number of calls.")


class LogReply(Model):
    """Calls, the latest first."""

    entries: tuple[Entry, ...]


def _log(services: Services, request: LogRequest) -> LogReply:
    words = request.query.casefold().split()
    found = [
        entry
        for entry in audit.entries(services.layout)
        if request.method in {None, entry.method}
        and request.by in {None, entry.by}
        and _contains(entry, words)
    ]
    return LogReply(entries=tuple(found[: -request.limit - 1 : -1]))


def _contains(entry: Entry, words: list[str]) -> bool:
    """Whether a call contains every word somewhere."""
    if not words:
        return True
    params = json.dumps(entry.params, ensure_ascii=False)
    text = f"{entry.method} {entry.by} {params}".casefold()
    return all(word in text for word in words)


OPERATION = Operation(
    name="audit.log",
    request=LogRequest,
    reply=LogReply,
    effect="read",
    doc="List the calls that changed something: when, what, by whom, with what outcome.",
    example="preread log --method context.wrong --limit 5",
    run=threaded(_log),
    command="log",
    pages="entries",
)
