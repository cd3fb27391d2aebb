"""From a name to a dossier, by real processes: concurrency, freshness, edits, disks, hints."""

import json
import os
import select
import shutil
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from filelock import FileLock

from _files_project import disk, fill, make_read_only, snapshot
from _mcp_process import BOUND, SlowGit, connect
from _processes import (
    KNOWLEDGE,
    REPORT,
    LoggingGit,
    ended,
    left_behind,
    processes_in,
    small,
    start,
    until,
)
from conftest import Cli, git
from preread.builds.jobs import Caller, Jobs
from preread.builds.reply_cache import ReplyCache
from preread.dossier import build_records, published
from preread.layout import Layout
from preread.operations import operation as operation_of
from preread.operations.registry import Context


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return small(tmp_path / "small")


def entered(slow: SlowGit) -> int:
    """Wait until a build waits in git; the process id of that git."""

    async def bounded() -> int:
        with anyio.fail_after(BOUND):
            return await slow.entered()

    return anyio.run(bounded)


def folder_of(project: Path, feature: str = "login") -> Path:
    return Layout(project).dossier(feature)


def load(
    cli: Cli, project: Path, *arguments: str, env: dict[str, str] | None = None
) -> dict[str, Any]:
    """The reply of a load of login, which has to succeed."""
    done = cli("load", "login", "--json", *arguments, cwd=project, env=env)
    assert done.status == 0, done
    reply: dict[str, Any] = done.json
    return reply


def write(project: Path, path: str, content: str | bytes) -> None:
    (project / path).parent.mkdir(parents=True, exist_ok=True)
    (project / path).write_bytes(content.encode() if isinstance(content, str) else content)


def patch(project: Path, path: str, old: str, new: str) -> None:
    content = (project / path).read_text()
    assert old in content
    (project / path).write_text(content.replace(old, new))


# -- several processes


def test_of_two_processes_at_one_moment_one_builds_for_both(project: Path, tmp_path: Path) -> None:
    calls = LoggingGit(tmp_path / "git")
    processes = [start(project, "load", "login", "--json", env=calls.env) for _ in range(2)]
    replies = {process.pid: json.loads(ended(process).out) for process in processes}
    builders = [pid for pid, reply in replies.items() if reply["state"] == "built"]
    assert len(builders) == 1
    assert {reply["state"] for reply in replies.values()} - {"built"} <= {"joined", "cached"}
    assert set(calls.builds) == set(builders)
    assert len({reply["dossier"] for reply in replies.values()}) == 1
    assert left_behind(project) == []


async def _loaded_by_server(project: Path, waits: anyio.Event, **given: object) -> dict[str, Any]:
    """A server's reply to load; `waits` is set when it reports that another process is building."""

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        if message and "another process is building login" in message:
            waits.set()

    async with connect(project) as client:
        result = await client.call_tool(
            "load_context", {"feature": "login", **given}, progress_callback=tell
        )
        reply: dict[str, Any] = result.structured_content
    return reply


@pytest.mark.parametrize(("given", "state"), [({}, "joined"), ({"force": True}, "built")])
def test_a_server_waits_for_the_build_of_a_command_and_takes_it_unless_forced(
    project: Path, slow_git: SlowGit, given: dict[str, bool], state: str
) -> None:
    arguments = ["--force"] if given else []
    command = start(project, "load", "login", "--json", *arguments, env=slow_git.env)
    entered(slow_git)
    called = time.time()

    async def serve() -> dict[str, Any]:
        replies: list[dict[str, Any]] = []
        waits = anyio.Event()

        async def run() -> None:
            replies.append(await _loaded_by_server(project, waits, **given))

        with anyio.fail_after(BOUND):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
                await waits.wait()
                assert command.poll() is None
                slow_git.let_go()
        return replies[0]

    reply = anyio.run(serve)
    own = json.loads(ended(command).out)
    assert (own["state"], reply["state"]) == ("built", state)
    run = build_records.read(Layout(project), "login")
    assert (run.started > called) == bool(given)
    assert own["dossier"] in reply["dossier"]
    assert left_behind(project) == []


def says(terminal: int, words: bytes) -> bool:
    """Read what a process writes on its terminal until it says this."""
    seen = b""
    end = time.monotonic() + BOUND
    while words not in seen and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            seen += os.read(terminal, 4096)
    return words in seen


def test_a_command_takes_the_build_of_a_server(
    project: Path, slow_git: SlowGit, tmp_path: Path
) -> None:
    calls = LoggingGit(tmp_path / "git")
    terminal, other_end = os.openpty()

    async def serve() -> tuple[dict[str, Any], dict[str, Any]]:
        replies: list[dict[str, Any]] = []
        async with connect(project, env=slow_git.env) as client, anyio.create_task_group() as tasks:

            async def run() -> None:
                replies.append(
                    (
                        await client.call_tool("load_context", {"feature": "login"})
                    ).structured_content
                )

            tasks.start_soon(run)
            with anyio.fail_after(BOUND):
                await slow_git.entered()
            command = start(project, "load", "login", "--json", env=calls.env, stderr=other_end)
            assert await anyio.to_thread.run_sync(
                says, terminal, b"another process is building login"
            )
            slow_git.let_go()
            done = await anyio.to_thread.run_sync(ended, command)
        return replies[0], json.loads(done.out)

    try:
        served, told = anyio.run(serve)
    finally:
        os.close(terminal)
        os.close(other_end)
    assert (served["state"], told["state"]) == ("built", "joined")
    assert told["dossier"] in served["dossier"]
    assert calls.builds == []


def test_two_forced_loads_at_once_both_get_a_build_that_began_after_their_call(
    project: Path, cli: Cli
) -> None:
    load(cli, project)
    called = time.time()
    processes = [start(project, "load", "login", "--force", "--json") for _ in range(2)]
    states = [json.loads(ended(process).out)["state"] for process in processes]
    run = build_records.read(Layout(project), "login")
    assert "built" in states
    assert set(states) <= {"built", "joined"}
    assert run.started > called


def test_another_feature_is_built_while_a_build_is_stuck(
    project: Path, slow_git: SlowGit, cli: Cli
) -> None:
    stuck = start(project, "load", "login", "--json", env=slow_git.env)
    entered(slow_git)
    done = cli("load", "paint", "--json", cwd=project, timeout=BOUND)
    assert (done.status, done.json["state"]) == (0, "built")
    assert stuck.poll() is None
    slow_git.let_go()
    assert json.loads(ended(stuck).out)["state"] == "built"
    assert published.features(Layout(project)) == ["login", "paint"]
    assert left_behind(project) == []


def test_an_interrupted_build_does_not_wait_for_the_index_of_another_process(
    project: Path, tmp_path: Path
) -> None:
    calls = LoggingGit(tmp_path / "git")
    layout = Layout(project)
    layout.lock("_index").parent.mkdir(parents=True)
    with FileLock(layout.lock("_index")):
        process = start(project, "load", "login", env=calls.env)
        until(lambda: any(" ls-files " in call for call in calls.calls), "it lists the files")
        until(lambda: len(processes_in(project)) == 1, "it has listed them")
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        done = ended(process)
        assert (done.status, time.monotonic() - begun < 5) == (130, True)
    assert left_behind(project) == []


# -- the hint for the gates


@pytest.mark.parametrize(("end", "status"), [("done", 0), ("deadline", 1), ("ctrl-c", 130)])
def test_the_gates_find_the_deadline_of_a_running_build_and_nothing_afterwards(
    project: Path, slow_git: SlowGit, end: str, status: int
) -> None:
    seconds = 4 if end == "deadline" else 100
    begun = time.time()
    process = start(
        project, "load", "login", "--json", env={**slow_git.env, "PREREAD_TIMEOUT": str(seconds)}
    )
    entered(slow_git)
    hint = Layout(project).building("login")
    assert begun + seconds - 1 <= float(hint.read_text()) <= time.time() + seconds + 1
    assert float(hint.read_text()) > time.time()
    if end == "done":
        slow_git.let_go()
    if end == "ctrl-c":
        process.send_signal(signal.SIGINT)
    done = ended(process)
    assert done.status == status, done
    assert end != "deadline" or done.json["code"] == "E_TIMEOUT"
    assert left_behind(project) == []
    assert folder_of(project).exists() == (end == "done")


# -- freshness


def test_changes_that_touch_no_cited_line_leave_every_byte_and_time_of_the_dossier(
    project: Path, cli: Cli
) -> None:
    load(cli, project)
    before = snapshot(folder_of(project))
    code = (project / "login.py").read_bytes()
    assert "login.py:11-18" in published.read(Layout(project), "login").manifest.spans
    changes = {
        "elsewhere in a cited file": ("login.py", code + b"\n\n# the end\n"),
        "line ends": ("login.py", code.replace(b"\n", b"\r\n")),
        "a file that is not cited": ("paint.py", b"def paint(colour):\n    return colour * 3\n"),
        "a new file": ("brush.py", b"def brush(hair):\n    return hair\n"),
    }
    for what, (path, content) in changes.items():
        write(project, path, content)
        assert load(cli, project)["state"] == "cached", what
        assert snapshot(folder_of(project)) == before, what


def test_each_change_of_what_a_dossier_rests_on_is_in_the_next_reply(
    project: Path, cli: Cli
) -> None:
    ticket = ("--ticket", "SHOP-1")
    load(cli, project, *ticket)
    settings = project / ".project" / "config.toml"
    changes = {
        "a cited line": lambda: patch(project, "login.py", "ATTEMPTS = 5", "ATTEMPTS = 6"),
        "its ticket": lambda: patch(project, ".project/tickets/SHOP-1.md", "five", "six"),
        "knowledge": lambda: write(
            project, ".project/knowledge.md", KNOWLEDGE + "- tokens are text (login.py:12)\n"
        ),
        "a report": lambda: write(
            project, "reports/junit.xml", REPORT.format(why="another reason")
        ),
        "settings": lambda: settings.write_text("max_facts = 30\n"),
    }
    shown = {
        "a cited line": "ATTEMPTS = 6",
        "its ticket": "after six wrong",
        "a report": "another reason",
    }
    for what, change in changes.items():
        change()
        reply = load(cli, project, *ticket)
        assert reply["state"] == ("built" if what == "settings" else "refreshed"), what
        assert shown.get(what, "") in reply["dossier"]
        assert load(cli, project, *ticket)["state"] == "cached", what


def test_a_new_test_removes_the_fact_that_no_test_names_it(project: Path, cli: Cli) -> None:
    assert 'tests/**~"login_again"' in load(cli, project)["dossier"]
    write(
        project,
        "tests/test_again.py",
        "from login import login_again\n\n\ndef test():\n    login_again('t')\n",
    )
    reply = load(cli, project)
    assert reply["state"] == "refreshed"
    assert 'tests/**~"login_again"' not in reply["dossier"]
    assert 'tests/**~"login_reset"' in reply["dossier"]


def test_a_dossier_is_true_on_every_branch(project: Path, cli: Cli) -> None:
    first = load(cli, project)["dossier"]
    git(project, "switch", "-q", "-c", "other")
    patch(project, "login.py", "ATTEMPTS = 5\n", "# more\n# lines\nATTEMPTS = 7\n")
    git(project, "commit", "-q", "-am", "Other login")
    there = load(cli, project)
    assert there["state"] == "refreshed"
    assert "ATTEMPTS = 7" in there["dossier"]
    git(project, "switch", "-q", "main")
    back = load(cli, project)
    assert back["state"] == "refreshed"
    assert "ATTEMPTS = 7" not in back["dossier"]
    assert back["dossier"] == first
    checked = cli("check", "login", "--json", cwd=project)
    assert checked.status == 0, checked


# -- files of people


def test_facts_that_people_add_stay_as_long_as_they_check_out(project: Path, cli: Cli) -> None:
    load(cli, project)
    folder = folder_of(project)
    write(folder, "notes.md", "# My own\n")
    patterns = (folder / "patterns.md").read_text()
    mine = (
        "\n## From experience\n- a wrong colour of hair never matters: `token.startswith` "
        "(login.py:23)\n"
    )
    write(folder, "patterns.md", patterns + mine)
    for _ in range(2):
        assert load(cli, project, "--force")["state"] == "built"
        assert "colour of hair" in (folder / "patterns.md").read_text()
        assert (folder / "notes.md").read_text() == "# My own\n"
    found = cli("facts", "colour of hair", "--json", cwd=project).json["facts"]
    assert found[0]["sources"] == ["login.py:23"]
    assert found[0]["state"] == "quoted"


def test_an_edited_fact_that_fails_the_check_stays_beside_the_built_one_and_is_named(
    project: Path, cli: Cli
) -> None:
    load(cli, project)
    path = folder_of(project) / "codebase.md"
    patch(project, path.relative_to(project).as_posix(), "`ATTEMPTS = 5`", "`ATTEMPTS = 500`")
    edited = path.read_bytes()
    reply = load(cli, project, "--force")
    assert "`ATTEMPTS = 500`" in reply["dossier"]
    assert "`ATTEMPTS = 5`" in reply["dossier"]
    told = [one for one in reply["warnings"] if one.startswith("A person wrote this")]
    assert ["ATTEMPTS = 500" in one for one in told] == [True]
    kept = Layout(project).backups("login").glob("codebase.md.*")
    assert [copy.read_bytes() for copy in kept] == [edited]


def test_a_fact_called_wrong_does_not_come_back(project: Path, cli: Cli) -> None:
    load(cli, project)
    facts = cli("show", "login", "--ids", "--json", cwd=project).json["facts"]
    [one] = [fact for fact in facts if "compare before counting" in fact["text"]]
    assert cli("wrong", one["id"], cwd=project).status == 0
    for arguments in ((), ("--force",)):
        assert "compare before counting" not in load(cli, project, *arguments)["dossier"]


# -- disks


def refused(cli: Cli, project: Path, why: str) -> None:
    """A forced load reports that it cannot write; the published dossier is unchanged and usable."""
    before = snapshot(folder_of(project))
    text = cli("show", "login", cwd=project).out
    done = cli("load", "login", "--force", cwd=project)
    assert done.status == 1, done
    assert done.err.startswith("error: E_WRITE: ")
    assert why in done.err
    assert "Traceback" not in done.err
    assert snapshot(folder_of(project)) == before
    shown = cli("show", "login", cwd=project)
    assert (shown.status, shown.out) == (0, text)
    assert load(cli, project)["state"] == "cached"
    assert snapshot(folder_of(project)) == before


def test_a_full_disk_is_reported_and_the_published_dossier_still_returned(
    tmp_path: Path, cli: Cli
) -> None:
    with disk(tmp_path / "disk", "4m") as root:
        project = small(root / "small")
        load(cli, project)
        filler = fill(root)
        refused(cli, project, "the disk is full")
        filler.unlink()
        assert load(cli, project, "--force")["state"] == "built"
        assert left_behind(project) == []


def test_on_a_full_disk_a_reply_has_the_dossier_that_cannot_be_saved(
    tmp_path: Path, cli: Cli
) -> None:
    with disk(tmp_path / "disk", "4m") as root:
        project = small(root / "small")
        load(cli, project)
        patch(project, "login.py", "NOTE: compare before", "NOTE: x\n    NOTE: compare before")
        fill(root)
        before = snapshot(folder_of(project))
        for feature in ("login", "token"):
            done = cli("load", feature, "--json", cwd=project)
            assert (done.status, done.json["status"]) == (0, "degraded"), done.json
            assert done.json["code"] == "E_WRITE"
            assert "login.py" in done.json["dossier"]
        assert snapshot(folder_of(project)) == before


def test_a_stale_dossier_is_returned_with_a_warning_when_nothing_can_be_written(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = small(tmp_path / "small")
    load(cli, project)
    patch(project, "login.py", "NOTE: compare before", "NOTE: x\n    NOTE: compare before")
    before = snapshot(folder_of(project))
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(in_the_way))
    shutil.rmtree(project / ".project/.cache")
    (project / ".project/.cache").write_text("")
    done = cli("load", "login", "--json", cwd=project)
    assert (done.status, done.json["state"], done.json["code"]) == (0, "cached", "E_WRITE")
    assert "It is out of date (what it cites " in done.json["warnings"][-1]
    assert "could not be refreshed: " in done.json["warnings"][-1]
    assert cli("load", "login", "--force", "--json", cwd=project).json["status"] == "error"
    assert cli("load", "token", "--json", cwd=project).json["status"] == "error"
    assert snapshot(folder_of(project)) == before


def test_a_read_only_disk_is_reported_and_the_published_dossier_still_returned(
    tmp_path: Path, cli: Cli
) -> None:
    with disk(tmp_path / "disk", "4m") as root:
        project = small(root / "small")
        load(cli, project)
        make_read_only(root)
        refused(cli, project, "the file system is read-only")


# -- several projects of one process


async def _unheard(message: str, done: float, total: float) -> None:
    """Progress that nobody listens to."""


def test_projects_served_by_one_process_never_mix(tmp_path: Path) -> None:
    names = ("one", "two", "three")
    projects = {}
    for name in names:
        projects[name] = small(tmp_path / name)
        patch(projects[name], "login.py", 'return f"token-{name}"', f'return f"{name}-{{name}}"')
        patch(projects[name], "login.py", "NOTE: compare before", f"NOTE: {name} compares before")
    operation = operation_of("load")
    given = operation.request(feature="login")

    async def serve() -> list[tuple[str, str, str]]:
        told: list[tuple[str, str, str]] = []
        reply_cache: ReplyCache[Any] = ReplyCache()

        async def one(jobs: Jobs, name: str) -> None:
            context = Context(
                projects[name], dict(os.environ), jobs, Caller(None, _unheard), reply_cache
            )
            reply = await operation.run(context, given)
            told.append((name, reply.state, reply.dossier))

        async with Jobs() as jobs:
            for pause in (0, 2.1, 0):  # built, looked up when all is old enough, from memory
                await anyio.sleep(pause)
                async with anyio.create_task_group() as tasks:
                    for name in names:
                        tasks.start_soon(partial(one, jobs, name))
            shutil.rmtree(projects["two"] / ".project")
            for name in names:
                await one(jobs, name)
        return told

    told = anyio.run(serve)
    assert [state for _, state, _ in told] == ["built"] * 3 + ["cached"] * 6 + [
        "cached",
        "built",
        "cached",
    ]
    for name, _, dossier in told:
        assert [other for other in names if f"NOTE: {other} compares before" in dossier] == [name]


def test_renewing_a_dossier_keeps_the_ticket_it_was_built_for(project, cli):
    (project / ".project" / "tickets").mkdir(parents=True, exist_ok=True)
    (project / ".project" / "tickets" / "T-7.md").write_text(
        "# T-7: Log in twice\n\n- a second log-in is refused\n"
    )
    knowledge = project / ".project" / "knowledge.md"
    knowledge.write_text("# Knowledge\n")
    asked = ("--ticket", "T-7", "--description", "a second login at once")
    assert cli("load", "login", *asked, "--json", cwd=project).json["state"] == "built"
    knowledge.write_text("# Knowledge\n\n## New\n")
    renewed = cli("load", "login", "--json", cwd=project).json
    assert renewed["state"] == "cached"
    assert "`a second log-in is refused` (ticket:T-7)" in renewed["dossier"]
    assert cli("load", "login", *asked, "--json", cwd=project).json["state"] == "cached"
    assert (
        "ticket:T-7" not in cli("load", "login", "--force", "--json", cwd=project).json["dossier"]
    )


@pytest.mark.parametrize("feature", ["index", "db", "wrong", "spending"])
def test_a_feature_may_have_the_name_of_one_of_preread_s_own_locks(
    cli: Cli, tmp_path: Path, feature: str
) -> None:
    folder = small(tmp_path / "app", {f"{feature}.py": f"def {feature}():\n    return 1\n"})
    done = cli("load", feature, "--json", cwd=folder, env={"PREREAD_TIMEOUT": "20"})
    assert done.status == 0, done.out
    assert done.json["status"] == "ok"
    fact = cli("show", feature, "--ids", "--json", cwd=folder).json["facts"][0]["id"]
    assert cli("wrong", fact, cwd=folder).status == 0
