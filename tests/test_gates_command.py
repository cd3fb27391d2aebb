"""`preread gates`: the switch, and what a write would get and why; never offered to an agent."""

import json
import os
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from _mcp_process import connect
from _trees import write
from conftest import ROOT, Cli, make_repository
from preread.builds.jobs import Caller, Jobs
from preread.errors import PrereadError
from preread.operations.gates import OPERATION as GATES
from preread.operations.gates import GatesRequest
from preread.operations.registry import Context

pytestmark = pytest.mark.usefixtures("at_a_desk")
RULES = "mode block\n!old/**\n**/{feature}.spec.ts\ndocs/api.md\nalias sign-in login\n"
STANDS = {
    f".project/context/checkout/{name}.md": "# x\n" for name in ("patterns", "codebase", "summary")
}


@pytest.fixture
def gated(tmp_path: Path) -> Path:
    project = write(
        tmp_path / "a project", {".project/gates": RULES, "tests/cart.spec.ts": "", **STANDS}
    )
    make_repository(project)
    return project


def call(project: Path, **values: Any) -> dict[str, Any]:
    """The operation in this process: `code` is that of a failure."""

    async def run() -> dict[str, Any]:
        async with Jobs(1) as jobs:
            context = Context(project, dict(os.environ), jobs, Caller(None, unheard))
            try:
                return (await GATES.run(context, GatesRequest(**values))).model_dump()
            except PrereadError as error:
                return {"code": error.code}

    return anyio.run(run)


async def unheard(message: str, done: float, total: float) -> None:
    """Progress that is ignored."""


def switch(project: Path) -> Path:
    return project / ".project" / ".state" / "gates-off"


# -- the switch


@pytest.mark.parametrize(
    ("words", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("1d", 86400)]
)
def test_off_for_a_time_ends_then(gated: Path, words: str, seconds: int) -> None:
    before = time.time()
    reply = call(gated, action="off", for_=words)
    assert (
        before + seconds - 1
        <= int(switch(gated).read_text().split()[0])
        <= time.time() + seconds + 1
    )
    assert (reply["mode"], reply["off_until"]) == ("off", int(switch(gated).read_text().split()[0]))
    assert reply["says"][0] == "Switched off."
    assert reply["says"][1].startswith("The gates are off until 20")


def test_off_without_a_time_is_for_good_and_on_ends_it(cli: Cli, gated: Path) -> None:
    assert cli("gates", "off", cwd=gated).out == (
        "Switched off.\nThe gates are off until they are switched on. To switch them on: `preread "
        "gates on`\n"
    )
    assert switch(gated).read_text() == "forever\nby preread gates off\n"
    assert call(gated, action="test", paths=("login.spec.ts",))["ok"]
    assert (
        cli("gates", "on", cwd=gated).out
        == "Switched on.\nThe gates block (line 1 of .project/gates).\n"
    )
    assert not switch(gated).exists()
    assert call(gated, action="on")["says"][0] == "They were on already."
    assert not call(gated, action="test", paths=("login.spec.ts",))["ok"]


@pytest.mark.parametrize(
    "words",
    ["", "2", "h", "2x", "0h", "-1h", "1.5h", "2 h", "1h30m", "367d", "9" * 30 + "s", "２h"],
)
def test_an_invalid_time_is_rejected_and_nothing_is_switched(gated: Path, words: str) -> None:
    assert call(gated, action="off", for_=words) == {"code": "E_USAGE"}
    assert not switch(gated).exists()


@pytest.mark.parametrize(
    "values",
    [
        {"action": "on", "paths": ("a.ts",)},
        {"action": "off", "paths": ("a.ts",)},
        {"action": "test"},
        {"action": "explain"},
        {"action": "test", "paths": ("a", "")},
        {"action": "on", "for_": "2h"},
        {"action": "test", "paths": ("a",), "for_": "2h"},
    ],
)
def test_an_invalid_call_is_bad_usage(gated: Path, values: dict[str, Any]) -> None:
    assert call(gated, **values) == {"code": "E_USAGE"}
    assert not switch(gated).exists()


def test_an_invalid_command_line_exits_2(cli: Cli, gated: Path) -> None:
    for words in ((), ("maybe",), ("off", "--for", "soon"), ("test",)):
        done = cli("gates", *words, "--json", cwd=gated)
        assert (done.status, done.json["code"]) == (2, "E_USAGE"), words
    assert cli("gates", "off", "--for", "2h", cwd=gated).out.startswith(
        "Switched off.\nThe gates are off until 20"
    )


@pytest.mark.parametrize(
    ("environ", "gates", "says"),
    [
        (
            {"PREREAD_GATES": "block"},
            RULES,
            "The gates block, because PREREAD_GATES in this environment",
        ),
        (
            {"PREREAD_GATES": "off"},
            RULES,
            "The gates are off, because PREREAD_GATES in this environment",
        ),
        (
            {"PREREAD_GATES": "maybe"},
            RULES,
            "Ignored: PREREAD_GATES=maybe is not block, warn or off",
        ),
        ({"CI": "true"}, RULES, "The gates only warn, because CI in this environment"),
        ({}, "mode off\n", "The gates are off (line 1 of .project/gates)."),
        ({}, "a.ts\n", "The gates block (the default)."),
        ({}, "# x\nmode blok\n", ".project/gates is broken: line 2 sets no valid mode"),
    ],
)
def test_what_overrides_the_switch_is_reported(
    gated: Path, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], gates: str, says: str
) -> None:
    write(gated, {".project/gates": gates})
    for name, value in {"CI": "", **environ}.items():
        monkeypatch.setenv(name, value)
    told = call(gated, action="on")["says"]
    assert any(sentence.startswith(says) for sentence in told), told


def test_without_a_gates_file_nothing_is_switched(cli: Cli, tmp_path: Path) -> None:
    project = write(tmp_path / "p", {"a.ts": ""})
    make_repository(project)
    done = cli("gates", "off", cwd=project)
    assert (
        done.out
        == "There is no .project/gates here, so nothing is gated; `preread init` writes one.\n"
    )
    assert not (project / ".project").exists()
    assert cli("gates", "test", "a.ts", cwd=project).status == 0


def test_the_switch_works_where_the_settings_cannot_be_read(cli: Cli, gated: Path) -> None:
    write(gated, {".project/config.toml": "nonsense"})
    assert cli("gates", "off", cwd=gated).status == 0
    assert switch(gated).exists()


def test_in_a_subfolder_the_projects_switch_is_used(cli: Cli, gated: Path) -> None:
    assert cli("gates", "off", cwd=gated / "tests").status == 0
    assert switch(gated).exists()


def test_a_state_folder_that_leads_out_of_the_project_is_not_written_to(
    cli: Cli, gated: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (gated / ".project" / ".state").symlink_to(tmp_path / "outside")
    assert cli("gates", "off", "--json", cwd=gated).json["code"] == "E_OUTSIDE"
    assert list((tmp_path / "outside").iterdir()) == []


# -- test and explain


VERDICTS = {
    "tests/login.spec.ts": ("block", "login"),
    "tests/cart.spec.ts": ("remark", "cart"),
    "tests/checkout.spec.ts": ("pass", "checkout"),
    "tests/Sign_In.spec.ts": ("block", "login"),
    ".draft/tests/login.spec.ts": ("block", "login"),
    "old/login.spec.ts": ("pass", None),
    "docs/api.md": ("block", "_project"),
    "README.md": ("pass", None),
    ".project/gates": ("block", None),
    ".project/knowledge.md": ("pass", None),
    "tests/a b's [x].spec.ts": ("block", "a-b-s-x"),
    "/": ("pass", None),
}


def test_each_path_gets_the_hooks_verdict(cli: Cli, gated: Path) -> None:
    done = cli("gates", "test", *VERDICTS, "--json", cwd=gated)
    assert done.status == 1
    found = {
        name: (path["decision"], path.get("served_by"))
        for name, path in zip(VERDICTS, done.json["paths"], strict=True)
    }
    assert found == VERDICTS


def test_test_exits_1_only_where_a_write_would_be_blocked(cli: Cli, gated: Path) -> None:
    assert cli("gates", "test", "a.md", "tests/login.spec.ts", cwd=gated).status == 1
    assert cli("gates", "test", "a.md", "tests/cart.spec.ts", cwd=gated).status == 0
    assert cli("gates", "explain", "tests/login.spec.ts", cwd=gated).status == 0
    warned = cli("gates", "test", "tests/login.spec.ts", cwd=gated, env={"PREREAD_GATES": "warn"})
    assert warned.status == 0
    assert warned.out.split("\n")[1].startswith("remarked  ")
    assert "The gates only warn, because PREREAD_GATES" in warned.out


def test_test_is_a_table(cli: Cli, gated: Path) -> None:
    shown = cli(
        "gates", "test", "tests/login.spec.ts", "tests/cart.spec.ts", "a.md", cwd=gated
    ).out.split("\n")
    assert shown[0].split() == ["WOULD", "BE", "PATH", "FEATURE", "BY"]
    assert shown[1].split() == [
        "blocked", *f"{gated}/tests/login.spec.ts".split(), "login", "line", "3:",
        "**/{feature}.spec.ts"
    ]  # fmt: skip
    assert shown[2].startswith("remarked  ")
    assert shown[3].endswith("-        no rule")


def test_relative_paths_start_where_the_person_is(cli: Cli, gated: Path) -> None:
    for cwd, name in (
        (gated / "tests", "../old/x.spec.ts"),
        (gated.parent, f"{gated.name}/old/x.spec.ts"),
    ):
        (path,) = cli("gates", "explain", name, "--json", cwd=cwd).json["paths"]
        assert (path["target"], path["rule"]) == (str(gated / "old/x.spec.ts"), "!old/**")


def test_explain_shows_rule_feature_alias_dossier_and_mode(cli: Cli, gated: Path) -> None:
    write(
        gated,
        {".project/context/login/patterns.md": "# x\n", ".project/context/login/summary.md": " \n"},
    )
    shown = cli("gates", "explain", "tests/Sign_In.spec.ts", cwd=gated).out
    for line in (
        f"{gated}/tests/Sign_In.spec.ts would be blocked.",
        "  by        line 3: **/{feature}.spec.ts",
        "  mode      block (line 1)",
        "  feature   sign-in, from 'Sign_In', an alias of login",
        "  file      is new",
        (
            f"  dossier   is incomplete in {gated}: patterns.md there, codebase.md missing, summary.md "
            f"empty"
        ),
    ):
        assert f"{line}\n" in shown
    assert (
        '  model     Call mcp__plugin_preread_preread__load_context with {"feature": "login"}'
        in shown
    )


def test_explain_of_a_broken_file_names_the_line(cli: Cli, gated: Path) -> None:
    write(gated, {".project/gates": "mode block\nalias x\n"})
    shown = cli("gates", "explain", "tests/login.spec.ts", cwd=gated).out
    assert "let through" in shown.split("\n")[0]
    assert "line 2" in shown
    assert "no folder above" not in shown  # there is a project: its rules cannot be read


def test_hostile_names_are_data(cli: Cli, gated: Path) -> None:
    for name in (
        "$(touch pwned).spec.ts",
        "`touch pwned`.spec.ts",
        "a\nb.spec.ts",
        "\x1b]0;x\x07.spec.ts",
        "-x.spec.ts",
    ):
        done = cli("gates", "explain", "--", name, cwd=gated)
        assert done.status == 0, done.err
        assert "\x1b" not in done.out
    assert not list(gated.rglob("pwned"))


def test_hooks_that_do_not_answer_are_an_expected_failure(
    cli: Cli, gated: Path, tmp_path: Path
) -> None:
    broken = write(tmp_path / "copy", {"hooks/hook.py": "print('no JSON')\n"})
    (broken / "server").symlink_to(ROOT / "server")
    code = (
        "import preread.infra.assets as a, pathlib; "
        f"a.PACKAGE = pathlib.Path({str(broken)!r}) / 'server' / 'preread'"
    )
    write(tmp_path / "site", {"sitecustomize.py": code})
    env = {"PYTHONPATH": f"{tmp_path / 'site'}{os.pathsep}{ROOT / 'server'}"}
    done = cli("gates", "test", "a.ts", "--json", cwd=gated, env=env)
    assert (done.status, done.json["code"]) == (1, "E_GATES")


# -- for people alone


def test_an_agent_can_neither_see_nor_call_it(gated: Path) -> None:
    async def run() -> None:
        async with connect(gated) as client:
            await neither(client)

    anyio.run(run)
    assert not switch(gated).exists()


async def neither(client: Client) -> None:
    listed = await client.list_tools()
    catalogue = json.dumps([tool.model_dump(mode="json") for tool in listed.tools])
    assert "gates" not in catalogue
    ops = await client.call_tool("context_operation", {"method": "ops", "options": {"limit": 200}})
    listed_there = str(ops.structured_content)
    assert "config.doctor" in listed_there
    assert "config.gates" not in listed_there
    for method in ("config.gates", "gates"):
        params = {"method": method, "params": {"action": "off"}}
        refused = await client.call_tool("context_operation", params)
        assert refused.is_error
        assert refused.structured_content["error"]["code"] == "E_NOT_ALLOWED"
        assert "is for people" in refused.content[0].text
        assert "off" not in refused.content[0].text
    unknown = await client.call_tool("context_operation", {"method": "gate"})
    assert "config.gates" not in unknown.content[0].text
    assert "config.ops" in unknown.content[0].text
