"""The reply and the run record of a refresh say what it changed, by facts: real `preread`."""

import json
from pathlib import Path
from typing import Any

import pytest

from _headless import STANDARD, writing
from _headless_scene import Scene
from _mcp_process import connect
from _messages_api import MessagesAPI
from _processes import LOGIN, TESTS, small
from conftest import Cli
from preread.builds import recording
from preread.dossier.published import Published
from preread.layout import Layout
from preread.models import LostFact, Manifest

SHIFTED = "# one\n# two\n" + LOGIN
MORE = "tests/test_more.py"
NONE = {
    "moved": 0,
    "changed": [],
    "gone": [],
    "changed_count": 0,
    "gone_count": 0,
    "code": 0,
    "added": 0,
}
NUMBER = "requirements.md: a login ends in a token: `token-`"  # knowledge.md says which line it is


@pytest.fixture
def project(tmp_path: Path, cli: Cli) -> Path:
    root = small(tmp_path / "small")
    assert load(cli, root)["state"] == "built"
    assert record(root) is None
    return root


def load(cli: Cli, root: Path, *more: str) -> dict[str, Any]:
    done = cli("load", "login", "--json", *more, cwd=root)
    assert done.status == 0, done
    return dict(done.json)


def record(root: Path) -> Any:
    return json.loads(Layout(root).run_record("login").read_text())["refresh"]


def refreshed(cli: Cli, root: Path, *more: str) -> dict[str, Any]:
    """What a load says about its refresh, and so does the run record."""
    reply = load(cli, root, *more)
    assert reply["state"] == ("extended" if more else "refreshed")
    assert reply["refresh"] == record(root)
    return dict(reply["refresh"])


def test_facts_whose_lines_moved_are_counted_and_named_nowhere(project: Path, cli: Cli) -> None:
    before = cli("show", "login", "--ids", "--json", cwd=project).json["facts"]
    (project / "login.py").write_text(SHIFTED)
    found = refreshed(cli, project)
    after = cli("show", "login", "--ids", "--json", cwd=project).json["facts"]
    assert len(before) > found["moved"] == 11
    assert found == NONE | {"moved": 11, "gone": [NUMBER], "gone_count": 1}
    assert len(after) == len(before) - 1
    kinds = [one["kind"] for one in cli("diff", "login", "--json", cwd=project).json["changes"]]
    assert kinds.count("moved") == 11, "the history says the same"


def test_a_computed_fact_with_another_number_has_changed(project: Path, cli: Cli) -> None:
    (project / "login.py").write_text(LOGIN.replace("ATTEMPTS = 5", "ATTEMPTS = 7"))
    values = "codebase.md: `ATTEMPTS = 5` login.py:3, `LOCKED_FOR_S = 900.0` :4"
    assert refreshed(cli, project) == NONE | {"changed": [values], "changed_count": 1}


def test_a_computed_fact_that_is_not_true_any_more_is_gone(project: Path, cli: Cli) -> None:
    whole = Layout(project).dossier("login") / "existing-tests.md"
    assert "`login_again` login.py:26, `login_reset` :31" in whole.read_text()
    more = (
        "from login import login_again, login_reset\n\n\ndef test_both():\n    login_again('a')\n"
    )
    (project / MORE).write_text(more + "    login_reset('a@b')\n")
    found = refreshed(cli, project)
    assert "`login_again` login.py:26, `login_reset` :31" not in whole.read_text()
    gone = "existing-tests.md: `login_again` login.py:26, `login_reset` :31"
    assert gone in found["gone"]
    assert found["gone_count"] == len(found["gone"])
    assert found["added"] >= 1


def test_an_earlier_generation_that_is_published_again_counts_the_same(
    project: Path, cli: Cli
) -> None:
    (project / MORE).write_text(TESTS.replace("def test_", "def test_other_"))
    there = refreshed(cli, project)
    assert there["changed_count"] > 0
    assert there["added"] > 0
    (project / MORE).unlink()
    back = refreshed(cli, project)
    assert (back["gone_count"], back["added"]) == (there["added"], there["gone_count"])
    assert back["changed_count"] == there["changed_count"]
    assert {one.partition(":")[0] for one in back["changed"]} == {
        one.partition(":")[0] for one in there["changed"]
    }
    assert back["moved"] == there["moved"] == 0
    (project / MORE).write_text(TESTS.replace("def test_", "def test_other_"))
    assert refreshed(cli, project) == there
    (project / MORE).unlink()
    assert refreshed(cli, project) == back


def test_lines_that_moved_there_and_back_are_no_more_facts_than_there_are(
    project: Path, cli: Cli
) -> None:
    (project / "login.py").write_text(SHIFTED)
    there = refreshed(cli, project)
    (project / "login.py").write_text(LOGIN)
    assert refreshed(cli, project) == NONE | {"moved": there["moved"], "added": 1}


def test_a_load_that_changes_nothing_leaves_what_the_record_says(project: Path, cli: Cli) -> None:
    (project / "login.py").write_text(SHIFTED)
    found = refreshed(cli, project)
    (project / "notes.txt").write_text("nothing about it\n")
    for _ in range(2):
        reply = load(cli, project)
        assert reply["state"] == "cached"
        assert "refresh" not in reply
        assert record(project) == found
    assert "refresh" not in load(cli, project, "--force")
    assert record(project) is None, "it is of the last build"


def test_facts_for_another_description_are_not_gone_because_a_refresh_adds_them_again(
    project: Path, cli: Cli
) -> None:
    other = ("--description", "a reset by mail")
    assert load(cli, project, *other)["state"] == "extended"
    (project / "login.py").write_text(SHIFTED)
    found = refreshed(cli, project, *other)
    assert found["moved"] >= 11
    assert found["gone"] == [NUMBER]
    assert load(cli, project, *other)["state"] == "cached"
    assert record(project) == found


def test_status_refreshes_too_and_its_record_says_what_changed(project: Path, cli: Cli) -> None:
    (project / "login.py").write_text(SHIFTED)
    [row] = cli("status", "login", "--json", cwd=project).json["dossiers"]
    assert row["run"]["refresh"] == record(project)
    assert record(project)["moved"] == 11
    assert "  last refresh: 11 facts moved, 1 gone\n" in cli("status", "login", cwd=project).out


def test_people_get_one_line(project: Path, cli: Cli) -> None:
    def lines() -> list[str]:
        out = cli("load", "login", cwd=project).out
        return [line for line in out.split("\n") if line.startswith("refreshed")]

    assert lines() == []
    (project / "login.py").write_text(SHIFTED)
    named = "(`preread diff login` names them)"
    assert lines() == [f"refreshed: 11 facts moved, 1 gone {named}"]
    assert NUMBER in cli("diff", "login", cwd=project).out
    assert lines() == []
    (project / "login.py").write_text(LOGIN.replace("ATTEMPTS = 5", "ATTEMPTS = 7"))
    assert lines() == [f"refreshed: 10 facts moved, 1 changed, 1 new {named}"]


@pytest.mark.anyio
async def test_a_models_reply_has_the_counts_and_marks_what_is_quoted(
    project: Path, cli: Cli
) -> None:
    async with connect(project) as client:

        async def ask() -> dict[str, Any]:
            reply = await client.call_tool("load_context", {"feature": "login"})
            return dict(reply.structured_content)

        assert "refresh" not in await ask()
        (project / "login.py").write_text(SHIFTED)
        found = (await ask())["refresh"]
        assert (found["moved"], found["gone_count"]) == (11, 1)
        [gone] = found["gone"]
        assert NUMBER in gone
        assert gone.startswith("<data-")
        assert "It is data" in found["quoted"]
        assert "refresh" not in await ask()


def test_a_models_lost_facts_come_first_also_when_the_generation_returns(
    claude: Path, api: MessagesAPI, tmp_path: Path
) -> None:
    scene = Scene(claude, api, tmp_path).make()
    api.play(writing(STANDARD))
    assert scene.load()["state"] == "built"
    fact = "existing-tests.md: the refusal is tested by `pytest.raises(LoginError)`"
    less = TESTS.replace("raises(LoginError)", "raises(Exception)")
    for text, is_lost in ((less, True), (TESTS, False), (less, True), (TESTS, False)):
        (scene.project / "tests" / "test_login.py").write_text(text)
        reply = scene.load(rebuild_after=1)
        assert reply["state"] == "refreshed"
        assert reply["refresh"] == scene.record["refresh"]
        assert (reply["refresh"]["changed"][:1] == [fact]) is is_lost
        told = [one for one in reply["warnings"] if one.startswith("1 fact is gone")]
        assert [fact in one for one in told] == [True] * is_lost
        assert reply["refresh"]["gone_count"] == 0
        assert reply["refresh"]["added"] == (not is_lost)
    assert scene.record["stats"]["turns"] == 2, "what the build took"


def dossier(facts: int, unit: str) -> Published:
    rows = [
        f"- limit {number} is 1 of {number} {unit} (a.py:{number})"
        for number in range(1, facts + 1)
    ]
    text = "\n".join(("# Codebase: login", "", "## Limits", *rows, ""))
    return Published(Manifest(feature="login"), {"codebase.md": text}, ())


def test_long_lists_are_cut_and_the_counts_are_of_all() -> None:
    before, none = dossier(50, "x" * 500), dossier(0, "")
    lost = LostFact(file="codebase.md", text=f"limit 50 is 1 of 50 {'x' * 500}", is_changed=False)
    found = recording.refresh_result(Layout(Path("nowhere")), before, none, [lost])
    assert found is not None
    assert (found.gone_count, len(found.gone), found.changed_count) == (50, 10, 0)
    assert found.gone[0].startswith("codebase.md: limit 50 ")
    assert max(map(len, found.gone)) <= 160 + len("codebase.md: ")
    changed = recording.refresh_result(
        Layout(Path("nowhere")), before, dossier(50, "y" + "x" * 499), []
    )
    assert changed is not None
    assert (changed.changed_count, len(changed.changed), changed.gone_count) == (50, 10, 0)
