"""How others get the server: its entry for the registry of MCP, and the file for a container."""

import json
import sys
import tomllib
from copy import deepcopy
from functools import reduce
from operator import getitem
from pathlib import Path

import jsonschema
import pytest
from mcp import Client, StdioServerParameters

from _mcp_process import environ, shop
from conftest import ROOT
from preread import __version__

ENTRY = json.loads((ROOT / "server.json").read_text())
# What the registry publishes at the entry's `$schema`, byte for byte; of modelcontextprotocol/registry
# under the MIT licence, which is beside it.
REGISTRY = ROOT / "tests" / "data" / "registry"
SCHEMA = json.loads((REGISTRY / "server.schema.json").read_text())
[PACKAGE] = ENTRY["packages"]
ABOUT = tomllib.loads((ROOT / "pyproject.toml").read_text())
OFF = {"PREREAD_CLAUDE": "off"}


def known(definition: str) -> set[str]:
    """The names of the properties that a definition of the schema has, also by others."""
    found, wanted = set(), [SCHEMA["definitions"][definition]]
    while wanted:
        one = wanted.pop()
        found |= one.get("properties", {}).keys()
        wanted += one.get("allOf", [])
        if "$ref" in one:
            wanted.append(SCHEMA["definitions"][one["$ref"].rpartition("/")[2]])
    return found


def words(arguments: list[dict[str, str]], **values: str) -> list[str]:
    """The command line that an entry's arguments are, with values for those that a person gives."""
    found = []
    for one in arguments:
        value = one.get("value", values.get(one.get("name", one.get("valueHint", ""))))
        if value is not None:
            found += [value] if one["type"] == "positional" else [one["name"], value]
    return found


def test_the_registry_would_take_the_entry_and_it_has_this_version() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    problems = jsonschema.Draft7Validator(SCHEMA).iter_errors(ENTRY)
    assert [f"{one.json_path}: {one.message}" for one in problems] == []
    assert ENTRY["$schema"] == SCHEMA["$id"]
    assert ENTRY["version"] == PACKAGE["version"] == __version__ == ABOUT["project"]["version"]
    assert PACKAGE["identifier"] == ABOUT["project"]["name"]
    # The schema allows names that it does not know: a slip of the pen would pass.
    assert ENTRY.keys() <= known("ServerDetail")
    assert PACKAGE.keys() <= known("Package")
    kinds = {"positional": "PositionalArgument", "named": "NamedArgument"}
    for one in PACKAGE["packageArguments"]:
        assert one.keys() <= known(kinds[one["type"]])
    for one in PACKAGE["environmentVariables"]:
        assert one.keys() <= known("KeyValueInput")
    # The registry looks for this in the description of the package.
    assert f"mcp-name: {ENTRY['name']}" in (ROOT / ABOUT["project"]["readme"]).read_text()


@pytest.mark.parametrize(
    ("place", "value"),
    [(("name",), "preread"), (("description",), "x" * 101), (("packages", 0, "version"), "latest")],
)
def test_the_registry_would_refuse_an_entry_with_a_mistake(place: tuple, value: str) -> None:
    wrong = deepcopy(ENTRY)
    *above, last = place
    reduce(getitem, above, wrong)[last] = value
    assert not jsonschema.Draft7Validator(SCHEMA).is_valid(wrong)


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
