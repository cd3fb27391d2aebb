"""The clients: typed calls over any transport, synchronous and asynchronous."""

import os
from collections.abc import Generator, Mapping
from contextlib import AsyncExitStack, ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from preread.client import transports
from preread.client.operations import AsyncOperations, Operations
from preread.client.transports import Send, State, Transport
from preread.daemon import paths
from preread.errors import CODES, PrereadError

if TYPE_CHECKING:
    from typing import Self

    from preread.models import Model


class _Connection:
    """One project over one of the transports."""

    def __init__(
        self,
        project: str | Path = ".",
        *,
        transport: Transport | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        environ = os.environ if environ is None else environ
        self._transport = transport or transports.in_process(project, environ)

    @classmethod
    def over_stdio(
        cls,
        project: str | Path = ".",
        *,
        command: tuple[str, ...] = (),
        era: transports.Era = "auto",
        environ: Mapping[str, str] | None = None,
    ) -> "Self":
        """A client of `preread mcp`, or of another command that serves MCP, in its own process."""
        environ = os.environ if environ is None else environ
        return cls(project, transport=transports.stdio(project, environ, command, era))

    @classmethod
    def over_http(cls, url: str, token: str, *, namespace: str = "") -> "Self":
        """A client of a daemon, with a token from `preread token new`."""
        return cls(transport=transports.http(url, token, namespace))

    @classmethod
    def over_websocket(cls, url: str, token: str, *, namespace: str = "") -> "Self":
        """A client of a daemon over one WebSocket, with a token from `preread token new`."""
        return cls(transport=transports.websocket(url, token, namespace))

    @classmethod
    def over_socket(
        cls, project: str | Path = ".", *, environ: Mapping[str, str] | None = None
    ) -> "Self":
        """A client of this user's daemon, over its Unix socket."""
        path = paths.http_socket(os.environ if environ is None else environ)
        folder = str(Path(project).absolute())
        return cls(transport=transports.http("http://preread", "", folder, path))


class AsyncClient(_Connection, AsyncOperations):
    """Preread on one project; enter it with `async with`.

    Without a `transport`, operations run in this process, with the variables of `environ`.
    """

    _send: Send | None = None

    async def __aenter__(self) -> "Self":
        self._stack = AsyncExitStack()
        self._send = await self._stack.enter_async_context(self._transport())
        return self

    async def __aexit__(self, *error: object) -> None:
        self._send = None
        await self._stack.aclose()

    async def send(self, state: State) -> State:
        """The answer to a shared state, with all its options, `batch` and `then`."""
        if self._send is None:
            raise RuntimeError("enter the client with `async with` first")
        return await self._send(state)

    async def _call(self, name: str, params: dict[str, Any]) -> "Model":
        """The complete reply of one operation. Raises PrereadError."""
        calls = _conversation(name, params)
        state = next(calls)
        while True:
            try:
                state = calls.send(await self.send(state))
            except StopIteration as end:
                return cast("Model", end.value)


class Client(_Connection, Operations):
    """Preread on one project, for code that does not use `async`; enter it with `with`."""

    _portal: Any = None  # anyio's, whose import takes time

    @cached_property
    def _client(self) -> AsyncClient:
        return AsyncClient(transport=self._transport)

    def __enter__(self) -> "Self":
        from anyio.from_thread import start_blocking_portal

        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(portal.wrap_async_context_manager(self._client))
            self._stack = stack.pop_all()
        self._portal = portal
        return self

    def __exit__(self, *error: object) -> None:
        self._portal = None
        self._stack.close()

    def send(self, state: State) -> State:
        """The answer to a shared state, with all its options, `batch` and `then`."""
        return cast("State", self._run(self._client.send, state))

    def _call(self, name: str, params: dict[str, Any]) -> "Model":
        return cast("Model", self._run(self._client._call, name, params))

    def _run(self, work: Any, *arguments: object) -> object:  # noqa: ANN401 - a coroutine function
        if self._portal is None:
            raise RuntimeError("enter the client with `with` first")
        return self._portal.call(work, *arguments)


def _conversation(name: str, params: Mapping[str, Any]) -> "Generator[State, State, Model]":
    """Yields the states to send for one call, until its reply is complete; returns the reply.

    The call is repeated while the build runs, and once for each further page.
    """
    from preread.operations import REGISTRY, paging

    operation = REGISTRY[name]
    given = {key: value for key, value in params.items() if value is not None}
    state: State = {"method": name, "params": given}
    # The largest pages, because all are fetched, and each costs a call.
    options: State = {"limit": paging.MAX_LIMIT} if operation.pages else {}
    if options:
        state["options"] = options
    items: dict[str, list[object]] = {field: [] for field in operation.paged}
    while True:
        done = yield state
        result = _result(done)
        if result.get("status") == "building":
            continue
        for field in operation.paged:
            items[field] += result.get(field) or []
        cursor = done.get("metadata", {}).get("next_cursor")
        if not cursor:
            break
        state = state | {"options": {**options, "cursor": cursor}}
    return _reply(operation.reply, result | items)


def _result(done: State) -> dict[str, Any]:
    """The result of a state. Raises its error, if it has one."""
    error = done.get("error")
    result: dict[str, Any] = done.get("result") or {}
    if error is None and result.get("status") == "error":
        error = result  # a dossier that could not be built
    if error is None:
        return result
    code = error.get("code")
    known = code if code in CODES else "E_INTERNAL"  # a newer server's code
    raise PrereadError(
        known, error.get("message") or "", error.get("hint") or "", error.get("details")
    )


def _reply(model: "type[Model]", result: dict[str, Any]) -> "Model":
    """A reply from its JSON data, which omits fields that are null."""
    from pydantic import ValidationError

    try:
        return model.model_validate(result)
    except ValidationError as error:
        for each in error.errors():
            if each["type"] == "missing":
                _set(result, each["loc"], None)
    return model.model_validate(result)


def _set(data: Any, place: tuple[int | str, ...], value: object) -> None:  # noqa: ANN401 - any JSON
    """Set the value at a place in nested JSON data."""
    *outer, last = place
    for part in outer:
        data = data[part]
    data[last] = value
