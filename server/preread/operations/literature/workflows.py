"""`documents.workflows`: the recorded chains of calls on documents."""

from pydantic import Field

from preread.models import Model
from preread.operations.literature import records
from preread.operations.literature.records import Record
from preread.operations.registry import (
    NothingRequest,
    Operation,
    threaded,
)
from preread.services import Services


class Chain(Model):
    """A record: `documents.workflow` with its `workflow_id` repeats its calls."""

    workflow_id: str
    methods: tuple[str, ...]
    documents: tuple[str, ...] = Field(description="What its results are about.")
    made_at: str


class WorkflowsReply(Model):
    """The records, the newest first."""

    workflows: tuple[Chain, ...]


def _workflows(services: Services, _: NothingRequest) -> WorkflowsReply:
    return WorkflowsReply(workflows=tuple(map(_chain, records.listed(services.layout))))


def _chain(one: Record) -> Chain:
    paths = (path for result in one.results for path in records.documents(result))
    return Chain(
        workflow_id=one.workflow_id,
        methods=tuple(str(call["method"]) for call in one.tool_calls),
        documents=tuple(dict.fromkeys(paths)),
        made_at=one.made_at,
    )


OPERATION = Operation(
    name="documents.workflows",
    request=NothingRequest,
    reply=WorkflowsReply,
    effect="read",
    doc="List the recorded chains of calls on documents; `documents.workflow` replays one.",
    example="preread call documents.workflows",
    run=threaded(_workflows),
    pages="workflows",
)
