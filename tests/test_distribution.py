"""How others get the server: its entry for the registry of MCP, and the file for a container."""

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from _mcp_process import environ, shop
from conftest import ROOT
from preread import __version__

ENTRY = json.loads((ROOT / "server.json").read_text())
[PACKAGE] = ENTRY["packages"]
ABOUT = tomllib.loads((ROOT / "pyproject.toml").read_text())
OFF = {"PREREAD_CLAUDE": "off"}


def words(arguments: list[dict[str, str]], **values: str) -> list[str]:
    """The command line that an entry's arguments are, with values for those that a person gives."""
    found = []
    for one in arguments:
        value = one.get("value", values.get(one.get("name", one.get("valueHint", ""))))
        if value is not None:
            found += [value] if one["type"] == "positional" else [one["name"], value]
    return found


def test_the_entry_has_the_registrys_fields_and_this_version() -> None:
    assert re.fullmatch(
        r"https://static\.modelcontextprotocol\.io/schemas/\d{4}-\d\d-\d\d/server\.schema\.json",
        ENTRY["$schema"],
    )
    assert ENTRY.keys() == {"$schema", "name", "title", "description", "version", "packages"}
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", ENTRY["name"])
    assert 3 <= len(ENTRY["name"]) <= 200
    assert 1 <= len(ENTRY["description"]) <= 100
    assert 1 <= len(ENTRY["title"]) <= 100
    assert ENTRY["version"] == PACKAGE["version"] == __version__ == ABOUT["project"]["version"]
    assert PACKAGE.keys() == {
        "registryType", "identifier", "version", "runtimeHint", "transport", "packageArguments",
        "environmentVariables",
    }  # fmt: skip
    assert (PACKAGE["registryType"], PACKAGE["transport"]) == ("pypi", {"type": "stdio"})
    assert PACKAGE["identifier"] == ABOUT["project"]["name"]
    inputs = {"description", "isRequired", "isSecret", "format", "value", "default", "choices"}
    for one in PACKAGE["packageArguments"]:
        kinds = {"positional": {"type", "valueHint"}, "named": {"type", "name"}}
        assert one.keys() <= inputs | kinds[one["type"]]
        assert one.keys() & {"value", "valueHint"} if one["type"] == "positional" else one["name"]
    for one in PACKAGE["environmentVariables"]:
        assert one.keys() <= inputs | {"name"}
    formats = [
        one.get("format", "string")
        for one in (*PACKAGE["packageArguments"], *PACKAGE["environmentVariables"])
    ]
    assert set(formats) <= {"string", "number", "boolean", "filepath"}
    # The registry looks for this in the description of the package.
    assert f"mcp-name: {ENTRY['name']}" in (ROOT / ABOUT["project"]["readme"]).read_text()


@pytest.mark.anyio
async def test_what_the_entry_says_starts_the_server(tmp_path: Path) -> None:
    root = shop(tmp_path / "shop")
    given = words(PACKAGE["packageArguments"], **{"--project": str(root)})
    program = StdioServerParameters(
        command=sys.executable, args=["-m", "preread", *given], env=environ(OFF), cwd=tmp_path
    )
    async with Client(program) as client:
        state = {"method": "config.get", "params": {"key": "claude"}}
        done = await client.call_tool("context_operation", state)
        [row] = done.structured_content["result"]["settings"]
        assert row["value"] == "off"


def test_the_container_has_what_the_package_is_built_from_and_runs_the_same() -> None:
    lines = (ROOT / "Containerfile").read_text().splitlines()
    steps = [line.split(" ", 1) for line in lines if line and not line.startswith("#")]
    found = {word: rest for word, rest in steps if word in {"ENTRYPOINT", "CMD", "USER", "ENV"}}
    assert json.loads(found["ENTRYPOINT"]) == list(ABOUT["project"]["scripts"])
    assert json.loads(found["CMD"]) == words(PACKAGE["packageArguments"])
    assert found["USER"] != "root"
    assert found["ENV"].split("=")[0] in {one["name"] for one in PACKAGE["environmentVariables"]}
    wheel = ABOUT["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = [*wheel["packages"], *wheel["force-include"], "README.md", "LICENSE"]
    left_out = (ROOT / ".containerignore").read_text().split()
    assert left_out
    for path in needed:
        assert (ROOT / path).exists()
        assert not any(path.split("/")[0] == pattern.rstrip("/") for pattern in left_out)
