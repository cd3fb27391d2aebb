"""State shared by all of the daemon's interfaces, and how a call runs."""

import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskGroup
from starlette.requests import Request

from preread.builds.jobs import Caller, Jobs
from preread.daemon.background import Background
from preread.daemon.calls import calls_of, check_scope
from preread.daemon.logins import Logins
from preread.daemon.metrics import Metrics
from preread.daemon.namespaces import Namespaces
from preread.daemon.peers import Peer, Refused
from preread.daemon.projects import FolderRunner, Namespace, Projects
from preread.daemon.tokens import SCOPES, Scope, Tokens, includes
from preread.errors import PrereadError
from preread.mcp.http import Endpoint
from preread.mcp.server import Handlers
from preread.operations import REGISTRY, shared_state, states
from preread.operations.registry import Context, Operation

if TYPE_CHECKING:
    from preread.daemon.issuer import Issuer

State = dict[str, Any]
LOAD = "context.load"

UNKNOWN = "unknown"  # in metrics, instead of names that callers made up


class Serving:
    """The state of a running daemon."""

    def __init__(
        self, environ: Mapping[str, str], tasks: TaskGroup, issuer: "Issuer | None" = None
    ) -> None:
        self.environ, self.issuer = dict(environ), issuer
        self.tasks, self.metrics = Background(tasks), Metrics()
        self.tokens, self.allowed = Tokens(environ), Namespaces(environ)
        self.logins = Logins()
        self.projects = Projects(self.environ, self.tasks, self.allowed)
        self.relays = 0

    @cached_property
    def _environs(self) -> dict[Scope, dict[str, str]]:
        """The environment of a call with a token: its scope replaces the setting `allow`."""
        return {
            scope: self.environ | {"PREREAD_ALLOW": os.pathsep.join(SCOPES[: place + 1])}
            for place, scope in enumerate(SCOPES)
        }

    def environ_of(self, peer: Peer) -> dict[str, str]:
        """The environment of a peer's call; the settings say what a local process may do."""
        return self.environ if peer.is_local else self._environs[peer.scope]

    async def perform(
        self, peer: Peer, given: State, wanted: str = "", face: str = "http"
    ) -> State:
        """Run a state; returns it with its outcome. Raises Refused if the scope is too small.

        `wanted` is the namespace for states that name none; hints are in the form for `face`.
        """
        begun = time.monotonic()
        caller = Caller(None, _discard, times_out=True, takes_early_reply=True)

        async def work(namespace: Namespace, jobs: Jobs) -> states.State:
            check_scope(peer, given)
            context = Context(
                namespace.root, self.environ_of(peer), jobs, caller, namespace.reply_cache,
                namespace.unchanged, f"http:{peer.identity.name}",
            )  # fmt: skip
            state = _in_namespace(given, namespace.root)
            return await shared_state.perform(REGISTRY, context, state, face)

        try:
            done = await self.projects.run_for(peer, _namespace_of(given), wanted, work)
        except PrereadError as error:  # of the loop: a state's own errors are in the state
            return {"version": 1, **given, "error": states.failure_of(error)}
        name = done.method if done.method in REGISTRY else UNKNOWN
        outcome = str(done.error["code"]) if done.error else "ok"
        self.metrics.count_call(name, outcome, time.monotonic() - begun)
        return states.dump(done)

    async def endpoint(self, peer: Peer, root: Path) -> Endpoint:
        """The MCP endpoint of a namespace, for the peer's scope."""
        namespace = self.projects.namespace(root)
        key = "local" if peer.is_local else peer.scope
        async with namespace.starting:
            if key not in namespace.endpoints:
                operations: Mapping[str, Operation] = REGISTRY
                if not includes(peer.scope, "write"):
                    operations = {name: REGISTRY[name] for name in REGISTRY if name != LOAD}
                runner = FolderRunner(self.projects, root)
                handlers = Handlers(root, self.environ_of(peer), runner, operations, _spend)
                await self.tasks.start(self._run_endpoint, namespace, key, handlers)
        return namespace.endpoints[key]

    async def _run_endpoint(
        self, namespace: Namespace, key: str, handlers: Handlers, *,
        task_status: anyio.abc.TaskStatus[None],
    ) -> None:  # fmt: skip
        endpoint = Endpoint(handlers)
        async with endpoint.running(), anyio.create_task_group() as tasks:
            Background(tasks).start_soon(self.tell_subscribers, namespace, handlers)
            namespace.endpoints[key] = endpoint
            task_status.started()
            try:
                await endpoint.unused()
            finally:
                del namespace.endpoints[key]  # the next call creates a new one
            tasks.cancel_scope.cancel()

    async def tell_subscribers(self, namespace: Namespace, handlers: Handlers) -> None:
        """Pass changed dossiers on to the subscribers of an MCP server, until cancelled."""
        while True:  # resubscribe after having been too slow
            async with namespace.hub.following() as events:
                async for event in events:
                    if event.news is not None:
                        await handlers.subscribers.tell(event.news)


@asynccontextmanager
async def serving(
    environ: Mapping[str, str], issuer: "Issuer | None" = None
) -> AsyncIterator[Serving]:
    """Create a daemon's state; its threads and background tasks end with the block."""
    async with anyio.create_task_group() as tasks:
        state = Serving(environ, tasks, issuer)
        try:
            yield state
        finally:
            await state.projects.end()
        tasks.cancel_scope.cancel()


def _spend(request: Request | None, arguments: Mapping[str, Any]) -> None:
    """Count the extra calls in a tool's arguments. Raises E_RATE_LIMIT."""
    peer: Peer | None = request.scope["state"]["peer"] if request is not None else None
    try:
        if peer is not None:
            peer.spend(calls_of(arguments) - 1)
    except Refused as refused:
        raise refused.error from refused


def _namespace_of(given: State) -> str:
    options = given.get("options")
    name = options.get("namespace") if isinstance(options, dict) else None
    return name if isinstance(name, str) else ""


def _in_namespace(given: State, root: Path) -> State:
    """The state with its namespace as a path, which every nested state accepts."""
    if not _namespace_of(given):
        return given
    return given | {"options": given["options"] | {"namespace": str(root)}}


async def _discard(message: str, done: float, total: float) -> None:
    """Discard progress."""
