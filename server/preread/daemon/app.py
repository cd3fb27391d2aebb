"""The routes: each parses a request, runs it and writes the answer."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from preread import __version__
from preread.daemon import rpc as json_rpc
from preread.daemon import stream
from preread.daemon.calls import calls_of
from preread.daemon.guard import METADATA, origin_of
from preread.daemon.page import routes as pages
from preread.daemon.peers import CODE_OF_STATUS, Peer, Refused, status_of
from preread.daemon.rpc import Answer
from preread.daemon.serving import Serving
from preread.errors import PrereadError
from preread.operations.states import failure_of

NAMESPACE = "preread-namespace"  # the header
QUICK_SECONDS = 0.05
WHERE = "Calls: POST /operation, /rpc or /mcp. Events: GET /stream. See docs/daemon.md."


def routes(serving: Serving) -> list[BaseRoute]:
    handlers = Handlers(serving)
    return [
        Route("/health", handlers.health),
        Route("/metrics", handlers.metrics),
        Route(METADATA, handlers.resource_metadata),
        Route("/operation", handlers.operation, methods=["POST"]),
        Route("/rpc", handlers.rpc, methods=["POST"]),
        Route("/mcp", handlers.mcp, methods=["GET", "POST", "DELETE"]),
        Route("/stream", handlers.stream),
        WebSocketRoute("/stream", handlers.socket),
        *pages.routes(serving),
    ]


def app(serving: Serving) -> Starlette:
    errors = {
        Refused: _refused, PrereadError: _failed, ClientDisconnect: _gone,
        HTTPException: _unmatched,
    }  # fmt: skip
    return Starlette(routes=routes(serving), exception_handlers=errors)  # type: ignore[arg-type]


class Handlers:
    """The handlers of the routes."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    async def health(self, _request: Request) -> Response:
        return reply({"status": "ok", "version": __version__})

    async def resource_metadata(self, request: Request) -> Response:
        """Where to get an access token for `/mcp` (RFC 9728)."""
        issuer = self._serving.issuer
        if issuer is None:
            raise Refused(404, "This server has no issuer.", "`preread serve --issuer URL`")
        return reply(issuer.metadata(origin_of(request.scope, request.headers.get("host", ""))))

    async def metrics(self, _request: Request) -> Response:
        serving = self._serving
        text = serving.metrics.text(builds=serving.projects.builds(), relays=serving.relays)
        return Response(text, media_type="text/plain; version=0.0.4")

    async def operation(self, request: Request) -> Response:
        given = await body_of(request)
        if not isinstance(given, dict):
            raise Refused(400, "The body has to be a JSON object.")
        peer_of(request).spend(calls_of(given) - 1)  # one was counted with the request
        work, namespace = self._serving.perform, namespace_of(request)
        return reply(await _while_connected(request, work, peer_of(request), given, namespace))

    async def rpc(self, request: Request) -> Response:
        try:
            given = await body_of(request)
        except Refused as refused:
            if refused.status != 400:
                raise
            return reply(json_rpc.error(None, json_rpc.PARSE, str(refused)))
        peer_of(request).spend(calls_of(given) - 1)
        perform = self.performer(request, raises=not isinstance(given, list))
        answer = await _while_connected(request, json_rpc.answered, given, perform)
        return Response(status_code=204) if answer is None else reply(answer)

    async def mcp(self, request: Request) -> "AppResponse":
        peer = peer_of(request)
        root = await self._serving.projects.root(peer, namespace_of(request))
        endpoint = await self._serving.endpoint(peer, root)
        app = endpoint.for_client(peer.identity.part or "local")
        return AppResponse(app, partial(self._serving.projects.has_lost_access, peer, root))

    async def stream(self, request: Request) -> Response:
        peer, projects = peer_of(request), self._serving.projects
        namespace = projects.namespace(await projects.root(peer, namespace_of(request)))
        return stream.events(projects, namespace, peer)

    async def socket(self, websocket: Any) -> None:  # noqa: ANN401 - Starlette's, per route
        peer, projects = peer_of(websocket), self._serving.projects
        try:
            root = await projects.root(peer, namespace_of(websocket))
        except PrereadError as error:
            await websocket.send_denial_response(await _failed(websocket, error))
            return
        perform = self.performer(websocket, raises=False)
        await stream.talk(websocket, projects, projects.namespace(root), peer, perform)

    def performer(self, connection: HTTPConnection, *, raises: bool) -> Answer:
        """A function that runs states for a connection.

        A refusal is raised if `raises`; otherwise it becomes the state's error.
        """
        peer, wanted = peer_of(connection), namespace_of(connection)

        async def perform(state: dict[str, Any]) -> dict[str, Any]:
            try:
                return await self._serving.perform(peer, state, wanted)
            except Refused as refused:
                if raises:
                    raise
                return {"version": 1, **state, "error": failure_of(refused.error)}

        return perform


class AppResponse(Response):
    """A response produced by another ASGI app. A stream ends when its peer loses access.

    Access is checked at each chunk; an idle stream sends pings.
    """

    def __init__(self, other: ASGIApp, has_ended: Callable[[], bool]) -> None:
        super().__init__()
        self._other, self._has_ended = other, has_ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with anyio.CancelScope() as stream:

            async def send_on(message: Message) -> None:
                if message.get("more_body") and self._has_ended():
                    stream.cancel()
                    await anyio.lowlevel.checkpoint()
                await send(message)

            await self._other(scope, receive, send_on)
        if stream.cancelled_caught:
            await send({"type": "http.response.body"})


def peer_of(connection: HTTPConnection) -> Peer:
    found: Peer = connection.scope["state"]["peer"]
    return found


def namespace_of(connection: HTTPConnection) -> str:
    """The namespace of a request; `?namespace=` is for web pages, which cannot set headers.

    Raises Refused.
    """
    found = connection.headers.getlist(NAMESPACE)
    if len(found) > 1:
        raise Refused(400, f"There is more than one header {NAMESPACE}.")
    return found[0] if found and found[0] else connection.query_params.get("namespace", "")


async def body_of(request: Request) -> Any:  # noqa: ANN401 - any JSON
    """The JSON of a body. Raises Refused."""
    try:
        return json.loads(await request.body(), parse_constant=stream.no_constant)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"The body is not valid JSON: {str(error)[:100]}.") from error


def reply(data: object, status: int = 200, **headers: str) -> Response:
    """A JSON response in ASCII: texts may contain lone surrogates, which UTF-8 cannot encode."""
    try:
        text = json.dumps(data, allow_nan=False)
    except ValueError as error:
        return reply({"error": failure_of(PrereadError("E_USAGE", str(error)))}, 400)
    return Response(text, status, headers, "application/json")


async def _refused(_request: Request, error: Refused) -> Response:
    headers = {"connection": "close", **error.headers}  # because the rest of the body is not read
    return reply({"error": failure_of(error.error)}, error.status, **headers)


async def _failed(_request: HTTPConnection, error: PrereadError) -> Response:
    return reply({"error": failure_of(error)}, status_of(error.code))


async def _unmatched(_request: HTTPConnection, error: HTTPException) -> Response:
    """An unknown path, or one that has another method."""
    code = CODE_OF_STATUS.get(error.status_code, "E_USAGE")
    failure = failure_of(PrereadError(code, f"{error.detail}.", WHERE))
    return reply({"error": failure}, error.status_code, **dict(error.headers or {}))


async def _gone(_request: Request, _error: ClientDisconnect) -> Response:
    return Response(status_code=400)  # nobody reads it


async def _while_connected(
    request: Request, work: Callable[..., Awaitable[Any]], *arguments: object
) -> Any:  # noqa: ANN401 - any JSON
    """The result of the work, which is cancelled if the client disconnects.

    Only work that takes longer than QUICK_SECONDS is worth a task that waits for that.
    """
    loop, watching = asyncio.get_running_loop(), list[asyncio.Task[None]]()

    async def wait_until_gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        scope.cancel()

    timer = loop.call_later(
        QUICK_SECONDS, lambda: watching.append(loop.create_task(wait_until_gone()))
    )
    try:
        with anyio.CancelScope() as scope:
            return await work(*arguments)
    finally:
        timer.cancel()
        for task in watching:
            task.cancel()
