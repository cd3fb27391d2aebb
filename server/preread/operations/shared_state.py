"""One shape for every call of every face: a state goes in, and comes back with its outcome.

`method` runs one operation; `batch` runs several states at the same time; `then` runs another state
with the result of this one.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import anyio
from pydantic import ConfigDict, Field

from preread import resolve
from preread.errors import PrereadError
from preread.models import Model
from preread.operations import dispatch, paging, pointers, wording
from preread.operations.agent import methods as agent_methods
from preread.operations.arguments import parse
from preread.operations.literature.records import MadeCall
from preread.operations.registry import AnswerNeeded, Context, Operation, Preview
from preread.records import audit, sessions

TOOL = wording.TOOL
PAGE = "page"
CLIENT = "preread-client"  # what our Python client calls itself
MAX_BATCH, PARALLEL, MAX_DEPTH = 50, 4, 8
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


class Link(NamedTuple):
    """The call that a state in a chain follows, and the state's own params, with its pointers."""

    after: int  # an index of `Calls.made`
    params: dict[str, Any]


@dataclass(frozen=True)
class Calls:
    """What all states of one call share."""

    context: Context
    operations: Mapping[str, Operation]
    face: str
    made: list[MadeCall | None] = field(default_factory=list)  # None: not finished, or failed

    async def answer(
        self, given: Mapping[str, Any], depth: int = 0, link: Link | None = None
    ) -> State:
        """The state with its outcome. Raises only AnswerNeeded."""
        begun = time.monotonic()
        if depth == 0 and _is_nested_too_deep(given):
            method = given.get("method")
            error = PrereadError("E_USAGE", f"The JSON is nested more than {MAX_NESTING} deep.")
            return _finished(_valid_parts({"method": method}), begun, error=error)
        try:
            state = parse(State, given, TOOL)
        except PrereadError as error:
            return _finished(_valid_parts(given), begun, error=error)
        try:
            return await self._timed(state, begun, depth, link)
        except AnswerNeeded:
            raise
        except Exception as error:
            failure = dispatch.expected(self.context.start, self.face, error)
            return _finished(state, begun, error=failure)

    async def _timed(self, state: State, begun: float, depth: int, link: Link | None) -> State:
        if depth > MAX_DEPTH:
            raise PrereadError("E_USAGE", f"`then` is nested more than {MAX_DEPTH} deep.")
        if state.batch is not None and state.then is not None:
            raise PrereadError(
                "E_USAGE",
                "`then` follows one call, not a `batch`.",
                "Give a state in the batch its own `then`.",
            )
        if bool(state.method) == (state.batch is not None):
            raise PrereadError(
                "E_USAGE",
                f"{TOOL} needs the argument `method`, or else `batch`.",
                'Like {"method": "knowledge.search", "params": {"query": "coupon"}}.',
            )
        self._check_namespace(state.options.namespace)
        seconds = (state.options.timeout_ms or 0) / 1000 or None
        if state.batch is not None:
            return await self._batch(state, state.batch, seconds, begun, depth)
        place = len(self.made)
        self.made.append(None)  # calls of a batch start in order, but may end in any order
        with anyio.move_on_after(seconds) as scope:
            done = await self._one(state, begun, place, link)
        if scope.cancelled_caught:
            return _finished(state, begun, error=_timed_out([state.method], 1))
        if state.then is None:
            return done
        left = None if seconds is None else max(0.001, seconds - (time.monotonic() - begun))
        return await self._then(done, state.then, left, depth, place)

    def _check_namespace(self, namespace: str | None) -> None:
        root = resolve.find_root(self.context.start) if namespace else None
        if root is not None and namespace not in {str(root), root.name}:
            raise PrereadError(
                "E_NOT_FOUND",
                f"There is no namespace {str(namespace)[:80]!a} here: this server serves {root}.",
                "Leave `namespace` out.",
            )

    async def _one(self, state: State, begun: float, place: int, link: Link | None) -> State:
        agent = self.context.is_agent
        operation = dispatch.find(self.operations, state.method, for_agent=agent)
        params = agent_methods.params(state.method, state.params)
        request = parse(operation.request, params, operation.name)
        options, metadata = state.options, dict(state.metadata)
        _check_paging(operation, options)
        mark = paging.mark_of({"method": operation.name, "params": state.params})
        at = paging.place(options.cursor or "", mark)
        window = paging.window(at, options.limit) if operation.reads_window else None
        # A copy, because a context finds its project once, and a chain's next call must do it anew.
        context = replace(self.context, window=window)
        if options.dry_run and operation.effect != "read":
            reply: Model = await _preview(context, operation, request)
            name = ""  # a dry run is not recorded
        else:
            reply = await dispatch.run(context, operation, request)
            name = operation.name
        result = reply.model_dump(mode="json", exclude_none=True)
        given, after = (link.params, link.after) if link else (params, None)
        self.made[place] = MadeCall({"method": name, "params": given}, result, after)
        if operation.pages and operation.pages in result:
            page = _page(operation, result, at, options.limit, mark)
            result = page.result
            metadata["total"] = page.total
            if page.next_cursor:
                metadata["next_cursor"] = page.next_cursor
        if unheard := _unheard(context):
            metadata["unheard"] = unheard
        done = state.model_copy(update={"method": operation.name, "metadata": metadata})
        return _finished(done, begun, result=result)

    async def _batch(
        self,
        state: State,
        batch: list[dict[str, Any]],
        seconds: float | None,
        begun: float,
        depth: int,
    ) -> State:
        """The states of a batch, in their order; each fails on its own."""
        answers: list[State | None] = [None] * len(batch)
        limiter = anyio.CapacityLimiter(PARALLEL)

        async def run(index: int, given: dict[str, Any]) -> None:
            async with limiter:
                answers[index] = await self.answer(given, depth + 1)

        with anyio.move_on_after(seconds):
            async with anyio.create_task_group() as tasks:
                for index, given in enumerate(batch):
                    tasks.start_soon(run, index, given)
        names = [str(given.get("method", "batch")) for given in batch]
        missing = [name for name, one in zip(names, answers, strict=True) if one is None]
        finished = [
            one or _finished(_valid_parts(given), begun, error=_timed_out([name], 1))
            for name, given, one in zip(names, batch, answers, strict=True)
        ]
        dumped = [dump(one) for one in finished]
        error = _timed_out(missing, len(batch)) if missing else None
        return _finished(state.model_copy(update={"batch": dumped}), begun, error=error)

    async def _then(
        self, done: State, following: dict[str, Any], seconds: float | None, depth: int, place: int
    ) -> State:
        """`done` with the outcome of the state after it, which gets `done`'s result as params."""
        if done.error is not None or done.result is None:
            return done
        result = done.result["content"] if done.options.as_ == "tool_result" else done.result
        given = dict(following)
        own = following.get("params")
        link = Link(place, own if isinstance(own, dict) else {})
        try:
            given["params"] = self._passed_on(given, result)
        except PrereadError as error:  # the earlier calls were made, so their results are returned
            return done.model_copy(update={"error": fields_of(error)})
        if seconds is not None and isinstance(given.get("options", {}), dict):
            own = {"timeout_ms": max(1, round(seconds * 1000))}
            given["options"] = own | given.get("options", {})
        answer = await self.answer(given, depth + 1, link)
        return done.model_copy(update={"then": dump(answer), "error": answer.error})

    def _passed_on(self, given: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
        """The params of the next state, with what they take from the result before it."""
        own, method, fields = given.get("params"), given.get("method"), set[str]()
        if isinstance(method, str):
            fields = set(dispatch.find(self.operations, method).request.model_fields)
        return pointers.passed_on(own if isinstance(own, dict) else {}, result, fields)


async def perform(
    operations: Mapping[str, Operation], context: Context, given: Mapping[str, Any], face: str
) -> State:
    """Run what a state asks for; returns the state with its outcome. Raises only AnswerNeeded.

    A person is asked only about a single call. It is made again with the answer; in a batch or a
    chain, other calls that have already changed something would be made again as well.
    """
    if {"batch", "then"} & set(given):
        context = replace(context, caller=replace(context.caller, ask=None))
    calls = Calls(context, operations, face)
    done = await calls.answer(given)
    if len(calls.made) > 1 and done.error is None:
        from preread.operations.literature import workflow  # only chains and batches need it

        about = workflow.recorded(context, calls.made)
        done = done.model_copy(update={"metadata": done.metadata | about})
    words = _words(context, face)
    return done.model_copy(
        update={
            key: wording.reply_for(words, value)
            for key in ("result", "error", "batch", "then")
            if (value := getattr(done, key)) is not None
        }
    )


def _words(context: Context, face: str) -> wording.Face:
    """The face whose wording the answer uses; Preread's own client also comes over MCP."""
    if face in {"call", PAGE}:  # a person reads it
        return "commands"
    return "tools" if face == "mcp" and context.by != f"mcp:{CLIENT}" else "states"


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


def _unheard(context: Context) -> int:
    """How many unread messages of other sessions an agent has."""
    if not context.is_agent:
        return 0
    with suppress(PrereadError):  # a disk that cannot be written is reported by the call itself
        return sessions.waiting(context.layout, sessions.caller(context.by, is_person=False))
    return 0


async def _preview(context: Context, operation: Operation, request: Model) -> Preview:
    if context.is_agent:
        dispatch.permit(operation, context.services().settings)
    if operation.preview is None:
        raise PrereadError(
            "E_USAGE",
            f"{operation.name} has no dry run.",
            "Leave `dry_run` out.",
        )
    return await operation.preview(context, request)


def _finished(
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


def _page(
    operation: Operation, result: dict[str, Any], at: paging.Place, limit: int | None, mark: str
) -> paging.Page:
    if operation.reads_window:
        return paging.page_of_graph(result, at, limit, mark)
    return paging.page(result, operation.pages, at, limit, mark)


def _check_paging(operation: Operation, options: Options) -> None:
    """Refuse options that would do nothing."""
    if operation.pages or (options.limit is None and options.cursor is None):
        return
    own = " It takes `limit` in its params." if "limit" in operation.request.model_fields else ""
    raise PrereadError(
        "E_USAGE",
        f"The result of {operation.name} has no pages: `limit` and `cursor` would do nothing.",
        f"Leave them out of `options`.{own}",
    )


def _timed_out(missing: list[str], calls: int) -> PrereadError:
    return PrereadError(
        "E_TIMEOUT",
        f"{len(missing)} of {calls} calls had not finished at the time-out: {', '.join(missing)}.",
        "Raise `options.timeout_ms`, or ask for less.",
        {"missing": missing},
    )


def _is_nested_too_deep(value: object) -> bool:
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


def _valid_parts(given: Mapping[str, Any]) -> State:
    """The valid parts of a state that cannot be run, for its error."""
    method, params, metadata = given.get("method"), given.get("params"), given.get("metadata")
    return State(
        method=method if isinstance(method, str) else "",
        params=params if isinstance(params, dict) else {},
        metadata=metadata if isinstance(metadata, dict) else {},
    )
