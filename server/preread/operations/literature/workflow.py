"""`documents.workflow`: a chain of calls on documents, recorded so that it can be replayed."""

import hashlib
import json
import re
from contextlib import suppress
from typing import Any

from pydantic import Field

from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.layout import Layout
from preread.literature.network import ID
from preread.models import Model
from preread.operations import REGISTRY, dispatch
from preread.operations.arguments import parse
from preread.operations.registry import Context, Operation, Preview, RequestModel

CATEGORIES = frozenset({"documents", "graph"})
MAX_CALLS = 20
EARLIER = re.compile(r"\$(\d{1,2})\.(\w+)")  # `$1.graph`: that field of the first call's result


class WorkflowRequest(RequestModel):
    """Calls to make and record, or the record to replay."""

    tool_calls: tuple[dict[str, object], ...] = Field(
        (), max_length=MAX_CALLS,
        description='Like {"method": "graph.build", "params": {}}; `$1.graph` is that field of '
        "the first result.",
    )  # fmt: skip
    workflow_id: str = Field("", description="Make the calls of this record once more.")


class WorkflowReply(Model):
    """The calls and their results."""

    workflow_id: str
    tool_calls: tuple[dict[str, Any], ...]
    results: tuple[dict[str, Any], ...]
    changed: tuple[str, ...] = Field(
        (), description="In a replay: the calls with another result, and documents that changed."
    )


async def workflow(context: Context, request: WorkflowRequest) -> WorkflowReply:
    layout = context.services().layout
    layout.guard()
    before = _asked_again(layout, request)
    calls = tuple(before.get("tool_calls", request.tool_calls))
    results: list[dict[str, Any]] = []
    for number, call in enumerate(calls, 1):
        await context.caller.report(f"{call.get('method')}", number - 1, len(calls))
        results.append(await _made(context, call, results))
    if before:
        changed = tuple(_changes(calls, before["results"], results))
        return WorkflowReply(
            workflow_id=request.workflow_id, tool_calls=calls, results=tuple(results),
            changed=changed,
        )  # fmt: skip
    name = _kept(layout, list(calls), results)
    return WorkflowReply(workflow_id=name, tool_calls=calls, results=tuple(results))


def _kept(layout: Layout, calls: list[dict[str, Any]], results: list[dict[str, Any]]) -> str:
    value = {"tool_calls": calls, "results": results}
    data = json.dumps(value, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")
    name = hashlib.sha256(data).hexdigest()[:12]
    atomic.write(layout.document_workflow(name), data)
    return name


def recorded(context: Context, made: list[tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, str]:
    """The `workflow_id` of calls that were made as a chain or a batch.

    Nothing if one of them is not about documents, or the caller may not write.
    """
    calls, results = [call for call, _ in made], [result for _, result in made]
    is_about_documents = all(
        call["method"].partition(".")[0] in CATEGORIES and call["method"] != OPERATION.name
        for call in calls
    )
    services = context.services()
    may_write = not context.is_agent or "write" in services.settings.allow
    if not (is_about_documents and may_write and len(calls) <= MAX_CALLS):
        return {}
    with suppress(PrereadError):  # a disk that cannot be written
        services.layout.guard()
        return {"workflow_id": _kept(services.layout, calls, results)}
    return {}


async def preview(context: Context, request: WorkflowRequest) -> Preview:
    """The calls that would be made; their results are not known before."""
    before = _asked_again(context.services().layout, request)
    steps = [_step(call) for call in before.get("tool_calls", request.tool_calls)]
    return Preview(notes=tuple(f"{operation.name} would be called." for operation in steps))


def _asked_again(layout: Layout, request: WorkflowRequest) -> dict[str, Any]:
    """The record that is to be replayed; empty for new calls. Raises E_USAGE, E_NOT_FOUND."""
    if bool(request.tool_calls) == bool(request.workflow_id):
        raise PrereadError("E_USAGE", "documents.workflow needs `tool_calls` or `workflow_id`.")
    return _record(layout, request.workflow_id) if request.workflow_id else {}


def _step(call: dict[str, Any]) -> Operation:
    """The operation of one call. Raises E_USAGE for one that is not about documents."""
    operation = dispatch.find(REGISTRY, str(call.get("method", "")))
    is_fit = _is_dict(call.get("params") or {}) and operation is not OPERATION
    if operation.category not in CATEGORIES or not is_fit:
        raise PrereadError("E_USAGE", f"{operation.name} cannot be a step of this workflow.")
    return operation


def _record(layout: Layout, name: str) -> dict[str, Any]:
    place = layout.document_workflow(name) if ID.fullmatch(name) else None
    data = plain_bytes(layout.real(place)) if place else None
    if data is None:
        raise PrereadError("E_NOT_FOUND", f"There is no record {name[:40]!a}.")
    found: dict[str, Any] = json.loads(data)
    return found


async def _made(
    context: Context, call: dict[str, Any], results: list[dict[str, Any]]
) -> dict[str, Any]:
    """The result of one call. Raises E_USAGE for one that is not about documents."""
    operation = _step(call)
    params = call.get("params") or {}
    given = {name: _filled(value, results) for name, value in params.items()}
    reply = await dispatch.run(context, operation, parse(operation.request, given, operation.name))
    return reply.model_dump(mode="json", exclude_none=True)


def _is_dict(value: object) -> bool:
    return isinstance(value, dict)


def _filled(value: object, results: list[dict[str, Any]]) -> object:
    """A value; of `$1.graph`, what it stands for. Raises E_USAGE."""
    match = EARLIER.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return value
    number = int(match[1])
    if not 1 <= number <= len(results) or match[2] not in results[number - 1]:
        raise PrereadError("E_USAGE", f"{match[0]} is no field of an earlier result.")
    found: object = results[number - 1][match[2]]
    return found


def _changes(
    calls: tuple[dict[str, Any], ...], before: list[dict[str, Any]], now: list[dict[str, Any]]
) -> list[str]:
    found = []
    for number, (call, old, new) in enumerate(zip(calls, before, now, strict=True), 1):
        if old != new:
            files = sorted(_documents(old).items() ^ _documents(new).items())
            names = ", ".join(dict.fromkeys(path for path, _ in files))
            found.append(f"{number} {call['method']}" + (f": {names} changed" if names else ""))
    return found


def _documents(result: dict[str, Any]) -> dict[str, str]:
    """Path -> digest of the documents that a result is about."""
    made: dict[str, str] = result.get("made", {}).get("documents", {})
    listed = {one["path"]: one["digest"] for one in result.get("documents", ()) if "digest" in one}
    return {**made, **listed}


OPERATION = Operation(
    name="documents.workflow",
    request=WorkflowRequest,
    reply=WorkflowReply,
    effect="write",
    doc="Make a chain of calls on documents and record it, or replay one and say what changed.",
    example="""preread call documents.workflow '{"tool_calls": [{"method": "graph.build"}]}'""",
    run=workflow,
    preview=preview,
)
