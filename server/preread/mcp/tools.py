"""The tools, generated from the registry: one row each, with its schema and what runs it."""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations
from pydantic.json_schema import GenerateJsonSchema

from preread import replies
from preread.errors import PrereadError
from preread.mcp import shared_state
from preread.mcp.arguments import parse
from preread.models import Model
from preread.operations.registry import Context, Operation

Arguments = Mapping[str, Any]
ALWAYS_LOAD = {"anthropic/alwaysLoad": True}  # else Claude Code hides the tool behind a search


@dataclass(frozen=True)
class Row:
    """One tool: how it is listed, what runs it, and the reply that a failure of it makes."""

    tool: Tool
    run: Callable[[Context, Arguments], Awaitable[Model]]
    failed: Callable[[Arguments, PrereadError], Model]


class Untitled(GenerateJsonSchema):
    """Titles only repeat the names, and every word of a schema is in the model's context all the time."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401, ARG002 - pydantic's signature
        return False


def schema(model: type[Model], *, reply: bool = False) -> dict[str, Any]:
    made = model.model_json_schema(
        mode="serialization" if reply else "validation", schema_generator=Untitled
    )
    return _one_level(made) if reply else made


def _one_level(made: dict[str, Any]) -> dict[str, Any]:
    """A reply's schema, one level deep, without the nulls that no reply holds, and without words for people.

    Clients check every reply against it, piece by piece: a whole one was most of what a cached call cost them.
    """
    named = made.pop("$defs", {})
    fields = {}
    for name, field in made["properties"].items():
        kinds = [kind for kind in field.get("anyOf", (field,)) if kind != {"type": "null"}]
        kind = kinds[0] if len(kinds) == 1 else {}
        kind = kind | named[kind["$ref"].rpartition("/")[2]] if "$ref" in kind else kind
        fields[name] = {key: kind[key] for key in ("type", "enum") if key in kind}
    return made | {"properties": fields}


def rows(operations: Iterable[Operation], direct: Operation) -> dict[str, Row]:
    """A server's tools: one for `direct`, which every session needs, and one for all operations by name."""
    found = (of_operation(direct), of_registry(tuple(operations)))
    return {row.tool.name: row for row in found}


def of_operation(operation: Operation) -> Row:
    """The tool of one operation: `context.load` is `load_context`, and is offered at once."""
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
    return Row(tool, run, lambda _, error: replies.failed(error))


def of_registry(operations: tuple[Operation, ...]) -> Row:
    """The tool that runs any operation by its name, in the shape of one shared state."""
    tool = Tool(
        name=shared_state.TOOL,
        title="Context operation",
        description=f"Run one of Preread's operations by name.\n{shared_state.catalogue(operations)}",
        input_schema=schema(shared_state.State),
        output_schema=schema(shared_state.State, reply=True),
        annotations=ToolAnnotations(
            read_only_hint=False,
            destructive_hint=False,
            idempotent_hint=False,
            open_world_hint=False,
        ),
    )
    return Row(tool, partial(shared_state.perform, operations), shared_state.refused)


def succeeded(reply: Model) -> CallToolResult:
    """The reply as structured content, which is what Claude reads, and the same JSON as text for others."""
    data = reply.model_dump(mode="json", exclude_none=True)
    return CallToolResult(
        content=[_text(json.dumps(data, ensure_ascii=False))], structured_content=data
    )


def failed(row: Row, arguments: Arguments, error: PrereadError) -> CallToolResult:
    """The failure as text, which is what Claude reads of an error, and as data."""
    data = row.failed(arguments, error).model_dump(
        mode="json", exclude_none=True, exclude_unset=True
    )
    return CallToolResult(content=[_text(str(error))], structured_content=data, is_error=True)


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)
