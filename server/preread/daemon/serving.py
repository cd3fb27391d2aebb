"""State shared by all of the daemon's interfaces: namespaces, and how a call runs."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import anyio
from anyio.abc import TaskGroup
from starlette.requests import Request

from preread.builds.jobs import Caller, Job, Jobs
from preread.builds.reply_cache import ReplyCache
from preread.daemon.background import Background
from preread.daemon.calls import calls_of, check_scope
from preread.daemon.guard import Peer, Refused
from preread.daemon.hub import Hub, of_build
from preread.daemon.logins import Logins
from preread.daemon.metrics import Metrics
from preread.daemon.namespaces import Namespaces, unknown
from preread.daemon.project_loop import Lookups, ProjectLoop, calling
from preread.daemon.tokens import SCOPES, Scope, Tokens, includes
from preread.errors import PrereadError
from preread.mcp.http import Endpoint
from preread.mcp.place import P, Place, T
from preread.mcp.server import Handlers
from preread.operations import REGISTRY, shared_state
from preread.operations.registry import Context, Operation, is_project, root_of
from preread.unchanged import Unchanged

if TYPE_CHECKING:
    from preread.daemon.issuer import Issuer

State = dict[str, Any]
LOAD = "context.load"
MAX_ROOTS = 1000  # folders whose projects are remembered
END_SECONDS = 2.0  # for the projects' threads, when the daemon ends
UNKNOWN = "unknown"  # in metrics, instead of names that callers made up


@dataclass
class Namespace:
    """One project that is served."""

    root: Path
    loop: ProjectLoop
    hub: Hub
    reply_cache: ReplyCache[Any] = field(default_factory=ReplyCache)
    unchanged: Unchanged = field(default_factory=Unchanged)
    endpoints: dict[str, Endpoint] = field(default_factory=dict)
    starting: anyio.Lock = field(default_factory=anyio.Lock)  # one of the endpoints


Work: TypeAlias = Callable[[Namespace, Jobs], Awaitable[T]]


class Serving:
    """The state of a running daemon."""

    def __init__(
        self, environ: Mapping[str, str], tasks: TaskGroup, issuer: "Issuer | None" = None
    ) -> None:
        self.environ, self.issuer = dict(environ), issuer
        self.tasks, self.metrics = Background(tasks), Metrics()
        self.tokens, self.allowed = Tokens(environ), Namespaces(environ)
        self.logins = Logins()
        self.relays = 0
        self._namespaces: dict[Path, Namespace] = {}
        self._lookups, self._roots = Lookups(), dict[Path, Path]()  # folders that callers named

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

    async def root(self, peer: Peer, wanted: str) -> Path:
        """The root of the namespace that a peer asks for.

        Raises E_NOT_FOUND, E_PROJECT_DIR, and E_READ if its file system does not answer.
        """
        if peer.is_local and Path(wanted).is_absolute():
            found = await self._found(Path(wanted))
            if found.is_project:
                return found.root
        root = self.allowed.find(wanted, only=peer.only)
        try:
            found = await self._in(root, partial(_look, root))
        except PrereadError as error:
            if error.code == "E_READ":
                raise
            raise unknown(wanted) from error
        if found.root != root:  # no longer the folder that was allowed, but a link to another
            raise unknown(wanted)
        return root

    async def _found(self, folder: Path) -> "Found":
        """The project around a folder, looked for in the loop of the one that it was last in."""
        known = self._roots.get(folder)
        if known is not None:
            found = await self._in(known, partial(_look, folder))
        else:
            found = await self._lookups.run(folder, _look)
        if len(self._roots) >= MAX_ROOTS:
            self._roots.clear()
        self._roots[folder] = found.root
        return found

    async def _in(self, root: Path, look: Callable[[], T]) -> T:
        async def work(_jobs: Jobs) -> T:
            return look()

        return await self.namespace(root).loop.run(work)

    async def around(self, folder: Path) -> Namespace:
        """The namespace of the project around a folder, or else of the folder. Raises E_READ."""
        try:
            return self.namespace((await self._found(folder)).root)
        except PrereadError as error:
            if error.code == "E_READ":
                raise
            return self.namespace(folder)  # each call will say why

    async def run_around(self, folder: Path, work: Work[T]) -> T:
        """The result of `work` in the namespace of the project around a folder."""
        if (known := self._roots.get(folder)) is not None:
            with suppress(_MovedError):
                return await self._run_there(known, lambda: _look(folder).root == known, work)
        return await _run(await self.around(folder), work)

    async def _run_for(self, peer: Peer, named: str, wanted: str, work: Work[T]) -> T:
        """The result of `work` in the namespace that a peer asks for: see `_chosen`."""
        folder = Path(named or wanted)
        known = self._roots.get(folder) if peer.is_local and not (named and wanted) else None
        if known is not None:
            there = Found(known, is_project=True)
            with suppress(_MovedError):
                return await self._run_there(known, lambda: _look(folder) == there, work)
        return await _run(self.namespace(await self._chosen(peer, named, wanted)), work)

    async def _run_there(self, root: Path, is_there: Callable[[], bool], work: Work[T]) -> T:
        """Look whether a project is there, and work, by one call of its loop.

        Raises _MovedError if it is not.
        """
        namespace = self.namespace(root)

        async def look_and_work(jobs: Jobs) -> T:
            try:
                has_moved = not is_there()
            except PrereadError:
                has_moved = True
            if has_moved:
                raise _MovedError
            return await work(namespace, jobs)

        return await namespace.loop.run(look_and_work)

    def has_ended(self, peer: Peer, root: Path) -> bool:
        """Whether a peer's streams must end: it, or its project, lost access."""
        try:
            is_open = peer.is_local or root in self.allowed.allowed()
        except PrereadError:  # the list of folders is damaged
            return True
        return peer.has_ended() or not is_open

    async def _chosen(self, peer: Peer, named: str, wanted: str) -> Path:
        """The root that a state names, else the one that its request names."""
        if named and wanted:  # an ambiguous name is resolved to the request's namespace
            root = await self.root(peer, wanted)
            if named in {str(root), root.name}:
                return root
        return await self.root(peer, named or wanted)

    def namespace(self, root: Path) -> Namespace:
        if root not in self._namespaces:
            forget = partial(self._namespaces.pop, root, None)  # and what it keeps open
            loop = ProjectLoop(root, self.tasks, self._notify, forget)
            hub = Hub(root, self.environ, self.tasks, loop)
            self._namespaces[root] = Namespace(root, loop, hub)
        return self._namespaces[root]

    def end_streams(self) -> None:
        for namespace in self._namespaces.values():
            namespace.hub.close()

    def stop_builds(self) -> None:
        for namespace in self._namespaces.values():
            namespace.loop.stop()

    async def end(self) -> None:
        """End the projects' threads, and wait for them; one that hangs never ends."""
        loops = [namespace.loop for namespace in self._namespaces.values()]
        for loop in loops:
            loop.end()
        with anyio.move_on_after(END_SECONDS):
            while any(loop.is_alive for loop in loops):  # noqa: ASYNC110 - threads set no event
                await anyio.sleep(END_SECONDS / 100)

    def builds(self) -> int:
        return sum(len(namespace.loop.running()) for namespace in self._namespaces.values())

    async def perform(
        self, peer: Peer, given: State, wanted: str = "", face: str = "http"
    ) -> State:
        """Run a state; returns it with its outcome. Raises Refused if the scope is too small.

        `wanted` is the namespace for states that name none; hints are in the form for `face`.
        """
        begun = time.monotonic()
        caller = Caller(None, _nobody, times_out=True, takes_early_reply=True)

        async def work(namespace: Namespace, jobs: Jobs) -> shared_state.State:
            check_scope(peer, given)
            context = Context(
                namespace.root, self.environ_of(peer), jobs, caller, namespace.reply_cache,
                namespace.unchanged, f"http:{peer.identity.name}",
            )  # fmt: skip
            state = _in_namespace(given, namespace.root)
            return await shared_state.perform(REGISTRY, context, state, face)

        try:
            done = await self._run_for(peer, _named(given), wanted, work)
        except PrereadError as error:  # of the loop: a state's own errors are in the state
            return {"version": 1, **given, "error": shared_state.failure_of(error)}
        name = done.method if done.method in REGISTRY else UNKNOWN
        outcome = str(done.error["code"]) if done.error else "ok"
        self.metrics.called(name, outcome, time.monotonic() - begun)
        return shared_state.dump(done)

    async def endpoint(self, peer: Peer, root: Path) -> Endpoint:
        """The MCP endpoint of a namespace, for the peer's scope."""
        namespace, key = self.namespace(root), "local" if peer.is_local else peer.scope
        async with namespace.starting:
            if key not in namespace.endpoints:
                operations: Mapping[str, Operation] = REGISTRY
                if not includes(peer.scope, "write"):
                    operations = {name: REGISTRY[name] for name in REGISTRY if name != LOAD}
                place = Around(self, root)
                handlers = Handlers(root, self.environ_of(peer), place, operations, _spend)
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

    def _notify(self, root: Path, job: Job) -> None:
        if (namespace := self._namespaces.get(root)) is not None:
            namespace.loop.post(namespace.hub.tell, of_build(job))


class Around(Place):
    """The loop of the project around a folder, in which the folder's calls run."""

    def __init__(self, serving: Serving, folder: Path) -> None:
        self._serving, self._folder = serving, folder
        self._home = asyncio.get_running_loop()

    async def run(self, work: Callable[[Jobs], Awaitable[T]]) -> T:
        return await self._serving.run_around(self._folder, lambda _, jobs: work(jobs))

    def back(self, work: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
        return calling(self._home, work)


class _MovedError(Exception):
    """A folder is not where it was last found."""


class Found(NamedTuple):
    """The root of the project around a folder, and whether that is a project itself."""

    root: Path
    is_project: bool


async def _run(namespace: Namespace, work: Work[T]) -> T:
    return await namespace.loop.run(partial(work, namespace))


def _look(folder: Path) -> Found:
    root = root_of(folder)
    return Found(root, is_project(root))


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
            await state.end()
        tasks.cancel_scope.cancel()


def _spend(request: Request | None, arguments: Mapping[str, Any]) -> None:
    """Count the extra calls in a tool's arguments. Raises E_RATE_LIMIT."""
    peer: Peer | None = request.scope["state"]["peer"] if request is not None else None
    try:
        if peer is not None:
            peer.spend(calls_of(arguments) - 1)
    except Refused as refused:
        raise refused.error from refused


def _named(given: State) -> str:
    options = given.get("options")
    name = options.get("namespace") if isinstance(options, dict) else None
    return name if isinstance(name, str) else ""


def _in_namespace(given: State, root: Path) -> State:
    """The state with its namespace as a path, which every nested state accepts."""
    if not _named(given):
        return given
    return given | {"options": given["options"] | {"namespace": str(root)}}


async def _nobody(message: str, done: float, total: float) -> None:
    """Discard progress."""
