"""A child under its supervisor: its output is kept, and nothing of it remains, whoever dies."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from _fake_programs import Fakes, lives, popen
from _whole import sized
from conftest import child_environ
from preread.errors import Cancelled
from preread.infra import subprocesses
from preread.infra.subprocesses import Child, Ended, streamed, supervisor
from preread.infra.subprocesses.streamed import MAX_LINE, Lines
from preread.infra.subprocesses.unsupervised import Direct

needs_proc = pytest.mark.skipif(not supervisor.PROC, reason="there is no /proc")
LONG = 60.0  # seconds that no run here should need
READY = 1.5  # seconds for a fake to be ready on a busy machine


@pytest.fixture
def fakes(tmp_path: Path) -> Iterator[Fakes]:
    fakes = Fakes(tmp_path)
    yield fakes
    fakes.end()


class Run:
    """One child with private files; after the block nothing of it may be left."""

    def __init__(
        self, fakes: Fakes, argv: list[str], seconds: float = LONG, **options: object
    ) -> None:
        self.fakes = fakes
        self.scratch = fakes.folder / f"private-{os.urandom(4).hex()}"
        (self.scratch / "deeper").mkdir(parents=True, mode=0o700)
        (self.scratch / "key").write_text("secret")
        (self.scratch / "deeper" / "key").write_text("secret")
        self.begun = time.monotonic()
        given = {"environ": os.environ, "cwd": fakes.folder, "scratch": self.scratch, **options}
        self.context = subprocesses.child(argv, deadline=self.begun + seconds, **given)

    def __enter__(self) -> Child:
        return self.context.__enter__()

    def __exit__(self, *exception: object) -> None:
        try:
            self.context.__exit__(*exception)
        finally:
            self.took = time.monotonic() - self.begun
            assert not self.scratch.exists()


def talk(
    fakes: Fakes, argv: list[str], seconds: float = LONG, **options: object
) -> tuple[list[bytes], Ended]:
    """Everything that a child says until its end, and how it ended."""
    with Run(fakes, argv, seconds, **options) as child:
        lines = list(child.lines())
    assert fakes.left() == set()
    return lines, child.ended


def use_and_fail(child: Child, lines: int) -> None:
    """The body of a block that raises after so many lines."""
    for _ in range(lines):
        next(child.lines())
    raise ZeroDivisionError


def wait_until(condition: Callable[[], bool], seconds: float) -> float:
    """How long it took; fails when it takes longer."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < seconds, "it did not come to pass in time"
        time.sleep(0.01)
    return time.monotonic() - begun


def supervisor_of(pid: int) -> psutil.Process:
    parent = psutil.Process(pid).parent()
    assert parent is not None
    assert supervisor.__file__ in parent.cmdline()
    return parent


# The fakes themselves


def test_the_stubborn_fake_survives_as_intended(fakes: Fakes) -> None:
    with popen(fakes.argv("stubborn")) as process:
        assert process.stdout.readline() == b"ready\n"
        for number in (signal.SIGINT, signal.SIGTERM):
            process.send_signal(number)
        process.stdin.write(b"?\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"still here\n"


def test_the_fakes_that_leave_processes_behind_do_so(fakes: Fakes) -> None:
    for name, count in (("deserter", 2), ("clan", 3)):
        with popen(fakes.argv(name), start_new_session=True) as process:
            assert process.stdout.readline() == b"ready\n"
            os.killpg(process.pid, signal.SIGTERM)
            process.kill()
            process.wait()
            assert len(fakes.left()) == count
            assert all(os.getpgid(pid) != process.pid for pid in fakes.left())
            fakes.end()


# What is said


def test_lines_come_as_bytes_and_the_last_one_needs_no_newline(fakes: Fakes) -> None:
    argv = fakes.write("says", r"sys.stdout.buffer.write(b'one\n\n\xff\x00\xfe\r\nlast')")
    lines, ended = talk(fakes, argv)
    assert lines == [b"one", b"", b"\xff\x00\xfe\r", b"last"]
    assert (ended.status, ended.err, ended.cut) == (0, b"", "")
    assert 0 < ended.seconds < LONG


def test_lines_come_while_the_child_runs_and_it_can_be_answered(fakes: Fakes) -> None:
    argv = fakes.write(
        "asks", "say('name?'); say('hello ' + input()); say('more?'); say(repr(sys.stdin.read()))"
    )
    heard = []
    with Run(fakes, argv) as child:
        for line in child.lines():
            heard.append(line)
            if line == b"name?":
                child.send(b"Ann\n")
            elif line == b"more?":
                child.send(b"yes")
                child.close_input(within=LONG)
    assert heard == [b"name?", b"hello Ann", b"more?", b"'yes'"]
    assert child.ended.cut == ""


def test_megabytes_of_input_arrive_whole(fakes: Fakes) -> None:
    data = b"".join(
        hashlib.sha256(str(number).encode()).hexdigest().encode() + b"\n"
        for number in range(80_000)
    )
    with Run(fakes, fakes.argv("echo")) as child:
        child.send(data[:17])
        child.send(data[17:])
        child.close_input(within=LONG)
        assert b"".join(line + b"\n" for line in child.lines()) == data


def test_input_that_is_never_read_blocks_nobody(fakes: Fakes) -> None:
    argv = fakes.write("looks_away", "say('ready'); time.sleep(0.3); say('done')")
    with Run(fakes, argv) as child:
        child.send(b"x" * 5_000_000)
        assert list(child.lines()) == [b"ready", b"done"]
    assert child.ended.status == 0


def test_twenty_megabytes_on_one_line_arrive(fakes: Fakes) -> None:
    argv = fakes.write("long", "sys.stdout.write('x' * 20_000_000 + '\\nshort\\n')")
    lines, ended = talk(fakes, argv)
    assert [len(line) for line in lines] == [20_000_000, 5]
    assert ended.seconds < 10


def test_a_long_line_takes_time_in_proportion_to_its_length() -> None:
    lines, begun = Lines(), time.monotonic()
    for _ in range(20_000):
        lines.feed(b"x" * 1000)
    lines.feed(b"\n")
    assert [len(line) for line in lines.ready] == [20_000_000]
    assert (
        time.monotonic() - begun < 5
    )  # 200 GB would be moved if every piece moved what came before


def test_a_line_that_is_too_long_is_skipped(fakes: Fakes) -> None:
    argv = fakes.write(
        "endless",
        f"say('a'); sys.stdout.write('x' * {MAX_LINE + 1} + '\\n'); sys.stdout.flush(); say('b')",
    )
    with Run(fakes, argv) as child:
        assert list(child.lines()) == [b"a", b"b"]


def test_a_flood_of_errors_blocks_nothing_and_its_end_is_kept(fakes: Fakes) -> None:
    argv = fakes.write(
        "flood",
        "sys.stderr.write('x' * 50_000_000 + 'the end'); sys.stderr.flush(); say('done'); "
        "sys.exit(5)",
    )
    lines, ended = talk(fakes, argv)
    assert (lines, ended.status, len(ended.err)) == ([b"done"], 5, 16 * 1024)
    assert ended.err.endswith(b"xthe end")


@pytest.mark.parametrize("program", ["/nowhere/claude", "preread-no-such-program", "."])
def test_a_program_that_cannot_be_started_is_status_127(fakes: Fakes, program: str) -> None:
    lines, ended = talk(fakes, [program])
    assert (lines, ended.status, ended.cut) == ([], 127, "")
    assert b"Errno" in ended.err


def test_a_missing_folder_is_status_127(fakes: Fakes) -> None:
    with Run(fakes, fakes.argv("polite"), cwd=fakes.folder / "none") as child:
        child.send(b"x")
        child.close_input(within=1)
        assert list(child.lines()) == []
    assert child.ended.status == 127
    assert b"No such file" in child.ended.err


def test_the_program_gets_its_environment_its_streams_and_no_more(fakes: Fakes) -> None:
    lines, _ = talk(fakes, ["/usr/bin/env"], environ={"A": "1"})
    assert lines[0] == b"A=1"
    assert [line.partition(b"=")[0] for line in lines[1:]] == [b"PREREAD_CHILD"]
    argv = fakes.write(
        "sees", "say(repr((os.listdir('/dev/fd'), os.getcwd(), os.getsid(0) == os.getpid())))"
    )
    assert talk(fakes, argv)[0] == [
        repr((["0", "1", "2", "3"], str(fakes.folder.resolve()), True)).encode()
    ]


@needs_proc
def test_the_program_starts_with_no_signal_ignored_or_blocked(fakes: Fakes) -> None:
    ignored = (signal.SIGINT, signal.SIGQUIT)  # as in a background job of a script
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ignored}
    try:
        lines, _ = talk(fakes, ["grep", "-E", "Sig(Ign|Blk)", "/proc/self/status"])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert [int(line.split()[1], 16) for line in lines] == [0, 0]


def test_the_tests_get_interrupts_even_in_a_background_job_of_a_script(tmp_path: Path) -> None:
    test = tmp_path / "test_signals.py"
    test.write_text(
        "import signal\n\n\ndef test_them():\n"
        "    for number in (signal.SIGINT, signal.SIGQUIT):\n"
        "        assert signal.getsignal(number) != signal.SIG_IGN\n"
    )
    pytest_of_ours = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-c", os.devnull]
    done = subprocess.run(
        ["sh", "-c", "trap '' INT QUIT; exec \"$@\"", "sh", *pytest_of_ours, str(test)],
        env=child_environ({"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}),
        cwd=tmp_path, capture_output=True, timeout=LONG,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


# How it ends


def test_a_polite_child_sends_its_result_after_the_deadline(fakes: Fakes) -> None:
    lines, ended = talk(fakes, fakes.argv("polite"), READY)
    assert lines == [b"ready", b"result"]
    assert (ended.status, ended.cut) == (0, "deadline")
    assert ended.seconds < READY + 3


def test_a_child_that_ignores_the_interrupt_is_terminated(fakes: Fakes) -> None:
    lines, ended = talk(fakes, fakes.argv("deaf"), READY)
    assert lines == [b"ready", b"result"]
    assert (ended.status, ended.cut) == (3, "deadline")


def test_a_stubborn_clan_is_gone_ten_seconds_after_the_deadline(fakes: Fakes) -> None:
    lines, ended = talk(fakes, fakes.argv("clan"), READY)
    assert (lines, ended.status, ended.cut) == ([b"ready"], 137, "deadline")
    assert len(fakes.started()) == 4
    assert ended.seconds < READY + 10


def test_output_that_a_grandchild_keeps_open_is_not_waited_for(fakes: Fakes) -> None:
    lines, ended = talk(fakes, fakes.argv("deserter"))
    assert (lines, ended.status, ended.cut) == ([b"ready"], 7, "")
    lines, ended = talk(fakes, fakes.argv("parent"), READY)
    assert (lines, ended.status, ended.cut) == ([b"ready", b"result"], 0, "deadline")
    assert ended.seconds < READY + 3


def test_a_child_that_never_stops_talking_is_stopped(fakes: Fakes) -> None:
    heard = 0
    with Run(fakes, fakes.argv("talker"), READY) as child:
        for _ in child.lines():
            heard += 1
    assert heard > 100
    assert child.ended.cut == "deadline"
    assert child.ended.status == 130


def test_a_child_that_lingers_after_its_input_was_closed_is_ended(fakes: Fakes) -> None:
    with Run(fakes, fakes.argv("polite")) as child:
        lines = child.lines()
        assert next(lines) == b"ready"
        child.close_input(within=0.2)
        assert list(lines) == [b"result"]
    assert (child.ended.status, child.ended.cut) == (0, "lingered")
    assert child.ended.seconds < 5


@pytest.mark.parametrize("name", ["parent", "talker"])
def test_cancelling_ends_the_child_and_is_raised(fakes: Fakes, name: str) -> None:
    def check() -> None:
        if fakes.started():
            raise Cancelled

    run = Run(fakes, fakes.argv(name), check=check)
    with pytest.raises(Cancelled), run as child:
        list(child.lines())
    assert fakes.left() == set()
    assert child.ended.cut == ""
    assert run.took < 10


def test_cancellation_is_noticed_while_the_child_is_silent(fakes: Fakes) -> None:
    looks = []
    talk(
        fakes,
        ["sleep", "1"],
        check=lambda: looks.append(time.monotonic()),
    )
    gaps = [later - sooner for sooner, later in pairwise(looks)]
    assert len(gaps) > 5
    assert sorted(gaps)[len(gaps) // 2] < 0.15


@pytest.mark.parametrize("read_first", [True, False])
def test_an_exception_in_the_block_ends_the_child_and_is_raised(
    fakes: Fakes, read_first: bool
) -> None:
    run = Run(fakes, fakes.argv("parent"))
    with pytest.raises(ZeroDivisionError), run as child:
        use_and_fail(child, int(read_first))
    assert fakes.left() == set()
    assert run.took < 10


def test_leaving_the_block_early_ends_the_child(fakes: Fakes) -> None:
    with Run(fakes, fakes.argv("parent")) as child:
        assert next(child.lines()) == b"ready"
        with pytest.raises(RuntimeError):
            assert child.ended
    assert fakes.left() == set()
    assert (child.ended.status, child.ended.cut) == (0, "")
    child.send(b"nobody hears it")
    assert list(child.lines()) == []


# Who dies first


def test_a_supervisor_that_is_killed_takes_the_program_with_it_and_the_rest_is_swept(
    fakes: Fakes,
) -> None:
    with Run(fakes, fakes.argv("parent")) as child:
        lines = child.lines()
        assert next(lines) == b"ready"
        supervisor_of(fakes.program()).kill()
        assert list(lines) == []
    assert fakes.left() == set()
    assert child.ended.status == 137
    assert child.ended.seconds < 5


def test_a_supervisor_that_does_not_answer_is_not_waited_for(
    fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamed, "PATIENCE", 0.5)
    with Run(fakes, fakes.argv("parent"), READY) as child:
        lines = child.lines()
        assert next(lines) == b"ready"
        supervisor_of(fakes.program()).suspend()
        assert list(lines) == []
    assert fakes.left() == set()
    assert (child.ended.status, child.ended.cut) == (137, "deadline")
    assert child.ended.seconds < 6


def test_a_program_that_is_killed_from_outside_leaves_nobody(fakes: Fakes) -> None:
    with Run(fakes, fakes.argv("clan")) as child:
        lines = child.lines()
        assert next(lines) == b"ready"
        os.kill(fakes.program(), signal.SIGKILL)
        assert list(lines) == []
    assert fakes.left() == set()
    assert (child.ended.status, child.ended.cut) == (137, "")


OURS = """
import os, sys, time
from pathlib import Path
from preread.infra import subprocesses

folder, forks = Path(sys.argv[1]), sys.argv[2] == "forks"
with subprocesses.child(
    sys.argv[3:],
    cwd=folder,
    environ=os.environ,
    deadline=time.monotonic() + 600,
    scratch=folder / "private",
) as child:
    if forks and os.fork() == 0:
        (folder / "pids" / str(os.getpid())).touch()
        (folder / "fork").write_text(str(os.getpid()))
        time.sleep(600)
    for line in child.lines():
        print(line.decode(), flush=True)
"""


@pytest.mark.parametrize(
    ("name", "forks"), [("parent", "alone"), ("clan", "alone"), ("clan", "forks")]
)
def test_our_own_death_ends_everything_within_five_seconds(
    fakes: Fakes, name: str, forks: str
) -> None:
    private = fakes.folder / "private"
    private.mkdir()
    (private / "key").write_text("secret")
    argv = [sys.executable, "-c", OURS, str(fakes.folder), forks, *fakes.argv(name)]
    with popen(argv, env=child_environ()) as process:
        assert process.stdout.readline() == b"ready\n"
        guardian = supervisor_of(fakes.program())
        fork = set()
        if forks == "forks":  # a forked copy of our process keeps all our pipes open
            note = fakes.folder / "fork"
            wait_until(lambda: note.exists() and note.read_text() != "", 5)
            fork = {int(note.read_text())}
        process.kill()
        process.wait()
        wait_until(lambda: fakes.left() == fork and not lives(guardian.pid), 5)
        fakes.end()
    assert not private.exists()


# Many of them


def test_twenty_at_once_get_only_their_own_input_and_descriptors(fakes: Fakes) -> None:
    fakes.write(
        "sees",
        "on(2, lambda: os._exit(9)); say(repr(os.listdir('/dev/fd'))); say(sys.argv[2]); "
        "for_ever()",
    )

    together = threading.Barrier(20)

    def one(number: int) -> None:
        argv = [*fakes.argv("sees"), str(number)]
        with Run(fakes, argv) as child:
            together.wait(LONG)
            lines = child.lines()
            assert [next(lines), next(lines)] == [b"['0', '1', '2', '3']", str(number).encode()]
            together.wait(LONG)
        assert (child.ended.status, child.ended.cut) == (9, "")

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(one, range(20)))
    assert fakes.left() == set()


def cut_short(fakes: Fakes, seed: int) -> None:
    """One run that ends at a random instant, in one of the ways that runs end."""
    chance = random.Random(seed)
    name = chance.choice(["polite", "parent", "deserter", "talker"])
    instant = time.monotonic() + chance.uniform(0, 0.25)
    # What has neither the marker nor a supervisor cannot be found.
    killed = ["kill program"] if name == "deserter" else ["kill program", "kill supervisor"]
    way = chance.choice(["deadline", "check", "leave", *killed])
    argv = [*fakes.argv(name), str(seed)]

    def check() -> None:
        if time.monotonic() < instant:
            return
        if way == "check":
            raise Cancelled
        for process in psutil.Process().children() if way.startswith("kill") else ():
            with suppress(psutil.Error):
                if process.cmdline()[-len(argv) :] == argv:
                    (process if way == "kill supervisor" else process.children()[0]).kill()

    seconds = instant - time.monotonic() if way == "deadline" else LONG
    with suppress(Cancelled, IndexError), Run(fakes, argv, seconds, check=check) as child:
        for _ in child.lines():
            if way == "leave" and (name != "talker" or time.monotonic() >= instant):
                break


def test_runs_cut_at_random_instants_leave_no_process_file_or_thread(fakes: Fakes) -> None:
    ours = psutil.Process()
    others = ours.children()  # a daemon that other tests share

    def runs(seeds: range) -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda seed: cut_short(fakes, seed), seeds))
        assert fakes.left() == set()
        assert ours.children() == others

    runs(range(12))
    before = ours.num_fds(), threading.active_count(), ours.memory_info().rss
    runs(range(100, sized(140, 220)))
    after = ours.num_fds(), threading.active_count(), ours.memory_info().rss
    assert after[:2] == before[:2]
    assert after[2] - before[2] < 8 << 20


# Other systems


@pytest.mark.parametrize(
    "listing", [pytest.param(supervisor.from_proc, marks=needs_proc), supervisor.from_ps]
)
def test_parents_and_markers_are_found_with_proc_and_without(
    fakes: Fakes, listing: Callable[..., dict]
) -> None:
    marker = os.urandom(8).hex()
    with popen(fakes.argv("polite"), env={"MARKED": marker}) as process:
        assert process.stdout.readline() == b"ready\n"
        table = listing(f"MARKED={marker}".encode())
    assert table[process.pid] == (os.getpid(), True)
    assert table[os.getpid()] == (os.getppid(), False)
    assert [pid for pid, (_, is_marked) in table.items() if is_marked] == [process.pid]


def test_without_a_supervisor_lines_input_status_and_deadline_are_the_same(
    fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamed, "Running", Direct)
    threads = threading.active_count()
    with Run(fakes, fakes.argv("echo")) as child:
        child.send(b"one\n" * 100_000 + b"two")
        child.close_input(within=LONG)
        assert list(child.lines()) == [b"one"] * 100_000 + [b"two"]
    assert (child.ended.status, child.ended.cut) == (0, "")
    lines, ended = talk(fakes, fakes.argv("stubborn"), READY)
    assert (lines, ended.status, ended.cut) == ([b"ready"], 137, "deadline")
    assert talk(fakes, ["/nowhere/claude"])[1].status == 127
    with pytest.raises(ZeroDivisionError), Run(fakes, fakes.argv("talker")) as child:
        use_and_fail(child, 1)
    wait_until(lambda: threading.active_count() == threads, 5)
