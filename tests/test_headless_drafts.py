"""What happens to a model's drafts, good and bad: real `preread` runs the real Claude Code."""

import hashlib
import json
import subprocess
import sys
import threading
import time

import pytest

from _claude import PINNED
from _headless import (
    CODEBASE,
    EXISTING_TESTS,
    PATTERNS,
    STANDARD,
    SUMMARY,
    headless,
    line,
    output,
    sessions,
    writing,
)
from _headless_scene import DONE, Scene, turns
from _messages_api import Turn, tool
from _processes import LOGIN
from conftest import child_environ

SONNET = "claude-sonnet"
DRAFTED = sorted(STANDARD)


@pytest.fixture
def scene(claude, api, tmp_path):
    return Scene(claude, api, tmp_path).make()


def second_messages(api):
    """What was sent after the prompt, once for each message."""
    said = {
        block["text"]: None
        for request in api.requests
        for message in request.messages[1:]
        if message["role"] == "user" and isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "text" and not block["text"].startswith("<system-reminder>")
    }
    return list(said)


# -- a good run


def test_a_good_run_is_published_recorded_and_cached_until_its_template_changes(scene, api):
    api.play(writing(STANDARD))
    first = scene.load()
    assert (first["status"], first["state"], first["builder"], first["level"]) == (
        "ok",
        "built",
        "claude",
        "standard",
    )
    assert (first["missing"], first["warnings"]) == ([], [])
    assert first["stats"]["turns"] == 2
    assert first["stats"]["dropped"] == 0
    texts = scene.texts
    assert {name: texts[name] for name in STANDARD} == STANDARD
    assert sorted(texts) == sorted(first["files"])
    assert set(texts) == {*STANDARD, "anti-patterns.md", "failures.md", "requirements.md"}, (
        "where the static builder has facts"
    )
    assert "compare before counting" in texts["anti-patterns.md"]
    assert "test_login_gives_a_token" in texts["failures.md"]
    manifest, record = scene.manifest, scene.record
    assert (manifest["builder"], manifest["status"], manifest["fault"]) == ("claude", "ok", None)
    assert (manifest["drafted"], manifest["missing"]) == (DRAFTED, [])
    assert manifest["model"].startswith(SONNET)
    outcome = record["outcome"]
    assert (outcome["version"], outcome["model"], outcome["turns"]) == (
        PINNED,
        manifest["model"],
        2,
    )
    assert outcome["tokens"] == {"input": 200, "output": 20, "cache_read": 0, "cache_creation": 0}
    prompts = {
        hashlib.sha256(block["text"].encode()).hexdigest()[:16]
        for block in api.requests[0].messages[0]["content"]
    }
    assert outcome["prompt"] in prompts
    assert (outcome["denials"], outcome["fault"], record["problems"]) == ([], None, [])
    [paid] = scene.ledger
    cost = first["stats"]["cost_usd"]
    assert (
        0
        < cost
        == round(outcome["cost_usd"], 6)
        == paid["cost_usd"]
        == first["stats"]["cost_today_usd"]
    )
    assert (paid["feature"], paid["turns"], paid["tokens"]) == ("login", 2, outcome["tokens"])
    said = scene.run("status", "login").out
    assert all(word in said for word in (PINNED, manifest["model"], "standard"))

    asked = len(api.requests)
    again = scene.load()
    assert (again["state"], again["dossier"], again["stats"]["turns"]) == (
        "cached",
        first["dossier"],
        2,
    )
    assert (len(api.requests), len(scene.ledger)) == (asked, 1)

    own = scene.project / ".project" / "prompts" / "context-builder.md.j2"
    own.parent.mkdir()
    own.write_text(
        '{% extends "default/context-builder.md.j2" %}{% block bounds %}Our own bounds.{% '
        "endblock %}"
    )
    assert scene.load()["state"] == "built"
    assert len(scene.ledger) == 2
    assert "Our own bounds." in api.requests[-1].prompt
    assert scene.record["outcome"]["prompt"] != outcome["prompt"]
    assert scene.load()["state"] == "cached"


# -- facts that fail the check


INVENTED = {
    "- the line is invented: `token-` (login.py:9999)": "E_SOURCE_LINES",
    f"- the quote is invented: `token_of_nobody` (login.py:{line('token-')})": "E_QUOTE",
    "- the file is invented: `token-` (src/nowhere.py:3)": "E_SOURCE_FILE",
    "- the commit is invented: `token-` (commit:deadbeef)": "E_SOURCE_COMMIT",
    "- the test is invented: `login(` (tests/test_login.py::test_of_nothing)": "E_SOURCE_TEST",
    "- the server is invented: the login is locked (tracker://issue/SHOP-1)": "E_SOURCE_EXTERNAL",
    '- the absence is invented: no test logs in (absent:tests/**/*.py~"login")': "E_SOURCE_PRESENT",
    "- it has no source at all": "E_FACT_SOURCE",
}


def with_invented(text):
    return text + "\n## Invented\n" + "\n".join(INVENTED) + "\n"


def test_invented_facts_go_back_once_and_what_stays_invented_is_dropped_and_named(scene, api):
    api.play(
        turns({**STANDARD, "patterns.md": with_invented(PATTERNS)})
    )  # to what comes back it says that it is done
    reply = scene.load()
    assert (reply["status"], reply["builder"], reply["stats"]["dropped"]) == (
        "ok",
        "claude",
        len(INVENTED),
    )
    assert scene.texts["patterns.md"] == PATTERNS
    assert sorted(scene.codes) == sorted(("patterns.md", code) for code in INVENTED.values())
    [findings] = second_messages(api)
    assert all(
        f"patterns.md:{number}: {code}" in findings
        for number, code in enumerate(INVENTED.values(), 8)
    )
    assert len(api.requests) == 3, "never twice"
    assert len({request.session for request in api.requests}) == 1
    assert reply["stats"]["turns"] == 3


def test_a_draft_that_comes_back_corrected_is_published_whole(scene, api):
    codebase = with_invented(CODEBASE)
    api.play(
        turns({**STANDARD, "codebase.md": codebase}, lambda _: DONE, {"codebase.md": CODEBASE})
    )
    reply = scene.load()
    assert (reply["status"], reply["stats"]["dropped"], scene.record["problems"]) == ("ok", 0, [])
    assert {name: scene.texts[name] for name in STANDARD} == STANDARD
    assert (len(second_messages(api)), reply["stats"]["turns"], len(scene.ledger)) == (1, 4, 1)
    assert scene.ledger[0]["cost_usd"] == reply["stats"]["cost_usd"]


def test_a_single_dropped_fact_of_many_goes_back_too(scene, api):
    more = [
        f"- a line of its own {n}: `ATTEMPTS = 5` (login.py:{line('ATTEMPTS')})" for n in range(9)
    ]
    text = PATTERNS + "\n".join([*more, next(iter(INVENTED))]) + "\n"
    api.play(writing({**STANDARD, "patterns.md": text}))
    reply = scene.load()
    assert (reply["status"], reply["stats"]["dropped"], len(api.requests)) == ("ok", 1, 3)
    assert "invented" not in scene.texts["patterns.md"]
    [findings] = second_messages(api)
    assert f"E_SOURCE_LINES `login.py` has {len(LOGIN.splitlines())} lines" in findings
    assert f"`token-` is at login.py:{line('token-')}" in findings
    assert scene.record["outcome"]["sent_back"] is True


def test_a_model_corrects_just_the_lines_that_failed(scene, api):
    """It edits its drafts in place; whatever else it tries to edit stays as it is."""
    wrong = next(iter(INVENTED))
    right = wrong.replace("9999", str(line("token-"))).replace("invented", "right")
    before = (scene.project / "login.py").read_bytes()
    calls = []

    def corrects(request):
        own, other = output(request) / "patterns.md", scene.project / "login.py"
        calls.append(tool("Edit", file_path=str(own), old_string=wrong, new_string=right))
        calls.append(tool("Edit", file_path=str(other), old_string="5", new_string="6"))
        return calls

    bad = {**STANDARD, "patterns.md": f"{PATTERNS}{wrong}\n"}
    api.play(turns(bad, lambda _: DONE, corrects))
    reply = scene.load()
    assert (reply["status"], reply["stats"]["dropped"]) == ("ok", 0)
    assert scene.texts["patterns.md"] == f"{PATTERNS}{right}\n"
    assert [failed for _, failed in scene.results(calls)] == [False, True]
    assert (scene.project / "login.py").read_bytes() == before


def test_what_loses_no_fact_is_not_sent_back(scene, api):
    """A heading of another feature, the same fact twice: nothing a model could mend."""
    twice = PATTERNS.splitlines()[-1]
    text = PATTERNS.replace("login\n", "log-in\n", 1) + twice + "\n"
    api.play(writing({**STANDARD, "patterns.md": text}))
    reply = scene.load()
    assert (reply["status"], len(api.requests)) == ("ok", 2)
    assert scene.texts["patterns.md"] == PATTERNS
    assert {code for _, code in scene.codes} == {"E_TITLE", "E_FACT_TWICE"}
    assert scene.record["outcome"]["sent_back"] is False


def dear(tokens, goes_on=True):
    """A turn that costs so many tokens, after which the model would go on, or is done."""
    blocks = [tool("Read", file_path="login.py")] if goes_on else DONE
    return lambda request: Turn(blocks, usage={"input_tokens": tokens})


# A command line for which time is short as soon as a twentieth of it has passed, which are three of
# the 60 seconds that are left when the child begins.
HURRIED = """
from preread.builders import claude
claude.MIN_LEFT = 0.95
from preread.__main__ import main
main()
"""


def test_a_draft_is_not_sent_back_when_money_is_short(scene, api):
    api.play(turns({**STANDARD, "patterns.md": with_invented(PATTERNS)}, dear(140_000)))
    assert_not_sent_back(scene, api, scene.load(max_usd=0.3))


def test_a_draft_is_not_sent_back_when_time_is_short(scene, api):
    def slow(request):
        threading.Event().wait(3.2)
        return DONE

    api.play(turns({**STANDARD, "patterns.md": with_invented(PATTERNS)}, slow))
    env = headless(scene.claude, api, scene.tmp, timeout=60)
    done = subprocess.run(
        [sys.executable, "-c", HURRIED, "load", "login", "--level", "standard", "--json"],
        cwd=scene.project, env=child_environ(env), capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    assert_not_sent_back(scene, api, json.loads(done.stdout))


def assert_not_sent_back(scene, api, reply):
    assert (reply["status"], reply["stats"]["dropped"]) == ("ok", len(INVENTED))
    assert len(api.requests) == 2
    assert scene.texts["patterns.md"] == PATTERNS
    assert second_messages(api) == []


@pytest.mark.parametrize(
    "last", [dear(115_000, goes_on=False), dear(125_000)], ids=["nearly", "beyond"]
)
def test_drafts_that_used_up_their_money_are_corrected_with_what_was_kept_for_it(scene, api, last):
    """A fifth of the limit is kept: the run that drafts ends, and another one corrects."""
    wrong = next(iter(INVENTED))
    right = wrong.replace("9999", str(line("token-"))).replace("invented", "right")
    bad = {**STANDARD, "patterns.md": f"{PATTERNS}{wrong}\n"}

    def corrects(request):
        path = str(output(request) / "patterns.md")
        edit = tool("Edit", file_path=path, old_string=wrong, new_string=right)
        return [[tool("Read", file_path=path)], [edit], DONE][request.turn]

    api.play(turns(bad, last))
    api.play(corrects, when="In an earlier run you drafted")
    reply = scene.load(max_usd=0.3)
    assert (reply["status"], reply["builder"], reply["stats"]["dropped"]) == ("ok", "claude", 0)
    assert scene.texts["patterns.md"] == f"{PATTERNS}{right}\n"
    drafting, correcting = sessions(api)
    sessions_of = [request.session for request in api.requests]
    assert sessions_of == [drafting] * 2 + [correcting] * 3
    assert "E_SOURCE_LINES" in api.requests[2].prompt
    costs = [row["cost_usd"] for row in scene.ledger]
    assert len(costs) == 2
    assert 0.24 * 0.9 < costs[0] < sum(costs) < 0.3
    assert reply["stats"]["cost_usd"] == pytest.approx(sum(costs))
    assert scene.record["outcome"]["sent_back"] is True


# -- drafts that are none


PROSE = "I have looked at the login.\n\nIt is well tested, and ends in a token.\n"


def test_for_prose_the_static_builder_steps_in_and_says_so_until_the_next_try(scene, api):
    api.play(writing({**STANDARD, "patterns.md": PROSE}))
    reply = scene.load()
    assert (reply["status"], reply["code"], reply["builder"]) == ("degraded", "E_DRAFTS", "claude")
    assert "no fact of the model's patterns.md checks out" in " ".join(reply["warnings"])
    assert "preread status" in reply["hint"]
    [findings] = second_messages(api)
    assert "patterns.md:1: E_FILE_MISSING is required, and has no fact that checks out" in findings
    assert "E_PROSE" in findings
    texts = scene.texts
    assert "well tested" not in texts["patterns.md"]
    assert "- " in texts["patterns.md"], "the static builder's"
    assert texts["codebase.md"] == CODEBASE
    manifest = scene.manifest
    assert (manifest["drafted"], manifest["missing"]) == (
        [name for name in DRAFTED if name != "patterns.md"],
        ["patterns.md"],
    )
    assert ("patterns.md", "E_PROSE") in scene.codes
    asked = len(api.requests)
    again = scene.load()
    assert (again["state"], again["status"], again["code"]) == ("cached", "degraded", "E_DRAFTS")
    assert len(api.requests) == asked

    api.play(writing(STANDARD))
    assert (scene.load(degraded_for=0)["status"], scene.texts["patterns.md"]) == ("ok", PATTERNS)


def test_a_required_file_that_is_missing_degrades_and_an_optional_one_does_not(scene, api):
    api.play(writing({"patterns.md": PATTERNS, "summary.md": SUMMARY}))
    reply = scene.load()
    assert (reply["status"], reply["code"]) == ("degraded", "E_DRAFTS")
    [findings] = second_messages(api)
    assert "codebase.md:1: E_FILE_MISSING" in findings
    assert "existing-tests.md" not in findings
    manifest = scene.manifest
    assert (manifest["drafted"], manifest["missing"]) == (
        ["patterns.md", "summary.md"],
        ["existing-tests.md", "codebase.md"],
    )

    api.play(
        writing({name: text for name, text in STANDARD.items() if name != "existing-tests.md"})
    )
    reply = scene.load("--force")
    assert (reply["status"], reply["missing"], reply["warnings"]) == ("ok", [], [])
    assert scene.manifest["drafted"] == [name for name in DRAFTED if name != "existing-tests.md"]
    assert scene.texts["existing-tests.md"] != EXISTING_TESTS
    assert "- " in scene.texts["existing-tests.md"], "the static builder's"


def test_unrequested_files_are_reported_and_the_static_ones_kept(scene, api):
    invented = (
        f"# Failures: login\n\n## All\n- it never failed: `ATTEMPTS` "
        f"(login.py:{line('ATTEMPTS')})\n"
    )
    more = {
        "failures.md": invented,
        "notes.md": "# Notes\n",
        "manifest.json": "{}",
        "sub/patterns.md": PATTERNS,
    }
    api.play(writing({**STANDARD, **more}))
    reply = scene.load()
    assert (reply["status"], len(api.requests)) == ("ok", 2)
    assert "never failed" not in reply["dossier"]
    assert "test_login_gives_a_token" in scene.texts["failures.md"]
    assert scene.manifest["drafted"] == DRAFTED
    named = ("failures.md", "manifest.json", "notes.md", "sub")
    assert sorted(scene.codes) == [(name, "E_FILE_NAME") for name in named]
    assert sorted(path.name for path in scene.layout.dossier("login").iterdir()) == sorted(
        [*scene.texts, "manifest.json"]
    )


# -- drafts that no reader expects


def test_odd_drafts_are_read_as_far_as_they_go_and_nothing_hidden_is_published(scene, api):
    at = line("ATTEMPTS")
    hidden = "".join(
        f"- {name}: {char}`ATTEMPTS = 5` (login.py:{at})\n"
        for name, char in {
            "escape": "\x1b[31m",
            "bidi": "\u202e",
            "tags": "\U000e0041",
            "bell": "\x07",
        }.items()
    )
    own = "".join(
        f"- {name} proves nothing ({ref})\n"
        for name, ref in {
            "dossier": ".project/context/login/patterns.md:1",
            "cache": ".project/.cache/preread.log:1",
            "staging": ".project/.cache/staging:1", "git": ".git/HEAD:1",
            "state": ".project/.state/spending.jsonl:1",
        }.items()
    )  # fmt: skip
    odd = {
        "patterns.md": PATTERNS.replace("\n", "\r\n"),
        "codebase.md": CODEBASE.replace("login\n", "logout\n", 1) + hidden + own,
        "existing-tests.md": EXISTING_TESTS
        + f"\n## Open\nSource: login.py:{at}\n```py\nATTEMPTS = 5\n- swallowed (login.py:{at})\n",
        "summary.md": SUMMARY + "\0",
    }
    (scene.project / ".gitignore").write_text(".env\n")
    (scene.project / ".env").write_text("PORT=3000\n")
    (scene.project / "port.txt").symlink_to(".env")
    odd["codebase.md"] += (
        "- guessed: `PORT=3000` (.env:1)\n- through a link: `PORT=3000` (port.txt:1)\n"
    )
    api.play(writing(odd))
    reply = scene.load()
    assert reply["status"] == "ok"
    texts = scene.texts
    assert texts["patterns.md"] == PATTERNS
    assert texts["codebase.md"] == CODEBASE
    assert "swallowed" not in texts["existing-tests.md"]
    assert scene.manifest["drafted"] == [name for name in DRAFTED if name != "summary.md"]
    assert "see failures.md" in texts["summary.md"], "the static builder's"
    codes = scene.codes
    assert [code for name, code in codes if name == "codebase.md"] == [
        "E_TITLE",
        *["E_UNSEEN"] * 4,
        *["E_SOURCE_OWN"] * 5,
        *["E_SOURCE_SECRET"] * 2,
    ]
    assert ("summary.md", "E_FILE_TEXT") in codes
    assert ("existing-tests.md", "E_FENCE_OPEN") in codes
    everywhere = (
        "".join(texts.values()) + json.dumps(scene.record, ensure_ascii=False) + reply["dossier"]
    )
    assert not any(char in everywhere for char in "\x1b\u202e\U000e0041\x07\0\r")


def test_a_flood_of_facts_is_cut_to_the_budget_and_a_draft_of_any_size_is_refused(scene, api):
    at = line("ATTEMPTS")
    flood = "".join(f"- {n} `ATTEMPTS = 5` (login.py:{at})\n" for n in range(5000))
    huge = "".join(f"- {n} `ATTEMPTS = 5` of five thousand (login.py:{at})\n" for n in range(5000))
    api.play(
        writing(
            {
                **STANDARD,
                "patterns.md": PATTERNS + flood,
                "existing-tests.md": EXISTING_TESTS + huge,
            }
        )
    )
    begun = time.monotonic()
    reply = scene.load()
    assert time.monotonic() - begun < 60
    stats = reply["stats"]
    assert reply["status"] == "ok"
    assert stats["facts"] <= 60
    assert stats["tokens"] <= 2000
    assert (stats["dropped"] + stats["cut"]) > 4900
    assert ("patterns.md", "E_FILE_LONG") in scene.codes
    assert ("existing-tests.md", "E_FILE_TEXT") in scene.codes
    assert "of five thousand" not in reply["dossier"]
    assert CODEBASE.rpartition("\n- ")[2] in scene.texts["codebase.md"], (
        "the flood leaves room for others"
    )
