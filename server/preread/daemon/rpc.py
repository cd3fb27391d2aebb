"""JSON-RPC 2.0 with batches; its methods are the operations."""

import math
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from preread.operations.shared_state import PARALLEL
from preread.operations.states import MAX_BATCH

Json = Any
Answer = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
PARSE, INVALID, PARAMS = -32700, -32600, -32602
CANCEL = "$/cancelRequest"  # a notification, as in the Language Server Protocol


async def answered(given: Json, perform: Answer) -> Json:
    """The response to a message or a batch; None if it has only notifications.

    `perform` runs a shared state and returns it with its outcome.
    """
    if not isinstance(given, list):
        return await _one(given, perform)
    if not given or len(given) > MAX_BATCH:
        return error(None, INVALID, f"A batch has 1 to {MAX_BATCH} messages.")
    answers: list[Json] = [None] * len(given)
    limiter = anyio.CapacityLimiter(PARALLEL)

    async def run(index: int, message: Json) -> None:
        async with limiter:
            answers[index] = await _one(message, perform)

    async with anyio.create_task_group() as tasks:
        for index, message in enumerate(given):
            tasks.start_soon(run, index, message)
    return [answer for answer in answers if answer is not None] or None


async def _one(message: Json, perform: Answer) -> Json:
    """The response to one message; None to a notification."""
    problem = _problem(message)
    if problem:
        ident = message.get("id") if isinstance(message, dict) else None
        return error(ident if _is_id(ident) else None, INVALID, problem)
    params = message.get("params", {})
    if not isinstance(params, dict):
        return error(message.get("id"), PARAMS, "`params` has to be an object, not a list.")
    state = {"method": message["method"], "params": params}
    if "options" in message:  # not in JSON-RPC, but ours
        state["options"] = message["options"]
    done = await perform(state)
    if "id" not in message:
        return None
    if done.get("error") is not None:
        return failed(message["id"], done["error"])
    return {"jsonrpc": "2.0", "id": message["id"], "result": done.get("result")}


def cancelled(message: Json) -> Json:
    """The id of the call that a message cancels; None if it cancels none."""
    if not isinstance(message, dict) or message.get("method") != CANCEL or "id" in message:
        return None
    params = message.get("params") if message.get("jsonrpc") == "2.0" else None
    return params.get("id") if isinstance(params, dict) else None


def _problem(message: Json) -> str:
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return "This is not a JSON-RPC 2.0 message."
    if not isinstance(message.get("method"), str) or not message["method"]:
        return "`method` has to be a string."
    return "" if _is_id(message.get("id")) else "`id` has to be a string, a number or null."


def _is_id(ident: Json) -> bool:
    if isinstance(ident, float):
        return math.isfinite(ident)  # `1e999` is infinite here, and cannot be written as JSON
    return ident is None or (isinstance(ident, str | int) and not isinstance(ident, bool))


def refused(given: Json, failure: dict[str, Any]) -> Json:
    """The response to a message or a batch that is not run; None for notifications."""
    if isinstance(given, list):
        answers = [one for each in given if (one := refused(each, failure)) is not None]
        return answers or None
    if _problem(given):
        return failed(None, failure)
    return failed(given["id"], failure) if "id" in given else None


def failed(ident: Json, failure: dict[str, Any]) -> dict[str, Any]:
    """The error response of a failed operation."""
    data = {key: failure[key] for key in ("code", "hint", "details")}
    return error(ident, failure["jsonrpc"], failure["message"], data)


def error(ident: Json, code: int, message: str, data: Json = None) -> dict[str, Any]:
    about = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return {"jsonrpc": "2.0", "id": ident, "error": about}
