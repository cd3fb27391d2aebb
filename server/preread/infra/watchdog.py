"""Ends this process if, long after a deadline, its interpreter still does not run.

One call of a C function can hold the interpreter lock forever: then no thread sees the deadline,
and no handler of a signal runs. The timer of `faulthandler` is a thread without Python, and needs
no lock; nor does the kernel, which ends the process at a second signal.
"""

import faulthandler
import itertools
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

GRACE_SECONDS = 10.0  # after the deadline; a build that can be stopped has ended by then
BEAT_SECONDS = 1.0
STDERR = 2
_deadlines: dict[int, float] = {}  # by time.monotonic()
_numbers = itertools.count()
_changes = threading.Lock()


@contextmanager
def guarded(deadline: float) -> Iterator[None]:
    """Guard the block. While the interpreter runs, the block may take as long as it likes.

    Otherwise, the process ends with status 1 after writing its threads' stacks to standard error.
    """
    number = next(_numbers)
    with _changes:
        _deadlines[number] = deadline
        is_first = len(_deadlines) == 1
        _postpone()
    if is_first:
        threading.Thread(target=_beat, name="watchdog", daemon=True).start()
    try:
        yield
    finally:
        with _changes:
            del _deadlines[number]
            _postpone()


def _beat() -> None:
    while _deadlines:
        time.sleep(BEAT_SECONDS)
        with _changes:
            _postpone()


def _postpone() -> None:
    if not _deadlines:
        faulthandler.cancel_dump_traceback_later()
        return
    seconds = max(min(_deadlines.values()) - time.monotonic(), 0) + GRACE_SECONDS
    faulthandler.dump_traceback_later(seconds, exit=True, file=STDERR)


def handle_once(number: int, handler: Callable[[int, object], object]) -> None:
    """Handle a signal once; if it comes again before the handler has run, it ends the process.

    A handler that runs has to set itself again. If the C library has no one-shot handlers, the
    handler stays.
    """
    import ctypes

    signal.signal(number, handler)
    library = ctypes.CDLL(None)
    try:
        ordinary, once = library.signal, library.sysv_signal  # glibc
    except AttributeError:
        return
    for function in (ordinary, once):
        function.argtypes, function.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    once(number, ordinary(number, int(signal.SIG_DFL)))
