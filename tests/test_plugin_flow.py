"""The real Claude Code with the plugin: it has to read before it writes, and nothing else."""

import json
import shutil
import time
from pathlib import Path

import pytest

from _flow import LOAD, Flow, call_in
from _launcher import copy_plugin
from _messages_api import Answer, Block, MessagesAPI, Request, text, tool
from conftest import make_repository

DONE = [text("Done.")]
SERVER = "plugin:preread:preread"


@pytest.fixture
def flow(claude: Path, api: MessagesAPI, tmp_path: Path) -> Flow:
    return Flow(claude, api, tmp_path)


def last(request: Request, place: int = -1) -> str:
    return request.results[place].text


def test_a_blocked_write_leads_to_a_build_by_a_real_child_and_then_passes(flow: Flow) -> None:
    spec, again = flow.spec("tests/login.spec.ts"), flow.spec("tests/login.spec.ts")
    here = tool(
        "Bash",
        command="mkdir -p web && cat > web/cart.spec.ts <<'EOF'\ntest('cart')\nEOF\n",
        description="w",
    )
    rules = tool("Write", file_path=str(flow.project / ".project" / "gates"), content="mode off\n")
    switch = tool("Bash", command="preread gates off", description="off")
    read = tool("Read", file_path=str(flow.project / "tests" / "old.spec.ts"))
    edit = tool(
        "Edit",
        file_path=str(flow.project / "tests" / "old.spec.ts"),
        old_string="old",
        new_string="new",
    )
    calls: list[Block] = []

    def script(request: Request) -> Answer:
        if request.turn == 0:
            return [spec, here, rules, switch, read]
        if request.turn == 1:
            calls.append(call_in(last(request, 0)))
            return [calls[0], edit]
        return [again] if request.turn == 2 else DONE

    before = (flow.project / ".project" / "gates").read_bytes()
    seen = flow.session(script)
    assert seen.server == [(SERVER, "connected")]

    words, failed = seen.told(spec)
    assert failed
    assert (
        words.index(f'Call {LOAD} with {{"feature": "login"}}')
        < words.index("then retry this Write")
        < words.index("Why:")
    )
    assert "gates off" not in words
    reply = json.loads(seen.told(calls[0])[0])
    assert (reply["status"], reply["state"], reply["builder"]) == ("ok", "built", "claude")
    assert seen.told(again)[1] is False
    assert flow.there("tests/login.spec.ts")

    words, failed = seen.told(here)
    assert failed
    assert '{"feature": "cart"}' in words
    assert not flow.there("web/cart.spec.ts")

    assert [seen.told(call)[1] for call in (rules, switch)] == [True, True]
    assert "tell the person" in seen.told(rules)[0]
    assert (flow.project / ".project" / "gates").read_bytes() == before
    assert not flow.there(".project/.state/gates-off")

    assert seen.told(edit)[1] is False
    assert '{"feature": "old"}' in seen.remark(edit)
    assert "new" in (flow.project / "tests" / "old.spec.ts").read_text()

    # The child has the tools of its build alone, and started no server of ours.
    assert {name for request in seen.children for name in request.tools} <= {
        "Read",
        "Grep",
        "Glob",
        "Write",
        "Edit",
    }
    starts = flow.starts.read_text().splitlines()
    assert len([line for line in starts if line.endswith("launch.py mcp")]) == 1
    assert [line for line in starts if line.split()[0] != "-I"] == []


def test_a_blocked_dispatch_leads_to_a_build_and_the_planner_starts_with_the_dossier(
    flow: Flow,
) -> None:
    def dispatch() -> Block:
        prompt = "PLANNER: a test plan for the checkout flow"
        return tool(
            "Agent", description="plan", prompt=prompt, subagent_type="preread:test-planner"
        )

    first, second = dispatch(), dispatch()
    calls: list[Block] = []

    def script(request: Request) -> Answer:
        if request.turn == 0:
            return [first]
        if request.turn == 1:
            calls.append(call_in(last(request)))
            return calls
        return [second] if request.turn == 2 else DONE

    flow.api.play([[text("planned")]] * 3, when="PLANNER")
    seen = flow.session(script)
    words, failed = seen.told(first)
    assert failed
    assert f'Call {LOAD} with {{"feature": "checkout"}}' in words
    assert "then retry this dispatch" in words
    assert json.loads(seen.told(calls[0])[0])["builder"] == "claude"
    assert seen.told(second)[1] is False
    planner = next(
        request
        for request in seen.own
        if "PLANNER" in request.prompt and "GO" not in request.prompt
    )
    assert "# Patterns: checkout" in planner.whole or "# Summary: checkout" in planner.whole


def test_a_write_with_a_dossier_passes_and_each_mode_and_hint_has_its_text(flow: Flow) -> None:
    for name in ("patterns", "codebase", "summary"):
        flow.write(f"context/login/{name}.md", f"# {name.title()}: login\n\nNo facts found.\n")
    specs = {
        name: flow.spec(f"{name}.spec.ts")
        for name in ("a/login", "b/login", "pay", "warned", "off")
    }
    gates = (flow.project / ".project" / "gates").read_text()

    def script(request: Request) -> Answer:
        match request.turn:
            case 1:
                flow.write(".cache/stale/login")
            case 2:
                flow.write(".cache/building/pay", str(int(time.time()) + 600))
            case 3:
                flow.write("gates", f"mode warn\n{gates}")
            case 4:
                flow.write("gates", f"mode off\n{gates}")
        return [list(specs.values())[request.turn]] if request.turn < len(specs) else DONE

    seen = flow.session(script)
    assert {name: seen.told(call)[1] for name, call in specs.items()} == {
        **dict.fromkeys(specs, False),
        "pay": True,
    }
    assert {name: flow.there(f"{name}.spec.ts") for name in specs} == {
        **dict.fromkeys(specs, True),
        "pay": False,
    }
    assert seen.remark(specs["a/login"]) == seen.remark(specs["off"]) == ""
    assert "dossier of login is stale" in seen.remark(specs["b/login"])
    assert (
        "again: its dossier is being built, and the call joins that build"
        in seen.told(specs["pay"])[0]
    )
    assert f'{LOAD} with {{"feature": "warned"}}' in seen.remark(specs["warned"])
    assert "login" in seen.own[0].whole  # the start of the session said which dossiers there are


# -- ways of installing


def test_an_installation_from_the_marketplace_has_the_tool_and_the_gates(
    claude: Path, api: MessagesAPI, tmp_path: Path
) -> None:
    plugin = copy_plugin(tmp_path / "market place")
    flow = Flow(claude, api, tmp_path)
    flow.claude_says("plugin", "marketplace", "add", str(plugin))
    flow.claude_says("plugin", "install", "preread@preread")
    spec = flow.spec("tests/login.spec.ts")
    seen = flow.session(
        lambda request: [spec] if request.turn == 0 else DONE, "--permission-mode", "default"
    )
    assert seen.server == [(SERVER, "connected")]
    assert LOAD in seen.own[0].tools
    assert seen.told(spec)[1] is True
    assert not flow.there("tests/login.spec.ts")


def test_the_repository_opened_as_a_project_has_a_server_that_starts(
    claude: Path, api: MessagesAPI, tmp_path: Path
) -> None:
    checkout = copy_plugin(tmp_path / "check out")
    make_repository(checkout)
    flow = Flow(claude, api, tmp_path)
    settings = json.dumps({"enabledMcpjsonServers": ["preread"]})
    state = {"projects": {str(checkout): {"hasTrustDialogAccepted": True}}}
    (flow.home / ".claude.json").write_text(json.dumps(state))
    seen = flow.session(lambda _: DONE, "--settings", settings, cwd=checkout)
    assert seen.server == [("preread", "connected")]


def test_an_identical_server_of_the_project_does_not_displace_the_plugins(flow: Flow) -> None:
    shutil.copy2(Path(__file__).parents[1] / ".mcp.json", flow.project)
    state = {"projects": {str(flow.project): {"hasTrustDialogAccepted": True}}}
    (flow.home / ".claude.json").write_text(json.dumps(state))
    settings = json.dumps({"enabledMcpjsonServers": ["preread"]})
    spec = flow.spec("tests/login.spec.ts")
    seen = flow.session(
        lambda request: [spec] if request.turn == 0 else DONE,
        "--plugin-dir", str(flow.plugin), "--settings", settings,
    )  # fmt: skip
    assert (SERVER, "connected") in seen.server
    assert len(seen.server) == 2
    assert f"Call {LOAD} with" in seen.told(spec)[0]
    assert LOAD in seen.own[0].tools


@pytest.mark.parametrize(
    "what", [".", ".claude-plugin/marketplace.json", ".claude-plugin/plugin.json"]
)
def test_claude_code_reports_no_problem(flow: Flow, tmp_path: Path, what: str) -> None:
    plugin = copy_plugin(tmp_path / "plugin")
    shutil.copy2(Path(__file__).parents[1] / "README.md", plugin)
    flow.claude_says("plugin", "validate", "--strict", str(plugin / what))


def test_a_project_that_does_not_use_it_gets_one_line_a_session(flow: Flow) -> None:
    shutil.rmtree(flow.project / ".project")
    seen = flow.session(lambda request: DONE)
    said = [line for line in seen.own[0].whole.split("\\n") if "Preread can tell" in line]
    assert len(said) == 1
    assert LOAD in said[0]
    assert not flow.there(".project")
