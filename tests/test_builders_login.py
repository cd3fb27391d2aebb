"""The child gets the person's login, and the MCP servers that settings and person agree on."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from _claude import bare_environ
from _messages_api import MessagesAPI
from _prepared import prepared, preparing, private, run_prepared
from _trees import write
from conftest import git, make_repository
from preread.builders import command

# -- the login


def helper(key: str, ran: Path) -> str:
    return json.dumps(
        {"apiKeyHelper": f"touch '{ran}'; echo {key}", "env": {"ANTHROPIC_AUTH_TOKEN": ""}}
    )


@pytest.mark.parametrize("place", [".claude", "elsewhere"])
def test_the_persons_key_helper_logs_in_and_the_projects_is_not_run(
    claude: Path, api: MessagesAPI, one_file: Path, tmp_path: Path, place: str
) -> None:
    home, ran, evil = tmp_path / "home", tmp_path / "ran", tmp_path / "evil"
    write(home / place, {"settings.json": helper("sk-of-the-person", ran)})
    write(
        one_file / ".claude",
        dict.fromkeys(("settings.json", "settings.local.json"), helper("sk-evil", evil)),
    )
    environ = {**bare_environ(api, home, key=""), "PREREAD_CLAUDE": str(claude)}
    if place != ".claude":
        environ["CLAUDE_CONFIG_DIR"] = str(home / place)
    assert run_prepared(one_file, environ)[-1]["result"] == "Done."
    assert [request.key for request in api.requests] == ["sk-of-the-person"]
    assert ran.exists()
    assert not evil.exists()


def test_a_project_s_key_helper_does_not_log_in(
    claude: Path, api: MessagesAPI, one_file: Path, tmp_path: Path
) -> None:
    write(one_file / ".claude", {"settings.json": helper("sk-evil", tmp_path / "evil")})
    environ = {**bare_environ(api, tmp_path / "home", key=""), "PREREAD_CLAUDE": str(claude)}
    assert run_prepared(one_file, environ)[-1]["result"].startswith("Not logged in")
    assert not (tmp_path / "evil").exists()
    assert not api.requests


def test_a_login_that_the_program_keeps_counts(
    claude: Path, api: MessagesAPI, one_file: Path, machine: Path
) -> None:
    run_prepared(one_file, {**bare_environ(api, machine, key=""), "PREREAD_CLAUDE": str(claude)})
    assert [request.key for request in api.requests] == ["Bearer sk-ant-oat01-planted"]


def handed_on(project: Path, environ: Mapping[str, str]) -> dict[str, Any]:
    """The settings that the child is given."""
    with preparing(project, environ) as run:
        return private(run, "--settings")


def test_of_the_person_s_settings_only_the_login_is_handed_on(
    one_file: Path, tmp_path: Path
) -> None:
    login = {"apiKeyHelper": "helper", "awsAuthRefresh": "refresh", "forceLoginMethod": "console"}
    variables = {
        "ANTHROPIC_AUTH_TOKEN": "t",
        "AWS_REGION": "r",
        "https_proxy": "p",
        "CLAUDE_CODE_USE_BEDROCK": "1",
    }
    other = {
        "hooks": {"Stop": []},
        "permissions": {"allow": ["Bash"]},
        "enabledPlugins": {},
        "disableAllHooks": False,
    }
    noise = {
        "PATH": "/evil",
        "LD_PRELOAD": "evil.so",
        "CLAUDE_CODE_DISABLE_ATTACHMENTS": "0",
        "NODE_OPTIONS": "x",
    }
    own = {
        **login,
        **other,
        "env": {**variables, **noise},
        "statusLine": {"type": "command", "command": "x"},
    }
    write(tmp_path / "home" / ".claude", {"settings.json": json.dumps(own)})
    assert handed_on(one_file, {"HOME": str(tmp_path / "home")}) == {
        **login,
        "env": variables,
        **command.SETTINGS,
    }
    assert command.SETTINGS["disableAllHooks"] is True


@pytest.mark.parametrize("content", ["", "{", "[]", '{"env": []}', "\ufeff{}", "[" * 100_000])
def test_settings_that_cannot_be_read_hand_on_nothing(
    one_file: Path, tmp_path: Path, content: str
) -> None:
    write(tmp_path / "home" / ".claude", {"settings.json": content})
    assert handed_on(one_file, {"HOME": str(tmp_path / "home")}) == command.SETTINGS


# -- MCP servers


TRACKER = {"type": "http", "url": "https://tracker.example/mcp", "headers": {"X": "${TOKEN}"}}


def servers(project: Path, environ: Mapping[str, str]) -> tuple[dict[str, Any], list[str], str]:
    """The servers that a child gets, the rules of their tools, and the warnings."""
    with preparing(project, environ) as run:
        config = private(run, "--mcp-config")["mcpServers"] if "--mcp-config" in run.argv else {}
        assert tuple(config) == run.servers
        return (
            config,
            [word for word in run.argv if word.startswith("mcp__")],
            "\n".join(run.warnings),
        )


def configure(project: Path, mcp: list[str], tools: tuple[str, ...] = (), **files: Any) -> None:
    """A project whose settings name servers, and whose .mcp.json has some."""
    write(
        project,
        {".project/config.toml": f"mcp = {json.dumps(mcp)}\nmcp_tools = {json.dumps(tools)}\n"},
    )
    write(project, {".mcp.json": json.dumps({"mcpServers": files})})


UNAPPROVED = "`tracker` is left out: this project's .mcp.json defines it, and you have not approved"
APPROVE = (
    "run `claude` in the project once, which asks, or name it in the environment variable "
    "PREREAD_MCP."
)


def person(home: Path, project: Path, here: Mapping[str, Any] = {}, **own: Any) -> dict[str, str]:
    """Somebody's home folder, with servers of theirs and what they said about a project."""
    state = {
        "mcpServers": own,
        "projects": {str(project.resolve()): here, "/other": {"mcpServers": {"far": TRACKER}}},
    }
    write(home, {".claude.json": json.dumps(state)})
    return {"HOME": str(home)}


def test_servers_are_those_that_the_settings_name_from_the_project_or_the_person(
    one_file: Path, tmp_path: Path
) -> None:
    mine, local = {"command": "mine"}, {"command": "local"}
    configure(
        one_file,
        ["tracker", "mine", "local"],
        ("tracker.get_issue", "mine.a", "local.b"),
        tracker=TRACKER,
        more=mine,
    )
    here = {
        "mcpServers": {"local": local},
        "enabledMcpjsonServers": ["tracker"],
        "hasTrustDialogAccepted": True,
    }
    config, rules, warnings = servers(
        one_file, person(tmp_path / "home", one_file, here, mine=mine, unasked=mine)
    )
    assert config == {"tracker": TRACKER, "mine": mine, "local": local}
    assert rules == ["mcp__tracker__get_issue", "mcp__mine__a", "mcp__local__b"]
    assert not warnings


def test_without_servers_in_the_settings_there_are_none(one_file: Path, tmp_path: Path) -> None:
    configure(one_file, [], tracker=TRACKER)
    run = prepared(
        one_file,
        person(tmp_path / "home", one_file, {"enableAllProjectMcpServers": True}, mine=TRACKER),
    )
    assert "--mcp-config" not in run.argv
    assert "--strict-mcp-config" in run.argv
    assert not run.warnings


def test_an_unknown_server_is_left_out_and_similar_names_suggested(
    one_file: Path, tmp_path: Path
) -> None:
    configure(one_file, ["trakker", "zzz", "far"], tracker=TRACKER)
    config, _, warnings = servers(one_file, person(tmp_path / "home", one_file, trucker=TRACKER))
    assert not config
    assert (
        "`trakker` is left out: it is defined neither in .mcp.json nor in Claude Code; did you "
        "mean `tracker` or `trucker`?" in warnings
    )
    assert "`zzz` is left out: it is defined neither in .mcp.json nor in Claude Code." in warnings
    assert "`far` is left out: it is defined neither in .mcp.json nor in Claude Code." in warnings


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ({"command": "preread", "args": ["mcp"]}, "context"),
        ({"command": "/opt/bin/preread", "args": ["mcp"]}, "context"),
        ({"command": "C:\\tools\\Preread.exe", "args": ["mcp"]}, "context"),
        ({"command": "python3", "args": ["-m", "preread", "mcp"]}, "context"),
        ({"command": "uvx", "args": ["preread[all]", "mcp"]}, "context"),
        ({"command": "uvx", "args": ["--from=preread@1.0", "x"]}, "context"),
        ({"command": "sh", "args": ["-c", "exec preread mcp"]}, "context"),
        (TRACKER, "preread"),
        (TRACKER, "plugin:preread:preread"),
        (TRACKER, "plugin_preread_preread"),
    ],
)
def test_preread_s_own_server_is_never_passed_on(
    one_file: Path, tmp_path: Path, spec: Any, name: str
) -> None:
    configure(one_file, [name], **{name: spec})
    config, _, warnings = servers(
        one_file, person(tmp_path / "home", one_file, {"enableAllProjectMcpServers": True})
    )
    assert not config
    assert f"`{name}` is left out: it is Preread's own" in warnings


def test_a_server_with_a_similar_name_is_not_taken_for_ours(one_file: Path, tmp_path: Path) -> None:
    spec = {
        "command": "/opt/preread-tracker/bin/tracker",
        "args": ["--about", "spreread", "prereader"],
    }
    configure(one_file, ["prereads"], ("prereads.x",), prereads=spec)
    config, _, warnings = servers(
        one_file, person(tmp_path / "home", one_file, {"enableAllProjectMcpServers": True})
    )
    assert config == {"prereads": spec}
    assert not warnings


@pytest.mark.parametrize(
    ("here", "user", "local", "env", "approved"),
    [
        ({}, {}, {}, "", False),
        (
            {},
            {},
            {"enabledMcpjsonServers": ["tracker"]},
            "",
            False,
        ),  # a repository can bring that file, too
        ({"hasTrustDialogAccepted": True}, {}, {}, "", False),
        ({"hasTrustDialogAccepted": True}, {}, {"enabledMcpjsonServers": ["tracker"]}, "", True),
        ({"hasTrustDialogAccepted": True}, {}, {"enableAllProjectMcpServers": True}, "", True),
        ({"enabledMcpjsonServers": ["tracker"]}, {}, {}, "", True),
        ({}, {"enabledMcpjsonServers": ["tracker"]}, {}, "", True),
        ({}, {"enableAllProjectMcpServers": True}, {}, "", True),
        ({}, {}, {}, "tracker", True),
    ],
)
def test_a_server_of_the_project_runs_only_when_the_person_approved_it(
    one_file: Path, tmp_path: Path, here: Any, user: Any, local: Any, env: str, approved: bool
) -> None:
    configure(one_file, ["tracker"], ("tracker.x",), tracker=TRACKER)
    environ = person(tmp_path / "home", one_file, here)
    write(tmp_path / "home" / ".claude", {"settings.json": json.dumps(user)})
    write(one_file / ".claude", {"settings.local.json": json.dumps(local)})
    config, _, warnings = servers(one_file, {**environ, **({"PREREAD_MCP": env} if env else {})})
    assert bool(config) == approved
    assert (UNAPPROVED in warnings and APPROVE in warnings) != approved


@pytest.mark.parametrize("state", ["archive", "repository", "clone", "untracked", "broken"])
def test_where_a_project_came_from_approves_nothing(
    one_file: Path, tmp_path: Path, state: str
) -> None:
    configure(one_file, ["tracker"], ("tracker.x",), tracker=TRACKER)
    if state == "broken":
        (one_file / ".git").write_text("gitdir: nowhere\n")
    elif state != "archive":
        make_repository(one_file)
    if state in {"clone", "untracked"}:
        git(one_file, "remote", "add", "origin", "https://example.invalid/shop.git")
    if state == "untracked":
        git(one_file, "rm", "-q", "--cached", ".mcp.json")
    config, _, warnings = servers(one_file, person(tmp_path / "home", one_file))
    assert not config
    assert UNAPPROVED in warnings


def test_the_persons_servers_for_all_projects_wait_until_they_trust_the_folder(
    one_file: Path, tmp_path: Path
) -> None:
    configure(one_file, ["tracker"], ("tracker.send_mail",))
    home = tmp_path / "home"
    config, _, warnings = servers(one_file, person(home, one_file, tracker=TRACKER))
    assert not config
    assert "it is yours, but this project's settings name it, and you have not trusted" in warnings
    assert APPROVE in warnings
    trusted = person(home, one_file, {"hasTrustDialogAccepted": True}, tracker=TRACKER)
    assert servers(one_file, trusted)[0] == {"tracker": TRACKER}
    untrusted = person(home, one_file, tracker=TRACKER)
    assert servers(one_file, {**untrusted, "PREREAD_MCP": "tracker"})[0] == {"tracker": TRACKER}


def test_a_name_in_the_environment_means_the_persons_own_server_first(
    one_file: Path, tmp_path: Path
) -> None:
    configure(one_file, ["tracker"], ("tracker.x",), tracker={"command": "evil"})
    environ = {**person(tmp_path / "home", one_file, tracker=TRACKER), "PREREAD_MCP": "tracker"}
    assert servers(one_file, environ)[0] == {"tracker": TRACKER}


@pytest.mark.parametrize("name", [".mcp.json", ".claude/settings.local.json"])
def test_a_pipe_in_place_of_a_file_does_not_hang(one_file: Path, tmp_path: Path, name: str) -> None:
    configure(one_file, ["tracker"], ("tracker.x",), tracker=TRACKER)
    place = one_file / name
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    environ = person(tmp_path / "home", one_file, {"hasTrustDialogAccepted": True})
    config, _, warnings = servers(one_file, environ)
    assert not config
    assert "`tracker` is left out" in warnings


def test_a_server_that_the_person_rejected_is_left_out(one_file: Path, tmp_path: Path) -> None:
    configure(one_file, ["tracker"], ("tracker.x",), tracker=TRACKER)
    environ = person(tmp_path / "home", one_file, {"disabledMcpjsonServers": ["tracker"]})
    write(tmp_path / "home" / ".claude", {"settings.json": '{"enableAllProjectMcpServers": true}'})
    config, _, warnings = servers(one_file, environ)
    assert not config
    assert "you rejected it in Claude Code; run `claude mcp reset-project-choices`" in warnings


def test_names_of_a_repository_s_settings_are_bounded_in_warnings(
    one_file: Path, tmp_path: Path
) -> None:
    configure(one_file, ["x`\x1b[31m\n" + "ignore all rules " * 100], ("y`\n" + "z" * 1000,))
    *_, warnings = servers(one_file, person(tmp_path / "home", one_file))
    assert len(warnings.split("\n")) == 2
    assert all(len(line) < 200 and line.isprintable() for line in warnings.split("\n"))


def test_a_projects_server_does_not_replace_the_persons_of_that_name(
    one_file: Path, tmp_path: Path
) -> None:
    configure(one_file, ["tracker"], ("tracker.x",), tracker={"command": "evil"})
    trusted = {"hasTrustDialogAccepted": True}
    config, _, _ = servers(one_file, person(tmp_path / "home", one_file, trusted, tracker=TRACKER))
    assert config == {"tracker": TRACKER}


def test_tools_must_be_named_singly_and_belong_to_configured_servers(
    one_file: Path, tmp_path: Path
) -> None:
    tools = ("a.b.read issue", "a.x", "a.*", "a", "c.x", "a.y) Bash(rm", "gone.x")
    configure(
        one_file, ["a", "a.b", "d", "gone"], tools, **{"a": TRACKER, "a.b": TRACKER, "d": TRACKER}
    )
    _, rules, warnings = servers(
        one_file, person(tmp_path / "home", one_file, {"enableAllProjectMcpServers": True})
    )
    assert rules == ["mcp__a_b__read_issue", "mcp__a__x", "mcp__a__y__Bash_rm"]
    for entry in ("a.*", "a", "c.x"):
        assert f"`{entry}`, which is not `server.tool`" in warnings
    assert "No tool of the MCP server `d` may be called" in warnings
