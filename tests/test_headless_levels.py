"""Levels, extending and deepening: real `preread` and Claude Code with a scripted model."""

import json
import time

import anyio
import anyio.to_thread
import pytest

from _headless import (
    ANTI_PATTERNS,
    PATTERNS,
    STANDARD,
    SUMMARY,
    Held,
    asked_for,
    headless,
    ledger,
    sessions,
    writing,
)
from _mcp_process import connect
from _messages_api import UNAUTHORIZED, Hang
from _processes import LOGIN, bytes_of, left_behind, small
from conftest import run_cli
from preread.layout import Layout

PASSING = {
    "reports/junit.xml": '<testsuite name="login" tests="1"><testcase '
    'name="test_login"/></testsuite>\n'
}
FULL = {**STANDARD, "anti-patterns.md": ANTI_PATTERNS}
# In the order in which they are drafted: a run that is cut off keeps the best.
DRAFTED = ["existing-tests.md", "patterns.md", "codebase.md", "summary.md"]
ALL = [
    "anti-patterns.md", "existing-tests.md", "patterns.md", "codebase.md", "failures.md",
    "requirements.md", "summary.md",
]  # fmt: skip
BOUND = 60  # seconds for what takes two or three; the machine may be busy
BACKGROUND = {"deepen": "background", "level": "standard"}


def load(project, env, *arguments, status=0):
    done = run_cli("load", "login", "--json", *arguments, cwd=project, env=env)
    assert done.status == status, done
    return done.json


def extend(project, env, *files):
    done = run_cli("extend", "login", *files, "--json", cwd=project, env=env)
    return done.status, done.json


def manifest_of(project):
    return json.loads((Layout(project).dossier("login") / "manifest.json").read_text())


# -- which files the model is asked for


def test_light_starts_no_program_and_leaves_no_cost(claude, api, tmp_path):
    project = small(tmp_path / "p")
    reply = load(project, headless(claude, api, tmp_path), "--level", "light")
    assert (reply["status"], reply["level"], reply["builder"]) == ("ok", "light", "static")
    assert not api.requests
    assert not ledger(project)


@pytest.mark.parametrize("program", ["off", "/nowhere/claude"])
def test_auto_without_a_program_is_light_and_whole(program, tmp_path):
    reply = load(small(tmp_path / "p"), {"PREREAD_CLAUDE": program})
    assert (reply["status"], reply["level"], reply["warnings"]) == ("ok", "light", [])


def test_auto_is_not_deeper_because_a_report_fails_and_full_serves_every_level(
    claude, api, tmp_path
):
    project = small(
        tmp_path / "p", {**PASSING, ".project/config.toml": "timeouts = { full = 160 }\n"}
    )
    env = headless(claude, api, tmp_path)
    api.play(writing(FULL))
    first = load(project, env)
    assert (first["status"], first["level"], first["builder"]) == ("ok", "standard", "claude")
    assert asked_for(api.requests[-1]) == DRAFTED
    assert set(manifest_of(project)["drafted"]) == set(STANDARD)
    # Files that were not asked for are left out and reported.
    assert (
        "compare before counting" in first["dossier"]
    )  # the static builder's own words about the same line
    assert "- compare first" not in first["dossier"]
    assert any("was not asked for" in problem for problem in run_of(project)["problems"])

    (project / "reports" / "junit.xml").write_text(
        '<testsuite name="login" tests="1"><testcase classname="tests.test_login" '
        'name="test_login_gives_a_token">'
        '<failure message="no token"/></testcase></testsuite>\n'
    )
    rounds = len(api.requests)
    failing = load(project, env)  # merged in without a model, which would be paid for again
    assert (failing["status"], failing["level"], failing["state"]) == (
        "ok",
        "standard",
        "refreshed",
    )
    assert "no token" in failing["dossier"]
    assert (len(api.requests), len(ledger(project))) == (rounds, 1)
    second = load(project, env, "--force")
    assert (second["status"], second["level"], second["state"]) == ("ok", "full", "built")
    assert asked_for(api.requests[-1]) == ALL
    assert "About 192 seconds" in api.requests[0].prompt
    assert "About 128 seconds" in api.requests[-1].prompt
    assert "- compare first" in second["dossier"]

    rounds = len(api.requests)
    before = bytes_of(project)
    for level in ("full", "standard", "light"):
        again = load(project, env, "--level", level)
        assert (again["state"], again["level"], again["dossier"]) == (
            "cached",
            "full",
            second["dossier"],
        )
    assert load(project, env)["state"] == "cached"
    assert len(api.requests) == rounds
    assert bytes_of(project) == before
    assert len(ledger(project)) == 2
    assert left_behind(project) == []


def run_of(project):
    return json.loads(Layout(project).run_record("login").read_text())


def test_auto_is_full_with_a_ticket_and_ends_at_the_time_of_its_level(claude, api, tmp_path):
    project = small(
        tmp_path / "p", {**PASSING, ".project/config.toml": "timeouts = { full = 2.5 }\n"}
    )
    api.play(lambda request: Hang())
    begun = time.monotonic()
    reply = load(project, headless(claude, api, tmp_path), "--ticket", "SHOP-1")
    assert time.monotonic() - begun < 60  # `timeout` is 240
    assert (reply["status"], reply["level"], reply["code"]) == ("degraded", "full", "E_TIMEOUT")
    assert "after five wrong passwords" in reply["dossier"]  # the static builder's requirements
    assert left_behind(project) == []


# -- deeper levels extend


def test_a_standard_dossier_requested_as_full_gets_the_missing_files(claude, api, tmp_path):
    project, env = small(tmp_path / "p"), headless(claude, api, tmp_path)
    api.play(writing(STANDARD))
    load(project, env, "--level", "standard")
    before, rounds = bytes_of(project), len(api.requests)
    api.play(
        writing(
            {"anti-patterns.md": ANTI_PATTERNS, "patterns.md": PATTERNS.replace("token", "lie")}
        )
    )
    reply = load(project, env, "--level", "full")
    assert (reply["status"], reply["state"], reply["level"]) == ("ok", "extended", "full")
    request = api.requests[rounds]
    assert asked_for(request) == [
        "anti-patterns.md",
        "failures.md",
        "requirements.md",
        "summary.md",
    ]
    # Shown as standing, so that it is not said twice.
    assert "a login ends in a token of this form" in request.prompt
    assert "five guesses" in request.prompt
    after = bytes_of(project)
    kept = {"patterns.md", "codebase.md", "existing-tests.md"}
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert b"- compare first" in after["anti-patterns.md"]
    assert set(manifest_of(project)["drafted"]) == {*kept, "anti-patterns.md"}
    assert load(project, env, "--level", "standard")["state"] == "cached"


def test_a_degraded_dossier_covers_for_its_time_only(claude, api, tmp_path):
    project = small(tmp_path / "p", PASSING)
    env = headless(claude, api, tmp_path)
    api.play(lambda request: UNAUTHORIZED)
    first = load(project, env)
    assert (first["status"], first["code"], first["builder"]) == ("degraded", "E_LOGIN", "static")
    assert first["hint"]
    rounds = len(api.requests)
    again = load(project, env)
    assert (again["status"], again["state"], again["code"]) == ("degraded", "cached", "E_LOGIN")
    assert len(api.requests) == rounds
    api.play(writing(STANDARD))
    due = load(project, {**env, "PREREAD_DEGRADED_FOR": "0"})
    assert (due["status"], due["state"], due.get("code")) == ("ok", "built", None)
    assert len(api.requests) > rounds


# -- preread extend


def test_extend_adds_a_file_keeps_the_others_and_what_people_wrote(claude, api, tmp_path):
    project, env = small(tmp_path / "p"), headless(claude, api, tmp_path)
    api.play(writing(STANDARD))
    load(project, env, "--level", "standard")
    patterns = Layout(project).dossier("login") / "patterns.md"
    number = next(n for n, row in enumerate(LOGIN.split("\n"), 1) if "LOCKED_FOR_S" in row)
    theirs = f"- a person's own: `LOCKED_FOR_S = 900.0` (login.py:{number})"
    patterns.write_text(patterns.read_text().rstrip("\n") + f"\n{theirs}\n")
    before, rounds = bytes_of(project), len(api.requests)
    api.play(
        writing(
            {
                "anti-patterns.md": ANTI_PATTERNS,
                "summary.md": SUMMARY.replace("all of it", "the whole"),
            }
        )
    )
    status, reply = extend(project, env, "anti-patterns")
    assert (status, reply["status"], reply["state"], reply["level"]) == (
        0,
        "ok",
        "extended",
        "standard",
    )
    assert asked_for(api.requests[rounds]) == ["anti-patterns.md", "summary.md"]
    after = bytes_of(project)
    assert b"- compare first" in after["anti-patterns.md"]
    assert b"the whole is in" in after["summary.md"]
    for name in ("codebase.md", "existing-tests.md", "failures.md", "patterns.md"):
        assert after[name] == before[name], name
    assert theirs.encode() in after["patterns.md"]
    assert load(project, env, "--level", "standard")["state"] == "cached"


def test_extend_says_what_is_wrong_before_it_runs_anything(claude, api, tmp_path):
    project, env = small(tmp_path / "p", PASSING), headless(claude, api, tmp_path)
    assert extend(project, env, "anti-patterns")[1]["code"] == "E_NOT_FOUND"
    assert extend(project, env, "no-such-file")[1]["code"] == "E_USAGE"
    assert "anti-patterns" in extend(project, env, "no-such-file")[1]["hint"]
    load(project, env, "--level", "light")
    before = bytes_of(project)
    status, reply = extend(project, {"PREREAD_CLAUDE": "off"}, "anti-patterns")
    assert (status, reply["status"], reply["code"]) == (0, "degraded", "E_CLI")
    assert "PREREAD_CLAUDE" in reply["hint"]
    assert (reply["level"], reply["builder"]) == ("light", "static")
    assert any("the dossier is unchanged" in warning for warning in reply["warnings"])
    assert bytes_of(project) == before
    assert not api.requests


def test_an_extension_without_valid_facts_changes_nothing(claude, api, tmp_path):
    project, env = small(tmp_path / "p"), headless(claude, api, tmp_path)
    api.play(writing(STANDARD))
    load(project, env, "--level", "standard")
    before = bytes_of(project)
    api.play(writing({"failures.md": "Nothing fails here, as far as I can see.\n"}))
    status, reply = extend(project, env, "failures.md")
    assert (status, reply["status"], reply["code"], reply["state"]) == (
        0,
        "degraded",
        "E_DRAFTS",
        "cached",
    )
    assert bytes_of(project) == before
    assert run_of(project)["outcome"]["turns"] >= 2
    assert run_of(project)["status"] == "degraded"
    again = load(project, env, "--level", "standard")
    assert (again["status"], again["state"]) == ("ok", "cached")


def test_what_was_added_stays_the_models_and_what_people_wrote_stays_theirs(claude, api, tmp_path):
    project, env = small(tmp_path / "p"), headless(claude, api, tmp_path)
    api.play(writing(FULL))
    load(project, env, "--level", "standard")
    folder = Layout(project).dossier("login")
    theirs = "- a person's own: `def logout(` (login.py:21)"
    assert "def logout(" in LOGIN.split("\n")[20]
    for name in ("patterns.md", "existing-tests.md"):
        (folder / name).write_text((folder / name).read_text().rstrip("\n") + f"\n{theirs}\n")
    assert extend(project, env, "anti-patterns")[1]["status"] == "ok"
    (project / "login.py").write_text(LOGIN.replace("no name was given", "no name"))  # a cited line
    rounds = len(api.requests)
    reply = load(project, env, "--level", "standard")
    assert (reply["status"], reply["state"]) == ("ok", "refreshed")
    assert len(api.requests) == rounds, "no fact of the model lost its lines"
    assert "- compare first" in reply["dossier"]
    # No program, so no model: its earlier drafts stay as far as they are valid.
    (project / "login.py").write_text(LOGIN.replace("no name was given", "who are you?"))
    light = load(project, {"PREREAD_CLAUDE": "off"})
    assert (light["status"], light["state"], light["level"], light["builder"]) == (
        "ok",
        "cached",
        "standard",
        "claude",
    )
    assert "- five guesses" in light["dossier"]
    for name in ("patterns.md", "existing-tests.md"):
        assert (folder / name).read_text().count(theirs) == 1, name


@pytest.mark.anyio
async def test_extend_over_mcp_adds_a_file_and_says_what_is_wrong(claude, api, tmp_path):
    project, env = small(tmp_path / "p", PASSING), headless(claude, api, tmp_path)
    api.play(writing(FULL))
    load(project, env)
    before = bytes_of(project)

    async def operation(client, **params):
        result = await client.call_tool(
            "context_operation", {"method": "context.extend", "params": params}
        )
        return result, result.structured_content

    with anyio.fail_after(BOUND):
        async with connect(project, env=env) as client:
            result, state = await operation(client, feature="login", files=["nothing"])
            assert (result.is_error, state["error"]["code"]) == (True, "E_USAGE")
            result, state = await operation(client, feature="logout", files=["anti-patterns"])
            assert (result.is_error, state["error"]["code"]) == (True, "E_NOT_FOUND")
            assert "load" in state["error"]["hint"]
            _, state = await operation(client, feature="login", files=["anti-patterns.md"])
    reply = state["result"]
    assert (reply["status"], reply["state"], reply["level"]) == ("ok", "extended", "standard")
    assert "- compare first" in reply["dossier"]
    after = bytes_of(project)
    for name in ("patterns.md", "codebase.md", "existing-tests.md"):
        assert after[name] == before[name], name


# -- deepen = background


async def call(client, replies, **given):
    replies.append(
        (await client.call_tool("load_context", {"feature": "login", **given})).structured_content
    )


async def at_level(level, client, replies):
    """Call until the dossier has this level; returns the reply."""
    await call(client, replies, level=level)
    while (replies[-1]["state"], replies[-1]["level"]) != ("cached", level):
        await anyio.sleep(0.02)
        await call(client, replies, level=level)
    return replies[-1]


@pytest.mark.anyio
async def test_in_the_background_the_models_dossier_replaces_the_static_one(claude, api, tmp_path):
    project = small(tmp_path / "p")
    env = headless(claude, api, tmp_path, **BACKGROUND)
    held = Held(writing(STANDARD))
    api.play(held)
    replies: list[dict] = []
    with anyio.fail_after(BOUND):
        async with connect(project, env=env, name="claude-code") as client:
            await call(client, replies)
            await call(client, replies)  # while the model works
            first, second = replies
            assert (first["status"], first["level"], first["builder"], first["state"]) == (
                "ok",
                "light",
                "static",
                "built",
            )
            assert any("in the background" in warning for warning in first["warnings"])
            assert (second["dossier"], second["state"]) == (first["dossier"], "joined")
            assert (Layout(project).dossier("login") / "manifest.json").exists()
            held.let_go()
            last = await at_level("standard", client, replies)
    assert (last["status"], last["level"], last["builder"], last["warnings"]) == (
        "ok",
        "standard",
        "claude",
        [],
    )
    assert "five guesses" in last["dossier"]
    assert len(sessions(api)) == 1
    assert len(ledger(project)) == 1
    assert left_behind(project) == []


@pytest.mark.anyio
async def test_a_failure_in_the_background_leaves_static_and_earlier_drafts(claude, api, tmp_path):
    project = small(tmp_path / "p")
    env = headless(claude, api, tmp_path, rebuild_after=0, **BACKGROUND)
    api.play(writing(STANDARD))
    assert load(project, env)["level"] == "standard"  # a command waits for the model
    (project / "login.py").write_text(LOGIN.replace("ATTEMPTS = 5", "ATTEMPTS = 6"))
    held = Held(lambda request: UNAUTHORIZED)
    api.play(held)
    replies: list[dict] = []
    with anyio.fail_after(BOUND):
        async with connect(project, env=env) as client:
            await call(client, replies)
            early = replies[0]
            assert (early["status"], early["level"]) == ("ok", "light")
            # The model's files that are still valid stay; the static builder writes the others.
            assert "a login ends in a token of this form" in early["dossier"]
            assert "five guesses" not in early["dossier"]
            assert "ATTEMPTS" in (Layout(project).dossier("login") / "codebase.md").read_text()
            held.let_go()
            last = await at_level("standard", client, replies)
    assert (last["status"], last["code"], last["level"]) == ("degraded", "E_LOGIN", "standard")
    assert "a login ends in a token of this form" in last["dossier"]
    assert left_behind(project) == []


@pytest.mark.anyio
async def test_the_published_dossier_serves_while_files_are_added_in_the_background(
    claude, api, tmp_path
):
    project = small(tmp_path / "p")
    env = headless(claude, api, tmp_path)
    api.play(writing(STANDARD))
    standard = load(project, env, "--level", "standard")
    before = bytes_of(project)
    held = Held(writing({"anti-patterns.md": ANTI_PATTERNS, "summary.md": SUMMARY}))
    api.play(held)
    replies: list[dict] = []
    with anyio.fail_after(BOUND):
        async with connect(project, env=env | {"PREREAD_DEEPEN": "background"}) as client:
            await call(client, replies, level="full")
            early = replies[0]
            assert (early["status"], early["level"], early["state"]) == ("ok", "standard", "cached")
            start, mark, *shown, end, _ = early["dossier"].split("\n")
            assert (mark, end) == (f"<data-{mark[6:-1]}>", f"</{mark[1:]}")
            assert mark[6:-1] in start
            assert "\n".join(shown) == standard["dossier"].strip("\n")
            assert any("in the background" in warning for warning in early["warnings"])
            assert bytes_of(project) == before
            held.let_go()
            last = await at_level("full", client, replies)
    assert (last["status"], last["level"]) == ("ok", "full")
    assert "- compare first" in last["dossier"]


# -- reply_within


@pytest.mark.anyio
async def test_a_hurried_client_gets_building_and_joins_and_claude_code_waits(
    claude, api, tmp_path
):
    project = small(tmp_path / "p")
    env = headless(claude, api, tmp_path, reply_within=0.2, level="standard")
    held = Held(writing(STANDARD))
    api.play(held)
    replies: list[dict] = []
    waited: list[dict] = []
    with anyio.fail_after(BOUND):
        async with connect(project, env=env) as client:
            await call(client, replies)
            assert (replies[0]["status"], replies[0]["level"]) == ("building", "standard")
            assert "call" in replies[0]["next"].lower()
            await call(client, replies)
            assert replies[1]["status"] == "building"
            async with (
                connect(project, env=env, name="claude-code") as patient,
                anyio.create_task_group() as tasks,
            ):
                # Another server, which waits for the one that builds, as long as that takes.
                tasks.start_soon(call, patient, waited)
                await anyio.to_thread.run_sync(api.wait, bool)
                await call(client, replies)
                assert replies[-1]["status"] == "building"
                assert not waited
                held.let_go()
                while replies[-1]["status"] == "building":
                    await call(client, replies)
    assert replies[-1]["status"] == waited[0]["status"] == "ok"
    assert replies[-1]["state"] in {"joined", "cached"}
    assert waited[0]["state"] in {"joined", "cached"}
    assert len(sessions(api)) == 1
