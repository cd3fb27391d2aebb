"""Other makers' clients, old and new, against `/mcp` and over stdio: the SDKs' and the inspector's.

The SDK's Python client of today is in most other tests of MCP.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from _daemon import shared, shared_token
from _mcp_process import arguments, command, environ, shop
from conftest import ROOT
from test_conformance import NODE, PREFIX, REQUIRED

DATA = ROOT / "tests" / "data"
INSPECTOR = PREFIX / "@modelcontextprotocol" / "inspector-cli"
OLD_PYTHON = Path(tempfile.gettempdir()) / "preread-mcp1"
ENV = {"PREREAD_CLAUDE": "off"}
WAYS = ("http", "stdio")
BOUND = 300  # seconds, after which a client hangs; it takes a few, and many on a busy machine


def installed(place: Path) -> None:
    if not place.exists():
        (pytest.fail if REQUIRED else pytest.skip)(f"{place} is not installed; .ci/run does that")


def server(way: str, root: Path) -> dict[str, Any]:
    """Where a client finds the server of a project."""
    if way == "http":
        shared().allow(root)
        headers = {"Authorization": f"Bearer {shared_token()}", "Preread-Namespace": str(root)}
        return {"url": f"{shared().url}/mcp", "headers": headers}
    whole = environ(ENV)
    first, *more = command(arguments(root), whole)
    return {"server": {"command": first, "args": more, "env": whole, "cwd": str(root)}}


def output(program: list[object], env: dict[str, str]) -> Any:
    done = subprocess.run(program, env=env, cwd="/", capture_output=True, text=True, timeout=BOUND)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def by_typescript(sdk: str, **options: object) -> Callable[[dict[str, Any]], Any]:
    def seen(given: dict[str, Any]) -> Any:
        installed(PREFIX / "@modelcontextprotocol" / sdk)
        whole = {"prefix": str(PREFIX.parent), "sdk": sdk, "options": options, **given}
        return output([NODE, DATA / "client.mjs", json.dumps(whole)], {"PATH": os.environ["PATH"]})

    return seen


def by_old_python(given: dict[str, Any]) -> Any:
    installed(OLD_PYTHON / "mcp")
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(OLD_PYTHON)}
    return output([sys.executable, DATA / "client_1.py", json.dumps(given)], env)


CLIENTS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "TypeScript 1": (by_typescript("sdk"), ""),
    "TypeScript 2, old protocol": (by_typescript("client"), "2025-11-25"),
    "TypeScript 2": (by_typescript("client", versionNegotiation={"mode": "auto"}), "2026-07-28"),
    "Python 1": (by_old_python, "2025-11-25"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CLIENTS)
def test_clients_of_the_sdks_list_call_and_hear_of_progress(
    name: str, way: str, tmp_path: Path
) -> None:
    run, era = CLIENTS[name]
    seen = run(server(way, shop(tmp_path / "shop")))
    assert seen["tools"] == ["load_context", "context_operation"]
    assert (seen["status"], seen["refused"]) == ("ok", True)
    assert "checking every source" in seen["heard"]
    assert "dossier://checkout/summary.md" in seen["resources"]
    assert seen["era"] == era or not era


@pytest.mark.parametrize("way", WAYS)
def test_the_inspectors_command_line_lists_and_calls(way: str, tmp_path: Path) -> None:
    installed(INSPECTOR)
    # Where it is in the inspector, whose package it reads; the rest of that is a page and its server.
    shutil.copytree(INSPECTOR, tmp_path / "i" / "cli")
    shutil.copy(INSPECTOR / "package.json", tmp_path / "i")
    (tmp_path / "i" / "node_modules").symlink_to(PREFIX)
    program = tmp_path / "i" / "cli" / "build" / "index.js"
    given = server(way, shop(tmp_path / "shop"))
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    if way == "http":
        headers = [f"{name}: {value}" for name, value in given["headers"].items()]
        where = [given["url"], "--header", *headers]
    else:
        one = given["server"]
        where, env = [one["command"], *one["args"]], env | one["env"]

    def inspector(*more: str) -> Any:
        # Options after the server's command would be the server's.
        return output([NODE, program, *more, *where], env)

    tools = inspector("--method", "tools/list")["tools"]
    assert [tool["name"] for tool in tools] == ["load_context", "context_operation"]
    call = ("--method", "tools/call", "--tool-name", "context_operation", "--tool-arg")
    done = inspector(
        *call, "method=context.status", "--transport", "http" if way == "http" else "stdio"
    )
    assert done["structuredContent"]["result"]["dossiers"] == []
