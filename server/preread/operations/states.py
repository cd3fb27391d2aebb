"""The shape of a call and its outcome, and its JSON."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import ConfigDict, Field

from preread.errors import PrereadError
from preread.models import Model
from preread.operations import paging, wording
from preread.records import audit

MAX_BATCH = 50
MAX_NESTING = 200  # levels of JSON; a reply that repeats a deeper value cannot be serialised


class Options(Model):
    """How a call is run."""

    model_config = ConfigDict(
        validate_by_name=True, validate_by_alias=True, serialize_by_alias=True
    )

    timeout_ms: int | None = Field(None, ge=1, le=3_600_000)
    dry_run: bool = False
    namespace: str | None = None
    limit: int | None = Field(None, ge=1, le=paging.MAX_LIMIT)
    cursor: str | None = None
    as_: Literal["reply", "tool_result"] = Field("reply", alias="as")


class State(Model):
    """A call and its outcome: the answer has `result` or `error` filled in."""

    model_config = ConfigDict(serialize_by_alias=True)

    version: int = Field(1, ge=1, le=1)
    method: str = ""
    params: dict[str, Any] = Field(default_factory=dict)
    options: Options = Field(default_factory=Options)
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    batch: list[dict[str, Any]] | None = Field(None, max_length=MAX_BATCH)
    then: dict[str, Any] | None = None


def with_outcome(
    state: State,
    begun: float,
    *,
    result: dict[str, Any] | None = None,
    error: PrereadError | None = None,
) -> State:
    """A state with its outcome, when it ended, and how long it took."""
    about = {
        "request_id": state.metadata.get("request_id") or audit.new_id(),
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "duration_ms": round((time.monotonic() - begun) * 1000, 1),
    }
    failure = fields_of(error) if error is not None else None
    if state.options.as_ == "tool_result":
        result = {"success": failure is None, "content": result, "error": failure}
    metadata = state.metadata | about
    return state.model_copy(update={"result": result, "error": failure, "metadata": metadata})


def is_nested_too_deep(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(MAX_NESTING):
        level = [inner for outer in level for inner in _children(outer)]
        if not level:
            return False
    return True


def _children(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def valid_parts(given: Mapping[str, Any]) -> State:
    """The valid parts of a state that cannot be run, for its error."""
    method, params, metadata = given.get("method"), given.get("params"), given.get("metadata")
    return State(
        method=method if isinstance(method, str) else "",
        params=params if isinstance(params, dict) else {},
        metadata=metadata if isinstance(metadata, dict) else {},
    )


def dump(state: State) -> dict[str, Any]:
    """A state as JSON data: what the caller sent, and its outcome."""
    try:
        data = _dumped(state)
    except UnicodeEncodeError:  # names of fields come from outside
        named = {name: _with_text_names(getattr(state, name)) for name in state.model_fields_set}
        data = _dumped(state.model_copy(update=named))
    return {"version": state.version, "method": state.method} | data


def _dumped(state: State) -> dict[str, Any]:
    return state.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)


def _with_text_names(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """JSON data whose names have `?` for each half of a surrogate pair."""
    if isinstance(value, dict):
        names = (str(name).encode("utf-8", "replace").decode() for name in value)
        return dict(zip(names, map(_with_text_names, value.values()), strict=True))
    return [*map(_with_text_names, value)] if isinstance(value, list) else value


def fields_of(error: PrereadError) -> dict[str, Any]:
    """An error as JSON data."""
    return {
        "code": error.code,
        "jsonrpc": error.jsonrpc,
        "message": error.message,
        "hint": error.hint,
        "details": error.details,
    }


def failure_of(error: PrereadError) -> dict[str, Any]:
    """An error as JSON data, with hints in the form of states."""
    found: dict[str, Any] = wording.reply_for("states", fields_of(error))
    return found
