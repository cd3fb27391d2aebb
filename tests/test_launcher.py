"""The plugin's start: without the package, twice at once, killed, broken, offline, in time."""

import ast
import fcntl
import json
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from _answers import PLACE, written
from _launcher import PATIENCE, ROOT, Machine, Uv, copy_plugin, ended, real_python, wheelhouse
from _mcp_process import MODERN
from _processes import until
from _trees import write
from conftest import child_environ
from preread import __version__

VERSION = f"preread {__version__}\n"
LEGACY = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "claude-code", "version": "2.1.329"},
}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def uv(machine: Machine, tmp_path: Path) -> Uv:
    return Uv(machine.path, tmp_path / "uv")


def installed(machine: Machine) -> None:
    assert machine.run("--version")[:2] == (0, VERSION)


def answers() -> dict:
    return json.loads(PLACE.read_text(encoding="utf-8"))


def test_the_module_that_tells_a_compiled_server_exists() -> None:
    found = subprocess.run(
        [sys.executable, "-B", "-c", "import launch; print(launch.SERVER)"],
        cwd=ROOT / "bin", capture_output=True, text=True, check=True, env=child_environ(),
    ).stdout  # fmt: skip
    assert Path(found.strip()) == ROOT / "server" / "preread" / "mcp" / "server.py"
    assert Path(found.strip()).is_file()


# -- the environment


def test_a_real_pip_makes_the_environment_once_and_nothing_is_written_into_the_plugin(
    tmp_path: Path,
) -> None:
    plugin = copy_plugin(tmp_path / "plug in")
    machine = Machine(tmp_path, plugin)
    machine.environ |= {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheelhouse(tmp_path / "wheels")),
        "PIP_USER": "1",
    }
    before = sorted(path.relative_to(plugin) for path in plugin.rglob("*"))
    status, out, err = machine.run("--version")
    assert (status, out) == (0, VERSION), (err, (machine.data / "install.log").read_text())
    assert "installing" in err
    with machine.server() as server:
        assert server.initialize()["serverInfo"]["version"] == __version__
    assert machine.run("--version") == (0, VERSION, "")
    assert len(machine.environments) == 1
    assert sorted(path.relative_to(plugin) for path in plugin.rglob("*")) == before


def test_two_starts_at_once_make_one_environment(machine: Machine, uv: Uv) -> None:
    uv.hold()
    first = machine.start("--version")
    uv.entered()
    second = machine.start("--version")
    lock = next(machine.data.glob("venv-*.lock"))

    def waits() -> bool:
        return any(file.path == str(lock) for file in psutil.Process(second.pid).open_files())

    until(waits, "the second start at the lock")
    uv.let_go()
    assert [ended(process)[:2] for process in (first, second)] == [(0, VERSION), (0, VERSION)]
    assert uv.calls == ["venv", "pip"]


def test_a_start_after_a_killed_one_cleans_up_and_builds_again(machine: Machine, uv: Uv) -> None:
    uv.hold()
    killed = machine.start("--version", stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    uv.entered()
    killed.kill()
    killed.wait()
    assert [".part-" in name for name in machine.environments] == [True]
    installer = psutil.Process(uv.processes[-1])
    installer.kill()
    (uv.folder / "hold").unlink()
    assert next(
        machine.data.glob("*.lock")
    ).exists()  # a file; the lock itself died with its holder
    installed(machine)
    assert [".part-" in name for name in machine.environments] == [False]


def test_an_environment_whose_python_is_gone_is_rebuilt(machine: Machine, uv: Uv) -> None:
    installed(machine)
    (environment,) = machine.data.glob("venv-*/")
    for name in ("python", "python3", machine.python.name):
        (environment / "bin" / name).unlink()
        (environment / "bin" / name).symlink_to("/nonexistent/python")
    (machine.data / "python").unlink()
    (machine.data / "python").symlink_to("/nonexistent/python")
    installed(machine)
    assert uv.calls == ["venv", "pip"] * 2
    assert os.access(machine.data / "python", os.X_OK)


def test_an_environment_without_its_mark_is_rebuilt(machine: Machine, uv: Uv) -> None:
    installed(machine)
    next(machine.data.glob("venv-*/ready")).unlink()
    installed(machine)
    assert uv.calls == ["venv", "pip"] * 2


def test_the_link_for_the_hooks_is_the_real_python(machine: Machine, uv: Uv) -> None:
    installed(machine)
    assert str((machine.data / "python").readlink()) == real_python()


def test_the_second_start_installs_nothing_and_says_nothing(machine: Machine, uv: Uv) -> None:
    installed(machine)
    assert machine.run("--version") == (0, VERSION, "")
    assert uv.calls == ["venv", "pip"]


def test_another_version_of_the_plugin_keeps_the_environment_and_other_dependencies_make_one(
    tmp_path: Path,
) -> None:
    plugin = copy_plugin(tmp_path / "plugin")
    machine = Machine(tmp_path, plugin)
    uv = Uv(machine.path, tmp_path / "uv")
    installed(machine)
    project = plugin / "pyproject.toml"
    text = project.read_text()
    project.write_text(
        text.replace(f'version = "{__version__}"', 'version = "9.9.9"') + "\n# a comment\n"
    )
    installed(machine)
    assert uv.calls == ["venv", "pip"]
    (old,) = machine.environments
    with machine.server() as server:  # it runs in the old one
        server.initialize()
        server.call(1)
        server.receive()
        project.write_text(text.replace('"rich>=14"', '"rich>=14.0"'))
        installed(machine)
        assert old in machine.environments
        assert len(machine.environments) == 2
    project.write_text(text.replace('"rich>=14"', '"rich>=14.0.0"'))
    installed(machine)
    assert old not in machine.environments
    assert len(machine.environments) == 1


def test_when_uv_fails_pip_is_tried_and_its_error_is_shown(machine: Machine, uv: Uv) -> None:
    uv.fail()
    machine.environ |= {"PIP_NO_INDEX": "1"}
    status, out, err = machine.run("--version")
    assert (status, out) == (1, "")
    assert re.search(r"could not be installed: .*No matching distribution found for anyio", err)
    assert f"{machine.data}/install.log" in err
    assert "PREREAD_PYTHON" in err
    log = (machine.data / "install.log").read_text()
    assert "error: no network, says the test" in log
    assert "uv failed; now with pip" in log
    assert machine.environments == []


# -- places


def test_in_a_shell_the_environment_of_the_plugins_data_folder_is_found(
    machine: Machine, uv: Uv
) -> None:
    machine.data = machine.home / ".claude" / "plugins" / "data" / "preread-inline"
    (machine.data.parent / "preread-another").mkdir(parents=True)
    machine.environ["CLAUDE_PLUGIN_DATA"] = str(machine.data)
    installed(machine)
    del machine.environ["CLAUDE_PLUGIN_DATA"]
    installed(machine)
    assert uv.calls == ["venv", "pip"]
    assert list((machine.data.parent / "preread-another").iterdir()) == []


@pytest.mark.parametrize("xdg", [False, True])
def test_without_any_data_folder_of_the_plugin_the_persons_own_is_used(
    machine: Machine, uv: Uv, xdg: bool
) -> None:
    del machine.environ["CLAUDE_PLUGIN_DATA"]
    if xdg:
        machine.environ["XDG_DATA_HOME"] = str(machine.home / "elsewhere")
    installed(machine)
    place = machine.home / ("elsewhere" if xdg else ".local/share") / "preread"
    assert (place / "python").is_symlink()


def test_an_impossible_data_folder_is_a_clear_error(machine: Machine, uv: Uv) -> None:
    machine.data.write_text("a file")
    status, _, err = machine.run("--version")
    assert status == 1
    assert re.search(
        rf"packages in {re.escape(str(machine.data))}, where nothing can be written. "
        ".*PREREAD_PYTHON",
        err,
    )
    assert "Traceback" not in err


def test_a_python_with_the_packages_is_used_as_it_is(machine: Machine, uv: Uv) -> None:
    machine.environ["PREREAD_PYTHON"] = sys.executable
    assert machine.run("--version") == (0, VERSION, "")
    assert uv.calls == []
    assert machine.environments == []


def test_a_chosen_python_without_the_packages_is_the_base_of_the_environment(
    machine: Machine, uv: Uv, tmp_path: Path
) -> None:
    machine.python.rename(tmp_path / "mine")
    machine.environ["PREREAD_PYTHON"] = str(tmp_path / "mine")
    installed(machine)
    assert uv.calls == ["venv", "pip"]


def test_a_link_to_the_launcher_works_from_anywhere(machine: Machine, uv: Uv) -> None:
    (machine.path / "inner").symlink_to(ROOT / "bin" / "preread")
    (machine.path / "pr").symlink_to("inner")
    done = subprocess.run(
        ["pr", "--version"], env=machine.environ, cwd="/", capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, VERSION)


# -- what runs


def test_arguments_and_the_exit_status_are_passed_on(machine: Machine, uv: Uv) -> None:
    name = "a b'c\"$(touch pwned)\n*"
    status, _, err = machine.run("load", name)
    assert status == 2
    assert "E_FEATURE_NAME" in err
    assert 'Use the name "a-b-c-touch-pwned".' in err
    assert machine.run("show", "login", "summary.md")[0] == 1
    assert not (machine.project / "pwned").exists()


def test_nothing_is_imported_from_the_folder_it_is_started_in_nor_from_the_environment(
    machine: Machine, uv: Uv, tmp_path: Path
) -> None:
    trap = "raise SystemExit('taken from elsewhere')\n"
    names = (
        "preread/__init__.py",
        "click.py",
        "mcp/__init__.py",
        "json.py",
        "install.py",
        "runpy.py",
        "uv.py",
    )
    write(machine.project, dict.fromkeys(names, trap))
    write(tmp_path / "more", dict.fromkeys((*names, "sitecustomize.py"), trap))
    machine.environ["PYTHONPATH"] = str(tmp_path / "more")
    machine.environ["PYTHONHOME"] = str(tmp_path)
    installed(machine)
    installed(machine)


@pytest.mark.parametrize("name", ["launch.py", "install.py", "relay.py", "child.py"])
def test_an_old_python_can_read_the_launcher(name: str) -> None:
    ast.parse((ROOT / "bin" / name).read_text(), feature_version=(3, 8))


def test_the_shell_part_is_bash_3_and_executable() -> None:
    script = ROOT / "bin" / "preread"
    text = script.read_text()
    assert not re.search(
        r"declare -[An]|local -[An]|mapfile|readarray|&>>|\|&|\$\{\w+(,|\^|@)|;;&|;&|coproc", text
    )
    assert subprocess.run(["bash", "-n", str(script)]).returncode == 0
    assert script.stat().st_mode & stat.S_IXUSR


# -- what is missing


def test_an_unusable_python_is_named(machine: Machine) -> None:
    machine.environ["PREREAD_PYTHON"] = "/nonexistent/python"
    status, _, err = machine.run("--version")
    assert status == 1
    assert "PREREAD_PYTHON names /nonexistent/python" in err


@pytest.fixture
def old_python(tmp_path: Path) -> Path:
    """A Python that says it is 3.9."""
    program = tmp_path / "old python"
    code = "import runpy, sys; sys.version_info = (3, 9, 18); del sys.argv[0]"
    code += "; runpy.run_path(sys.argv[0], None, '__main__')"
    program.write_text(f'#!/bin/sh\nshift\nexec "{real_python()}" -I -c "{code}" "$@"\n')
    program.chmod(0o755)
    return program


def test_an_old_python_says_what_to_do(machine: Machine, old_python: Path) -> None:
    machine.environ["PREREAD_PYTHON"] = str(old_python)
    status, _, err = machine.run("--version")
    assert status == 1
    assert re.search(
        r"needs Python 3\.11 or newer and found only 3\.9 at .* Install a newer one", err
    )
    assert "Traceback" not in err


def test_an_old_python_tells_the_model_too(machine: Machine, old_python: Path) -> None:
    machine.environ["PREREAD_PYTHON"] = str(old_python)
    with machine.server() as server:
        server.initialize()
        server.call(1)
        result = server.receive()["result"]
    assert result["isError"]
    assert "needs Python 3.11 or newer" in result["content"][0]["text"]


# -- in time


def test_the_relays_answers_are_those_of_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in child_environ().items():
        monkeypatch.setenv(name, value)
    assert PLACE.read_text(encoding="utf-8") == written(), (
        "run: PYTHONPATH=server python tests/_answers.py"
    )


def test_while_it_is_installed_the_handshake_and_lists_are_answered_and_calls_wait(
    machine: Machine, uv: Uv
) -> None:
    uv.hold()
    with machine.server() as server:
        known = answers()["legacy"]
        for version in answers()["versions"]:
            assert server.initialize(version) == {**known["initialize"], "protocolVersion": version}
        for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
            assert server.ask(method, method)["result"] == known[method]
        assert server.ask("p", "ping")["result"] == {}
        server.call(1)
        uv.entered()
        assert not server.ready(0)
        uv.let_go()
        first = server.receive()
        assert first["id"] == 1
        assert first["result"]["structuredContent"]["status"] == "ok", first
        server.call(2)
        assert server.receive()["result"]["structuredContent"]["state"] == "cached"
        assert server.ask(3, "tools/list")["result"] == known["tools/list"]
    assert uv.calls == ["venv", "pip"]


def test_the_same_for_clients_of_the_later_era(machine: Machine, uv: Uv) -> None:
    uv.hold()
    with machine.server() as server:
        known = answers()["2026-07-28"]
        assert (
            server.ask("probe-1", "server/discover", **MODERN)["result"] == known["server/discover"]
        )
        assert server.ask(0, "tools/list", **MODERN)["result"] == known["tools/list"]
        server.call(1, **MODERN)
        uv.entered()
        uv.let_go()
        assert server.receive()["result"]["structuredContent"]["status"] == "ok"
        # The first server's answer to the probe was swallowed: it would have come before.
        assert (
            server.ask("probe-1", "server/discover", **MODERN)["result"] == known["server/discover"]
        )


@pytest.mark.parametrize("cold", [True, False])
def test_a_client_that_fell_back_while_the_server_was_starting_is_served_in_the_older_era(
    machine: Machine, uv: Uv, cold: bool
) -> None:
    if not cold:
        with machine.server() as server:
            server.initialize()
            server.call(1)
            assert server.receive()["result"]["structuredContent"]["status"] == "ok"
    with machine.server() as server:
        server.send(id="probe", method="server/discover", params=MODERN)
        server.send(id=0, method="initialize", params=LEGACY)
        server.send(method="notifications/initialized")
        server.send(id=1, method="tools/list", params={})
        server.call(2)
        found = {answer["id"]: answer for answer in (server.receive() for _ in range(3))}
        if "probe" in found:  # the answer to a probe that the client gave up may come or not
            found |= {(answer := server.receive())["id"]: answer}
        known = answers()["legacy"]
        assert found[0]["result"] == {**known["initialize"], "protocolVersion": "2025-11-25"}
        assert found[1]["result"] == known["tools/list"]
        assert found[2]["result"]["structuredContent"]["status"] == "ok"


def test_a_call_does_not_wait_for_ever_for_a_server_that_does_not_start(tmp_path: Path) -> None:
    plugin = copy_plugin(tmp_path / "plugin")
    relay = plugin / "bin" / "relay.py"
    text = relay.read_text()
    relay.write_text(text.replace("PATIENCE = 120.0", "PATIENCE = 1.0"))
    assert relay.read_text() != text
    machine = Machine(tmp_path, plugin)
    uv = Uv(machine.path, tmp_path / "uv")
    uv.hold()
    with machine.server() as server:
        server.initialize()
        server.call(1)
        result = server.receive()["result"]
        assert result["isError"]
        assert "has not started within 1 seconds" in result["content"][0]["text"]
        uv.entered()
        uv.let_go()
        for ident in range(2, 99):
            server.call(ident)
            answer = server.receive()
            assert answer["id"] == ident  # what the server answers to an earlier call is swallowed
            if not answer["result"].get("isError"):
                break
        assert answer["result"]["structuredContent"]["status"] == "ok"


def test_an_answer_of_megabytes_and_a_call_split_anywhere_pass_through(
    machine: Machine, uv: Uv
) -> None:
    uv.hold()
    with machine.server() as server:
        server.initialize()
        assert server.process.stdin
        name = "x" * 300_000  # more than fits in a pipe
        line = json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name}}
        ).encode()
        server.process.stdin.write(line[:7])
        server.process.stdin.flush()
        uv.entered()
        server.process.stdin.write(line[7:-9])
        server.process.stdin.flush()
        uv.let_go()
        server.process.stdin.write(line[-9:] + b"\nno JSON\n")
        server.process.stdin.flush()
        found = [server.receive(), server.receive()]
    assert {message["id"] for message in found} == {1, None}
    assert next(m for m in found if m["id"] == 1)["error"]["message"].count("x") == len(name)


def test_when_the_installation_fails_calls_say_why_and_the_next_one_tries_again(
    machine: Machine, uv: Uv
) -> None:
    uv.fail()
    machine.environ["PIP_NO_INDEX"] = "1"
    with machine.server() as server:
        server.initialize()
        server.send(id=1, method="resources/read", params={"uri": "dossier://a/summary.md"})
        server.call(2)
        found = {message["id"]: message for message in (server.receive(), server.receive())}
        assert "could not be installed" in found[1]["error"]["message"]
        result = found[2]["result"]
        assert result["isError"]
        assert re.search(
            r"could not be installed: .*No matching distribution.*Tell the person",
            result["content"][0]["text"],
            re.DOTALL,
        )
        assert server.ask(3, "tools/list")["result"]["tools"]
        uv.fail(on=False)
        server.call(4)
        assert server.receive()["result"]["structuredContent"]["status"] == "ok"


def test_a_gate_only_warns_while_nothing_could_open_it(machine: Machine, uv: Uv) -> None:
    assert machine.gated_write()["hookSpecificOutput"]["permissionDecision"] == "deny"
    uv.fail()
    machine.environ["PIP_NO_INDEX"] = "1"
    assert machine.run("--version")[0] == 1
    warned = machine.gated_write()
    assert "could not be installed" in warned["systemMessage"]
    assert "permissionDecision" not in warned["hookSpecificOutput"]
    uv.fail(on=False)
    assert machine.run("--version")[0] == 0
    assert machine.gated_write()["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM, "input"])
def test_it_ends_with_its_client_while_it_is_installed_and_so_does_the_installer(
    machine: Machine, uv: Uv, way: signal.Signals | str
) -> None:
    uv.hold()
    with machine.server() as server:
        server.initialize()
        uv.entered()
        started = psutil.Process(server.process.pid).children(recursive=True)
        assert uv.processes[-1] in [process.pid for process in started]
        if isinstance(way, signal.Signals):
            server.process.send_signal(way)
            assert server.process.wait(PATIENCE) == 128 + way
        else:
            assert server.process.stdin
            server.process.stdin.close()
            server.process.stdin = None
            assert server.process.wait(PATIENCE) == 0
        assert psutil.wait_procs(started, PATIENCE)[1] == []


@pytest.mark.parametrize("way", [signal.SIGINT, "input", "kill"])
def test_the_server_behind_the_relay_ends_with_its_client(
    machine: Machine, uv: Uv, way: signal.Signals | str
) -> None:
    with machine.server() as server:
        server.initialize()
        server.call(1)
        assert server.receive()["id"] == 1
        started = psutil.Process(server.process.pid).children(recursive=True)
        assert len(started) == 1
        if way == "input":
            assert server.process.stdin
            server.process.stdin.close()
            server.process.stdin = None
        else:
            server.process.send_signal(signal.SIGKILL if way == "kill" else way)
        server.process.wait(PATIENCE)
        assert psutil.wait_procs(started, PATIENCE)[1] == []


def test_a_server_that_dies_ends_the_relay_with_its_status(machine: Machine, uv: Uv) -> None:
    with machine.server() as server:
        server.initialize()
        server.call(1)
        server.receive()
        (behind,) = psutil.Process(server.process.pid).children()
        behind.send_signal(signal.SIGTERM)
        assert server.process.wait(PATIENCE) == 128 + signal.SIGTERM


def test_once_it_has_run_the_start_becomes_the_server_and_holds_its_environment(
    machine: Machine, uv: Uv
) -> None:
    with machine.server() as server:
        server.initialize()
        server.call(1)
        server.receive()
    with machine.server() as server:
        server.initialize()
        itself = psutil.Process(server.process.pid)
        assert itself.children() == []
        assert Path(itself.cmdline()[0]).is_relative_to(machine.data)
        with next(machine.data.glob("venv-*.lock")).open() as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_the_relay_answers_while_the_server_is_compiled(machine: Machine) -> None:
    machine.environ["PREREAD_PYTHON"] = sys.executable
    with machine.server() as server:
        server.initialize()
        assert "relay.py" in " ".join(psutil.Process(server.process.pid).cmdline())
        server.call(1)
        assert server.receive()["result"]["structuredContent"]["status"] == "ok"
    with machine.server() as server:
        server.initialize()
        assert "relay.py" not in " ".join(psutil.Process(server.process.pid).cmdline())
