"""The process between us and a program: it outlives both, and leaves nothing of the program behind.

It runs as a script, `python -I -S supervisor.py LIFELINE SCRATCH LC_CTYPE PROGRAM…`, and may import nothing of Preread.
Its imports are start-up time of every run: `signal` (6 ms) and `contextlib` (4 ms) are left out for that reason.

The lifeline is the read end of a pipe whose write end only we hold. A byte means "end it"; the pipe's end means
that we died. Either way the program gets SIGINT, then SIGTERM, then everything that descends from it or carries
its marker gets SIGKILL, until nothing is left. Then the private files in SCRATCH are removed.
"""

import _signal  # type: ignore[import-not-found]  # what `signal` wraps into enumerations
import os
import select
import sys
import time

SIGINT, SIGKILL, SIGTERM = 2, 9, 15  # the same everywhere, by POSIX
STAGES = (
    (SIGINT, 4.0, 2.0),
    (SIGTERM, 1.5, 0.7),
)  # signal, patience when asked, patience when we died; seconds
SWEEP = 2.0  # seconds for everything that got SIGKILL to be gone
PAUSE = 0.01  # seconds between rounds of a sweep
SLICE = 0.05  # seconds between looks at the time, and at a program whose end does not wake us
LONG_SLICE = 1.0  # seconds between collections of orphans while nothing happens
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
CANNOT_START = 127
KILLED = 128 + SIGKILL

Processes = dict[int, tuple[int, bool]]  # id -> its parent's, whether it carries the marker


def prctl(option: int, value: int) -> None:
    """Linux's prctl(2), where there is one: without it, the marker still finds what the walk does not."""
    if sys.platform != "linux":
        return
    try:
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return


def from_proc(marker: bytes) -> Processes:
    table = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    # The name of the program, in parentheses, may hold anything: "pid (name) state parent …".
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except OSError:  # gone
                continue
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    table[int(name)] = parent, marker in file.read()
            except OSError:  # another user's
                table[int(name)] = parent, False
    return table


def from_ps(marker: bytes) -> Processes:
    """The same where there is no /proc, as on macOS, whose `-E` shows the environment; an `e` does in Linux's `ps`."""
    import subprocess

    nothing = subprocess.DEVNULL
    for environment in (["-E"] if sys.platform == "darwin" else ["e"], []):
        command = ["/bin/ps", "-A", "-ww", *environment, "-o", "pid=,ppid=,command="]
        with subprocess.Popen(command, stdin=nothing, stdout=subprocess.PIPE, stderr=nothing) as ps:
            printed, _ = ps.communicate()
        if ps.returncode == 0:
            break
    rows = [line.split(None, 2) for line in printed.split(b"\n") if line]
    # It shows itself too, which is gone by now.
    return {int(row[0]): (int(row[1]), marker in row[-1]) for row in rows if int(row[0]) != ps.pid}


PROC = os.path.exists("/proc/self/stat")
processes = from_proc if PROC else from_ps


def relatives(roots: set[int], marker: bytes) -> set[int]:
    """Those of `roots` that are there, what carries the marker, and all their descendants; but not this process."""
    table = processes(marker)
    found = {pid for pid, (_, is_marked) in table.items() if is_marked or pid in roots}
    before = 0
    while before != len(found):
        before = len(found)
        found |= {pid for pid, (parent, _) in table.items() if parent in found}
    return found - {os.getpid()}


def kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:  # gone, or another user's
        return


def sweep_marked(marker: bytes, within: float) -> None:
    """End everything that carries the marker: for us, when the supervisor itself was killed."""
    until = time.monotonic() + within
    clean = 0
    while clean < 2 and time.monotonic() < until:  # one look can miss what is just being forked
        found = relatives(set(), marker)
        for pid in found:
            kill(pid, SIGKILL)
        clean = 0 if found else clean + 1
        time.sleep(PAUSE)


def remove(place: str) -> None:
    """Remove a file, or a folder with all that is in it; a link is not followed."""
    try:
        if os.path.isdir(place) and not os.path.islink(place):
            for name in os.listdir(place):
                remove(os.path.join(place, name))
            os.rmdir(place)
        else:
            os.unlink(place)
    except OSError:
        return


def start(argv: list[str]) -> int:
    """The program, in a session of its own, with our standard streams; it dies when this process does."""
    supervisor = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, SIGKILL)
        if os.getppid() == supervisor:  # else it died before the line above
            os.execvpe(argv[0], argv, os.environ)  # noqa: S606  no shell is wanted
    except (OSError, ValueError) as error:
        os.write(2, str(error).encode("utf-8", "surrogateescape"))
    finally:
        os._exit(CANNOT_START)


class Watch:
    """One program, from its start to the end of the last process it left."""

    def __init__(self, pid: int, life: int, marker: bytes) -> None:
        self.pid, self.life, self.marker = pid, life, marker
        self.status: int | None = None
        self.asked = self.orphaned = False
        self.parent = os.getppid()
        self.family = {os.getpid()}
        self.slice = SLICE
        self.poll = select.poll()
        self.poll.register(life, select.POLLIN)
        if hasattr(os, "pidfd_open"):
            try:
                self.poll.register(os.pidfd_open(pid), select.POLLIN)
                self.slice = LONG_SLICE
            except OSError:  # an old kernel: the program's end is seen a slice later
                pass

    def wait(self, seconds: float) -> None:
        """Until the program ends, the lifeline speaks, or the time is over."""
        for file, _ in self.poll.poll(seconds * 1000):
            if file == self.life:
                self.asked = True
                if not os.read(file, 16):
                    self.orphaned = True
                    self.poll.unregister(file)
        # A fork of our process without exec would hold the lifeline open beyond its death.
        self.orphaned = self.orphaned or os.getppid() != self.parent
        self.reap()

    def reap(self) -> bool:
        """Collect every child that ended, adopted orphans too; whether any is left."""
        try:
            while True:
                pid, how = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self.pid:
                    code = os.waitstatus_to_exitcode(how)
                    self.status = code if code >= 0 else 128 - code
        except ChildProcessError:
            return False

    def until_end(self) -> None:
        """The program's own end, or its end by signals."""
        while self.status is None and not (self.asked or self.orphaned):
            self.wait(self.slice)
        for number, asked, orphaned in STAGES:
            if self.status is not None:
                return
            if not PROC:  # orphans are not adopted there: remember who belongs to whom
                self.family |= relatives(self.family, self.marker)
            kill(self.pid, number)
            begun = time.monotonic()
            while self.status is None and time.monotonic() - begun < (
                orphaned if self.orphaned else asked
            ):
                self.wait(SLICE)

    def sweep(self) -> None:
        """SIGKILL to whatever is left, until nothing is."""
        until = time.monotonic() + SWEEP
        while time.monotonic() < until:
            found = relatives(self.family, self.marker)
            for pid in (
                *found,
                *(() if PROC else (-self.pid,)),
            ):  # a negative id is a process group
                kill(pid, SIGKILL)
            # As the subreaper, a process without children has no descendants either: no fork can slip through.
            if not self.reap() and not found:
                return
            time.sleep(PAUSE)


def main(life: int, scratch: str, lc_ctype: str, argv: list[str]) -> int:
    # Before the fork, so that no signal to the program is lost between its birth and its own handlers.
    for number in (SIGINT, SIGTERM, _signal.SIGHUP, _signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
    os.set_inheritable(life, False)
    # Python sets this variable for itself in the C locale; the program gets what it was given.
    os.environ.pop("LC_CTYPE", None)
    if lc_ctype:
        os.environ["LC_CTYPE"] = lc_ctype
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    pid = start(argv)
    for number in (SIGINT, SIGTERM, _signal.SIGHUP):  # only the lifeline ends this process
        _signal.signal(number, _signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (
        0,
        1,
        2,
    ):  # the program's pipes end when the program and its descendants have closed them
        os.dup2(nothing, stream)
    os.chdir("/")
    watch = Watch(pid, life, b"PREREAD_CHILD=" + os.environb[b"PREREAD_CHILD"])
    try:
        watch.until_end()
    finally:
        watch.sweep()
        if scratch:
            remove(scratch)
    return KILLED if watch.status is None else watch.status


if __name__ == "__main__":
    os._exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]))
