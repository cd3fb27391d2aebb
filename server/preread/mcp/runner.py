"""Where an MCP server's calls run: in its own event loop, or in their project's."""

from collections.abc import Awaitable, Callable
from typing import ParamSpec, Protocol, TypeVar

from preread.builds.jobs import Jobs

P = ParamSpec("P")
T = TypeVar("T")


class Runner(Protocol):
    """Runs calls in an event loop, with the builds that they share."""

    async def run(self, work: Callable[[Jobs], Awaitable[T]]) -> T:
        """The result of `work`. Raises E_READ if the project's file system does not answer."""

    def callback(self, work: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
        """Wrap `work`, which runs in the server's own loop, for calls that this runs."""


class LocalRunner:
    """Runs calls in the server's own event loop."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    async def run(self, work: Callable[[Jobs], Awaitable[T]]) -> T:
        return await work(self._jobs)

    def callback(self, work: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
        return work
