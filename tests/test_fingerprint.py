"""A server answers from memory only while nothing that the reply depends on changed."""

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import anyio.to_thread
import pytest

from _mcp_process import connect
from _processes import KNOWLEDGE, REPORT, LoggingGit, ended, small, start
from conftest import git
from preread.builds.jobs import Caller, Jobs
from preread.builds.reply_cache import ReplyCache
from preread.errors import PrereadError
from preread.operations import dispatch
from preread.operations import operation as operation_of
from preread.operations.registry import Context
from preread.project.tree import TRUST_FINE

pytestmark = pytest.mark.anyio
YOUNG = 2.1  # seconds; what changed later than two seconds ago is not trusted, by design
Reply = dict[str, Any]


class Change(NamedTuple):
    """One change behind a remembered reply, and what the next reply has to show."""

    make: Callable[[Path], object]
    shows: Callable[[Reply, Reply], bool]  # the reply before and the one after


def built(before: Reply, after: Reply) -> bool:
    return after["state"] in {"built", "refreshed"}


def same(before: Reply, after: Reply) -> bool:
    return after["state"] == "cached" and after["dossier"] == before["dossier"]


def gone(words: str) -> Callable[[Reply, Reply], bool]:
    return lambda before, after: words in before["dossier"] and words not in after["dossier"]


def new(words: str) -> Callable[[Reply, Reply], bool]:
    return lambda before, after: words not in before["dossier"] and words in after["dossier"]


def text(path: str, content: str) -> Callable[[Path], object]:
    """Write a file, its folders too."""

    def make(project: Path) -> None:
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(content)

    return make


def patched(path: str, old: str, other: str) -> Callable[[Path], object]:
    """Change a file where it is: the same inode, and here mostly the same length."""

    def make(project: Path) -> None:
        content = (project / path).read_text()
        assert old in content
        with (project / path).open("r+") as file:
            file.write(content.replace(old, other))
            file.truncate()

    return make


def led_out(project: Path, feature: str = "login") -> None:
    """Move a dossier out of the project, and leave a link to it."""
    folder = project / ".project" / "context" / feature
    outside = project.parent / f"{project.name}-outside"
    folder.rename(outside)
    folder.symlink_to(outside)


def committed(project: Path) -> None:
    git(project, "commit", "-q", "--allow-empty", "-m", "Nothing at all")


def forced_elsewhere(project: Path) -> None:
    assert ended(start(project, "load", "login", "--force", "--ticket", "SHOP-1")).status == 0


def rename_over(project: Path) -> None:
    """What editors do: a new file in the place of the old one, with the old one's time."""
    path, other = project / "login.py", project / "login.py.new"
    other.write_text(path.read_text().replace("LOCKED_FOR_S = 900.0", "LOCKED_FOR_S = 800.0"))
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    other.replace(path)


PATTERNS = ".project/context/login/patterns.md"
BY_HAND = (
    "# Patterns: login\n\n## Ways\n- by hand: `LOGIN_PAGE` (pages/page.txt:1)\n"
    "- by hand: `by mail` (ticket:SHOP-2)\n"
)
CASES: dict[str, dict[str, Change]] = {
    "files that are cited": {
        "touched": Change(lambda project: os.utime(project / "login.py"), same),
        "a line edited in place": Change(
            patched("login.py", "ATTEMPTS = 5", "ATTEMPTS = 6"), new("ATTEMPTS = 6")
        ),
        "another file in its place": Change(rename_over, new("LOCKED_FOR_S = 800.0")),
        "deleted": Change(
            lambda project: (project / "tests/test_login.py").unlink(), gone("test_login.py")
        ),
    },
    "what nothing holds": {
        "a new file": Change(text("tests/test_a.py", "login_again\n"), gone('~"login_again"')),
        "in a folder that was empty": Change(
            text("tests/empty/test_b.py", "login_reset\n"), gone('~"login_reset"')
        ),
        "in a new folder": Change(
            text("tests/c/d/test_c.py", "# no name was given\n"), gone('~"name was given"')
        ),
        "not ignored any more": Change(
            patched("tests/deep/.gitignore", "odd", "#od"), gone('~"is no address"')
        ),
    },
    "files of Preread": {
        "edited by hand": Change(patched(PATTERNS, "## Run", "## Mine"), new("## Mine")),
        "removed": Change(
            lambda project: (project / PATTERNS).unlink(),
            lambda _, after: "## Run" in after["dossier"] and "was missing" in after["warnings"][0],
        ),
        "knowledge": Change(
            text(".project/knowledge.md", KNOWLEDGE + "- more (login.py:1)\n"), built
        ),
        "settings": Change(
            text(".project/config.toml", "max_facts = 3\n"),
            lambda b, a: len(a["dossier"]) < len(b["dossier"]),
        ),
        "led out": Change(led_out, lambda before, after: after.get("code") == "E_OUTSIDE"),
    },
    "the rest": {
        "a new report": Change(
            text("reports/b.xml", REPORT.format(why="a new reason")), new("a new reason")
        ),
        "a commit": Change(committed, same),
        "a build of another process": Change(forced_elsewhere, new("after five wrong passwords")),
        "its ticket": Change(patched(".project/tickets/SHOP-1.md", "five", "nine"), built),
        "a hint that it is stale": Change(text(".project/.cache/stale/login", "a reason\n"), same),
        "an alias": Change(
            patched(".project/gates", "#alias", " alias"),
            lambda _, after: "/paint/" in after["path"],
        ),
    },
    "roundabout": {
        "a ticket that only a fact cites": Change(
            patched(".project/tickets/SHOP-2.md", "by mail", "by post"), built
        ),
        "the file behind a link": Change(patched("pages/real.txt", "LOGIN_PAGE", "gone"), built),
        "the link": Change(lambda project: (project / "pages/page.txt").unlink(), same),
        "a report in any folder": Change(
            text("a/b/TEST-login.xml", REPORT.format(why="found deep")), built
        ),
    },
}


MORE = {
    "tests/deep/.gitignore": "odd*\n",
    "a/b/notes.txt": "none\n",
    ".project/gates": "#alias login paint\n",
}


def prepared(folder: Path, name: str) -> Path:
    """A project in which each case of a group has what it changes."""
    project = small(folder / name.replace(" ", "-"), MORE)
    before = time.time() - 60  # reports within seconds of each other are of one run
    os.utime(project / "reports/junit.xml", (before, before))
    (project / "tests/empty").mkdir()
    text("tests/deep/odd_test.py", "# this is no address\n")(project)
    if name == "roundabout":
        text("pages/real.txt", "LOGIN_PAGE here\n")(project)
        (project / "pages/page.txt").symlink_to("real.txt")
        text(".project/config.toml", 'reports = ["**/TEST-*.xml"]\n')(project)
        assert ended(start(project, "load", "login")).status == 0
        text(PATTERNS, BY_HAND)(project)
        assert ended(start(project, "load", "login", "--force")).status == 0
    return project


async def load(client) -> Reply:
    return (await client.call_tool("load_context", {"feature": "login"})).structured_content


async def from_memory(client, calls: LoggingGit) -> Reply:
    """Wait until everything is old enough, then see a reply that no git was asked for."""
    await load(client)
    await anyio.sleep(YOUNG)
    await load(client)
    asked = len(calls.calls)
    reply = await load(client)
    assert reply["state"] == "cached"
    assert len(calls.calls) == asked, "the reply did not come from memory"
    return reply


async def stale_replies(folder: Path, name: str, wrong: list[str]) -> None:
    project = await anyio.to_thread.run_sync(prepared, folder, name)
    calls = LoggingGit(folder / f"git for {name}")
    env = calls.env | {"PREREAD_WATCH": "false"}  # the watcher asks git, too, when it has time
    async with connect(project, env=env) as client:
        for case, change in CASES[name].items():
            before = await from_memory(client, calls)
            await anyio.to_thread.run_sync(change.make, project)
            asked = len(calls.calls)
            after = await load(client)
            looked_again = len(calls.calls) > asked or "code" in after
            if not looked_again or not change.shows(before, after):
                wrong.append(f"{name}: {case}: {after.get('state')} {after.get('code')}")


async def test_no_reply_from_memory_outlives_a_change_of_what_it_depends_on(tmp_path: Path) -> None:
    wrong: list[str] = []
    with anyio.fail_after(120):
        async with anyio.create_task_group() as tasks:
            for name in CASES:
                tasks.start_soon(stale_replies, tmp_path, name, wrong)
    assert wrong == [], "\n".join(wrong)


SHOWN: dict[str, Callable[[Path], object]] = {
    "edited by hand": patched(PATTERNS, "# Patterns: login", "# Patterns: LOGIN"),
    "removed": lambda project: (project / PATTERNS).unlink(),
    "an alias": patched(".project/gates", "#alias", " alias"),
    "led out": partial(led_out, feature="paint"),
}


async def test_a_dossier_that_was_shown_from_memory_is_read_again_after_a_change(
    tmp_path: Path,
) -> None:
    project, show, replies = small(tmp_path / "p", MORE), operation_of("show"), ReplyCache[Any]()
    request = show.request(feature="login")
    for feature in ("login", "paint"):
        assert ended(start(project, "load", feature)).status == 0

    async with Jobs() as jobs:

        async def shown() -> object:
            context = Context(project, {}, jobs, Caller(None, _unheard), replies, by="mcp:x")
            try:
                return await dispatch.run(context, show, request)
            except PrereadError as error:
                return error.code

        seen = []
        for change in SHOWN.values():
            await anyio.sleep(TRUST_FINE / 1e9 + 0.1)
            before = await shown()
            assert await shown() is before, "the reply did not come from memory"
            change(project)
            seen.append(await shown())
            assert seen[-1] != before
    assert "# Patterns: LOGIN" in seen[0].text
    assert "# Patterns" not in seen[1].text
    assert seen[2].feature == "paint"
    assert seen[3] == "E_OUTSIDE"


async def _unheard(message: str, done: float, total: float) -> None:
    """Progress that nobody listens to."""
