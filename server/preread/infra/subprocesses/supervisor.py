"""The process between Preread and a program: it outlives both, and ends all its processes.

It runs as a script, `python -I -S supervisor.py LIFELINE SCRATCH LC_CTYPE PROGRAM…`, and must not
import anything of Preread. Its imports add to the start of every run, so `signal` (6 ms) and
`contextlib` (4 ms) are avoided.

LIFELINE is the read end of a pipe; only Preread has the write end. A byte means "end the program",
the end of the pipe means that Preread died. Either way, the program gets SIGINT, then SIGTERM; then
every descendant and every process with its marker gets SIGKILL, until none is left. Last, the
private files in SCRATCH are removed.
"""

import _signal  # type: ignore[import-not-found]  # what `signal` wraps into enumerations
import os
import select
import sys
import time

SIGINT, SIGKILL, SIGTERM = 2, 9, 15  # fixed by POSIX
# Signal, and seconds to wait after it: when asked to end the program, and when Preread died.
STAGES = ((SIGINT, 4.0, 2.0), (SIGTERM, 1.5, 0.7))
SWEEP = 2.0  # seconds for everything that got SIGKILL to end
PAUSE = 0.01  # seconds between rounds of a sweep
SLICE = 0.05  # seconds between checks of the time, or of a program whose end is not an event
LONG_SLICE = 1.0  # seconds between collections of orphans while nothing happens
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
CANNOT_START = 127
KILLED = 128 + SIGKILL

Processes = dict[int, tuple[int, bool]]  # pid -> its parent's pid, whether it has the marker


def prctl(option: int, value: int) -> None:
    """Call Linux's prctl(2), if there is one. Without it, only the marker finds orphans."""
    if sys.platform != "linux":
        return
    try:
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return


def from_proc(marker: bytes) -> Processes:
    """All processes, from /proc."""
    table = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    # "pid (name) state parent …": the name may contain anything.
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
    """All processes, from `ps`, which shows the environment: with `-E` on macOS, `e` on Linux."""
    import subprocess

    nothing = subprocess.DEVNULL
    for environment in (["-E"] if sys.platform == "darwin" else ["e"], []):
        command = ["/bin/ps", "-A", "-ww", *environment, "-o", "pid=,ppid=,command="]
        with subprocess.Popen(command, stdin=nothing, stdout=subprocess.PIPE, stderr=nothing) as ps:
            printed, _ = ps.communicate()
        if ps.returncode == 0:
            break
    rows = [line.split(None, 2) for line in printed.split(b"\n") if line]
    # `ps` lists itself, but has ended by now.
    return {int(row[0]): (int(row[1]), marker in row[-1]) for row in rows if int(row[0]) != ps.pid}


PROC = os.path.exists("/proc/self/stat")
processes = from_proc if PROC else from_ps


def relatives(roots: set[int], marker: bytes) -> set[int]:
    """The living `roots`, processes with the marker, and all their descendants; not this one."""
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
    """Kill all processes with the marker. Preread calls this if the supervisor was killed."""
    until = time.monotonic() + within
    clean = 0
    while clean < 2 and time.monotonic() < until:  # one round can miss a process being forked
        found = relatives(set(), marker)
        for pid in found:
            kill(pid, SIGKILL)
        clean = 0 if found else clean + 1
        time.sleep(PAUSE)


def remove(place: str) -> None:
    """Remove a file, or a folder with its contents; links are not followed."""
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
    """Start the program in its own session, with this process's streams; returns its pid.

    It dies when this process does.
    """
    supervisor = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, SIGKILL)
        if os.getppid() == supervisor:  # else the supervisor died before prctl
            os.execvpe(argv[0], argv, os.environ)  # noqa: S606 - without a shell
    except (OSError, ValueError) as error:
        os.write(2, str(error).encode("utf-8", "surrogateescape"))
    finally:
        os._exit(CANNOT_START)


class Watch:
    """Watches one program, from its start to the end of its last descendant."""

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
            except OSError:  # an old kernel: the program's end is noticed a slice later
                pass

    def wait(self, seconds: float) -> None:
        """Wait until the program ends, the lifeline has an event, or the time is over."""
        for file, _ in self.poll.poll(seconds * 1000):
            if file == self.life:
                self.asked = True
                if not os.read(file, 16):
                    self.orphaned = True
                    self.poll.unregister(file)
        # A fork of Preread without exec would keep the lifeline open after Preread died.
        self.orphaned = self.orphaned or os.getppid() != self.parent
        self.reap()

    def reap(self) -> bool:
        """Collect every child that ended, including adopted orphans; whether any is left."""
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
        """Wait for the program to end, or end it with signals."""
        while self.status is None and not (self.asked or self.orphaned):
            self.wait(self.slice)
        for number, asked, orphaned in STAGES:
            if self.status is not None:
                return
            if not PROC:  # orphans are not adopted, so remember who belongs to the program
                self.family |= relatives(self.family, self.marker)
            kill(self.pid, number)
            begun = time.monotonic()
            while self.status is None and not self.is_over(begun, orphaned, asked):
                self.wait(SLICE)

    def is_over(self, begun: float, orphaned: float, asked: float) -> bool:
        """Whether a stage has lasted its time."""
        return time.monotonic() - begun >= (orphaned if self.orphaned else asked)

    def sweep(self) -> None:
        """Send SIGKILL to whatever is left, until nothing is."""
        until = time.monotonic() + SWEEP
        group = () if PROC else (-self.pid,)  # a negative id is a process group
        while time.monotonic() < until:
            found = relatives(self.family, self.marker)
            for pid in (*found, *group):
                kill(pid, SIGKILL)
            # A subreaper without children has no descendants, so none can have just been forked.
            if not self.reap() and not found:
                return
            time.sleep(PAUSE)


def main(life: int, scratch: str, lc_ctype: str, argv: list[str]) -> int:
    # Reset before the fork, so that the program gets every signal from its start. A script starts
    # its background jobs with SIGINT and SIGQUIT ignored, and Preread may be one of them.
    stops = (SIGINT, _signal.SIGQUIT, SIGTERM, _signal.SIGHUP)
    for number in (*stops, _signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
    os.set_inheritable(life, False)
    # Python sets this variable in the C locale; the program must get the caller's value.
    os.environ.pop("LC_CTYPE", None)
    if lc_ctype:
        os.environ["LC_CTYPE"] = lc_ctype
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    pid = start(argv)
    for number in (SIGINT, SIGTERM, _signal.SIGHUP):  # only the lifeline ends this process
        _signal.signal(number, _signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # or the pipes would stay open after the program has ended
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
