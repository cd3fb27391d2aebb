"""Events of one namespace for its followers: builds, messages, changed dossiers."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from preread.builds.jobs import Job
from preread.daemon.background import Background
from preread.errors import PrereadError
from preread.layout import Layout
from preread.operations.registry import services_of
from preread.records import sessions

if TYPE_CHECKING:
    from preread.builds.watching import News, Watcher

QUEUE = 256  # events; a follower that lags further behind is dropped
MESSAGES_SECONDS = 0.5


class Event(NamedTuple):
    """An event: `build`, `message` or `dossier`, with its JSON data."""

    name: str
    data: dict[str, Any]
    news: "News | None" = None  # whole, with the first of its dossiers
    recipient: str = ""  # the id of the session that a message is for; empty for all


Follower = MemoryObjectSendStream[Event]


class Hub:
    """One namespace's events. It watches only while somebody follows."""

    def __init__(self, root: Path, environ: Mapping[str, str], tasks: Background) -> None:
        self._root, self._environ, self._tasks = root, environ, tasks
        self._followers: set[Follower] = set()
        self._watcher: Watcher | None = None
        self._scope: anyio.CancelScope | None = None

    @asynccontextmanager
    async def following(self) -> AsyncIterator[MemoryObjectReceiveStream[Event]]:
        """The events from now on; ends if the follower is too slow."""
        send, receive = anyio.create_memory_object_stream[Event](QUEUE)
        self._followers.add(send)
        if len(self._followers) == 1:
            self._begin()
        try:
            with receive:
                yield receive
        finally:
            send.close()
            self._followers.discard(send)
            if not self._followers:
                self._end()

    def close(self) -> None:
        """End all followers' streams."""
        for follower in tuple(self._followers):
            follower.close()

    def tell(self, event: Event) -> None:
        """Send an event to the followers; only from the event loop."""
        for follower in tuple(self._followers):
            try:
                follower.send_nowait(event)
            except (anyio.WouldBlock, anyio.ClosedResourceError, anyio.BrokenResourceError):
                follower.close()
                self._followers.discard(follower)

    def tell_of_build(self, job: Job) -> None:
        self.tell(Event("build", build_data(job)))

    def _begin(self) -> None:
        self._scope = anyio.CancelScope()
        self._tasks.start_soon(self._tell_messages, self._scope)
        with suppress(PrereadError):  # calls will report the error
            if services_of(self._root, self._environ).settings.watch:
                self._watch()

    def _end(self) -> None:
        if self._scope is not None:
            self._scope.cancel()
        if self._watcher is not None:
            self._watcher.stop.set()
        self._scope = self._watcher = None

    def _watch(self) -> None:
        from preread.builds.watching import Watcher

        loop = asyncio.get_running_loop()

        def tell(news: "News") -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._tell_news, news)

        self._watcher = Watcher(
            lambda: services_of(self._root, self._environ), tell, _say, refreshes=True
        )
        threading.Thread(target=self._watcher.run, name="watch", daemon=True).start()

    def _tell_news(self, news: "News") -> None:
        whole: News | None = news
        for feature, seen in news.now.items():
            self.tell(Event("dossier", {"feature": feature, "stale": seen.why}, whole))
            whole = None
        for feature in sorted(news.gone):
            self.tell(Event("dossier", {"feature": feature, "gone": True}, whole))
            whole = None

    async def _tell_messages(self, scope: anyio.CancelScope) -> None:
        layout = Layout(self._root)
        seen: int | None = None
        with scope:
            while True:
                with suppress(PrereadError):  # a disk that cannot be read
                    if seen is None:
                        seen = await anyio.to_thread.run_sync(sessions.latest, layout)
                    for one in await anyio.to_thread.run_sync(sessions.since, layout, seen):
                        seen = one.id
                        self.tell(Event("message", one.model_dump(mode="json"), None, one.to))
                await anyio.sleep(MESSAGES_SECONDS)


def build_data(job: Job) -> dict[str, Any]:
    """A build as JSON data."""
    message, done, total = job.latest
    state = "running" if job.begun is not None else "waiting"
    if job.done:
        state = job.reply.status if job.reply is not None else "error"
    return {
        "feature": job.request.feature, "level": job.request.level, "state": state,
        "message": message, "done": done, "total": total, "callers": job.callers,
    }  # fmt: skip


def _say(text: str) -> None:
    sys.stderr.write(f"preread: {text}\n")
