"""What a watcher reports, of real files and processes: staleness, one pass per checkout, polling."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

import preread.builds.computing
import preread.builds.watching
from _files_project import services
from _processes import ended, left_behind, start
from conftest import Cli, child_environ, git, make_repository
from preread.builds.reply_cache import ReplyCache
from preread.builds.watching import News, Watcher
from preread.errors import PrereadError
from preread.layout import Layout
from preread.mcp import resources
from preread.operations import dispatch
from preread.services import Services

QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")
BOUND = 30.0  # seconds for what takes one; the machine may be busy
CODE = '"""Tokens."""\n\nLIMIT = 10  # because the service refuses more\n\n\ndef make_token(user):\n    """Make it."""\n    return f"{user}:token"\n'
STALE = "because the service refuses twenty"
ONE, TWO = "1 test names it", "2 tests name it"
CALL = "\n\ndef test_again():\n    from src.login import make_token\n\n    assert make_token('b')\n"
QUIET = 6.0  # seconds in which a pass over changed files would have ended


@pytest.fixture
def root(tmp_path: Path, cli: Cli) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "login.py").write_text(CODE)
    (folder / ".gitignore").write_text("ignored/\n")
    (folder / "ignored" / "deep").mkdir(parents=True)
    make_repository(folder)
    assert cli("load", "login", "--level", "light", cwd=folder).status == 0
    return folder


@pytest.fixture
def counted(root: Path, cli: Cli) -> Path:
    """The same project with tests, of which its dossier counts those that name the function."""
    (root / "tests").mkdir()
    for name, text in (("one", CALL), ("two", "def test_two():\n    assert 1\n")):
        (root / "tests" / f"test_{name}.py").write_text(text)
    (root / "README.md").write_text("Tokens.\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "tests")
    assert cli("load", "login", cwd=root).status == 0
    assert ONE in codebase(root)
    return root


def codebase(root: Path) -> str:
    return (root / ".project/context/login/codebase.md").read_text()


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def track(root: Path) -> None:
    git(root, "add", "-Af", ".project/context")
    git(root, "commit", "-qm", "dossier")


def spoil(root: Path) -> None:
    _replace_login(root, CODE.replace("because the service refuses more", STALE))


def restore(root: Path) -> None:
    _replace_login(root, CODE)


def _replace_login(root: Path, text: str) -> None:
    """Replace the file in one step: a watcher may see the empty file that `write_text` begins with."""
    new = root.with_name(f"{root.name}-login.py")
    new.write_text(text)
    new.replace(root / "src" / "login.py")


def hint(root: Path) -> Path:
    return Layout(root).stale("login")


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + BOUND
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def expected(root: Path) -> Callable[[Exception], PrereadError]:
    return partial(dispatch.expected, root, "watch")


@contextmanager
def watching(
    root: Path, *, refreshes: bool = False
) -> Iterator[tuple[Watcher, list[News], list[object]]]:
    """A watcher in a thread: what it told, and what it looked up."""
    told: list[News] = []
    looks: list[object] = []

    class Counting(Watcher):
        def check(self, changed: object) -> None:
            super().check(changed)  # type: ignore[arg-type]
            looks.append(changed)

    watcher = Counting(
        lambda: services(root), told.append, expected=expected(root), refreshes=refreshes
    )
    thread = threading.Thread(target=watcher.run)
    thread.start()
    try:
        until(lambda: looks)
        yield watcher, told, looks
    finally:
        watcher.stop.set()
        thread.join(BOUND)
        assert not thread.is_alive()


class Watch(NamedTuple):
    """`preread watch` as a process, and the lines that it has written; to call it waits for one."""

    process: subprocess.Popen[str]
    lines: list[str]

    def __call__(self, words: str, after: int = 0) -> None:
        until(lambda: any(words in line for line in self.lines[after:]))


@contextmanager
def process(root: Path, *before: str, **environ: str) -> Iterator[Watch]:
    program = [*before, sys.executable, "-m", "preread", "watch", "--project", str(root)]
    found: list[str] = []
    with subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=child_environ() | {"PREREAD_CLAUDE": "off", **environ},
    ) as running:  # fmt: skip
        assert running.stdout is not None
        lines = running.stdout
        reader = threading.Thread(target=lambda: found.extend(iter(lines.readline, "")))
        reader.start()

        try:
            yield Watch(running, found)
        finally:
            running.terminate()
            running.wait(BOUND)
            reader.join(BOUND)


def test_the_gates_are_told_of_what_changed_before_and_while_it_watches(root: Path) -> None:
    spoil(root)
    before = {path: path.read_bytes() for path in (root / ".project").rglob("*.md")}
    with process(root) as wait_for:
        wait_for("login is stale: what it cites changed or moved: src/login.py:3")
        assert "src/login.py:3" in hint(root).read_text()
        restore(root)
        wait_for("login is up to date")
        until(lambda: not hint(root).exists())
        (root / "src" / "login.py").unlink()
        wait_for("login is stale: what it cites is no longer there")
    assert {path: path.read_bytes() for path in (root / ".project").rglob("*.md")} == before
    assert git(root, "status", "--porcelain", "--", ".project") == ""


def test_a_servers_watcher_refreshes_once_nothing_changes(root: Path) -> None:
    with watching(root, refreshes=True) as (_, told, _looks):
        spoil(root)
        until(lambda: any("login" in news.now and not news.now["login"].why for news in told))
    found = (path.read_text() for path in (root / ".project/context/login").glob("*.md"))
    assert any(STALE in text for text in found)
    assert not hint(root).exists()


def test_the_gates_are_told_when_what_a_dossier_counts_changes(counted: Path, cli: Cli) -> None:
    other, before = counted / "tests" / "test_two.py", codebase(counted)
    words = "login is stale: files changed since its facts were computed"
    with process(counted) as wait_for:
        append(other, CALL)
        wait_for(words)
        assert hint(counted).read_text().strip() in wait_for.lines[-1]
        for arguments in (("status",), ("check", "--all")):  # a look-up of the sources alone
            git(counted, "add", "-Af", ".project/context")  # else `status` refreshes it
            assert cli(*arguments, cwd=counted).status == 0
            assert hint(counted).exists()
        append(counted / "README.md", "More.\n")  # it is still, and nobody is told again
        shown, written = len(wait_for.lines), hint(counted).stat().st_mtime_ns
        time.sleep(QUIET)
        assert (len(wait_for.lines), hint(counted).stat().st_mtime_ns) == (shown, written)
        git(counted, "checkout", "-q", "--", "tests")
        wait_for("login is up to date")
        assert not hint(counted).exists()
        assert codebase(counted) == before
        append(other, CALL)
        wait_for(words, after=len(wait_for.lines))
        assert cli("load", "login", "--json", cwd=counted).json["state"] == "refreshed"
        wait_for("login is up to date", after=len(wait_for.lines) - 1)
        assert TWO in codebase(counted)
        assert not hint(counted).exists()


def test_what_changes_nothing_in_a_dossier_is_not_reported(counted: Path) -> None:
    for refreshes in (False, True):
        with watching(counted, refreshes=refreshes) as (_, told, _looks):
            append(counted / "README.md", "More.\n")
            append(counted / "tests" / "test_two.py", "\n\ndef test_three():\n    assert 3\n")
            time.sleep(QUIET)
            git(counted, "commit", "-qam", "more")
            time.sleep(QUIET)
            assert told == []
            assert not hint(counted).exists()


def test_a_servers_watcher_refreshes_what_a_dossier_counts(counted: Path) -> None:
    with watching(counted, refreshes=True) as (_, told, _looks):
        append(counted / "tests" / "test_two.py", CALL)
        until(lambda: told)
        assert TWO in codebase(counted)
        assert not hint(counted).exists()
        time.sleep(QUIET)  # what it wrote itself starts nothing
        assert [news.now["login"].why for news in told] == [""]


def test_a_dossier_that_git_tracks_is_only_marked(counted: Path, cli: Cli) -> None:
    track(counted)
    assert cli("load", "login", cwd=counted).status == 0
    with watching(counted, refreshes=True) as (_, told, _looks):
        append(counted / "tests" / "test_two.py", CALL)
        until(hint(counted).exists)
        until(lambda: told and told[-1].now["login"].why.endswith("tests/test_two.py"))
        assert ONE in codebase(counted)
        append(counted / "src" / "login.py", "\n\nOTHER = 1\n")
        assert cli("load", "login", cwd=counted).status == 0
        until(lambda: not told[-1].now["login"].why)
        assert TWO in codebase(counted)
        assert not hint(counted).exists()


def test_a_persons_edit_of_an_outdated_dossier_keeps_it_marked(counted: Path) -> None:
    with watching(counted) as (_, told, _looks):
        append(counted / "tests" / "test_two.py", CALL)
        until(lambda: told and told[-1].now["login"].why)
        append(counted / ".project/context/login/codebase.md", "\n<!-- later -->\n")
        until(lambda: len(told) > 1 and told[-1].now["login"].why)
        assert hint(counted).exists()


def test_what_is_counted_and_changed_while_nothing_watched_is_noticed(counted: Path) -> None:
    append(counted / "tests" / "test_two.py", CALL)
    with process(counted) as wait_for:
        wait_for("login is stale: files changed since its facts were computed")
        assert hint(counted).exists()


def test_a_file_that_git_ignores_and_that_never_rests_hides_no_change(counted: Path) -> None:
    (counted / ".gitignore").write_text("ignored/\n*.log\n")
    with watching(counted) as (_, told, _looks):
        append(counted / "dev.log", "line\n")
        append(counted / "tests" / "test_one.py", "\n\nOTHER = 1\n")
        time.sleep(QUIET)  # it is known to be ignored
        append(counted / "tests" / "test_two.py", CALL)
        end = time.monotonic() + 2 * BOUND  # if it is not known yet, that takes half a minute
        while not told:
            assert time.monotonic() < end
            append(counted / "dev.log", "line\n")
            time.sleep(0.3)
        assert told[-1].now["login"].why.endswith("test_two.py")


def test_many_dossiers_are_taken_in_turn(
    counted: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each pass has only time for one."""
    monkeypatch.setattr(preread.builds.computing, "COMPUTE_SECONDS", 0.0)
    monkeypatch.setattr(preread.builds.computing, "REST_SHARE", 0)
    names = ("login", "token", "make-token")
    for name in names:
        assert cli("load", name, "--level", "light", cwd=counted).status == 0
    with watching(counted) as (_, told, _looks):
        append(counted / "tests" / "test_two.py", CALL)
        until(lambda: {name for news in told for name in news.now} == {*names})
        whys = {one.why for news in told for one in news.now.values()}
        assert {why.rpartition(" ")[2] for why in whys} == {"tests/test_two.py"}


def test_a_commit_that_changes_what_was_computed_is_noticed(counted: Path) -> None:
    with watching(counted) as (_, told, _looks):
        text = "The limit is 10, as the service refuses more.\n\nfix: make_token kept old tokens"
        git(counted, "commit", "-q", "--allow-empty", "-m", text)
        time.sleep(QUIET)
        append(counted / "src" / "login.py", "\n\nOTHER = 1\n")
        git(counted, "commit", "-qam", "fix: make_token kept old tokens")
        until(lambda: told and told[-1].now["login"].why)


def test_two_processes_and_a_watcher_that_refreshes_share_a_folder(root: Path, cli: Cli) -> None:
    off, dossier = {"PREREAD_CLAUDE": "off"}, Layout(root).dossier("login")
    with watching(root, refreshes=True):
        for _ in range(3):
            both = [start(root, "load", "login", "--force", env=off) for _ in range(2)]
            spoil(root)
            assert [ended(one).status for one in both] == [0, 0]
            restore(root)
        spoil(root)
        until(lambda: any(STALE in path.read_text() for path in dossier.glob("*.md")))
    assert left_behind(root) == []
    done = cli("load", "login", "--json", cwd=root)
    assert (done.json["state"], done.json["warnings"]) == ("cached", [])
    assert STALE in done.json["dossier"]
    assert cli("check", "--all", cwd=root).status == 0


@pytest.mark.skipif(not QUEUE.exists(), reason="its queue of events has no known length")
def test_a_watcher_that_was_stopped_finds_what_its_full_queue_lost(root: Path) -> None:
    others = [root / "src" / name for name in ("one.py", "two.py")]
    for path in others:
        path.touch()
    with process(root) as wait_for:
        spoil(root)
        wait_for("login is stale")
        restore(root)
        wait_for("login is up to date")
        count = len(wait_for.lines)
        wait_for.process.send_signal(signal.SIGSTOP)
        for n in range(2 * int(QUEUE.read_text())):
            os.utime(others[n % 2])
        spoil(root)
        wait_for.process.send_signal(signal.SIGCONT)
        wait_for("login is stale", after=count)
        assert "src/login.py:3" in hint(root).read_text()


def test_two_watchers_of_worktrees_each_report_their_own(root: Path, cli: Cli) -> None:
    other = root.parent / "other"
    git(root, "worktree", "add", "-q", "-b", "other", str(other))
    assert cli("load", "login", "--level", "light", cwd=other).status == 0
    with process(root) as one, process(other) as two:
        spoil(root)
        one("login is stale")
        restore(root)
        one("login is up to date")
        spoil(other)
        two("login is stale")
        assert hint(other).exists()
        assert not hint(root).exists()
        spoil(root)
        restore(other)
        two("login is up to date")
        until(lambda: hint(root).exists())
        assert not hint(other).exists()
    assert [line.split(":")[0].strip() for line in two.lines].count("login is stale") == 1


def test_what_nothing_depends_on_is_not_looked_up(root: Path) -> None:
    with watching(root) as (_, told, looks):
        (root / "ignored" / "deep" / "x.py").write_text("x = 1\n")
        (root / ".git" / "x").write_text("x")
        (root / "src" / "other.py").write_text("x = 1\n")
        until(lambda: len(looks) > 1)
        seen = {Path(path).name for changed in looks[1:] for path in changed}  # type: ignore[attr-defined]
        assert seen == {"other.py"}
        assert told == []


def test_a_checkout_of_many_files_is_one_pass(root: Path) -> None:
    folders = [root / f"many{n}" for n in range(20)]
    for folder in folders:
        folder.mkdir()
        for n in range(100):
            (folder / f"f{n}.py").write_text("x = 1\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "many")
    git(root, "checkout", "-qb", "other")
    for folder in folders:
        for path in folder.iterdir():
            path.write_text("x = 2\n")
    spoil(root)
    git(root, "commit", "-qam", "other")
    git(root, "checkout", "-q", "-")
    with watching(root) as (_, told, looks):
        count = len(looks)
        git(root, "checkout", "-q", "-f", "other")
        until(lambda: told)
        time.sleep(1.5)  # another pass would come within this
        assert "src/login.py:3" in told[-1].now["login"].why
        assert len(looks) - count == 1


def test_files_in_a_new_folder_are_watched(root: Path, cli: Cli) -> None:
    with watching(root) as (_, told, looks):
        new = root / "new" / "deep"
        new.mkdir(parents=True)
        (new / "cart.py").write_text("def fill_cart(user):\n    return [user]\n")
        until(lambda: None in looks[1:])
        assert cli("load", "cart", "--level", "light", cwd=root).status == 0
        until(lambda: any("cart" in news.new for news in told))
        (new / "cart.py").write_text("def fill_cart(someone):\n    return 1\n")
        until(lambda: any(news.now.get("cart") and news.now["cart"].why for news in told))


@pytest.mark.parametrize("jump", [3_600.0, -3_600.0])
def test_what_changed_while_the_machine_slept_or_its_clock_was_set_is_noticed(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    other, now = tmp_path / "other.py", time.time
    os.link(root / "src" / "login.py", other)
    with watching(root) as (_, told, _looks):
        # By a name in a folder that is not watched: there is no event.
        other.write_text(CODE.replace("because the service refuses more", STALE))
        monkeypatch.setattr(time, "time", lambda: now() + jump)
        until(lambda: told)
        assert "src/login.py:3" in told[0].now["login"].why


def test_the_first_dossier_is_news_and_so_is_one_after_the_last_was_removed(
    tmp_path: Path, cli: Cli
) -> None:
    (tmp_path / "login.py").write_text(CODE)
    (tmp_path / ".git").mkdir()
    told: list[News] = []
    watcher = Watcher(lambda: services(tmp_path), told.append, expected=expected(tmp_path))
    thread = threading.Thread(target=watcher.run)
    thread.start()
    try:
        for _ in range(2):
            assert cli("load", "login", "--level", "light", cwd=tmp_path).status == 0
            until(lambda: told and "login" in told[-1].new)
            assert cli("remove", "login", cwd=tmp_path).status == 0
            until(lambda: "login" in told[-1].gone)
    finally:
        watcher.stop.set()
        thread.join(BOUND)


def test_it_polls_where_nothing_can_be_watched_and_says_so(root: Path, tmp_path: Path) -> None:
    fake = tmp_path / "fake"
    fake.mkdir()
    (fake / "watchfiles.py").write_text(
        "def watch(*paths, **options):\n"
        "    raise OSError(28, 'OS file watch limit reached')\n    yield\n"
    )
    with process(root, PYTHONPATH=str(fake)) as wait_for:
        wait_for("Polling for changes")
        wait_for("no file watches left")
        spoil(root)
        wait_for("login is stale")
        restore(root)
        wait_for("login is up to date")
        (root / "test_login.py").write_text(CALL)
        wait_for("login is stale: files changed since its facts were computed")


def test_what_keeps_it_from_watching_is_said_once(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preread.builds.watching, "NO_DOSSIERS_SECONDS", 0.01)
    said: list[str] = []
    attempts: list[int] = []

    def away() -> Services:
        attempts.append(1)
        if len(attempts) == 1:
            return services(root)
        raise PrereadError("E_PROJECT_DIR", "It is away." if len(attempts) < 9 else "It is a file.")

    watcher = Watcher(away, lambda _: None, said.append, expected=expected(root))
    thread = threading.Thread(target=watcher.run)
    thread.start()
    try:
        until(lambda: len(attempts) > 15)
    finally:
        watcher.stop.set()
        thread.join(BOUND)
    assert [text.partition(".")[0] for text in said] == ["It is away", "It is a file"]


@pytest.mark.parametrize(
    ("limit", "why"),
    [
        ("3 > /proc/sys/user/max_inotify_watches", "the system has no file watches left"),
        ("0 > /proc/sys/user/max_inotify_instances", "the system allows no further watcher"),
    ],
)
def test_it_polls_when_the_system_lets_it_watch_no_more(root: Path, limit: str, why: str) -> None:
    few = f"echo {limit}"  # of a user namespace of its own
    if subprocess.run(["unshare", "-Ur", "sh", "-c", few], capture_output=True).returncode:
        pytest.skip("no user namespace can be made here")
    with process(root, "unshare", "-Ur", "sh", "-c", f'{few}; exec "$@"', "sh") as wait_for:
        wait_for(f"Polling for changes, because they cannot be watched: {why}")
        assert not any("Error" in line or "[" in line for line in wait_for.lines)
        spoil(root)
        wait_for("login is stale")


@pytest.mark.parametrize("during", ["before", "while"])
def test_a_bug_is_written_down_and_does_not_end_the_watching(
    root: Path, tmp_path: Path, during: str
) -> None:
    """A library that fails at its first call, or at its first change, with what nobody expects."""
    fake, failed = tmp_path / "fake", tmp_path / "failed"
    fake.mkdir()
    at_once = "    fail()\n" if during == "before" else ""
    (fake / "watchfiles.py").write_text(
        "import os, time\n\n\ndef fail():\n"
        f"    if not os.path.exists({str(failed)!r}):\n"
        f"        open({str(failed)!r}, 'w').close()\n        raise KeyError('odd')\n\n\n"
        f"def watch(*paths, stop_event, **options):\n{at_once}"
        "    yield set()\n    fail()\n"
        "    while not stop_event.is_set():\n        time.sleep(0.1)\n        yield set()\n"
    )
    with process(root, PYTHONPATH=str(fake)) as wait_for:
        wait_for("KeyError: 'odd'")
        [line] = [line for line in wait_for.lines if "KeyError" in line]
        assert line.rstrip().endswith("Watching tries again every 5 s.")
        log = Layout(root).log
        assert str(log) in line
        assert "KeyError: 'odd'" in log.read_text()
        spoil(root)
        wait_for("login is stale")


def test_a_resource_of_a_stale_dossier_says_so(root: Path, cli: Cli) -> None:
    fresh: ReplyCache[bool] = ReplyCache()

    def text() -> str:
        return resources.read(services(root), "dossier://login/patterns.md", fresh).text

    assert cli("load", "login", "--level", "light", cwd=root).status == 0
    until = time.monotonic() + BOUND
    while not fresh.get("login"):  # a look-up trusts no file that has only just been written
        assert time.monotonic() < until
        assert text().startswith("What is between ")
        time.sleep(0.2)
    assert text().startswith("What is between ")  # without another look
    spoil(root)
    assert text().startswith('It may be out of date; load_context with feature="login"')


def test_a_session_is_told_once_at_its_next_prompt(root: Path) -> None:
    from preread.gates import notices, sessions

    event = {"session_id": "s-1", "cwd": str(root), "hook_event_name": "UserPromptSubmit",
             "prompt": "go on"}  # fmt: skip
    hook = Path(__file__).parents[1] / "hooks" / "user-prompt"
    environ = child_environ() | {"CLAUDE_PROJECT_DIR": str(root)}

    def told() -> str:
        done = subprocess.run(
            ["bash", "-p", str(hook)], input=json.dumps(event), text=True, env=environ,
            capture_output=True, check=True, timeout=BOUND,
        )  # fmt: skip
        return done.stdout

    hint(root).parent.mkdir(parents=True, exist_ok=True)
    hint(root).write_text("what it cites changed or moved: src/login.py:3\n")
    assert told() == ""  # it does not use that dossier
    sessions.use_dossier(str(root), "s-1", "login")
    said = json.loads(told())["hookSpecificOutput"]
    assert said["hookEventName"] == "UserPromptSubmit"
    assert "load_context" in said["additionalContext"]
    assert '"login"' in said["additionalContext"]
    assert "\n" not in said["additionalContext"]
    assert told() == ""
    os.utime(hint(root), (1, 1))
    assert "load_context" in told()
    hint(root).unlink()
    assert notices.of_session({**event, "session_id": "s-2"}, {}) is None
