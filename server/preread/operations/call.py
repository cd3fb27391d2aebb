"""`call`: run any operation by its name, as programs do."""

import json
import sys
from typing import Any

from pydantic import Field

from preread.errors import PrereadError
from preread.operations import REGISTRY, shared_state, states
from preread.operations.registry import Context, Operation, RequestModel
from preread.operations.states import State

STDIN = "-"


class CallRequest(RequestModel):
    """What to run."""

    method: str = Field(
        description="An operation, like `knowledge.search`; `-` reads a whole state from standard "
        "input."
    )
    params: str = Field("{}", description="Its params, as a JSON object.")
    dry_run: bool = Field(False, description="Only show what would change, as a diff.")
    timeout_ms: int | None = Field(None, ge=1, description="Milliseconds until it is stopped.")
    limit: int | None = Field(None, ge=1, description="How many items of a long result.")
    cursor: str | None = Field(None, description="Where the page begins, from the last reply.")


class CallReply(State):
    """The state with its outcome."""

    @property
    def status(self) -> str:
        return "ok" if self.error is None else "error"

    @property
    def code(self) -> str:
        return "" if self.error is None else str(self.error.get("code"))


async def call(context: Context, request: CallRequest) -> CallReply:
    if request.method == STDIN:
        given = _object("Standard input", sys.stdin.read())
    else:
        chosen = request.model_dump(exclude={"method", "params"}, exclude_defaults=True)
        given = {"method": request.method, "params": _object("PARAMS", request.params)}
        given |= {"options": chosen} if chosen else {}
    state = await shared_state.perform(REGISTRY, context, given, "call")
    return CallReply.model_validate(states.dump(state))


def _object(what: str, text: str) -> dict[str, Any]:
    """The JSON object in a text. Raises E_USAGE."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"{what} is not JSON: {str(error)[:120]}."
        raise PrereadError("E_USAGE", message, _HINT) from error
    if not isinstance(found, dict):
        raise PrereadError("E_USAGE", f"{what} is JSON, but not an object.", _HINT)
    return found


_HINT = """Like: `preread call knowledge.search '{"query": "coupon"}'`"""
OPERATION = Operation(
    name="config.call",
    request=CallRequest,
    reply=CallReply,
    effect="read",  # what it runs has effects of its own
    doc="Run any operation by its name, with its params as JSON.",
    example="""preread call knowledge.search '{"query": "coupon"}'""",
    run=call,
    command="call",
    people_only=True,
    positional=("method", "params"),
)
