"""Read many files in two processes: this one and a second one that runs the same code.

Reading is nearly all Python, and a process runs Python on one processor at a time. The second
process gets orders and sends answers as lines of JSON. Invalid answers are ignored, and whatever it
does not answer is read here.
"""

import json
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, Full, Queue
from typing import TYPE_CHECKING, TypeVar

from preread.errors import Cancelled
from preread.gates.spans import decoded
from preread.index import reader
from preread.index.imports import Link
from preread.index.reader import Order, Read
from preread.project.read import data_at

if TYPE_CHECKING:
    from preread.infra.subprocesses import Child
    from preread.services import Services

T = TypeVar("T")
Part = list[Order]
MIN_BYTES = (
    4_000_000  # bytes to read: with fewer, most are read before a second process has started
)
PART_SIZE = 20  # files per order line
PIPELINED = 2  # parts sent before the first is answered
MAX_QUEUED = 4  # answers that may wait in the queue
POLL = 0.1  # seconds between checks for cancellation
EXIT_TIMEOUT = 5.0  # seconds for the second process to exit by itself
MAX_SECONDS = 86_400.0  # a bound on its run; the request's deadline comes first
# What the second process runs: it has this process's import path and exits at once on SIGINT.
PROGRAM = """
import json, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
root, sys.path[:] = json.loads(sys.stdin.buffer.readline())
from preread.index.workers import serve
serve(root)
"""


def is_worth_it(size: int) -> bool:
    """Whether a second process makes reading this many bytes faster."""
    processors = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return size >= MIN_BYTES and processors > 1


def with_second_process(services: "Services", orders: Part) -> Generator[list[Read], None, None]:
    """Read all orders, part by part, in no fixed order; the rows are the same as from
    `in_this_process`.
    """
    second = _SecondProcess(
        services,
        deque(orders[begin : begin + PART_SIZE] for begin in range(0, len(orders), PART_SIZE)),
    )
    with ThreadPoolExecutor(1) as thread:
        conversation = thread.submit(second.converse)
        try:
            while second.is_answering or second.parts:
                if part := _take_part(second.parts.popleft):
                    yield _read_here(services, part)
                yield from second.received()
        finally:
            second.stopped.set()
    conversation.result()


def in_this_process(services: "Services", orders: Part) -> Generator[list[Read], None, None]:
    """Read all orders, part by part, in this process alone."""
    for begin in range(0, len(orders), PART_SIZE):
        yield _read_here(services, orders[begin : begin + PART_SIZE])


def in_background(work: Callable[[T], object], items: Iterable[T]) -> None:
    """Process each item in a thread while the next one is produced."""
    doing: Future[object] | None = None
    with ThreadPoolExecutor(1) as thread:  # leaving it waits for the running work, cancelled or not
        for item in items:
            if doing is not None:
                doing.result()
            doing = thread.submit(work, item)
        if doing is not None:
            doing.result()


class _SecondProcess:
    """The second process and its queue of answers; `converse` runs in a thread of its own."""

    def __init__(self, services: "Services", parts: deque[Part]) -> None:
        self.parts = (
            parts  # not read yet: this process takes from the left, the second from the right
        )
        self.stopped = threading.Event()  # nobody reads the answers any more
        self.is_answering = True
        self._services = services
        self._pending: deque[Part] = deque()
        self._answers: Queue[list[Read] | str] = Queue(MAX_QUEUED)

    def received(self) -> Iterator[list[Read]]:
        """The answers available now; once no part is left to read here, all answers to come."""
        while self.is_answering and not (self.parts and self._answers.empty()):
            self._services.progress.check()
            with suppress(Empty):
                answer = self._answers.get(timeout=POLL)
                if not isinstance(answer, str):
                    yield answer
                    continue
                self.is_answering = False
                if answer:
                    self._services.progress.say(answer)

    def converse(self) -> None:
        """Queue the answers, then a text: empty, or why some parts went unanswered. Those parts are
        put back.
        """
        try:
            with self._services.child(
                [sys.executable, "-I", "-X", f"utf8={sys.flags.utf8_mode}", "-c", PROGRAM],
                cwd=self._services.layout.root,
                environ=self._services.environ,
                deadline=time.monotonic() + MAX_SECONDS,
                check=self._check,
            ) as child:
                import_paths = [os.path.abspath(path) for path in sys.path]  # noqa: PTH100 - entries need not be paths
                child.send(_line([str(self._services.layout.root), import_paths]))
                for _ in range(PIPELINED):
                    self._send_part(child)
                for line in child.lines():
                    if not self._pending or (answer := _answer(line, self._pending[0])) is None:
                        break
                    self._put(answer)
                    self._pending.popleft()
                    self._send_part(child)
        finally:
            self.parts.extend(self._pending)
            self._put(
                "a second process that read has failed; the rest is read by this one"
                if self._pending
                else ""
            )

    def _send_part(self, child: "Child") -> None:
        if part := _take_part(self.parts.pop):
            self._pending.append(part)
            child.send(_line(part))
        elif not self._pending:
            child.close_input(EXIT_TIMEOUT)

    def _check(self) -> None:
        self._services.progress.check()
        if self.stopped.is_set():
            raise Cancelled

    def _put(self, answer: list[Read] | str) -> None:
        while not self.stopped.is_set():
            with suppress(Full):
                self._answers.put(answer, timeout=POLL)
                return


def _read_here(services: "Services", part: Part) -> list[Read]:
    found = []

    def text_of(path: str) -> str | None:
        return decoded(services.tree.required(path))

    for order in part:
        services.progress.check()
        found.append(reader.read(order, text_of))
    return found


def _take_part(take: Callable[[], Part]) -> Part:
    """A part not read yet; empty when the other process has just taken the last one."""
    try:
        return take()
    except IndexError:
        return []


def _line(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _answer(line: bytes, part: Part) -> list[Read] | None:
    """The answer to a part, or None for an invalid line."""
    try:
        rows = json.loads(line)
        found = [
            Read._make((*values, tuple(map(Link._make, links)), body))
            for *values, links, body in rows
        ]
    except (ValueError, TypeError):
        return None
    return found if [row.path for row in found] == [order.path for order in part] else None


def serve(root: str) -> None:
    """The second process: answer each line of standard input until it ends."""
    out = sys.stdout.buffer

    def text_of(path: str) -> str | None:
        return decoded(data_at(f"{root}/{path}"))

    def say(answer: bytes) -> None:
        out.write(answer)
        out.flush()

    def answers() -> Iterator[bytes]:
        for line in sys.stdin.buffer:
            orders = [Order(*values) for values in json.loads(line)]
            yield _line([reader.read(order, text_of) for order in orders])

    in_background(say, answers())
    os._exit(0)  # freeing all memory first would keep the caller waiting
