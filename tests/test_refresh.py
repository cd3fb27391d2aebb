"""A dossier follows the code without a model: real `preread`, the real Claude Code, real git."""

import re

import pytest

from _headless import STANDARD, Held, asked_for, headless, line, sessions, writing
from _headless_scene import Scene
from _processes import LOGIN, TESTS, ended, start, until
from conftest import git

SHIFTED = "# a comment\n\n" + LOGIN


@pytest.fixture
def scene(claude, api, tmp_path):
    scene = Scene(claude, api, tmp_path).make()
    api.play(writing(STANDARD))
    assert scene.load()["state"] == "built"
    assert len(sessions(api)) == 1
    return scene


def put(scene, path, text):
    (scene.project / path).write_text(text)


def test_moved_lines_start_no_model_and_the_facts_follow_them(scene, api):
    put(scene, "login.py", SHIFTED)
    reply = scene.load()
    assert (reply["status"], reply["state"], reply["warnings"]) == ("ok", "refreshed", [])
    assert len(sessions(api)) == 1
    assert f"`ATTEMPTS = 5` (login.py:{line('ATTEMPTS', SHIFTED)})" in scene.texts["codebase.md"]
    assert (
        f"`LoginError` (login.py:{line('raise LoginError', SHIFTED)})"
        in (scene.texts["patterns.md"])
    )
    assert scene.load()["state"] == "cached"
    assert len(scene.ledger) == 1, "nothing was paid for it"
    assert scene.record["stats"]["turns"] == 2, "what the build took"


def test_there_and_back_again_gives_the_same_bytes(scene, api):
    before = scene.texts
    git(scene.project, "add", "login.py")
    put(scene, "login.py", SHIFTED)
    assert scene.load()["state"] == "refreshed"
    assert scene.texts != before
    git(scene.project, "checkout", "-q", "login.py")
    assert scene.load()["state"] == "refreshed"
    assert scene.texts == before
    assert len(sessions(api)) == 1


def test_a_models_fact_is_back_when_its_code_is_back(scene, api):
    before = scene.texts
    put(scene, "login.py", LOGIN.replace("ATTEMPTS = 5", "ATTEMPTS = 7"))
    scene.load(rebuild_after=1)
    assert scene.texts != before
    put(scene, "login.py", LOGIN)
    assert scene.load(rebuild_after=1)["state"] == "refreshed"
    assert scene.texts == before
    assert len(sessions(api)) == 1


@pytest.mark.parametrize(
    "reshaped",
    [
        LOGIN.replace("\n", "\r\n"),
        LOGIN.replace("    ", "\t"),
        LOGIN.replace("ATTEMPTS = 5", "ATTEMPTS=5"),
    ],
    ids=["crlf", "tabs", "spaces"],
)
def test_white_space_changes_no_fact(scene, api, reshaped):
    put(scene, "login.py", reshaped)
    reply = scene.load()
    assert reply["state"] in {"refreshed", "cached"}
    assert reply["warnings"] == []
    assert "`ATTEMPTS = 5`" in scene.texts["codebase.md"]
    assert len(sessions(api)) == 1


def test_a_file_that_was_renamed_takes_its_facts_along(scene, api):
    git(scene.project, "mv", "login.py", "signin.py")
    reply = scene.load()
    assert reply["state"] == "refreshed"
    assert f"`ATTEMPTS = 5` (signin.py:{line('ATTEMPTS')})" in scene.texts["codebase.md"]
    assert len(sessions(api)) == 1


def test_a_comment_at_the_end_of_a_cited_line_costs_no_fact(scene, api):
    put(scene, "login.py", LOGIN.replace("ATTEMPTS = 5", "ATTEMPTS = 5  # type: ignore"))
    assert scene.load()["warnings"] == []
    assert "`ATTEMPTS = 5`" in scene.texts["codebase.md"]
    assert len(sessions(api)) == 1


def test_a_fact_whose_line_changed_is_named_and_not_kept(scene, api):
    put(scene, "login.py", LOGIN.replace("ATTEMPTS = 5", "ATTEMPTS = 7"))
    reply = scene.load(rebuild_after=1)
    assert reply["state"] == "refreshed"
    assert "ATTEMPTS = 5" not in "".join(scene.texts.values())
    assert [one for one in reply["warnings"] if "`ATTEMPTS = 5`" in one]
    assert len(sessions(api)) == 1


GUIDE = "# Guide\n\nFive guesses lock the account.\n"
NO_TEST = "the message `no name was given` is in no test"
TWO_PLACES = "the code and the guide agree: `ATTEMPTS = 5`"
WITH_FILE = "the guide says it, too: `LOCKED_FOR_S = 900.0`"


@pytest.fixture
def cited_twice(claude, api, tmp_path):
    """A dossier whose facts have two sources each."""
    scene = Scene(claude, api, tmp_path).make()
    put(scene, "guide.md", GUIDE)
    git(scene.project, "add", "guide.md")
    where = f"login.py:{line('no name')}"
    facts = [
        f'- {NO_TEST} ({where}, absent:tests/**~"no name was given")',
        f"- {TWO_PLACES} (login.py:{line('ATTEMPTS')}, guide.md:3)",
        f"- {WITH_FILE} (login.py:{line('LOCKED_FOR_S')}, guide.md)",
    ]
    tests = STANDARD["existing-tests.md"] + "\n".join(["", "## Two sources", *facts, ""])
    api.play(writing({**STANDARD, "existing-tests.md": tests}))
    assert scene.load()["state"] == "built"
    assert all(fact in scene.texts["existing-tests.md"] for fact in facts)
    return scene


SAYS = 'def test_it():\n    assert "no name was given"\n'


@pytest.mark.parametrize(
    ("path", "text", "lost"),
    [
        ("tests/deep/test_names.py", SAYS, NO_TEST),
        ("src/test_names.py", SAYS, NO_TEST),
        ("web/names.test.js", 'test("it", () => expect("no name was given"))\n', NO_TEST),
        ("guide.md", GUIDE.replace("Five", "Seven"), TWO_PLACES),
        ("notes.py", SAYS, ""),
        ("guide.md", GUIDE + "More.\n", ""),
    ],
    ids=["its folder", "elsewhere", "other language", "a line", "no test", "another line"],
)
def test_a_fact_that_loses_one_of_its_sources_is_named_and_not_kept(
    cited_twice, api, path, text, lost
):
    scene = cited_twice
    (scene.project / path).parent.mkdir(parents=True, exist_ok=True)
    put(scene, path, text)
    reply = scene.load(rebuild_after=1)
    for fact in (NO_TEST, TWO_PLACES, WITH_FILE):
        assert (fact in scene.texts["existing-tests.md"]) == (fact != lost)
        assert any(fact in one for one in reply["warnings"]) == (fact == lost)
    if lost:
        found = reply["refresh"]
        assert [lost in one for one in (*found["changed"], *found["gone"])].count(True) == 1
    assert len(sessions(api)) == 1


def test_impact_knows_that_any_test_may_say_what_no_test_says(cited_twice):
    (cited_twice.project / "src").mkdir()
    put(cited_twice, "src/test_names.py", SAYS)
    found = cited_twice.run("impact", "src/test_names.py", "--json").json["facts"]
    other = 'no test locks an account: "ATTEMPTS" is in none'
    assert {one["text"]: one["how"] for one in found} == {NO_TEST: "gone", other: "cites"}


def test_a_fact_whose_file_is_gone_is_not_kept_for_its_other_source(cited_twice):
    scene = cited_twice
    git(scene.project, "rm", "-qf", "guide.md")
    scene.load(rebuild_after=1)
    assert NO_TEST in scene.texts["existing-tests.md"]
    assert TWO_PLACES not in scene.texts["existing-tests.md"]
    assert WITH_FILE not in scene.texts["existing-tests.md"]


def test_the_model_drafts_again_the_files_that_lost_too_much_and_no_other(scene, api):
    put(scene, "login.py", LOGIN.replace("ATTEMPTS = 5", "ATTEMPTS = 7"))
    again = STANDARD["codebase.md"].replace("= 5", "= 7")
    api.play(writing({"codebase.md": again}))
    reply = scene.load(rebuild_after=0)
    assert reply["status"] == "ok"
    assert len(sessions(api)) == 2
    assert "`ATTEMPTS = 7`" in scene.texts["codebase.md"]
    assert scene.texts["patterns.md"] == STANDARD["patterns.md"]
    assert scene.manifest["drafted"] == sorted(STANDARD)


def test_a_sparse_checkout_starts_no_model_and_costs_no_fact_for_good(scene, api):
    before = scene.texts
    git(scene.project, "sparse-checkout", "set", "--no-cone", "/*", "!/login.py")
    reply = scene.load()
    assert reply["state"] == "refreshed"
    assert "ATTEMPTS = 5" in " ".join(reply["warnings"])
    assert "ATTEMPTS = 5" not in "".join(scene.texts.values())
    git(scene.project, "sparse-checkout", "disable")
    assert scene.load()["warnings"] == []
    assert scene.texts == before
    assert len(sessions(api)) == 1


def test_counts_are_right_after_a_test_was_added_elsewhere(scene):
    """A computed fact depends on more than the lines that it cites."""
    before = scene.load("--level", "light", "--force")["dossier"]
    added = TESTS.replace("def test_", "def test_other_", 1)
    put(scene, "tests/test_more.py", added)
    after = scene.load("--level", "light")
    fresh = scene.load("--level", "light", "--force")
    assert after["dossier"] != before
    assert after["dossier"] == fresh["dossier"]


def test_a_change_that_matters_to_no_fact_leaves_every_byte(scene, api):
    before = scene.texts
    put(scene, "notes.txt", "nothing about it\n")
    assert scene.load()["state"] == "cached"
    assert scene.texts == before
    assert len(sessions(api)) == 1


def test_what_a_person_wrote_stays_word_for_word(scene, api):
    path = scene.layout.dossier("login") / "patterns.md"
    mine = f"- never retry: `raise LoginError` (login.py:{line('raise LoginError')})"
    path.write_text(
        path.read_text() + f"\n## Ours\n{mine}\n- ask Ann first (login.py:1)\n- no source\n"
    )
    scene.load("--force", "--level", "light")
    put(scene, "login.py", SHIFTED.replace("raise LoginError", "return None  #"))
    reply = scene.load()
    text = scene.texts["patterns.md"]
    assert mine in text
    assert "- ask Ann first (login.py:3)" in text
    assert "- no source\n" in text
    told = [one for one in reply["warnings"] if one.startswith("A person wrote this")]
    assert [one.partition(": ")[0].partition(", and ")[2] for one in told] == [
        "its sources do not say it",
        "it names no source",
    ]
    assert [("never retry" in one, "no source" in one) for one in told] == [
        (True, False),
        (False, True),
    ]
    assert scene.load()["state"] == "cached"


def test_sources_that_a_person_corrects_in_a_models_fact_stay(scene, api):
    path, at = scene.layout.dossier("login") / "codebase.md", line("ATTEMPTS")
    model = f"five guesses: `ATTEMPTS = 5` (login.py:{at})"
    assert model in scene.texts["codebase.md"]
    path.write_text(path.read_text().replace(model, model.replace(f":{at}", f":{at}-{at + 1}")))
    edited = scene.texts
    assert scene.load()["state"] == "cached"
    assert scene.texts == edited
    for text, arguments, runs in (
        (LOGIN, (), 1), (LOGIN, ("--force",), 2), (SHIFTED, (), 2), (SHIFTED, (), 2),
    ):  # fmt: skip
        put(scene, "login.py", text)
        reply = scene.load(*arguments)
        assert (reply["status"], reply["warnings"]) == ("ok", [])
        now = line("ATTEMPTS", text)
        assert model.replace(f":{at}", f":{now}-{now + 1}") in scene.texts["codebase.md"]
        assert scene.texts["codebase.md"].count("five guesses") == 1
        assert len(sessions(api)) == runs
        assert scene.manifest["lost"] == []
        shown = scene.run("show", "login", "--ids", "--json").json["facts"]
        [theirs] = [one["text"] for one in shown if one["by"] == "person"]
        assert theirs == "five guesses: `ATTEMPTS = 5`"


def test_a_fact_whose_quote_left_its_file_is_named_and_not_kept(scene, api):
    drafts = STANDARD["codebase.md"] + "- a locked account says so: `too many` (login.py)\n"
    put(scene, "login.py", LOGIN + '\nLOCKED = "too many"\n')
    api.play(writing({**STANDARD, "codebase.md": drafts}))
    assert scene.load("--force")["status"] == "ok"
    assert "`too many`" in scene.texts["codebase.md"]
    put(scene, "login.py", LOGIN)
    reply = scene.load(rebuild_after=1)
    assert reply["state"] == "refreshed"
    assert "`too many`" not in scene.texts["codebase.md"]
    assert [one for one in reply["warnings"] if "`too many`" in one]
    assert [one for one in reply["refresh"]["changed"] if "`too many`" in one]


LIMITS = [f"LIMIT_{n} = {1000 + n}" for n in range(11)]


@pytest.mark.parametrize(("changed", "runs"), [(4, 1), (5, 2)], ids=["a quarter", "more"])
def test_a_model_runs_again_when_more_than_a_quarter_of_its_facts_is_lost(
    claude, api, tmp_path, changed, runs
):
    scene = Scene(claude, api, tmp_path).make({"limits.py": "\n".join(LIMITS)})
    facts = [f"- limit {n} is `{text}` (limits.py:{n})" for n, text in enumerate(LIMITS, 1)]
    codebase = "\n".join(["# Codebase: login", "", "## Limits", *facts, ""])
    api.play(writing({**STANDARD, "codebase.md": codebase}))
    assert scene.load()["state"] == "built"
    before = scene.texts
    drafted = "".join(before[name] for name in scene.manifest["drafted"])
    assert len(re.findall("^- ", drafted, re.MULTILINE)) == 16
    assert len(sessions(api)) == 1
    put(scene, "limits.py", "\n".join([f"{one}0" for one in LIMITS[:changed]] + LIMITS[changed:]))
    api.play(writing({"codebase.md": codebase.replace(f"{LIMITS[0]}`", f"{LIMITS[0]}0`")}))
    assert scene.load()["state"] == ("refreshed" if runs == 1 else "built")
    assert len(sessions(api)) == runs
    again = [one for one in api.requests if one.session != api.requests[0].session]
    assert {*map(str, map(asked_for, again))} <= {"['codebase.md']"}
    assert (f"`{LIMITS[0]}0`" in scene.texts["codebase.md"]) == (runs == 2)
    assert scene.texts["patterns.md"] == before["patterns.md"]


def test_what_a_person_adds_takes_the_room_of_computed_facts_and_starts_no_model(
    claude, api, tmp_path
):
    scene = Scene(claude, api, tmp_path).make({"limits.py": "\n".join(LIMITS)})
    facts = [f"- limit {n} is `{text}` (limits.py:{n})" for n, text in enumerate(LIMITS, 1)]
    api.play(
        writing({**STANDARD, "codebase.md": "# Codebase: login\n\n## Limits\n" + "\n".join(facts)})
    )
    assert scene.load(max_facts=18)["state"] == "built"
    drafted = re.findall(r"^- limit \d+", scene.texts["codebase.md"], re.MULTILINE)
    path = scene.layout.dossier("login") / "failures.md"

    def add(count):
        mine = [f"- ask Ann {n}: `{text}` (limits.py:{n})" for n, text in enumerate(LIMITS, 1)]
        path.write_text("\n".join(["# Failures: login", "", "## Ann", *mine[:count], ""]))
        reply = scene.load(max_facts=18)
        assert not [one for one in reply["warnings"] if "gone" in one]
        assert scene.manifest["lost"] == []
        return re.findall(r"^- limit \d+", scene.texts["codebase.md"], re.MULTILINE)

    assert add(2) == drafted
    assert len(add(len(LIMITS))) < len(drafted), "there is no room for all"
    put(scene, "limits.py", "\n".join([f"{LIMITS[0]}0", *LIMITS[1:]]))
    assert scene.load(max_facts=18)["state"] == "refreshed"
    assert len(sessions(api)) == 1


def blamed(scene, text):
    [found] = scene.run("blame", text, "--json").json["facts"]
    return found


def test_blame_distinguishes_models_rules_and_people(scene):
    first = git(scene.project, "rev-parse", "HEAD").strip()[:12]
    put(scene, "login.py", SHIFTED)
    git(scene.project, "commit", "-qam", "a comment")
    path = scene.layout.dossier("login") / "codebase.md"
    path.write_text(f"{path.read_text()}- Ann: `LOCKED_FOR_S = 900.0` (login.py:4)\n")
    assert scene.load()["state"] == "refreshed"
    second = git(scene.project, "rev-parse", "HEAD").strip()[:12]
    found = blamed(scene, "five guesses: `ATTEMPTS = 5`")
    model = scene.manifest["model"]
    assert model
    assert found["by"] == f"claude ({model})"
    assert [(one["how"], one["kind"], one["by"], one["commit"]) for one in found["origins"]] == [
        ("refreshed", "moved", "static", second),
        ("built", "added", f"claude ({model})", first),
    ]
    assert "was:" not in scene.run("blame", found["id"]).out, "its words are the same"
    note = "`NOTE: compare before counting, or a right password locks the account`"
    in_no_draft = blamed(scene, f"`login`: {note}")
    assert (in_no_draft["by"], in_no_draft["origins"][-1]["by"]) == ("static", "static")
    assert blamed(scene, "Ann: `LOCKED_FOR_S = 900.0`")["by"] == "person"
    put(scene, "login.py", SHIFTED.replace("ATTEMPTS = 5", "ATTEMPTS = 7"))
    scene.load(rebuild_after=1)
    now = blamed(scene, "`ATTEMPTS = 7` login.py:5, `LOCKED_FOR_S = 900.0` :6")
    assert (now["by"], now["origins"][0]["by"]) == ("static", "static")


def test_an_edit_of_a_models_fact_survives_paid_rebuilds_and_conflicts_are_shown(scene, api):
    path = scene.layout.dossier("login") / "codebase.md"
    built = "- five guesses: `ATTEMPTS = 5` (login.py:3)"
    mine = "- Ann says never to raise the five guesses: `ATTEMPTS = 5` (login.py:3)"
    path.write_text(path.read_text().replace(built, mine))
    for words in ("five guesses", "a person may guess five times"):  # the same, then reworded
        again = STANDARD["codebase.md"].replace("five guesses", words)
        api.play(writing({**STANDARD, "codebase.md": again}))
        reply = scene.load("--force")
        assert (reply["state"], reply["warnings"]) == ("built", [])
        assert mine in scene.texts["codebase.md"]
        assert (f"- {words}:" in scene.texts["codebase.md"]) == (words != "five guesses")
    put(scene, "login.py", LOGIN.replace("ATTEMPTS = 5", "ATTEMPTS = 7"))
    theirs = "- five guesses: `ATTEMPTS = 7` (login.py:3)"
    api.play(writing({**STANDARD, "codebase.md": STANDARD["codebase.md"].replace("= 5", "= 7")}))
    for arguments, state in ((("--force",), "built"), ((), "cached")):
        reply = scene.load(*arguments)
        assert reply["state"] == state
        assert mine in scene.texts["codebase.md"]
        assert theirs in scene.texts["codebase.md"]
        [warning] = reply["warnings"]
        assert warning.startswith("A person wrote this, and its sources do not say it: Ann says")
    assert len(sessions(api)) == 4


def test_a_refresh_waits_for_another_process_that_builds_and_follows_what_changed_meanwhile(
    scene, api
):
    said = "a person may guess five times: `ATTEMPTS = 5`"
    drafts = STANDARD["codebase.md"].replace("five guesses: `ATTEMPTS = 5`", said)
    held = Held(writing({**STANDARD, "codebase.md": drafts}))
    api.play(held)
    env = headless(scene.claude, api, scene.tmp)
    level = ("--level", "standard", "--json")
    building = start(scene.project, "load", "login", "--force", *level, env=env)
    until(lambda: len(sessions(api)) == 2, "the model is asked")
    put(scene, "login.py", SHIFTED)
    refreshing = start(scene.project, "load", "login", *level, env=env)
    [seen] = scene.run("status", "login", "--json").json["dossiers"]  # it does not wait
    assert seen["why"]
    assert refreshing.poll() is None
    held.let_go()
    built, refreshed = ended(building), ended(refreshing)
    assert (built.status, refreshed.status) == (0, 0)
    assert (built.json["state"], refreshed.json["state"]) == ("built", "refreshed")
    assert f"- {said} (login.py:{line('ATTEMPTS', SHIFTED)})" in scene.texts["codebase.md"]
    origins = [(one["how"], one["kind"]) for one in blamed(scene, said)["origins"]]
    assert origins[:2] == [("refreshed", "moved"), ("built", "changed")]
    assert len(sessions(api)) == 2
    reply = scene.load()
    assert (reply["state"], reply["warnings"]) == ("cached", [])
