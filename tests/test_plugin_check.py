"""The plugin's folder is in order, and our check of that sees what Claude Code's own lets pass."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from _flow import Flow
from _launcher import PARTS, copy_plugin
from _messages_api import MessagesAPI, text
from _plugin import EVENTS, ROOT, TOOLS, problems

Change = Callable[[Path], object]


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    package = ["server/preread/__init__.py", "server/preread/gates"]
    parts = [*package, *(part for part in PARTS if part != "server")]
    return copy_plugin(tmp_path / "plugin", parts)


def test_nothing_is_wrong_with_the_plugin() -> None:
    assert problems(ROOT) == []


def replace(name: str, old: str, new: str) -> Change:
    def change(plugin: Path) -> None:
        path = plugin / name
        before = path.read_text(encoding="utf-8")
        assert old in before, f"{name} does not hold {old!r}"
        path.write_text(before.replace(old, new, 1), encoding="utf-8")

    return change


def edit(name: str, alter: Callable[[Any], object]) -> Change:
    def change(plugin: Path) -> None:
        path = plugin / name
        data = json.loads(path.read_text(encoding="utf-8"))
        alter(data)
        path.write_text(json.dumps(data), encoding="utf-8")

    return change


def first(data: Any, event: str = "PreToolUse") -> Any:
    return data["hooks"][event][0]


HOOKS, MCP, OWN, MARKET = (
    "hooks/hooks.json",
    ".mcp.json",
    ".claude-plugin/plugin.json",
    ".claude-plugin/marketplace.json",
)
PLANNER, LOAD = "agents/test-planner.md", "skills/load/SKILL.md"
BROKEN: dict[str, tuple[Change, str]] = {
    "a hook's script is gone": (
        lambda p: (p / "hooks/stop").unlink(),
        r"Stop: hooks/stop is not there",
    ),
    "it cannot be executed": (
        lambda p: (p / "hooks/stop").chmod(0o644),
        r"hooks/stop cannot be executed",
    ),
    "it says no interpreter": (
        lambda p: (p / "hooks/stop").write_text("exit 0\n"),
        r"stop does not say what runs it",
    ),
    "a script is run by nothing": (
        edit(HOOKS, lambda d: d["hooks"].pop("Stop")),
        r"hooks/stop: no event runs it",
    ),
    "the launcher is gone": (
        lambda p: (p / "bin/preread").unlink(),
        r"\.mcp\.json: preread: bin/preread is not there",
    ),
    "it is no program": (
        lambda p: (p / "bin/preread").chmod(0o644),
        r"bin/preread cannot be executed",
    ),
    "another file is one": (
        lambda p: (p / "bin/relay.py").chmod(0o755),
        r"bin: \['preread', 'relay.py'\] can be run",
    ),
    "a path without quotes": (
        edit(
            HOOKS,
            lambda d: first(d)["hooks"][0].update(command="bash ${CLAUDE_PLUGIN_ROOT}/hooks/stop"),
        ),
        r"PreToolUse: the path of hooks/stop is not in double quotes",
    ),
    "a server's path without quotes": (
        edit(
            MCP,
            lambda d: d["mcpServers"]["preread"].update(
                args=["-c", "$CLAUDE_PLUGIN_ROOT/bin/preread mcp"]
            ),
        ),
        r"the path of bin/preread is not in double quotes",
    ),
    "a variable that a project lacks": (
        edit(
            MCP,
            lambda d: d["mcpServers"]["preread"].update(
                args=['"${CLAUDE_PLUGIN_ROOT}/bin/preread"']
            ),
        ),
        r"\$\{CLAUDE_PLUGIN_ROOT\} is unset",
    ),
    "an event that is none": (
        edit(HOOKS, lambda d: d["hooks"].update(PreToolUsed=d["hooks"]["PreToolUse"])),
        r"there is no event PreToolUsed",
    ),
    "a matcher of no tool": (
        edit(HOOKS, lambda d: first(d).update(matcher="Write|Edlt")),
        r"Edlt matches nothing",
    ),
    "a matcher in another case": (
        edit(HOOKS, lambda d: first(d).update(matcher="bash")),
        r"bash matches nothing",
    ),
    "a matcher that is no pattern": (
        edit(HOOKS, lambda d: first(d).update(matcher="Write(")),
        r"is no pattern",
    ),
    "a pattern of no tool": (
        edit(HOOKS, lambda d: first(d).update(matcher="mcp__.*__lood")),
        r"lood matches nothing",
    ),
    "a matcher where none is taken": (
        edit(HOOKS, lambda d: first(d, "Stop").update(matcher="x")),
        r"Stop takes none",
    ),
    "a source that is none": (
        edit(HOOKS, lambda d: first(d, "SessionStart").update(matcher="begin")),
        r"begin matches nothing",
    ),
    "a condition without its tool": (
        edit(HOOKS, lambda d: first(d)["hooks"][0].update({"if": "Bsh(git *)"})),
        "no tool Bsh",
    ),
    "a condition that is malformed": (
        edit(HOOKS, lambda d: first(d)["hooks"][0].update({"if": "Bash(git *"})),
        r"is not like Bash\(git \*\)",
    ),
    "a field of a hook": (
        edit(HOOKS, lambda d: first(d)["hooks"][0].update(timeot=1)),
        r"there is no field timeot",
    ),
    "a time-out in milliseconds": (
        edit(HOOKS, lambda d: first(d)["hooks"][0].update(timeout=5000)),
        r"timeout 5000",
    ),
    "hooks beside their place": (
        edit(HOOKS, lambda d: d.update(Stop=[])),
        r"Stop is not looked at there",
    ),
    "hooks told twice": (
        edit(OWN, lambda d: d.update(hooks="./hooks/hooks.json")),
        r"hooks are found by their folder",
    ),
    "an agent's tool": (
        replace(PLANNER, "tools: Read", "tools: Raed"),
        r"test-planner.md: tools: there is no tool Raed",
    ),
    "an agent's field": (
        replace(PLANNER, "tools: Read", "tool: Read"),
        r"the field tool is not known",
    ),
    "an agent's ignored field": (
        replace(PLANNER, "tools: Read", "permissionMode: plan\ntools: Read"),
        r"permissionMode is not known, or ignored in a plugin",
    ),
    "an agent's model": (
        replace(PLANNER, "tools: Read", "model: gpt\ntools: Read"),
        r"there is no model gpt",
    ),
    "an agent's name": (
        replace(PLANNER, "name: test-planner", "name: planner"),
        r"is called planner, its place test-planner",
    ),
    "an agent without a description": (
        replace(PLANNER, "description: ", "description: x\n#"),
        r"test-planner.md: ",
    ),
    "a page without its head": (replace(PLANNER, "---\n", ""), r"no front matter"),
    "a field twice": (
        replace(PLANNER, "tools: Read", "name: x\ntools: Read"),
        r"front matter: 'name: x'",
    ),
    "a skill's name": (
        replace(LOAD, "name: load", "name: lode"),
        r"is called lode, its place load",
    ),
    "a skill's field": (
        replace(LOAD, "argument-hint:", "argument-hnt:"),
        r"the field argument-hnt is not known",
    ),
    "a skill without its page": (lambda p: (p / LOAD).unlink(), r"skills/load: holds no SKILL\.md"),
    "a tool in a text": (
        replace(LOAD, "mcp__plugin_preread_preread__load_context", "mcp__preread__load"),
        r"no tool mcp__preread__load",
    ),
    "a tool in the hooks": (
        replace(
            "server/preread/gates/messages.py",
            "mcp__plugin_preread_preread__load_context",
            "mcp__plugin_preread__load_context",
        ),
        r"messages\.py: there is no tool mcp__plugin_preread__load_context",
    ),
    "a command in a text": (
        replace(LOAD, "`preread wrong FACT`", "`preread worng FACT`"),
        r"no command `preread worng`",
    ),
    "an option in a text": (
        replace(LOAD, "`preread wrong FACT`", "`preread wrong --all FACT`"),
        r"has no option --all",
    ),
    "a choice in a text": (
        replace("skills/help/SKILL.md", "gates explain", "gates expain"),
        r"`preread gates` knows no expain",
    ),
    "an agent in a text": (
        replace("skills/test/SKILL.md", "preread:test-planner", "preread:planner"),
        r"no agent or skill planner",
    ),
    "a skill in a text": (
        replace("skills/help/SKILL.md", "skill `load`", "skill `lode`"),
        r"no skill lode",
    ),
    "a file in a text": (replace(PLANNER, "`failures.md`", "`failure.md`"), r"no file failure\.md"),
    "a place in a text": (
        replace(PLANNER, ".project/runs/", ".project/run/"),
        r"there is no \.project/run/<feature>\.md",
    ),
    "a stage in a text": (
        replace(PLANNER, "`## PLAN`", "`## PLANS`"),
        r"no run log has the stage PLANS",
    ),
    "a setting in a text": (
        replace(LOAD, "Reads: ", "Set PREREAD_TIME_OUT. Reads: "),
        r"no setting PREREAD_TIME_OUT\b",
    ),
    "a version that drifts": (
        edit(OWN, lambda d: d.update(version="9.9.9")),
        r"versions differ: .*9\.9\.9",
    ),
    "a wheel's version that drifts": (
        edit(".claude-plugin/wheel.json", lambda d: d.update(version="9.9.9")),
        r"wheel\.json: differs from plugin\.json",
    ),
    "a version of the package": (
        replace("pyproject.toml", 'version = "', 'version = "9'),
        r"versions differ",
    ),
    "a marketplace of another plugin": (
        edit(MARKET, lambda d: d["plugins"][0].update(name="x")),
        r"lists 0 of it",
    ),
    "a marketplace that leads nowhere": (
        edit(MARKET, lambda d: d["plugins"][0].update(source="./x")),
        r"\./x holds no plugin",
    ),
    "a description that drifts": (
        edit(MARKET, lambda d: d["plugins"][0].update(description="x")),
        r"description is not that",
    ),
    "a manifest that is no JSON": (lambda p: (p / HOOKS).write_text("{"), r"hooks: cannot be read"),
}


@pytest.mark.parametrize("change", BROKEN)
def test_the_check_sees(plugin: Path, change: str) -> None:
    make, expected = BROKEN[change]
    make(plugin)
    found = problems(plugin)
    assert any(re.search(expected, problem) for problem in found), found


def test_the_tools_of_the_check_are_those_of_the_program(
    claude: Path, api: MessagesAPI, tmp_path: Path
) -> None:
    flow = Flow(claude, api, tmp_path)
    seen = flow.session(lambda _: [text("Done.")])
    named = {
        "Read",
        "Write",
        "Edit",
        "NotebookEdit",
        "Bash",
        "Task",
    }  # those that our hooks and agents go by
    assert named <= set(seen.init["tools"]) & TOOLS
    assert "Agent" in seen.own[0].tools


def test_every_event_of_the_hooks_is_one_that_the_check_knows() -> None:
    assert json.loads((ROOT / HOOKS).read_text())["hooks"].keys() <= EVENTS.keys()
