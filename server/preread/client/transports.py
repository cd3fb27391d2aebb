"""Transports of a client: each takes a shared state and returns it with its outcome."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from preread.errors import CODES, PrereadError

if TYPE_CHECKING:
    from mcp import Client

State = dict[str, Any]
Send = Callable[[State], Awaitable[State]]
Transport = Callable[[], AbstractAsyncContextManager[Send]]
CONNECT_SECONDS = 5.0
Era = Literal["auto", "legacy", "2026-07-28"]


def in_process(project: str | Path, environ: Mapping[str, str]) -> Transport:
    """Runs operations in this process, as a person's command line does."""
    folder = Path(project).absolute()

    @asynccontextmanager
    async def opened() -> AsyncIterator[Send]:
        from preread.builds.jobs import Caller, Jobs
        from preread.operations import REGISTRY, shared_state, states
        from preread.operations.registry import Context
        from preread.unchanged import Unchanged

        async with Jobs() as jobs:
            context = Context(folder, environ, jobs, Caller(None, _discard), unchanged=Unchanged())

            async def send(state: State) -> State:
                done = await shared_state.perform(REGISTRY, context, state, "client")
                return states.dump(done)

            yield send

    return opened


async def _discard(message: str, done: float, total: float) -> None:
    """Discard progress."""


def stdio(
    project: str | Path,
    environ: Mapping[str, str],
    command: tuple[str, ...] = (),
    era: Era = "auto",
) -> Transport:
    """Starts `preread mcp`, or another command, and talks MCP with it.

    The client counts as an agent: operations for people, and effects that the settings do not
    allow, are refused. `era` sets the version of the protocol to speak.
    """
    folder = str(Path(project).absolute())

    @asynccontextmanager
    async def opened() -> AsyncIterator[Send]:
        import sys

        from mcp import Client, StdioServerParameters
        from mcp_types import Implementation

        from preread import __version__
        from preread.operations.shared_state import CLIENT

        first, *more = command or (sys.executable, "-m", "preread", "mcp", "--project", folder)
        server = StdioServerParameters(command=first, args=more, env=dict(environ))
        info = Implementation(name=CLIENT, version=__version__)
        async with AsyncExitStack() as stack:
            try:
                client = await stack.enter_async_context(Client(server, mode=era, client_info=info))
            except Exception as error:  # the SDK's task group wraps any error in a group
                raise _unreachable(first, error) from error

            async def send(state: State) -> State:
                return await _sent(client, state)

            yield send

    return opened


def http(url: str, token: str = "", namespace: str = "", socket: str | None = None) -> Transport:
    """Calls a daemon. `namespace` is a project's folder, or the name of an allowed one.

    Over a Unix `socket`, the host in the URL is ignored. The token's scope, or for a socket the
    settings, say what is allowed.
    """

    @asynccontextmanager
    async def opened() -> AsyncIterator[Send]:
        import httpx2

        headers = {"authorization": f"Bearer {token}"} if token else {}
        headers |= {"preread-namespace": namespace} if namespace else {}
        async with httpx2.AsyncClient(
            base_url=url, headers=headers, trust_env=False,
            transport=httpx2.AsyncHTTPTransport(uds=socket),
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        ) as client:  # fmt: skip

            async def send(state: State) -> State:
                try:
                    answer = await client.post("/operation", json=state)
                    data = answer.json()
                except (httpx2.HTTPError, ValueError) as error:
                    raise _no_daemon(socket or url, error) from error
                if answer.is_success:
                    return cast("State", data)
                return {**state, "error": data["error"]}

            yield send

    return opened


def websocket(url: str, token: str = "", namespace: str = "") -> Transport:
    """Calls a daemon like `http`, but over a single connection."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Send]:
        from websockets.asyncio.client import connect
        from websockets.exceptions import InvalidStatus, WebSocketException

        from preread.client.conversation import Conversation

        headers = {"authorization": f"Bearer {token}"} if token else {}
        headers |= {"preread-namespace": namespace} if namespace else {}
        async with AsyncExitStack() as stack:
            try:
                connection = await stack.enter_async_context(
                    connect(
                        f"ws{url.removeprefix('http')}/stream", additional_headers=headers,
                        open_timeout=CONNECT_SECONDS, max_size=None, compression=None, proxy=None,
                    )
                )  # fmt: skip
            except InvalidStatus as error:
                raise _refused(error.response.status_code, error.response.body) from error
            except (OSError, WebSocketException, ValueError) as error:
                raise _no_daemon(url, error) from error
            conversation = await stack.enter_async_context(Conversation(connection, url))
            yield conversation.send

    return opened


def _refused(status: int, body: bytes | bytearray | None) -> PrereadError:
    """The error with which a daemon refused a connection."""
    import json

    try:
        given = json.loads(body or b"")["error"]
        code, message, hint = given["code"], given["message"], given["hint"]
    except (ValueError, LookupError, TypeError):
        code, message, hint = "E_SERVER", f"The daemon refused the connection ({status}).", ""
    return PrereadError(code if code in CODES else "E_INTERNAL", message, hint)


def _no_daemon(where: str, error: Exception) -> PrereadError:
    why = str(error) or type(error).__name__
    message = f"The daemon at {where} did not answer: {why}."
    return PrereadError("E_SERVER", message, "`preread serve status` says whether it runs.")


def _unreachable(program: str, error: Exception) -> PrereadError:
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    message = f"{program} did not start as an MCP server: {error}."
    return PrereadError("E_SERVER", message, "Its standard error output may say why.")


async def _sent(client: "Client", state: State) -> State:
    from mcp.shared.exceptions import MCPError

    from preread.mcp import quoted
    from preread.operations.shared_state import TOOL

    try:
        reply = await client.call_tool(TOOL, state)
    except MCPError as error:
        message = f"The server did not answer: {error}."
        raise PrereadError("E_SERVER", message, "Enter a new client.") from error
    data = reply.structured_content
    if not isinstance(data, dict):
        raise PrereadError("E_SERVER", "The server's answer has no structured content.")
    return cast("State", quoted.plain(data))
