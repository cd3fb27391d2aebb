"""The MCP tools, generated from the registry of operations."""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode

from preread import replies
from preread.errors import PrereadError
from preread.mcp import operation_tool
from preread.mcp.arguments import parse
from preread.models import Model
from preread.operations.registry import Context, Operation

Arguments = Mapping[str, Any]
ALWAYS_LOAD = {"anthropic/alwaysLoad": True}  # or Claude Code hides the tool behind a search


@dataclass(frozen=True)
class ToolRow:
    """One tool: how it is listed, what runs it, and its reply to a failure."""

    tool: Tool
    run: Callable[[Context, Arguments], Awaitable[Model]]
    failed: Callable[[Arguments, PrereadError], Model]


class Untitled(GenerateJsonSchema):
    """Omits titles: they repeat the names, and every word of a schema is in the model's context."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401, ARG002 - pydantic's signature
        return False


def schema(model: type[Model], *, reply: bool = False) -> dict[str, Any]:
    mode: JsonSchemaMode = "serialization" if reply else "validation"
    full = model.model_json_schema(mode=mode, schema_generator=Untitled)
    return _one_level(full) if reply else full


def _one_level(full: dict[str, Any]) -> dict[str, Any]:
    """A reply's schema, cut to one level, without nulls (which replies omit) and descriptions.

    Clients validate every reply against it: with the full schema, that was most of the time that a
    cached call cost them.
    """
    named = full.pop("$defs", {})
    fields = {}
    for name, field in full["properties"].items():
        kinds = [kind for kind in field.get("anyOf", (field,)) if kind != {"type": "null"}]
        kind = kinds[0] if len(kinds) == 1 else {}
        kind = kind | named[kind["$ref"].rpartition("/")[2]] if "$ref" in kind else kind
        fields[name] = {key: kind[key] for key in ("type", "enum") if key in kind}
    return full | {"properties": fields}


def rows(operations: Iterable[Operation], direct: Operation) -> dict[str, ToolRow]:
    """A server's tools by name: one for `direct`, and one that runs any operation by its name."""
    found = (of_operation(direct), of_registry(tuple(operations)))
    return {row.tool.name: row for row in found}


def of_operation(operation: Operation) -> ToolRow:
    """The tool of one operation, always offered; `context.load` becomes `load_context`."""
    name = f"{operation.command}_{operation.category}"

    async def run(context: Context, arguments: Arguments) -> Model:
        reply: Model = await operation.run(context, parse(operation.request, arguments, name))
        return reply

    tool = Tool(
        name=name,
        title=name.replace("_", " ").capitalize(),
        description=operation.doc,
        input_schema=schema(operation.request),
        output_schema=schema(operation.reply, reply=True),
        annotations=ToolAnnotations(
            read_only_hint=operation.effect == "read",
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        ),
        _meta=ALWAYS_LOAD,
    )
    return ToolRow(tool, run, lambda _, error: replies.failed(error))


def of_registry(operations: tuple[Operation, ...]) -> ToolRow:
    """The tool that runs any operation by its name."""
    tool = Tool(
        name=operation_tool.TOOL,
        title="Context operation",
        description=f"Run an operation of Preread by name.\n{operation_tool.catalogue(operations)}",
        input_schema=schema(operation_tool.State),
        output_schema=schema(operation_tool.State, reply=True),
        annotations=ToolAnnotations(
            read_only_hint=False,
            destructive_hint=False,
            idempotent_hint=False,
            open_world_hint=False,
        ),
    )
    return ToolRow(tool, partial(operation_tool.perform, operations), operation_tool.refused)


def succeeded(reply: Model) -> CallToolResult:
    """The reply as structured content, which Claude reads, and as JSON text for other clients."""
    data = reply.model_dump(mode="json", exclude_none=True)
    return CallToolResult(
        content=[_text(json.dumps(data, ensure_ascii=False))], structured_content=data
    )


def failed(row: ToolRow, arguments: Arguments, error: PrereadError) -> CallToolResult:
    """The failure as text, which is all that Claude reads of an error, and as data."""
    data = row.failed(arguments, error).model_dump(
        mode="json", exclude_none=True, exclude_unset=True
    )
    return CallToolResult(content=[_text(str(error))], structured_content=data, is_error=True)


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)
