"""The wheel: it is built, installed into an environment of its own, and used from elsewhere."""

import json
import os
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from _flow import LOAD, Flow, call_in
from _messages_api import Answer, Block, MessagesAPI, Request, text, tool
from conftest import ROOT, child_environ

PATIENCE, WAITS = 120.0, 30
DATA = "preread/data"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="the README's test command installs hatchling")
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=PATIENCE)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program `preread` of an environment with the wheel and the packages that it requires."""
    venv = tmp_path_factory.mktemp("installed") / "venv"
    python, quiet = venv / "bin" / "python", {"check": True, "capture_output": True}
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], timeout=PATIENCE, **quiet)
    install = ["install", "--no-deps", "--no-index", wheel]
    pip = [sys.executable, "-m", "pip", "--python", python, *install]
    subprocess.run(pip, timeout=PATIENCE, **quiet)
    (packages,) = venv.glob("lib/python*/site-packages")
    borrowed = metadata.distribution("mcp").locate_file("")  # a .pth file there is not read again
    (packages / "borrowed.pth").write_text(f"{borrowed}\n")
    return venv / "bin" / "preread"


def kept(folder: str) -> set[str]:
    """The files of a folder of the repository."""
    done = subprocess.run(
        ["git", "ls-files", "-z", folder], cwd=ROOT, capture_output=True, check=True, text=True
    )
    return set(filter(None, done.stdout.split("\0")))


def test_it_contains_the_package_and_what_makes_it_a_plugin(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {info.filename for info in archive.infolist()}
        modes = {i.filename: i.external_attr >> 16 & 0o111 for i in archive.infolist()}
        manifest = json.loads(archive.read(f"{DATA}/.claude-plugin/plugin.json"))
    package = {name.removeprefix("server/") for name in kept("server/preread")}
    assert {"preread/py.typed", "preread/syntax/queries/python.scm"} <= package
    parts = {
        f"{DATA}/{name}"
        for folder in ("prompts", "hooks", "skills", "agents", "workflows")
        for name in kept(folder)
    }
    assert f"{DATA}/prompts/context-builder.md.j2" in parts
    inside = {name for name in names if ".dist-info/" not in name}
    assert inside == package | parts | {f"{DATA}/.claude-plugin/plugin.json"}
    assert modes[f"{DATA}/hooks/pre-spec-write"]  # Claude Code runs it as a program
    assert list(manifest["mcpServers"]) == ["preread"]


def test_installed_it_builds_a_dossier_from_outside_of_the_checkout(
    installed: Path, project: Path, tmp_path: Path
) -> None:
    environ = {**child_environ(), "PYTHONPATH": str(ROOT / "tests" / "guard")}

    def run(*arguments: str) -> str:
        command = [installed, *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, timeout=PATIENCE
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    at = ("--project", str(project), "--json")
    reply = json.loads(run("load", "checkout", "--level", "light", *at))
    assert reply["status"] == "ok"
    assert "api/shop/checkout.py" in reply["dossier"]
    assert f"in {installed.parents[1]}" in run("doctor", *at)


def test_its_folder_is_the_plugin_with_the_server_the_gates_and_the_skills(
    claude: Path, api: MessagesAPI, installed: Path, tmp_path: Path
) -> None:
    (plugin,) = installed.parents[1].glob(f"lib/python*/site-packages/{DATA}")
    flow = Flow(claude, api, tmp_path, plugin)
    flow.environ |= {
        "PATH": os.pathsep.join((str(installed.parent), flow.environ["PATH"])),
        "PREREAD_LEVEL": "light",
    }
    first, again = flow.spec("tests/login.spec.ts"), flow.spec("tests/login.spec.ts")

    calls: list[Block] = []

    def script(request: Request) -> Answer:
        if not request.results:
            return [first]
        if not calls and LOAD not in request.tools and request.turn < WAITS:
            return [tool("Bash", command="sleep 1")]  # the server is still starting
        if not calls:
            calls.append(call_in(request.results[0].text))
            return calls
        return [text("Done.")] if request.results[-1].id == again["id"] else [again]

    seen = flow.session(script)
    assert seen.told(first)[1]
    assert json.loads(seen.told(calls[0])[0])["status"] == "ok"
    assert "preread:test" in seen.init["slash_commands"]
    assert not seen.told(again)[1]
    assert flow.there("tests/login.spec.ts")
