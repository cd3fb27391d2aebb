"""Many files read by two processes: this one, and a second that reads in the same way and says what
it found.

Reading is nearly all Python, and a process runs Python on one processor at a time. Orders go to the
second process, and answers come from it, as lines of JSON: a line that is no answer does no harm.
What is not answered is read here.
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
from preread.project.tree import data_at

if TYPE_CHECKING:
    from preread.infra.subprocesses import Child
    from preread.services import Services

T = TypeVar("T")
Part = list[Order]
ENOUGH = 4_000_000  # bytes to be read: of fewer, most are read before a second process is there
PART = 20  # files that are asked for at once
AHEAD = 2  # parts that are asked for before the first is answered
WAITING = 4  # answers that may wait to be taken
SLICE = 0.1  # seconds between looks at whether to go on
LINGER = 5.0  # seconds for the second process to end by itself
LONGEST = 86_400.0  # seconds for all its work; the deadline of the request ends it before
# What the second process runs: it finds packages where this one does, and ends at once when it is
# told to.
PROGRAM = """
import json, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
root, sys.path[:] = json.loads(sys.stdin.buffer.readline())
from preread.index.workers import serve
serve(root)
"""


def is_worth_it(size: int) -> bool:
    """Whether so many bytes are read sooner with a second process."""
    processors = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return size >= ENOUGH and processors > 1


def both(services: "Services", orders: Part) -> Generator[list[Read], None, None]:
    """All that is ordered, part by part, in no order; each row is the one that this process alone
    would read.
    """
    second = _Second(
        services, deque(orders[begin : begin + PART] for begin in range(0, len(orders), PART))
    )
    with ThreadPoolExecutor(1) as thread:
        conversation = thread.submit(second.converse)
        try:
            while second.answers_come or second.parts:
                if part := _next(second.parts.popleft):
                    yield _here(services, part)
                yield from second.taken()
        finally:
            second.left.set()
    conversation.result()


def alone(services: "Services", orders: Part) -> Generator[list[Read], None, None]:
    """All that is ordered, part by part, by this process."""
    for begin in range(0, len(orders), PART):
        yield _here(services, orders[begin : begin + PART])


def behind(work: Callable[[T], object], items: Iterable[T]) -> None:
    """Do the work of each item in a thread while the next item is made."""
    doing: Future[object] | None = None
    with ThreadPoolExecutor(1) as thread:  # its end waits for what is being done, cancelled or not
        for item in items:
            if doing is not None:
                doing.result()
            doing = thread.submit(work, item)
        if doing is not None:
            doing.result()


class _Second:
    """What the second process is asked and answers, in a thread that talks with it: see
    `converse`.
    """

    def __init__(self, services: "Services", parts: deque[Part]) -> None:
        self.parts = parts  # that nobody reads yet: from the left here, from the right there
        self.left = threading.Event()  # nobody takes the answers any more
        self.answers_come = True
        self._services = services
        self._asked: deque[Part] = deque()
        self._answers: Queue[list[Read] | str] = Queue(WAITING)

    def taken(self) -> Iterator[list[Read]]:
        """The answers that are there; all that come, when nothing is left to be read here."""
        while self.answers_come and not (self.parts and self._answers.empty()):
            self._services.progress.check()
            with suppress(Empty):
                answer = self._answers.get(timeout=SLICE)
                if not isinstance(answer, str):
                    yield answer
                    continue
                self.answers_come = False
                if answer:
                    self._services.progress.say(answer)

    def converse(self) -> None:
        """Put answers, then a text: why not everything was answered, if so. That is given back."""
        try:
            with self._services.child(
                [sys.executable, "-I", "-X", f"utf8={sys.flags.utf8_mode}", "-c", PROGRAM],
                cwd=self._services.layout.root,
                environ=self._services.environ,
                deadline=time.monotonic() + LONGEST,
                check=self._check,
            ) as child:
                places = [os.path.abspath(place) for place in sys.path]  # noqa: PTH100 - it is to keep what is none
                child.send(_line([str(self._services.layout.root), places]))
                for _ in range(AHEAD):
                    self._ask(child)
                for line in child.lines():
                    if not self._asked or (answer := _answer(line, self._asked[0])) is None:
                        break
                    self._put(answer)
                    self._asked.popleft()
                    self._ask(child)
        finally:
            self.parts.extend(self._asked)
            self._put(
                "a second process that read has failed; the rest is read by this one"
                if self._asked
                else ""
            )

    def _ask(self, child: "Child") -> None:
        if part := _next(self.parts.pop):
            self._asked.append(part)
            child.send(_line(part))
        elif not self._asked:
            child.close_input(LINGER)

    def _check(self) -> None:
        self._services.progress.check()
        if self.left.is_set():
            raise Cancelled

    def _put(self, answer: list[Read] | str) -> None:
        while not self.left.is_set():
            with suppress(Full):
                self._answers.put(answer, timeout=SLICE)
                return


def _here(services: "Services", part: Part) -> list[Read]:
    found = []
    for order in part:
        services.progress.check()
        found.append(reader.read(order, services.tree.read))
    return found


def _next(take: Callable[[], Part]) -> Part:
    """A part that nobody reads yet; nothing when the other has just taken the last."""
    try:
        return take()
    except IndexError:
        return []


def _line(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _answer(line: bytes, part: Part) -> list[Read] | None:
    """The answer to a part, or None for a line that is none."""
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
    """Answer what stands on standard input until it ends. This is what the second process does,
    and all.
    """
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

    behind(say, answers())
    os._exit(0)  # to take all of its memory apart would be waited for
