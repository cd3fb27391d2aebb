"""The tool that runs any operation by its name: one state goes in, the same one comes out."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field

from preread.errors import PrereadError
from preread.mcp.arguments import nearest, parse, signature
from preread.models import Model
from preread.operations.registry import Context, Operation

TOOL = "context_operation"


class State(Model):
    """A call and its outcome: the answer has `result` or `error` filled in, the rest unchanged."""

    version: int = Field(1, ge=1, le=1, description="The version of this shape.")
    method: str = Field(
        description="An operation, like `context.load`, or its bare name if that is unique."
    )
    params: dict[str, Any] = Field(default_factory=dict, description="The operation's arguments.")
    options: dict[str, Any] = Field(default_factory=dict, description="There are none yet.")
    result: dict[str, Any] | None = Field(None, description="The operation's reply.")
    error: dict[str, Any] | None = Field(
        None, description="`code`, `message`, `hint` and `details` of a failure."
    )
    metadata: dict[str, Any] = Field(
        default_factory=dict, description="The caller's own data; returned unchanged."
    )


def catalogue(operations: Iterable[Operation]) -> str:
    """One line for each operation that may be called: its name, arguments and purpose."""
    return "\n".join(
        f"- {operation.name}({signature(operation.request)}): {operation.doc}"
        for operation in operations
        if operation.effect != "execute" and not operation.people_only
    )


def find(operations: Iterable[Operation], method: str) -> Operation:
    """The operation of this full or bare name. Raises E_USAGE."""
    every = {operation.name: operation for operation in operations}
    found = every[method] if method in every else _by_bare_name(every, method)
    if found.people_only:
        raise PrereadError(
            "E_USAGE",
            f"{found.name} is for people, and cannot be called over MCP.",
            "Tell the person what you would change, and continue without it.",
        )
    if found.effect == "execute":
        raise PrereadError(
            "E_USAGE",
            f"{found.name} runs programs, which is not allowed over MCP.",
            f"A person can run it: {found.example}",
        )
    return found


def _by_bare_name(every: Mapping[str, Operation], method: str) -> Operation:
    bare = [operation for name, operation in every.items() if name.partition(".")[2] == method]
    if len(bare) == 1:
        return bare[0]
    if bare:
        names = " or ".join(f"`{operation.name}`" for operation in bare)
        raise PrereadError("E_USAGE", f"`{method}` is more than one operation.", f"Use {names}.")
    offered = sorted(name for name, operation in every.items() if not operation.people_only)
    words = {*offered, *(name.partition(".")[2] for name in offered)}
    raise PrereadError(
        "E_USAGE",
        f"There is no operation `{ascii(method[:60])[1:-1]}`.{nearest(method, words)}",
        f"Operations: {', '.join(offered)}.",
    )


async def perform(
    operations: Iterable[Operation], context: Context, given: Mapping[str, Any]
) -> State:
    """Run the operation that a state names; returns the state with its result.

    Raises PrereadError.
    """
    state = parse(State, given, TOOL)
    if state.options:
        message = f"There is no option `{next(iter(state.options))}`."
        raise PrereadError("E_USAGE", message, "Leave `options` out.")
    operation = find(operations, state.method)
    request = parse(operation.request, state.params, operation.name)
    reply: Model = await operation.run(context, request)
    result = reply.model_dump(mode="json", exclude_none=True)
    return state.model_copy(update={"method": operation.name, "result": result, "error": None})


def refused(given: Mapping[str, Any], error: PrereadError) -> State:
    """The state with the failure of its operation, as far as the given state can be understood."""
    fields = {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "details": error.details,
    }
    method, metadata = given.get("method"), given.get("metadata")
    return State(
        version=1,
        method=method if isinstance(method, str) else "",
        params=given["params"] if isinstance(given.get("params"), dict) else {},
        error=fields,
        metadata=metadata if isinstance(metadata, dict) else {},
    )
