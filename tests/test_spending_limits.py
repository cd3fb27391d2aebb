"""Recording and limiting costs, with the real Claude Code and a scripted model."""

import hashlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time

import anyio
import pytest
from mcp import MCPError
from mcp_types import ElicitResult

from _headless import PATTERNS, STANDARD, headless, line, sessions, writing
from _mcp_process import Person, connect
from _messages_api import UNAUTHORIZED, text, tool
from _processes import PATIENCE, LoggingGit, left_behind, small
from conftest import child_environ, run_cli
from preread.layout import Layout

PASSING = {
    "reports/junit.xml": '<testsuite name="login" tests="1"><testcase '
    'name="test_login"/></testsuite>\n'
}
QUESTION = "Go beyond the limit this month?"
TIGHT = {"level": "standard", "month_usd": "0.5", "max_usd": "1"}  # no build fits in
YOUNG = 2.1  # seconds; what changed later than two seconds ago is not trusted, by design


@pytest.fixture
def project(tmp_path):
    return small(tmp_path / "p", PASSING)


def load(project, env, *more, feature="login"):
    done = run_cli("load", feature, "--json", *more, cwd=project, env=env)
    assert done.status == 0, done
    return done.json


def ledger(project):
    path = Layout(project).spending
    return [json.loads(row) for row in path.read_text().splitlines()] if path.exists() else []


# -- what it cost


def test_every_run_is_in_the_ledger_and_status_shows_the_totals(claude, api, tmp_path, project):
    env = headless(claude, api, tmp_path, level="standard")
    old = {
        "time": time.time() - 40 * 86400,
        "cost_usd": 7.5,
        "feature": "login",
        "model": "m",
        "turns": 1,
    }
    path = Layout(project).spending
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**old, "tokens": {}, "seconds": 1.0, "run": ""}) + "\n")
    api.play(writing(STANDARD))
    first = load(project, env)
    api.play(lambda request: UNAUTHORIZED)
    assert load(project, env, "--force")["code"] == "E_LOGIN"
    api.play(writing(STANDARD))
    second = load(project, env, "--force")
    rows = ledger(project)[1:]
    assert [row["feature"] for row in rows] == ["login"] * 3
    assert [row["cost_usd"] > 0 for row in rows] == [True, False, True]
    assert all(
        row["model"].startswith("claude-sonnet") and row["turns"] == 2 for row in (rows[0], rows[2])
    )
    assert rows[0]["tokens"] == {"input": 200, "output": 20, "cache_read": 0, "cache_creation": 0}
    spent = round(sum(row["cost_usd"] for row in rows), 6)
    assert first["stats"]["cost_today_usd"] == first["stats"]["cost_usd"] == rows[0]["cost_usd"]
    assert second["stats"]["cost_today_usd"] == pytest.approx(spent)
    assert load(project, env)["stats"]["cost_today_usd"] == pytest.approx(
        spent
    )  # a cached one tells it, too
    told = run_cli("status", "--json", cwd=project, env=env).json
    assert told["spent"]["today"] == told["spent"]["month"] == pytest.approx(spent)
    assert (told["spent"]["runs_today"], told["spent"]["unknown"]) == (3, 0)
    shown = run_cli("status", cwd=project, env={**env, "PREREAD_MONTH_USD": "5"}).out
    assert f"spent: ${spent:.4f} today, ${spent:.4f} of $5.00 this month" in shown


def test_status_of_a_feature_shows_everything_about_its_last_run(claude, api, tmp_path, project):
    noisy = tmp_path / "claude"  # the real program, which has something to say on standard error
    noisy.write_text(f'#!/bin/sh\necho "a word of warning" >&2\nexec "{claude}" "$@"\n')
    noisy.chmod(0o755)
    facts = "".join(
        f"- an address is looked at: `{quote}` (login.py:{line(quote)})\n" for quote in MORE
    )
    wrong = "- it is never so: `no such words` (login.py:3)\n"
    files = {**STANDARD, "patterns.md": PATTERNS + facts + wrong}

    def script(request):
        if request.turn == 0:
            return [tool("Read", file_path="/etc/hostname"), *writing(files)(request)]
        return [text("Done.")]

    api.play(script)
    env = headless(noisy, api, tmp_path, level="standard")
    assert load(project, env)["status"] == "ok"
    run = run_cli("status", "login", "--json", cwd=project, env=env).json["dossiers"][0]["run"]
    outcome = run["outcome"]
    assert outcome["model"].startswith("claude-sonnet")
    assert re.fullmatch(r"\d+\.\d+\.\d+", outcome["version"])
    # A fact that does not check out goes back to the model once: one more turn.
    assert (outcome["turns"], outcome["tokens"]["output"]) == (3, 30)
    assert (
        run["stats"]["cost_usd"]
        == ledger(project)[0]["cost_usd"]
        == pytest.approx(outcome["cost_usd"])
    )
    assert 0 < outcome["seconds"] < run["stats"]["seconds"]
    assert "/etc/hostname" in outcome["denials"][0]
    assert outcome["stderr"].strip() == "a word of warning"
    digests = {
        digest(block["text"])
        for m in api.requests[0].messages
        for block in m["content"]
        if "text" in block
    }
    assert outcome["prompt"] in digests
    assert any(
        "patterns.md" in problem and "no such words" in problem for problem in run["problems"]
    )
    assert run["stats"]["dropped"] == 1
    shown = run_cli("status", "login", cwd=project, env=env).out
    model = f"{outcome['model']} by Claude Code {outcome['version']}"
    for words in (
        f"{model}: 3 turns, {outcome['seconds']:.1f} s, $0.00",
        "30 output", f"prompt {outcome['prompt']}", "refused: Read", "E_QUOTE `no such words`",
        "1 dropped",
        "stderr: a word of warning",
    ):  # fmt: skip
        assert words in shown, (words, shown)


MORE = ("ATTEMPTS = 5", "LOCKED_FOR_S = 900.0", 'if "@" not in mail')


def digest(words):
    return hashlib.sha256(words.encode()).hexdigest()[:16]


# -- the limit of a month


class Terminal:
    """`preread` with a person at a terminal; to be entered."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._controller)

    def __init__(self, project, env, *arguments):
        self._controller, terminal = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "preread", *arguments],
            cwd=project, env=child_environ({"TERM": "xterm", **env}),
            stdin=terminal, stdout=terminal, stderr=terminal,
            start_new_session=True,
        )  # fmt: skip
        os.close(terminal)
        self.seen = ""

    def read(self):
        """What it writes next; nothing at its end."""
        assert select.select([self._controller], [], [], PATIENCE)[0], self.seen
        try:
            part = os.read(self._controller, 65536).decode("utf-8", "replace").replace("\r\n", "\n")
        except OSError:  # Linux: the last holder of the other end has closed it
            return ""
        self.seen += part
        return part

    def until(self, words):
        while words not in self.seen:
            assert self.read(), self.seen

    def answer(self, words):
        os.write(self._controller, f"{words}\n".encode())

    def ended(self):
        """The exit status."""
        while self.read():
            pass
        return self.process.wait(PATIENCE)


def test_at_a_terminal_a_person_is_asked_once_a_month_and_a_pipe_never(
    claude, api, tmp_path, project
):
    env = headless(claude, api, tmp_path, **TIGHT)
    piped = load(project, env)
    assert (piped["status"], piped["code"], piped["builder"]) == ("degraded", "E_MONEY", "static")
    assert "$0.00 of this month's limit of $0.50" in piped["warnings"][0]
    assert "may cost $1.00" in piped["warnings"][0]
    command = re.search(r"`preread (load login[^`]*)` in a terminal", piped["hint"])[1]
    assert not api.requests

    with Terminal(project, env, *command.split()) as refusing:  # as the hint says
        refusing.until(QUESTION)
        refusing.answer("n")
        assert refusing.ended() == 0
    assert ": built by static" in refusing.seen
    assert ": Raise `month_usd`" in refusing.seen
    assert not api.requests

    api.play(writing(STANDARD))
    with Terminal(project, env, *command.split()) as agreeing:
        agreeing.until(QUESTION)
        agreeing.answer("y")
        assert agreeing.ended() == 0
    assert ": built by claude (standard)" in agreeing.seen

    with Terminal(project, env, "load", "login", "--force") as again:  # not asked again this month
        assert again.ended() == 0
    assert ": built by claude (standard)" in again.seen
    assert QUESTION not in again.seen
    assert load(project, env, "--force")["status"] == "ok"  # nor does a pipe need to
    assert len(sessions(api)) == len(ledger(project)) == 3

    with Terminal(
        project, {**env, "PREREAD_MONTH_USD": "0.4"}, "load", "login", "--force"
    ) as other:  # another limit
        other.until(QUESTION)
        begun = time.monotonic()
        os.killpg(other.process.pid, signal.SIGINT)
        assert other.ended() == 130
        assert time.monotonic() - begun < 10  # who reads from a terminal does not hold it up
    assert "E_CANCELLED: Interrupted." in other.seen
    assert "Traceback" not in other.seen
    assert len(sessions(api)) == 3
    assert load(project, env)["state"] == "cached"
    assert left_behind(project) == []


async def called(session, feature, **given):
    return (
        await session.call_tool("load_context", {"feature": feature, **given})
    ).structured_content


NO = {
    "declined": ElicitResult(action="decline"),
    "went away": ElicitResult(action="cancel"),
    "unticked": ElicitResult(action="accept", content={"agreed": False}),
    "broken": MCPError(-32603, "the dialog could not be shown"),
}


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_over_mcp_the_person_behind_the_client_is_asked(claude, api, tmp_path, project, mode):
    env = headless(claude, api, tmp_path, **TIGHT)
    person = Person(None)
    async with connect(project, mode, env, "claude-code", person=person) as session:
        for name, answer in NO.items():
            if (
                name == "broken" and mode != "legacy"
            ):  # there it is the client that makes the call again, or not
                continue
            person.asked, person.answer = [], answer
            reply = await called(session, "login", force=True)
            assert (reply["status"], reply["code"], reply["builder"]) == (
                "degraded",
                "E_MONEY",
                "static",
            ), name
            assert len(person.asked) == 1, name
            again = await called(session, "login")  # a dossier stands: nobody is asked
            assert (again["state"], again["code"]) == ("cached", "E_MONEY")
            assert len(person.asked) == 1, name
    assert QUESTION in person.asked[0]
    assert "$0.50" in person.asked[0]
    async with connect(
        project, mode, env, "claude-code"
    ) as session:  # a client that cannot ask anybody
        reply = await called(session, "login", force=True)
        assert (reply["status"], reply["code"]) == ("degraded", "E_MONEY")
        assert reply["hint"]
    assert not api.requests

    api.play(writing(STANDARD))
    person = Person(ElicitResult(action="accept", content={"agreed": True}))
    async with connect(project, mode, env, "claude-code", person=person) as session:
        reply = await called(session, "login", force=True)
        assert (reply["status"], reply["builder"], reply["state"]) == ("ok", "claude", "built")
        params = {"feature": "login", "files": ["anti-patterns"]}
        await session.call_tool("context_operation", {"method": "context.extend", "params": params})
    assert len(person.asked) == 1  # once a month
    assert len(sessions(api)) == len(ledger(project)) == 2


# -- what a server remembers


@pytest.mark.anyio
async def test_no_cached_reply_outlives_a_change_of_template_settings_or_program(
    claude, api, tmp_path, project
):
    calls = LoggingGit(tmp_path / "git")
    programs = tmp_path / "programs"
    programs.mkdir()
    path = os.pathsep.join((str(programs), calls.env["PATH"]))
    env = {**headless(claude, api, tmp_path), "PATH": path, "PREREAD_CLAUDE": "claude-of-tests"}
    env["PREREAD_WATCH"] = "false"  # the watcher asks git, too, when it has time
    api.play(writing(STANDARD))

    async def from_memory(session, status="ok"):
        """Wait until everything is old enough, then see whether a reply asked git for nothing."""
        await called(session, "login")
        await anyio.sleep(YOUNG)
        await called(session, "login")
        asked = len(calls.calls)
        reply = await called(session, "login")
        assert (reply["state"], reply["status"]) == ("cached", status)
        return reply, len(calls.calls) == asked

    async with connect(project, env=env, name="claude-code") as session:
        light, remembered = await from_memory(session)
        assert (light["level"], remembered) == ("light", True)
        (programs / "claude-of-tests").symlink_to(claude)
        standard = await called(session, "login")
        assert (standard["state"], standard["level"]) == ("built", "standard")

        assert (await from_memory(session))[1]
        template = project / ".project" / "prompts" / "context-builder.md.j2"
        template.parent.mkdir()
        template.write_text(
            '{% extends "default/context-builder.md.j2" %}\n'
            "{% block bounds %}{{ super() }}\nOur own words.\n{% endblock %}"
        )
        assert (await called(session, "login"))["state"] == "built"
        assert "Our own words." in api.requests[-1].prompt

        assert (await from_memory(session))[1]
        template.write_text(template.read_text().replace("Our own words.", "Other words now."))
        assert (await called(session, "login"))["state"] == "built"
        assert "Other words now." in api.requests[-1].prompt

        assert (await from_memory(session))[1]
        api.play(lambda request: UNAUTHORIZED)
        (project / ".project" / "config.toml").write_text("max_facts = 50\n")
        assert (await called(session, "login"))["status"] == "degraded"
        assert not (await from_memory(session, "degraded"))[1]


# -- builds at the same time


def test_builds_at_the_same_time_share_what_the_month_has_left(claude, api, tmp_path, project):
    """Two processes, room for one build: the first one's reservation refuses the second."""
    env = headless(claude, api, tmp_path, level="standard", month_usd="1.5", max_usd="1")
    held, others = threading.Event(), []

    def script(request):
        if not others:  # the first build's model waits until the second build has ended
            others.append(load(project, env, feature="cart"))
            held.set()
        return writing(STANDARD)(request)

    api.play(script)
    first = load(project, env)
    assert held.is_set()
    (second,) = others
    assert (first["builder"], second["builder"]) == ("claude", "static")
    assert second["code"] == "E_MONEY"
    assert "$1.00 is reserved by running builds" in json.dumps(second)
    assert [row["feature"] for row in ledger(project)] == ["login"]
    assert json.loads(Layout(project).reserved.read_text()) == []
