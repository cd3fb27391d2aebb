"""One shape for every call of every face: a state goes in, and comes back with its outcome.

`method` runs one operation; `batch` runs several states at the same time; `then` runs another state
with the result of this one.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import anyio

from preread import resolve
from preread.errors import PrereadError
from preread.models import Model
from preread.operations import dispatch, paging, pointers, wording
from preread.operations.agent import methods as agent_methods
from preread.operations.arguments import parse
from preread.operations.literature.records import MadeCall
from preread.operations.registry import AnswerNeeded, Context, Operation, Preview
from preread.operations.states import (
    MAX_NESTING,
    Options,
    State,
    dump,
    fields_of,
    is_nested_too_deep,
    valid_parts,
    with_outcome,
)
from preread.records import sessions

TOOL = wording.TOOL
PAGE = "page"
CLIENT = "preread-client"  # what our Python client calls itself
PARALLEL, MAX_DEPTH = 4, 8


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
        if depth == 0 and is_nested_too_deep(given):
            method = given.get("method")
            error = PrereadError("E_USAGE", f"The JSON is nested more than {MAX_NESTING} deep.")
            return with_outcome(valid_parts({"method": method}), begun, error=error)
        try:
            state = parse(State, given, TOOL)
        except PrereadError as error:
            return with_outcome(valid_parts(given), begun, error=error)
        try:
            return await self._timed(state, begun, depth, link)
        except AnswerNeeded:
            raise
        except Exception as error:
            failure = dispatch.expected(self.context.start, self.face, error)
            return with_outcome(state, begun, error=failure)

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
            return with_outcome(state, begun, error=_timed_out([state.method], 1))
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
        asked = {"method": operation.name, "params": state.params}
        mark = paging.mark_of(asked) if operation.paged else ""
        at = paging.place(options.cursor or "", mark)
        window = paging.window(at, options.limit) if operation.reads_window else None
        # A copy: a context finds its project once, and a chain's next call has to find its own.
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
        return with_outcome(done, begun, result=result)

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
            one or with_outcome(valid_parts(given), begun, error=_timed_out([name], 1))
            for name, given, one in zip(names, batch, answers, strict=True)
        ]
        dumped = [dump(one) for one in finished]
        error = _timed_out(missing, len(batch)) if missing else None
        return with_outcome(state.model_copy(update={"batch": dumped}), begun, error=error)

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


def _unheard(context: Context) -> int:
    """How many unread messages of other sessions an agent has."""
    if not context.is_agent:
        return 0
    with suppress(PrereadError):  # a disk that cannot be written is reported by the call itself
        return sessions.waiting(context.layout, sessions.caller(context.by, is_person=False))
    return 0


async def _preview(context: Context, operation: Operation, request: Model) -> Preview:
    if context.is_agent:
        dispatch.permit(operation, context.settings)
    if operation.preview is None:
        raise PrereadError(
            "E_USAGE",
            f"{operation.name} has no dry run.",
            "Leave `dry_run` out.",
        )
    return await operation.preview(context, request)


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
