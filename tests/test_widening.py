"""Another description of a feature that has a dossier: no model, nothing lost, what it asks for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from _headless import (
    ANTI_PATTERNS,
    PATTERNS,
    STANDARD,
    SUMMARY,
    asked_for,
    headless,
    sessions,
    writing,
)
from _headless_scene import Scene
from _mcp_process import connect
from _messages_api import MessagesAPI
from _processes import LOGIN, small
from conftest import Cli
from preread.layout import Layout

WORDINGS = [
    "tests for logging in with a wrong password",
    "write e2e specs for the login, happy and unhappy paths",
    "logout forgets the token",
    "AssertionError: assert 'token-ada' == 'token-bob' in test_login_gives_a_token",
    "password reset by mail",
    "the account is locked after five attempts",
    "LOCKED_FOR_S counts minutes",
    "login_again returns a new token",
    "regression: reset with an address that has no @",
    "login",
]
OTHER = "a reset by mail"


@pytest.fixture
def scene(claude: Path, api: MessagesAPI, tmp_path: Path) -> Scene:
    api.play(writing(STANDARD))
    return Scene(claude, api, tmp_path).make()


def bullets(text: str) -> set[str]:
    return {line for line in text.split("\n") if line.startswith("- ")}


@pytest.mark.anyio
async def test_ten_wordings_of_one_feature_cost_one_build(scene: Scene, api: MessagesAPI) -> None:
    env = headless(scene.claude, api, scene.tmp, level="standard")
    async with connect(scene.project, env=env, name="claude-code") as client:

        async def load(words: str) -> dict[str, Any]:
            asked = {"feature": "login", "description": words}
            return dict((await client.call_tool("load_context", asked)).structured_content)

        first = await load("a login gives a token")
        before = scene.texts
        assert (first["state"], first["builder"]) == ("built", "claude")
        states = [(await load(words))["state"] for words in WORDINGS]
        assert set(states) <= {"extended", "cached"}
        assert "extended" in states
        again = [(await load(words))["state"] for words in (*WORDINGS, "")]
        assert set(again) == {"cached"}
    assert len(sessions(api)) == len(scene.ledger) == 1
    drafted = set().union(*map(bullets, STANDARD.values()))
    assert drafted <= set().union(*map(bullets, scene.texts.values()))
    for name in before:
        assert bullets(before[name]) <= bullets(scene.texts[name]), name
    assert scene.manifest["description"] == "a login gives a token"
    assert (scene.manifest["status"], set(scene.manifest["drafted"])) == ("ok", set(STANDARD))


def test_what_another_wording_asks_for_is_added_and_reported(scene: Scene) -> None:
    scene.load("--description", "a login gives a token")
    before = scene.texts
    reply = scene.load("--description", OTHER)
    assert (reply["status"], reply["state"], reply["builder"]) == ("ok", "extended", "claude")
    added = set().union(*map(bullets, scene.texts.values())) - set().union(
        *map(bullets, before.values())
    )
    assert any("login_reset" in line for line in added)
    assert all(line in reply["dossier"] for line in added)
    assert any(f"the map added {len(added)} fact" in warning for warning in reply["warnings"])
    assert reply["stats"]["facts"] == sum(len(bullets(text)) for text in scene.texts.values())
    assert reply["stats"]["tokens"] <= 2000
    # Their ids are known, so that they are not taken for what a person wrote.
    wording = scene.manifest["wordings"][-1]
    assert len(wording["facts"]) == len(added)
    assert set(wording["facts"]) <= set(scene.manifest["facts"])
    assert scene.run("check", "login").status == 0
    done = scene.run("facts", "login_reset", "--feature", "login", "--json")
    assert done.json["facts"]


def test_a_full_budget_gives_up_additions_and_nothing_that_was_paid_for(scene: Scene) -> None:
    small_budget = {"max_tokens": 600}
    scene.load("--description", "a login gives a token", **small_budget)
    paid = set().union(*map(bullets, STANDARD.values()))
    for words in WORDINGS[2:5]:
        reply = scene.load("--description", words, **small_budget)
        assert reply["stats"]["tokens"] <= 600
        assert paid <= set().union(*map(bullets, scene.texts.values()))


def test_what_people_wrote_stays_as_they_wrote_it(scene: Scene) -> None:
    scene.load("--description", "a login gives a token")
    patterns = scene.layout.dossier("login") / "patterns.md"
    number = next(n for n, row in enumerate(LOGIN.split("\n"), 1) if "LOCKED_FOR_S" in row)
    theirs = f"- *a person's own*: `LOCKED_FOR_S = 900.0` (login.py:{number})\n\nand a remark\n"
    patterns.write_text(patterns.read_text() + theirs)
    edited = patterns.read_bytes()
    assert scene.load("--description", OTHER)["state"] == "extended"
    backups = [path.read_bytes() for path in scene.layout.backups("login").glob("patterns.md.*")]
    assert edited in [patterns.read_bytes(), *backups]
    assert theirs.split("\n", maxsplit=1)[0] in patterns.read_text()


def test_only_what_is_asked_for_starts_a_model(scene: Scene, api: MessagesAPI) -> None:
    scene.load("--description", "a login gives a token")
    scene.load("--description", OTHER)
    api.play(writing({"anti-patterns.md": ANTI_PATTERNS, "summary.md": SUMMARY}))
    deeper = scene.load("--level", "full", "--description", "five attempts")
    assert (deeper["state"], len(sessions(api))) == ("extended", 2)
    asked = asked_for(api.requests[-2])
    assert set(asked).isdisjoint({"patterns.md", "codebase.md", "existing-tests.md"})
    for words in ("a login gives a token", "five attempts"):
        assert scene.load("--description", words)["state"] == "cached"
    api.play(writing({**STANDARD, "patterns.md": PATTERNS.replace("a login ends", "login ends")}))
    assert scene.load("--force", "--description", OTHER)["state"] == "built"
    assert len(sessions(api)) == 3
    assert scene.load("--ticket", "SHOP-1", "--description", OTHER)["state"] == "built"
    assert len(sessions(api)) == 4
    # A refresh for what changed keeps the ticket's requirements, whatever the wording.
    (scene.project / "login.py").write_text(LOGIN.replace("ATTEMPTS = 5", "ATTEMPTS = 6"))
    stale = scene.load("--description", "six attempts")
    assert (stale["state"], scene.manifest["ticket"]) == ("cached", "SHOP-1")
    assert "ATTEMPTS = 6" in stale["dossier"]
    assert len(sessions(api)) == 4


def test_a_thin_dossier_becomes_that_of_what_the_description_names(
    cli: Cli, tmp_path: Path
) -> None:
    project = small(tmp_path / "p")
    first = cli("load", "kubernetes", "--json", cwd=project).json
    assert first["thin"] is True
    reply = cli(
        "load", "kubernetes", "--description", "`login_reset` by mail", "--json", cwd=project
    ).json
    assert (reply["state"], reply["thin"]) == ("extended", False)
    assert "login_reset" in reply["dossier"]
    assert "does not mention" not in reply["dossier"]


@pytest.mark.parametrize("tokens", [2000, 500])
def test_without_a_model_the_outline_makes_room(cli: Cli, tmp_path: Path, tokens: int) -> None:
    project = small(tmp_path / "p", {"mail.py": "".join(map(_sender, range(40)))})
    load = _loader(cli, project, tokens)
    load("a login gives a token")
    codebase = Layout(project).dossier("login") / "codebase.md"
    before = codebase.read_text()
    reply = load("send_mail_7 after a reset")
    assert reply["state"] == "extended"
    assert "send_mail_7" in codebase.read_text()
    assert "send_mail_7" not in before
    assert reply["stats"]["tokens"] <= tokens
    assert load("send_mail_7 after a reset")["state"] == "cached"


def _sender(number: int) -> str:
    return f"def send_mail_{number}(to):\n    return to\n\n\n"


def _loader(cli: Cli, project: Path, tokens: int) -> Callable[[str], dict]:
    def load(words: str) -> dict:
        done = cli(
            "load", "login", "--description", words, "--json",
            cwd=project, env={"PREREAD_MAX_TOKENS": str(tokens)},
        )  # fmt: skip
        return dict(done.json)

    return load


def test_what_a_person_replaced_and_what_is_wrong_is_not_added(cli: Cli, tmp_path: Path) -> None:
    project = small(tmp_path / "small")
    load = _loader(cli, project, 2_000)
    load("")
    path = Layout(project).dossier("login") / "codebase.md"
    mine = "- ask Ann about `login_reset` (:31-35)"
    built = next(one for one in path.read_text().split("\n") if one.startswith("- `login_reset`"))
    path.write_text(path.read_text().replace(built, mine))
    load("")
    shown = cli("show", "login", "--ids", "--json", cwd=project).json["facts"]
    again = next(one["id"] for one in shown if one["text"].startswith("`login_again` (token)"))
    assert cli("wrong", again, cwd=project).status == 0
    code = LOGIN.replace("    return login(", "    logout(token)\n    return login(")
    (project / "login.py").write_text(f"{code}    logout(mail)\n")
    load("")
    for words in ("a reset by mail", "login_again returns a new token"):
        assert load(words)["state"] in {"extended", "cached"}
    lines = [one for one in path.read_text().split("\n") if " `login_reset` (" in one]
    assert lines == ["- ask Ann about `login_reset` (:32-36)"]
    assert "`login_again` (token)" not in path.read_text()
