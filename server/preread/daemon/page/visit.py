"""One request to the page: its visitor, project and parameters."""

from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import anyio
from starlette.requests import Request

from preread.daemon.peers import Peer
from preread.daemon.serving import Serving
from preread.daemon.tokens import includes
from preread.errors import PrereadError
from preread.operations import REGISTRY, shared_state

MAX_ITEMS = 1000  # of a long reply
NAMES = (
    ("/", "Dossiers"),
    ("/graph", "Graph"),
    ("/builds", "Builds"),
    ("/costs", "Costs"),
    ("/tests", "Tests"),
    ("/gates", "Gates"),
    ("/memory", "Memory"),
)
Json = Any


class Failed(Exception):  # noqa: N818 - an answer
    """An operation's error, as in its reply."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.error = error


class Visit:
    """One request, as views get it."""

    views = NAMES

    def __init__(self, serving: Serving, peer: Peer, request: Request) -> None:
        self._serving, self._peer, self.request = serving, peer, request
        self.wanted = request.query_params.get("namespace", "")
        self.roots: list[Path] = []
        self.root = Path()  # of the project to show

    async def find_projects(self) -> None:
        """Find the projects that the visitor may open, all at once, since some may not answer."""
        allowed = self._serving.allowed.allowed()
        is_open = dict.fromkeys(allowed, False)

        async def check(root: Path) -> None:
            is_open[root] = await self._is_open(root)

        async with anyio.create_task_group() as tasks:
            for root in allowed:
                tasks.start_soon(check, root)
        self.roots = [root for root in allowed if is_open[root]]

    async def choose_project(self) -> None:
        """Find the project to show. Raises E_NOT_FOUND, and E_READ if it does not answer."""
        self.root = await self._serving.projects.root(self._peer, self.wanted)

    async def _is_open(self, root: Path) -> bool:
        try:
            return await self._serving.projects.root(self._peer, str(root)) == root
        except PrereadError as error:
            return error.code == "E_READ"  # the page of this project will say so

    @property
    def view(self) -> str:
        """The name of the view."""
        path = "/" + self.request.url.path.split("/")[1]
        return "/" if path == "/dossier" else path

    @property
    def may_write(self) -> bool:
        return includes(self._peer.scope, "write")

    def given(self, name: str) -> str:
        """A parameter of the path or the query; empty if there is none."""
        return str(self.request.path_params.get(name) or self.request.query_params.get(name, ""))

    def url(self, path: str, **params: object) -> str:
        """An address on this page, in the same project."""
        if len(self.roots) > 1 and self.wanted:
            params.setdefault("namespace", self.wanted)
        query = urlencode({name: value for name, value in params.items() if value != ""})
        return quote(path) + (f"?{query}" if query else "")

    async def ask(self, method: str, **params: object) -> Json:
        """Call an operation; returns its result. Raises Failed."""
        options: dict[str, Any] = {"namespace": str(self.root)}
        if REGISTRY[method].pages:
            options["limit"] = MAX_ITEMS
        state = {"method": method, "params": params, "options": options}
        done = await self._serving.perform(self._peer, state, face=shared_state.PAGE)
        if done.get("error"):
            raise Failed(done["error"])
        return done["result"]
