"""Events of one namespace for its followers: builds, messages, changed dossiers."""

import sys
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from preread.builds.job import Job
from preread.builds.jobs import Jobs
from preread.daemon.background import Background
from preread.daemon.project_loop import ProjectLoop
from preread.errors import PrereadError
from preread.layout import Layout
from preread.operations.dispatch import expected
from preread.operations.registry import services_of
from preread.records import sessions

if TYPE_CHECKING:
    from preread.builds.watching import News, Watcher

QUEUE = 256  # events; a follower that lags further behind is dropped
MESSAGES_SECONDS = 0.5
BEGIN_SECONDS = 3.0  # that a follower waits until messages are followed, if the disk is slow


class Event(NamedTuple):
    """An event: `build`, `message` or `dossier`, with its JSON data."""

    name: str
    data: dict[str, Any]
    news: "News | None" = None  # all of it, only on the event of its first dossier
    recipient: str = ""  # the id of the session that a message is for; empty for all


Follower = MemoryObjectSendStream[Event]


class Hub:
    """One namespace's events. It watches only while somebody follows."""

    def __init__(
        self, root: Path, environ: Mapping[str, str], tasks: Background, loop: ProjectLoop
    ) -> None:
        self._root, self._environ, self._tasks, self._loop = root, environ, tasks, loop
        self._followers: set[Follower] = set()
        self._scope: anyio.CancelScope | None = None
        self._has_begun = anyio.Event()

    @asynccontextmanager
    async def following(self) -> AsyncIterator[MemoryObjectReceiveStream[Event]]:
        """The events from now on; ends if the follower is too slow.

        What happens after it was entered is not missed, unless the disk does not answer.
        """
        send, receive = anyio.create_memory_object_stream[Event](QUEUE)
        self._followers.add(send)
        if len(self._followers) == 1:
            self._begin()
        try:
            with receive:
                with anyio.move_on_after(BEGIN_SECONDS):
                    await self._has_begun.wait()
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

    def _begin(self) -> None:
        self._scope, self._has_begun = anyio.CancelScope(), anyio.Event()
        self._tasks.start_soon(self._observe, self._scope, self._has_begun)

    def _end(self) -> None:
        if self._scope is not None:
            self._scope.cancel()
        self._scope = None

    async def _observe(self, scope: anyio.CancelScope, has_begun: anyio.Event) -> None:
        """Send the project's events to the followers, until cancelled."""
        with scope:
            while True:
                with suppress(PrereadError):  # its file system does not answer
                    await self._loop.run(partial(self._watch, has_begun))
                await anyio.sleep(MESSAGES_SECONDS)

    # -- in the project's loop

    async def _watch(self, has_begun: anyio.Event, _jobs: Jobs) -> None:
        watcher = self._watcher()
        try:
            await self._tell_messages(has_begun)
        finally:
            if watcher is not None:
                watcher.stop.set()

    def _watcher(self) -> "Watcher | None":
        """A running watcher, if the settings allow it."""
        with suppress(PrereadError):  # calls will report the error
            if services_of(self._root, self._environ).settings.watch:
                from preread.builds.watching import Watcher

                watcher = Watcher(
                    lambda: services_of(self._root, self._environ),
                    partial(self._loop.post, self._tell_news), _say,
                    expected=partial(expected, self._root, "watch"), refreshes=True,
                )  # fmt: skip
                threading.Thread(target=watcher.run, name="watch", daemon=True).start()
                return watcher
        return None

    async def _tell_messages(self, has_begun: anyio.Event) -> None:
        layout = Layout(self._root)
        seen: int | None = None
        while True:
            try:
                if seen is None:
                    seen = await anyio.to_thread.run_sync(sessions.latest, layout)
                    self._loop.post(has_begun.set)
                for one in await anyio.to_thread.run_sync(sessions.since, layout, seen):
                    seen = one.id
                    event = Event("message", one.model_dump(mode="json"), None, one.to)
                    self._loop.post(self.tell, event)
            except PrereadError:  # a disk that cannot be read
                self._loop.post(has_begun.set)
            await anyio.sleep(MESSAGES_SECONDS)

    # -- in the daemon's loop

    def _tell_news(self, news: "News") -> None:
        whole: News | None = news
        for feature, seen in news.now.items():
            self.tell(Event("dossier", {"feature": feature, "stale": seen.why}, whole))
            whole = None
        for feature in sorted(news.gone):
            self.tell(Event("dossier", {"feature": feature, "gone": True}, whole))
            whole = None


def build_data(job: Job) -> dict[str, Any]:
    """A build as JSON data."""
    message, done, total = job.latest
    state = "running" if job.begun is not None else "waiting"
    if job.done:
        state = job.reply.status if job.reply is not None else "error"
    return {
        "feature": job.request.feature, "level": job.request.level, "state": state,
        "message": message, "done": done, "total": total, "callers": job.callers,
        "why": _why(job),
    }  # fmt: skip


def _why(job: Job) -> str:
    """Why there is no dossier, or no complete one; empty if there is, or if the build runs."""
    if job.reply is not None:
        return job.reply.message or "; ".join(job.reply.missing)
    if isinstance(job.error, PrereadError):
        return job.error.message
    return "" if job.error is None else f"{type(job.error).__name__}, a bug: see the log."


def of_build(job: Job) -> Event:
    return Event("build", build_data(job))


def _say(text: str) -> None:
    with suppress(OSError, ValueError):  # nobody reads it any more
        sys.stderr.write(f"preread: {text}\n")
