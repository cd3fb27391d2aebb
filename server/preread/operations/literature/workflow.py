"""`documents.workflow`: a chain of calls on documents, recorded so that it can be replayed."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from pydantic import Field

from preread.errors import Cancelled, PrereadError
from preread.layout import Layout
from preread.models import Model
from preread.operations import REGISTRY, dispatch, pointers
from preread.operations.arguments import parse
from preread.operations.literature import records
from preread.operations.literature.records import MadeCall, Record
from preread.operations.registry import Context, Operation, Preview, RequestModel

CATEGORIES = frozenset({"documents", "graph"})
MAX_CALLS = 20
EARLIER = re.compile(r"\$(\d{1,2})\.(\w+)")  # `$1.graph`: that field of the first call's result


class WorkflowRequest(RequestModel):
    """Calls to make and record, or the record to replay."""

    tool_calls: tuple[dict[str, object], ...] = Field(
        (), max_length=MAX_CALLS,
        description='Like {"method": "graph.build", "params": {}}; `$1.graph` is that field of '
        'the first result; with `"after": 1`, {"$ref": "#/graph"} points into it.',
    )  # fmt: skip
    workflow_id: str = Field("", description="Repeat the calls of this record.")


class WorkflowReply(Model):
    """The calls and their results."""

    workflow_id: str
    tool_calls: tuple[dict[str, Any], ...]
    results: tuple[dict[str, Any], ...]
    changed: tuple[str, ...] = Field(
        (),
        description="In a replay: the calls whose result differs from the recorded one, and why.",
    )


async def workflow(context: Context, request: WorkflowRequest) -> WorkflowReply:
    layout = context.services().layout
    layout.guard()
    before = _record_to_replay(layout, request)
    calls = before.tool_calls if before else request.tool_calls
    results: list[dict[str, Any]] = []
    for number, call in enumerate(calls, 1):
        await context.caller.report(f"{call.get('method')}", number - 1, len(calls))
        try:
            results.append(await _made(context, call, results))
        except Cancelled:
            raise
        except PrereadError as error:
            if before is None:
                raise
            results.append({"error": {"code": error.code, "message": error.message}})
    name = before.workflow_id if before else records.keep(layout, list(calls), results)
    changed = tuple(_changes(before, results)) if before else ()
    return WorkflowReply(
        workflow_id=name, tool_calls=calls, results=tuple(results), changed=changed
    )


def recorded(context: Context, made: Sequence[MadeCall | None]) -> dict[str, str]:
    """The `workflow_id` of calls that were made as a chain or a batch.

    Nothing if one of them is not about documents, or the caller may not write.
    """
    done = [(place, one) for place, one in enumerate(made) if one is not None]
    numbers = {place: number for number, (place, _) in enumerate(done, 1)}
    calls = [_call(one, numbers) for _, one in done]
    is_about_documents = all(
        call["method"].partition(".")[0] in CATEGORIES and call["method"] != OPERATION.name
        for call in calls
    )
    services = context.services()
    may_write = not context.is_agent or "write" in services.settings.allow
    if not (is_about_documents and may_write and 1 < len(calls) <= MAX_CALLS):
        return {}
    with suppress(PrereadError):  # a disk that cannot be written
        services.layout.guard()
        return {"workflow_id": records.keep(services.layout, calls, [it.result for _, it in done])}
    return {}


def _call(one: MadeCall, numbers: dict[int, int]) -> dict[str, Any]:
    return one.call if one.after is None else {**one.call, "after": numbers[one.after]}


async def preview(context: Context, request: WorkflowRequest) -> Preview:
    """The calls that would be made; their results cannot be previewed."""
    before = _record_to_replay(context.services().layout, request)
    steps = [_step(call) for call in (before.tool_calls if before else request.tool_calls)]
    return Preview(notes=tuple(f"{operation.name} would be called." for operation in steps))


def _record_to_replay(layout: Layout, request: WorkflowRequest) -> Record | None:
    """The record to replay; None for new calls. Raises E_USAGE, E_NOT_FOUND."""
    if bool(request.tool_calls) == bool(request.workflow_id):
        raise PrereadError("E_USAGE", "documents.workflow needs `tool_calls` or `workflow_id`.")
    return records.read(layout, request.workflow_id) if request.workflow_id else None


def _step(call: dict[str, Any]) -> Operation:
    """The operation of one call. Raises E_USAGE for one that is not about documents."""
    operation = dispatch.find(REGISTRY, str(call.get("method", "")))
    is_fit = _is_dict(call.get("params") or {}) and operation is not OPERATION
    if operation.category not in CATEGORIES or not is_fit:
        raise PrereadError("E_USAGE", f"{operation.name} cannot be a step of this workflow.")
    return operation


async def _made(
    context: Context, call: dict[str, Any], results: list[dict[str, Any]]
) -> dict[str, Any]:
    """The result of one call. Raises E_USAGE for one that is not about documents."""
    operation = _step(call)
    params = call.get("params") or {}
    given = {name: _filled(value, results) for name, value in params.items()}
    if after := call.get("after"):
        fields = set(operation.request.model_fields)
        given = pointers.passed_on(given, _result(results, after), fields)
    reply = await dispatch.run(context, operation, parse(operation.request, given, operation.name))
    return reply.model_dump(mode="json", exclude_none=True)


def _is_dict(value: object) -> bool:
    return isinstance(value, dict)


def _filled(value: object, results: list[dict[str, Any]]) -> object:
    """A value; `$1.graph` is replaced by what it refers to. Raises E_USAGE."""
    match = EARLIER.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return value
    result = _result(results, int(match[1]))
    if match[2] not in result:
        raise PrereadError("E_USAGE", f"{match[0]} is not a field of an earlier result.")
    found: object = result[match[2]]
    return found


def _result(results: list[dict[str, Any]], number: object) -> dict[str, Any]:
    """The result of an earlier call. Raises E_USAGE if there is none."""
    if not isinstance(number, int) or not 1 <= number <= len(results):
        raise PrereadError("E_USAGE", f"{str(number)[:40]!a} is the number of no earlier call.")
    if "error" in results[number - 1]:
        raise PrereadError("E_USAGE", f"Call {number}, which this one follows, failed.")
    return results[number - 1]


def _changes(before: Record, now: list[dict[str, Any]]) -> Iterator[str]:
    """The calls whose results differ, and why."""
    for number, (call, old, new) in enumerate(
        zip(before.tool_calls, before.results, now, strict=True), 1
    ):
        if old != new:
            reasons = "; ".join(_reasons(old, new))
            yield f"{number} {call['method']}" + (f": {reasons}" if reasons else "")


def _reasons(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    if "error" in new:
        yield f"{new['error']['code']} {new['error']['message']}"
        return
    lost = new.get("made", {}).get("unread", {})
    yield from lost.values()
    changed = sorted(records.documents(old).items() ^ records.documents(new).items())
    files = [one for one in changed if one[0] not in lost]
    if names := ", ".join(dict.fromkeys(path for path, _ in files)):
        yield f"{names} changed"
    rules = [one.get("made", {}).get("rules", "") for one in (old, new)]
    if rules[0] != rules[1]:
        yield f"made by {rules[1]} instead of {rules[0]}"


OPERATION = Operation(
    name="documents.workflow",
    request=WorkflowRequest,
    reply=WorkflowReply,
    effect="write",
    doc="Run a chain of calls on documents and record it, or replay one and say what changed.",
    example="""preread call documents.workflow '{"tool_calls": [{"method": "graph.build"}]}'""",
    run=workflow,
    preview=preview,
)
