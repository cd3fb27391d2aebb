"""Many callers at once, and calls from a build's own child: real Claude Code, scripted model."""

import json
import sys
import threading
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import anyio
import anyio.to_thread
import psutil
import pytest

from _headless import (
    ANTI_PATTERNS,
    STANDARD,
    SUMMARY,
    Held,
    asked_for,
    headless,
    ledger,
    output,
    sessions,
    writing,
)
from _mcp_process import connect
from _messages_api import PATIENCE, text, tool
from _processes import ended, left_behind, small, start
from _whole import sized
from conftest import child_environ, run_cli
from preread.layout import Layout

pytestmark = pytest.mark.anyio
MANY = sized(8, 20)  # features
BOUND = 300  # seconds, after which it hangs: twenty runs of the program on a busy machine
PASSING = {
    "reports/junit.xml": '<testsuite name="login" tests="1"><testcase '
    'name="test_login"/></testsuite>\n'
}
CALM = {"level": "standard", "reply_within": BOUND}  # so that no reply is `building`


async def load(client, feature="login", **given):
    """The final reply; calls again as long as the reply is `building`."""
    while True:
        result = await client.call_tool("load_context", {"feature": feature, **given})
        if result.structured_content["status"] != "building":
            return result.structured_content


async def kept(replies, load_it):
    replies.append(await load_it)


@asynccontextmanager
async def served(project, env):
    """One server, and tasks that call it side by side."""
    with anyio.fail_after(BOUND):
        async with (
            connect(project, env=env, patience=BOUND) as client,
            anyio.create_task_group() as tasks,
        ):
            yield client, tasks


async def waited(api, holds):
    await anyio.to_thread.run_sync(api.wait, holds)


def manifest_of(project, feature="login"):
    return json.loads((Layout(project).dossier(feature) / "manifest.json").read_text())


class Crowd:
    """A model that writes about any feature, and counts how many ask at the same time."""

    def __init__(self):
        self.go = threading.Event()
        self.most = 0
        self._open = set()
        self._lock = threading.Lock()

    def __call__(self, request):
        with self._lock:
            (self._open.discard if request.turn else self._open.add)(request.session)
            self.most = max(self.most, len(self._open))
        if request.turn:
            return [text("Done.")]
        self.go.wait(PATIENCE)
        feature = output(request).name.split(".")[0]
        return writing(
            {
                name: told.replace(": login\n", f": {feature}\n", 1)
                for name, told in STANDARD.items()
            }
        )(request)


# -- one server


async def test_many_features_at_once_are_built_four_at_a_time_and_all_published(
    claude, api, tmp_path
):
    project = small(tmp_path / "p", PASSING)
    features = [f"login-{chr(ord('a') + number)}" for number in range(MANY)]
    crowd, replies = Crowd(), []
    api.play(crowd)
    async with served(project, headless(claude, api, tmp_path, max_builds=4, **CALM)) as (
        client,
        tasks,
    ):
        for feature in features:
            tasks.start_soon(kept, replies, load(client, feature))
        await waited(api, lambda _: len(sessions(api)) == 4)
        with pytest.raises(TimeoutError):  # and nobody else comes as long as these four work
            await anyio.to_thread.run_sync(api.wait, lambda _: len(sessions(api)) > 4, 1.0)
        crowd.go.set()
    assert [(reply["status"], reply["level"], reply["builder"]) for reply in replies] == [
        ("ok", "standard", "claude")
    ] * MANY
    assert crowd.most == 4
    assert len(sessions(api)) == MANY
    assert sorted(manifest_of(project, feature)["feature"] for feature in features) == features
    assert sorted(line["feature"] for line in ledger(project)) == features
    assert left_behind(project) == []


async def test_fifty_callers_for_one_feature_share_one_child(claude, api, tmp_path):
    project = small(tmp_path / "p", PASSING)
    held, replies = Held(writing(STANDARD)), []
    api.play(held)
    async with served(project, headless(claude, api, tmp_path, **CALM)) as (client, tasks):
        for _ in range(50):
            tasks.start_soon(kept, replies, load(client))
        await waited(api, bool)
        await client.list_tools()  # what was sent before it has begun
        held.let_go()
    states = Counter(reply["state"] for reply in replies)
    assert states["built"] == 1
    assert states["built"] + states["joined"] + states["cached"] == 50
    assert len({reply["dossier"] for reply in replies}) == 1
    assert len(sessions(api)) == len(ledger(project)) == 1


async def test_a_second_ticket_waits_for_the_first_and_gets_a_build_of_its_own(
    claude, api, tmp_path
):
    project = small(tmp_path / "p", PASSING)
    crowd, first, second = Crowd(), [], []
    api.play(crowd)
    async with served(project, headless(claude, api, tmp_path, **CALM)) as (client, tasks):
        tasks.start_soon(kept, first, load(client, ticket="SHOP-1"))
        await waited(api, bool)
        tasks.start_soon(kept, second, load(client, ticket="SHOP-2"))
        await client.list_tools()
        assert len(sessions(api)) == 1
        crowd.go.set()
    assert (first[0]["state"], second[0]["state"]) == ("built", "built")
    assert "five wrong passwords" in first[0]["dossier"]
    assert "reset by mail" in second[0]["dossier"]
    assert "five wrong passwords" not in second[0]["dossier"]
    assert manifest_of(project)["ticket"] == "SHOP-2"
    prompts = [request.prompt for request in api.requests if request.turn == 0]
    assert ["reset by mail" in prompt for prompt in prompts] == [False, True]
    assert crowd.most == 1


async def test_force_while_a_build_runs_is_served_by_one_that_begins_later(claude, api, tmp_path):
    project = small(tmp_path / "p", PASSING)
    crowd, first, forced = Crowd(), [], []
    api.play(crowd)
    async with served(project, headless(claude, api, tmp_path, **CALM)) as (client, tasks):
        tasks.start_soon(kept, first, load(client))
        await waited(api, bool)
        for _ in range(2):  # the second of them joins the first
            tasks.start_soon(kept, forced, load(client, force=True))
        await client.list_tools()
        crowd.go.set()
    assert first[0]["state"] == "built"
    assert sorted(reply["state"] for reply in forced) == ["built", "joined"]
    assert crowd.most == 1
    assert len(sessions(api)) == len(ledger(project)) == 2


async def test_extensions_that_wait_for_their_turn_are_not_taken_for_each_other(
    claude, api, tmp_path
):
    project = small(tmp_path / "p", PASSING)
    env = headless(claude, api, tmp_path, max_builds=1, **CALM)
    assert run_cli("load", "login", "--level", "light", cwd=project, env=env).status == 0
    held, other, extended, forced = Held(writing(STANDARD)), [], [], []
    api.play(writing({"summary.md": SUMMARY, "anti-patterns.md": ANTI_PATTERNS}))
    api.play(held, when="its feature `logout`")

    async def extend(client, file):
        call = {"method": "context.extend", "params": {"feature": "login", "files": [file]}}
        reply = {"status": "building"}
        while reply["status"] == "building":
            reply = (await client.call_tool("context_operation", call)).structured_content["result"]
        extended.append(reply)

    async with served(project, env) as (client, tasks):
        tasks.start_soon(kept, other, load(client, "logout"))
        await waited(api, bool)
        for file in ("anti-patterns", "failures"):
            tasks.start_soon(extend, client, file)
        tasks.start_soon(kept, forced, load(client, force=True))
        await client.list_tools()
        held.let_go()
    asked = [asked_for(request) for request in api.requests if request.turn == 0]
    assert sorted(asked[1:], key=len) == [
        ["anti-patterns.md", "summary.md"],
        ["failures.md", "summary.md"],
        list(STANDARD),
    ]
    assert {reply["state"] for reply in extended} == {"extended"}
    assert forced[0]["level"] == "standard"


# -- several processes


def test_of_two_commands_at_one_moment_one_runs_the_program_for_both(claude, api, tmp_path):
    project, env = small(tmp_path / "p", PASSING), headless(claude, api, tmp_path, level="standard")
    held = Held(writing(STANDARD))
    api.play(held)
    processes = [start(project, "load", "login", "--json", env=env) for _ in range(2)]
    api.wait(bool)
    held.let_go()
    replies = [json.loads(ended(process).out) for process in processes]
    assert sorted(reply["state"] for reply in replies) in (["built", "cached"], ["built", "joined"])
    assert len({reply["dossier"] for reply in replies}) == 1
    assert len(sessions(api)) == len(ledger(project)) == 1
    assert left_behind(project) == []


async def test_a_hundred_callers_in_four_servers_get_one_build_and_equal_replies(
    claude, api, tmp_path
):
    project, env = small(tmp_path / "p", PASSING), headless(claude, api, tmp_path, **CALM)
    held, replies = Held(writing(STANDARD)), []
    api.play(held)
    with anyio.fail_after(BOUND):
        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(connect(project, env=env, patience=BOUND))
                for _ in range(4)
            ]
            tasks = await stack.enter_async_context(anyio.create_task_group())
            for client in clients:
                for _ in range(25):
                    tasks.start_soon(kept, replies, load(client))
            await waited(api, bool)
            for client in clients:
                await client.list_tools()  # what was sent before it has begun
            held.let_go()
    assert Counter(reply["state"] for reply in replies)["built"] == 1
    assert {reply["state"] for reply in replies} <= {"built", "joined", "cached"}
    for reply in replies:  # how and how soon its caller got it; all else is equal
        del reply["state"], reply["stats"]["seconds"]
    assert replies == [replies[0]] * 100
    assert len(sessions(api)) == len(ledger(project)) == 1
    assert left_behind(project) == []


# -- no recursion


def test_a_process_inside_a_build_cannot_load_but_can_read_published_dossiers(
    claude, api, tmp_path
):
    project, env = small(tmp_path / "p", PASSING), headless(claude, api, tmp_path)
    assert run_cli("load", "login", "--level", "light", cwd=project, env=env).status == 0
    inside = {**env, "PREREAD_CHILD": "0123456789abcdef"}
    for command in (
        ["load", "login"],
        ["load", "login", "--level", "light"],
        ["extend", "login", "anti-patterns"],
    ):
        done = run_cli(*command, "--json", cwd=project, env=inside)
        assert (done.status, done.json["code"]) == (1, "E_RECURSION"), command
        assert "PREREAD_CHILD" in done.json["hint"]
    for command in (["show", "login"], ["status", "login"], ["check", "login"], ["facts", "token"]):
        done = run_cli(*command, cwd=project, env=inside)
        assert done.status == 0, (command, done)
        assert "login" in done.out

    async def over_mcp():
        async with connect(project, env=inside) as client:
            refused = await client.call_tool("load_context", {"feature": "login"})
            asked = {"method": "extend", "params": {"feature": "login", "files": ["failures"]}}
            extension = await client.call_tool("context_operation", asked)
            shown = await client.call_tool(
                "context_operation", {"method": "show", "params": {"feature": "login"}}
            )
        assert (refused.is_error, refused.structured_content["code"]) == (True, "E_RECURSION")
        assert (extension.is_error, extension.structured_content["error"]["code"]) == (
            True,
            "E_RECURSION",
        )
        assert not shown.is_error
        assert "token-" in shown.structured_content["result"]["text"]

    anyio.run(over_mcp)
    assert not api.requests


OURS = {"command": sys.executable, "args": ["-m", "preread", "mcp"]}


def configured(project, home, own):
    """Preread's own server, a hook and a plugin everywhere Claude Code looks, and other servers."""
    (project / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"preread": OURS, "context": OURS}})
    )
    plugin = home / "plugin"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text(
        json.dumps({"name": "preread", "mcpServers": {"preread": OURS}})
    )
    marketplace = {
        "name": "here",
        "owner": {"name": "me"},
        "plugins": [{"name": "preread", "source": "./plugin"}],
    }
    (home / ".claude-plugin").mkdir()
    (home / ".claude-plugin" / "marketplace.json").write_text(json.dumps(marketplace))
    hook = {"hooks": [{"type": "command", "command": f"touch '{home}/hooked'"}]}
    settings = {
        "hooks": {"SessionStart": [hook]},
        "enableAllProjectMcpServers": True,
        "extraKnownMarketplaces": {"here": {"source": {"source": "directory", "path": str(home)}}},
        "enabledPlugins": {"preread@here": True},
    }
    for folder in (home, project):
        (folder / ".claude").mkdir(exist_ok=True)
        (folder / ".claude" / "settings.json").write_text(json.dumps(settings))
    state = {
        "mcpServers": {"preread": OURS, **own},
        "projects": {str(project): {"hasTrustDialogAccepted": True}},
    }
    (home / ".claude.json").write_text(json.dumps(state))


def marks(project):
    """The marks that the running Claude Code of a project carries."""
    found = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.cwd() == str(project) and "--strict-mcp-config" in process.cmdline():
                found.add(process.environ().get("PREREAD_CHILD"))
    return found


def test_the_child_gets_none_of_our_servers_and_a_disguised_one_refuses_it(claude, api, tmp_path):
    project = small(tmp_path / "p", PASSING)
    names = ["preread", "context", "notes"]
    tools = [f"{name}.load_context" for name in names]
    (project / ".project" / "config.toml").write_text(
        f"mcp = {json.dumps(names)}\nmcp_tools = {json.dumps(tools)}\n"
    )
    env = headless(claude, api, tmp_path, level="standard", mcp=":".join(names))
    disguise = tmp_path / "notes.sh"
    disguise.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m preread mcp\n')
    disguise.chmod(0o755)
    python = {"PYTHONPATH": child_environ()["PYTHONPATH"]}
    configured(project, tmp_path / "home", {"notes": {"command": str(disguise), "env": python}})
    seen = []

    def script(request):
        if request.turn == 0:
            seen.append(marks(project))
            return [tool("mcp__notes__load_context", feature="logout"), *writing(STANDARD)(request)]
        return [text("Done.")]

    api.play(script)
    done = run_cli("load", "login", "--json", cwd=project, env=env)
    assert (done.status, done.json["status"]) == (0, "ok"), done
    assert set(api.requests[0].tools) == {
        "Read",
        "Grep",
        "Glob",
        "Write",
        "Edit",
        *(f"mcp__notes__{name}" for name in ("load_context", "context_operation")),
    }
    [marked] = seen
    assert len(marked) == 1
    assert len(marked.pop() or "") >= 16
    refused = next(result for result in api.requests[-1].results if "E_RECURSION" in result.text)
    assert refused.is_error
    assert not Layout(project).dossier("logout").exists()
    warnings = " ".join(done.json["warnings"])
    assert "`preread` is left out: it is Preread's own" in warnings
    assert "`context` is left out: it is Preread's own" in warnings
    assert not (tmp_path / "home" / "hooked").exists()
    assert left_behind(project) == []
