"""The projects in use: which one a call is for, and how the call runs in that project's loop."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import anyio

from preread.builds.job import Job
from preread.builds.jobs import Jobs
from preread.builds.reply_cache import ReplyCache
from preread.daemon.background import Background
from preread.daemon.hub import Hub, of_build
from preread.daemon.lookups import Lookups
from preread.daemon.namespaces import Namespaces, unknown
from preread.daemon.peers import Peer
from preread.daemon.project_loop import ProjectLoop, calling
from preread.errors import PrereadError
from preread.mcp.http import Endpoint
from preread.mcp.runner import P, Runner, T
from preread.operations.registry import project_around
from preread.unchanged import Unchanged

MAX_ROOTS = 1000  # folders whose projects are remembered
END_SECONDS = 2.0  # for the projects' threads, when the daemon ends


@dataclass
class Namespace:
    """One project in use: its loop, and what its calls share."""

    root: Path
    loop: ProjectLoop
    hub: Hub
    reply_cache: ReplyCache[Any] = field(default_factory=ReplyCache)
    unchanged: Unchanged = field(default_factory=Unchanged)
    endpoints: dict[str, Endpoint] = field(default_factory=dict)
    starting: anyio.Lock = field(default_factory=anyio.Lock)  # one of the endpoints


Work: TypeAlias = Callable[[Namespace, Jobs], Awaitable[T]]


class Projects:
    """Finds projects for callers, and runs work in their loops."""

    def __init__(self, environ: Mapping[str, str], tasks: Background, allowed: Namespaces) -> None:
        self._environ, self._tasks, self._allowed = environ, tasks, allowed
        self._namespaces: dict[Path, Namespace] = {}
        self._lookups = Lookups()
        self._roots: dict[Path, Path] = {}  # of folders that callers named

    async def root(self, peer: Peer, wanted: str) -> Path:
        """The root of the namespace that a peer asks for.

        Raises E_NOT_FOUND, E_PROJECT_DIR, and E_READ if its file system does not answer.
        """
        if peer.is_local and Path(wanted).is_absolute():
            found = await self._find(Path(wanted))
            if found.is_project:
                return found.root
        root = self._allowed.find(wanted, only=peer.only)
        try:
            found = await self._look_in(root, root)
        except PrereadError as error:
            if error.code == "E_READ":
                raise
            raise unknown(wanted) from error
        if found.root != root:  # no longer the folder that was allowed, but a link to another
            raise unknown(wanted)
        return root

    async def around(self, folder: Path) -> Namespace:
        """The namespace of the project around a folder, or else of the folder. Raises E_READ."""
        try:
            return self.namespace((await self._find(folder)).root)
        except PrereadError as error:
            if error.code == "E_READ":
                raise
            return self.namespace(folder)  # each call will report the error

    async def run_around(self, folder: Path, work: Work[T]) -> T:
        """The result of `work` in the namespace of the project around a folder."""
        if (known := self._roots.get(folder)) is not None:
            with suppress(_MovedError):
                return await self._run_there(known, lambda: _look(folder).root == known, work)
        return await _run(await self.around(folder), work)

    async def run_for(self, peer: Peer, in_state: str, in_request: str, work: Work[T]) -> T:
        """The result of `work` in the namespace that a state names, else its request."""
        known = None
        if peer.is_local and not (in_state and in_request):
            folder = Path(in_state or in_request)
            known = self._roots.get(folder)
        if known is not None:
            there = Found(known, is_project=True)
            with suppress(_MovedError):
                return await self._run_there(known, lambda: _look(folder) == there, work)
        return await _run(self.namespace(await self._chosen(peer, in_state, in_request)), work)

    async def _run_there(self, root: Path, is_there: Callable[[], bool], work: Work[T]) -> T:
        """Check that a project is still there, and do the work, in one call of its loop.

        Raises _MovedError if it is not.
        """
        namespace = self.namespace(root)

        async def check_and_work(jobs: Jobs) -> T:
            try:
                has_moved = not is_there()
            except PrereadError:
                has_moved = True
            if has_moved:
                raise _MovedError
            return await work(namespace, jobs)

        return await namespace.loop.run(check_and_work)

    def has_lost_access(self, peer: Peer, root: Path) -> bool:
        """Whether a peer's streams must end: its token or login ended, or the root is forbidden."""
        try:
            is_open = peer.is_local or root in self._allowed.allowed()
        except PrereadError:  # the list of folders is damaged
            return True
        return peer.has_ended() or not is_open

    def namespace(self, root: Path) -> Namespace:
        if root not in self._namespaces:
            forget = partial(self._namespaces.pop, root, None)  # and what it keeps open
            loop = ProjectLoop(root, self._tasks, self._notify, forget)
            hub = Hub(root, self._environ, self._tasks, loop)
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
        """The number of running and waiting builds."""
        return sum(len(namespace.loop.running()) for namespace in self._namespaces.values())

    async def _chosen(self, peer: Peer, in_state: str, in_request: str) -> Path:
        """The root that a state names, else the one that its request names."""
        if in_state and in_request:  # an ambiguous name means the request's namespace
            root = await self.root(peer, in_request)
            if in_state in {str(root), root.name}:
                return root
        return await self.root(peer, in_state or in_request)

    async def _find(self, folder: Path) -> "Found":
        """The project around a folder, looked up in the loop of the project it was last in."""
        known = self._roots.get(folder)
        if known is not None:
            found = await self._look_in(known, folder)
        else:
            found = await self._lookups.run(folder, _look)
        if len(self._roots) >= MAX_ROOTS:
            self._roots.clear()
        self._roots[folder] = found.root
        return found

    async def _look_in(self, root: Path, folder: Path) -> "Found":
        """The project around a folder, looked up in the loop of `root`."""

        async def work(_jobs: Jobs) -> Found:
            return _look(folder)

        return await self.namespace(root).loop.run(work)

    def _notify(self, root: Path, job: Job) -> None:
        if (namespace := self._namespaces.get(root)) is not None:
            namespace.loop.post(namespace.hub.tell, of_build(job))


class FolderRunner(Runner):
    """Runs calls in the loop of the project around a folder."""

    def __init__(self, projects: Projects, folder: Path) -> None:
        self._projects, self._folder = projects, folder
        self._home = asyncio.get_running_loop()

    async def run(self, work: Callable[[Jobs], Awaitable[T]]) -> T:
        return await self._projects.run_around(self._folder, lambda _, jobs: work(jobs))

    def callback(self, work: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
        return calling(self._home, work)


class _MovedError(Exception):
    """The project around a folder is no longer where it was last found."""


class Found(NamedTuple):
    """The root of the project around a folder, and whether that is a project itself."""

    root: Path
    is_project: bool


async def _run(namespace: Namespace, work: Work[T]) -> T:
    return await namespace.loop.run(partial(work, namespace))


def _look(folder: Path) -> Found:
    return Found(*project_around(folder))
