"""The Claude Code program is found outside the project, and run with the least privilege."""

import json
import os
import re
import stat
from pathlib import Path

import pytest

import _claude
from _claude import bare_environ
from _messages_api import MessagesAPI, text, tool
from _prepared import after, prepared, preparing, run_prepared, services
from _trees import write
from preread.builders import command, locate
from preread.services import Services

# -- finding the program


def program(folder: Path, body: str = "echo '2.1.329 (Claude Code)'", name: str = "claude") -> Path:
    """An executable in place of the program that records its runs."""
    path = write(folder, {name: f"#!/bin/sh\ntouch '{folder}/ran'\n{body}\n"}) / name
    path.chmod(0o755)
    return path


def why_not(found: Services) -> str:
    """Why there is no program; `find` and `is_installed` agree."""
    assert not locate.is_installed(found)
    with pytest.raises(locate.ClaudeUnavailable) as error:
        command.find(found)
    assert error.value.fault.code == "E_CLI"
    assert error.value.fault.hint
    return error.value.fault.reason


def test_the_real_program_is_found_on_the_path_with_its_version(
    claude: Path, one_file: Path, tmp_path: Path
) -> None:
    link = tmp_path / "bin" / "claude"
    link.parent.mkdir()
    link.symlink_to(claude)
    found = command.find(
        services(
            one_file,
            {"PATH": f"{link.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)},
        )
    )
    assert found.path == link, "not resolved: a version manager's link goes by its name"
    assert (found.version, found.text) == (
        tuple(map(int, _claude.PINNED.split("."))),
        _claude.PINNED,
    )


def test_the_program_is_detected_without_running_it(one_file: Path, tmp_path: Path) -> None:
    path = program(tmp_path / "bin")
    for environ in ({"PATH": str(path.parent)}, {"PREREAD_CLAUDE": str(path)}):
        assert locate.is_installed(services(one_file, environ))
        assert not (path.parent / "ran").exists()
        assert command.find(services(one_file, environ)).path == path


def test_a_folder_of_the_path_that_cannot_be_looked_into_has_none(one_file: Path) -> None:
    environ = {"PATH": f"/{'x' * 300}", "PREREAD_CLAUDE": "other"}
    assert "no Claude Code program: PREREAD_CLAUDE=other" in why_not(services(one_file, environ))


def test_switched_off_there_is_none(one_file: Path, tmp_path: Path) -> None:
    path = program(tmp_path / "bin")
    assert "switched off" in why_not(
        services(one_file, {"PREREAD_CLAUDE": "off", "PATH": str(path.parent)})
    )


def test_a_missing_or_invalid_program_is_reported(one_file: Path, tmp_path: Path) -> None:
    assert "`claude` on the PATH" in why_not(services(one_file, {"PATH": str(tmp_path)}))
    assert "`claude` on the PATH" in why_not(services(one_file, {}))
    assert str(tmp_path / "none") in why_not(
        services(one_file, {"PREREAD_CLAUDE": str(tmp_path / "none")})
    )
    text_file = write(tmp_path, {"claude": "#!/bin/sh\n"}) / "claude"
    assert str(text_file) in why_not(services(one_file, {"PREREAD_CLAUDE": str(text_file)}))
    assert str(one_file) in why_not(services(one_file, {"PREREAD_CLAUDE": str(one_file)}))


def test_a_project_does_not_choose_what_runs(
    one_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(one_file)
    evil = program(one_file / "node_modules" / ".bin")
    program(one_file)
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "claude").symlink_to(evil)
    (tmp_path / "to-project").symlink_to(one_file)
    places = [
        "",
        ".",
        "node_modules/.bin",
        str(evil.parent),
        str(linked),
        str(tmp_path / "to-project"),
    ]
    path = os.pathsep.join(places)
    assert "inside the project" in why_not(services(one_file, {"PATH": path}))
    assert "inside the project" in why_not(services(one_file, {"PREREAD_CLAUDE": str(evil)}))
    assert "is not an absolute path" in why_not(services(one_file, {"PREREAD_CLAUDE": "./claude"}))
    good = program(tmp_path / "good")
    assert (
        command.find(services(one_file, {"PATH": f"{path}{os.pathsep}{good.parent}"})).path == good
    )
    assert not (evil.parent / "ran").exists()
    assert not (one_file / "ran").exists()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("echo '2.1.109 (Claude Code)'", "2.1.109 is too old; Preread needs 2.1.110"),
        ("echo '1.0.128 (Claude Code)'", "1.0.128 is too old"),
        ("echo no such library >&2; exit 1", "no such library"),
        ("exit 3", "exit status 3"),
        ("echo hello", "hello"),
        ("exec sleep 60", "no answer within 0 s"),
    ],
)
def test_an_unusable_program_says_why(
    one_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, reason: str
) -> None:
    monkeypatch.setattr(command, "VERSION_SECONDS", 0.4 if "sleep" in body else 30.0)
    found = services(
        one_file,
        {"PREREAD_CLAUDE": str(program(tmp_path / "bin", body)), "PATH": os.environ["PATH"]},
    )
    assert locate.is_installed(found)
    with pytest.raises(locate.ClaudeUnavailable, match=re.escape(reason)):
        command.find(found)


# -- preparing a run


def test_a_version_gets_the_flags_that_it_knows(one_file: Path) -> None:
    flags = {
        version: prepared(one_file, {}, version)
        for version in ("2.1.247", "2.1.248", "2.1.258", "2.1.259", "3.0.0")
    }
    assert [v for v, run in flags.items() if "--restricted" in run.argv] == [
        "2.1.248",
        "2.1.258",
        "2.1.259",
        "3.0.0",
    ]
    assert [v for v, run in flags.items() if "--permission-prompts" in run.argv] == [
        "2.1.259",
        "3.0.0",
    ]
    assert [v for v, run in flags.items() if "Glob" not in after(run, "--tools")] == ["2.1.247"]
    for run in flags.values():
        assert not [word for word in run.argv if "dangerously" in word or word == "--bare"]


def test_limits_and_models_come_from_the_settings(one_file: Path) -> None:
    environ = {
        "PREREAD_MODEL": "opus[1m]",
        "PREREAD_FALLBACK_MODEL": "sonnet",
        "PREREAD_MAX_TURNS": "7",
    }
    run = prepared(one_file, {**environ, "PREREAD_MAX_USD": "0.25"})
    flags = ("--model", "--fallback-model", "--max-turns", "--max-budget-usd")
    assert [after(run, flag) for flag in flags] == ["opus[1m]", "sonnet", "7", "0.25"]
    for fallback in ("opus[1m]", ""):
        assert (
            "--fallback-model"
            not in prepared(one_file, {**environ, "PREREAD_FALLBACK_MODEL": fallback}).argv
        )


def test_the_real_program_respects_the_limit_of_turns(
    claude: Path, api: MessagesAPI, one_file: Path, tmp_path: Path
) -> None:
    api.play(lambda request: [tool("Read", file_path="shop.py")])
    events = run_prepared(
        one_file,
        {**bare_environ(api, tmp_path), "PREREAD_CLAUDE": str(claude), "PREREAD_MAX_TURNS": "3"},
    )
    assert (events[-1]["subtype"], len(api.requests)) == ("error_max_turns", 3)


def test_a_staging_folder_that_a_rule_would_not_take_literally_is_refused(one_file: Path) -> None:
    run = command.Program(Path("/opt/claude"), (2, 1, 329), "2.1.329")
    for name in ("a*", "a b", "a)"):
        with (
            pytest.raises(ValueError, match="literally"),
            command.prepare(services(one_file, {}), run, one_file / ".project" / name, "run"),
        ):
            pass


def test_private_files_are_outside_the_project_for_nobody_else_and_gone_afterwards(
    one_file: Path,
) -> None:
    write(one_file, {".mcp.json": json.dumps({"mcpServers": {"tracker": {"command": "tracker"}}})})
    with preparing(one_file, {"PREREAD_MCP": "tracker"}) as run:
        files = {path.name: path for path in run.scratch.iterdir()}
        assert sorted(files) == ["mcp.json", "settings.json"]
        assert {stat.S_IMODE(path.stat().st_mode) for path in files.values()} == {0o600}
        assert stat.S_IMODE(run.scratch.stat().st_mode) == 0o700
        assert not run.scratch.is_relative_to(one_file.resolve())
        assert after(run, "--mcp-config") == str(files["mcp.json"])
    assert not run.scratch.exists()


def test_private_files_are_gone_after_a_failure(one_file: Path) -> None:
    scratch = []

    def failing() -> None:
        with preparing(one_file, {}) as run:
            scratch.append(run.scratch)
            raise KeyError

    with pytest.raises(KeyError):
        failing()
    assert not scratch[0].exists()


def test_private_files_in_a_project_are_denied_to_the_child(
    claude: Path, api: MessagesAPI, one_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one_file / "my [tmp]").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(one_file / "my [tmp]"))
    write(one_file, {"plain.json": '{"disableAllHooks": 0}'})
    api.play([[tool("Grep", pattern="disableAllHooks", output_mode="content")], [text("Done.")]])
    run_prepared(one_file, {**bare_environ(api, tmp_path), "PREREAD_CLAUDE": str(claude)})
    assert re.findall(r"^(.+json):", api.requests[1].results[0].text, re.MULTILINE) == [
        "plain.json"
    ]


def test_variables_of_the_surrounding_session_are_removed(
    one_file: Path,
) -> None:
    gone = (
        "CLAUDECODE CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_SESSION_ID CLAUDE_CODE_SSE_PORT "
        "CLAUDE_CODE_MESSAGING_SOCKET"
        " CLAUDE_CODE_SESSION_ACCESS_TOKEN CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR "
        "CLAUDE_PROJECT_DIR"
        " CLAUDE_PLUGIN_ROOT CLAUDE_CODE_SIMPLE CLAUDE_CODE_USE_POWERSHELL_TOOL PREREAD_TIMEOUT "
        "PWD OLDPWD"
    ).split()
    kept = (
        "PATH HOME ANTHROPIC_API_KEY ANTHROPIC_BASE_URL ANTHROPIC_DEFAULT_SONNET_MODEL "
        "CLAUDE_CONFIG_DIR"
        " CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CODE_USE_BEDROCK CLAUDE_CODE_USE_VERTEX "
        "CLAUDE_CODE_SKIP_BEDROCK_AUTH"
        " CLAUDE_CODE_CLIENT_CERT AWS_PROFILE AWS_BEARER_TOKEN_BEDROCK "
        "GOOGLE_APPLICATION_CREDENTIALS HTTPS_PROXY"
        " no_proxy NODE_EXTRA_CA_CERTS CLAUDE_CODE_MAX_RETRIES MCP_TIMEOUT"
    ).split()
    given = dict.fromkeys((*gone, *kept), "7") | {"PATH": "/7"}  # relative folders are left out
    found = prepared(one_file, given)
    assert {name: found.environ.get(name) for name in kept} == {name: given[name] for name in kept}
    assert not found.environ.keys() & set(gone)
    assert found.environ.items() >= command.QUIET.items()
    assert found.environ["MCP_CONNECT_TIMEOUT_MS"] == "7", "the first turn waits as long"
    plain = prepared(one_file, {})
    assert plain.environ.items() >= command.DEFAULTS.items()
    assert plain.environ["MCP_CONNECT_TIMEOUT_MS"] == command.DEFAULTS["MCP_TIMEOUT"]
