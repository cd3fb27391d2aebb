"""The MCP tools, generated from the registry of operations."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations

from preread.builds import replies
from preread.errors import PrereadError
from preread.mcp import quoted
from preread.models import Model
from preread.operations import dispatch, schemas, shared_state, wording
from preread.operations.arguments import parse
from preread.operations.registry import Context, Operation
from preread.operations.states import State
from preread.settings import Effect

Arguments = Mapping[str, Any]
LOAD = "context.load"
DESCRIPTION = """\
Ask what this project knows, and tell what you learned: run an operation by name.
`config.ops` {{"category": …}} lists operations with their params; categories: {categories}.
`batch` runs several calls; `then` runs one with this one's result, by pointers in params \
like {{"$ref": "#/facts/0/id"}}."""
INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "method": {"type": "string", "description": "Like `knowledge.search`."},
        "params": {"type": "object"},
        "options": {
            "type": "object",
            "description": "timeout_ms, dry_run, limit, cursor, as: reply | tool_result",
        },
        "batch": {"type": "array", "items": {"type": "object"}},
        "then": {"type": "object"},
        "metadata": {"type": "object"},
    },
}
ALWAYS_LOAD = {"anthropic/alwaysLoad": True}  # or Claude Code hides the tool behind a search


@dataclass(frozen=True)
class ToolRow:
    """One tool: how it is listed, and what runs it."""

    tool: Tool
    run: Callable[[Context, Arguments], Awaitable[Model]]


def rows(operations: Mapping[str, Operation], *, full: bool = False) -> dict[str, ToolRow]:
    """A server's tools by name: `load_context`, and one that runs any operation by its name.

    With `full`, also one for each operation that an agent can call.
    """
    direct = (operations[LOAD],) if LOAD in operations else ()
    if full:
        others = (o for o in operations.values() if not o.people_only and o.name != LOAD)
        direct = (*direct, *others)
    found = (*(of_operation(operation) for operation in direct), of_registry(operations))
    return {row.tool.name: row for row in found}


def of_operation(operation: Operation) -> ToolRow:
    """The tool of one operation, like `knowledge_search`; `context.load` is `load_context`."""
    category, _, verb = operation.name.partition(".")
    is_load = operation.name == LOAD
    name = f"{verb}_{category}" if is_load else f"{category}_{verb}"

    async def run(context: Context, arguments: Arguments) -> Model:
        request = parse(operation.request, arguments, name)
        return await dispatch.run(context, operation, request)

    tool = Tool(
        name=name,
        title=name.replace("_", " ").capitalize(),
        description=operation.doc,
        input_schema=schemas.of_request(operation.request),
        output_schema=schemas.of_reply(operation.reply),
        annotations=_annotations(operation.effect, idempotent=is_load),
        _meta=ALWAYS_LOAD if is_load else None,
    )
    return ToolRow(tool, run)


def of_registry(operations: Mapping[str, Operation]) -> ToolRow:
    """The tool that runs any operation by its name."""

    async def run(context: Context, arguments: Arguments) -> Model:
        return await shared_state.perform(operations, context, arguments, "mcp")

    categories = dict.fromkeys(name.partition(".")[0] for name in operations)
    tool = Tool(
        name=shared_state.TOOL,
        title="Context operation",
        description=DESCRIPTION.format(categories=", ".join(categories)),
        input_schema=INPUT,
        output_schema={"type": "object"},
        annotations=_annotations("write"),
    )
    return ToolRow(tool, run)


def _annotations(effect: Effect, *, idempotent: bool = False) -> ToolAnnotations:
    return ToolAnnotations(
        read_only_hint=effect == "read",
        destructive_hint=effect == "execute",
        idempotent_hint=idempotent or effect == "read",
        open_world_hint=False,
    )


def succeeded(reply: Model) -> CallToolResult:
    """The reply as structured content, which Claude reads, and as JSON text for other clients.

    A state with an error becomes a tool error, with its message as text, unless a part of it
    succeeded: Claude reads only the text of a tool error.
    """
    data = quoted.dump(reply)
    if not isinstance(reply, State):  # a state has a tool's wording already
        data = wording.reply_for("tools", data)
    text = json.dumps(data, ensure_ascii=False)
    error = reply.error if isinstance(reply, State) and not _has_results(data) else None
    if error is not None:
        text = f"{error['code']}: {error['message']} {error['hint']}".rstrip()
    return CallToolResult(
        content=[_text(text)], structured_content=data, is_error=error is not None
    )


def _has_results(state: Mapping[str, Any]) -> bool:
    """Whether any call succeeded in a batch or a chain that failed as a whole."""
    if state.get("batch"):
        return any(map(_has_results, state["batch"]))
    result = state.get("result")
    if state.get("options", {}).get("as") == "tool_result":
        return bool(result and result["success"])
    return result is not None


def failed(error: PrereadError) -> CallToolResult:
    """The failure as text, which is all that Claude reads of a tool error, and as data."""
    reply = replies.failed(error).model_dump(mode="json", exclude_none=True, exclude_unset=True)
    data, text = wording.reply_for("tools", reply), wording.in_words_of("tools", str(error))
    return CallToolResult(content=[_text(text)], structured_content=data, is_error=True)


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)
