"""Where an MCP server's calls run: in its own event loop, or in their project's."""

from collections.abc import Awaitable, Callable
from typing import ParamSpec, Protocol, TypeVar

from preread.builds.jobs import Jobs

P = ParamSpec("P")
T = TypeVar("T")


class Place(Protocol):
    """An event loop for calls, and the builds that they share."""

    async def run(self, work: Callable[[Jobs], Awaitable[T]]) -> T:
        """The result of `work` there. Raises E_READ if the project's file system is silent."""

    def back(self, work: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
        """Wrap `work`, which runs in the server's own loop, for callers in this place's loop."""


class Here:
    """The server's own event loop."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    async def run(self, work: Callable[[Jobs], Awaitable[T]]) -> T:
        return await work(self._jobs)

    def back(self, work: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
        return work
