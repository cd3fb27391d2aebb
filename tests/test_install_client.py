"""`mcp install`: Preread in the settings of agents' clients, and all else as it was."""

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, StdioServerParameters

from _mcp_process import environ
from conftest import ROOT, Cli
from preread.infra import jsonc
from preread.operations.install_client import CLIENTS

HOME = "a person's folder"
COMMENTED = """// Mine.
{
    "editor": {"size": 12}, // points
    "KEY": {
        "other": {"command": "x", "args": []}, /* another one */
    },
}
"""
TOML = """# Mine.
model = "large"  # the best

[KEY.other]
command = "x"
"""


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / HOME
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


def entry(path: Path, client: str) -> dict[str, object]:
    keys = CLIENTS[client].keys
    text = path.read_text()
    if path.suffix == ".toml":
        found: dict[str, object] = tomllib.loads(text)[keys[0]]["preread"]
        return found
    value = jsonc.entry(text, (*keys, "preread"))
    assert isinstance(value, dict)
    return value


def command(path: Path, client: str) -> list[str]:
    found = entry(path, client)
    first = found["command"]
    words = first if isinstance(first, list) else [first, *found["args"]]  # type: ignore[misc]
    return [str(word) for word in words]


@pytest.mark.parametrize("client", CLIENTS)
def test_an_entry_comes_and_goes_and_nothing_else_changes(
    client: str, home: Path, project: Path, cli: Cli
) -> None:
    tried = cli("mcp", "install", client, "--dry-run", "--json", cwd=project).json
    place = Path(tried["path"])
    assert tried["state"] == "added"
    assert "+" in tried["diff"]
    assert not place.exists()
    assert cli("mcp", "install", client, cwd=project).status == 0
    assert command(place, client)[1] == "mcp"
    assert place.stat().st_mode & 0o777 == (0o644 if project in place.parents else 0o600)
    assert cli("mcp", "install", client, "--undo", cwd=project).status == 0
    assert not place.exists()
    text = (TOML if place.suffix == ".toml" else COMMENTED).replace("KEY", CLIENTS[client].keys[0])
    place.write_text(text)
    place.chmod(0o640)
    for state in ("added", "unchanged"):
        assert cli("mcp", "install", client, "--json", cwd=project).json["state"] == state
    assert place.stat().st_mode & 0o777 == 0o640
    changed = place.read_text()
    assert [line for line in text.split("\n") if line not in changed.split("\n")] == []
    words = command(place, client)
    place.write_text(changed.replace(words[0], "/old/preread"))
    assert cli("mcp", "install", client, "--json", cwd=project).json["state"] == "changed"
    assert command(place, client) == words
    assert cli("mcp", "install", client, "--undo", "--json", cwd=project).json["state"] == "removed"
    assert place.read_text() == text
    undone = cli("mcp", "install", client, "--undo", "--json", cwd=project).json
    assert undone["state"] == "unchanged"


def test_a_try_says_what_would_be_and_names_the_file_as_it_is(
    home: Path, project: Path, cli: Cli
) -> None:
    said, _, diff, *_, last = cli("mcp", "install", "cursor", "--dry-run", cwd=project).out.split(
        "\n"
    )
    place = project / ".cursor" / "mcp.json"
    assert (said, diff, last) == (f"would be added: {place}", f"+++ b{place}", "")


def test_the_document_lists_the_clients() -> None:
    text = (ROOT / "docs" / "clients.md").read_text()
    table = text.partition("<!-- clients -->")[2].partition("<!-- /clients -->")[0]
    rows = {
        name: (f"`{row.path}`" + " of the project" * row.path.startswith("."), f"`{row.keys[0]}`")
        for name, row in CLIENTS.items()
    }
    listed = [line.strip("| ").split(" | ") for line in table.strip().split("\n")[2:]]
    assert {cells[0].strip("`"): (cells[1], cells[2]) for cells in listed} == rows


# The fields of an entry of a local server, those that it needs first, as the documentation or the
# published settings of programs have it that only start with a window (docs/clients.md says where).
DOCUMENTED: dict[str, tuple[dict[str, type], set[str]]] = {
    "claude-desktop": ({"command": str, "args": list}, {"env"}),
    "vscode": ({"type": str, "command": str}, {"args", "cwd", "env", "envFile", "dev"}),
    "cursor": ({"type": str, "command": str}, {"args", "env", "envFile"}),
    "zed": ({"command": str, "args": list}, {"env", "timeout", "enabled", "remote"}),
}


@pytest.mark.parametrize("client", DOCUMENTED)
def test_an_entry_has_the_fields_that_its_client_documents(
    client: str, home: Path, project: Path, cli: Cli
) -> None:
    needed, allowed = DOCUMENTED[client]
    place = Path(cli("mcp", "install", client, "--json", cwd=project).json["path"])
    found = entry(place, client)
    assert {key: type(found[key]) for key in needed} == needed
    assert found.keys() <= needed.keys() | allowed
    assert found.get("type", "stdio") == "stdio"
    assert Path(command(place, client)[0]).is_absolute()


@pytest.mark.anyio
@pytest.mark.parametrize("client", ["claude-desktop", "cursor", "vscode"])
async def test_the_command_that_is_written_serves_mcp(
    client: str, home: Path, project: Path, cli: Cli
) -> None:
    place = Path(cli("mcp", "install", client, "--json", cwd=project).json["path"])
    words = command(place, client)
    # Cursor and VS Code put the project there themselves.
    first, *more = (word.replace("${workspaceFolder}", str(project)) for word in words)
    assert more == ["mcp", "--project", str(project)]
    server = StdioServerParameters(command=first, args=more, env=environ(), cwd=home)
    async with Client(server, mode="legacy") as client:
        assert next(iter((await client.list_tools()).tools)).name == "load_context"


@pytest.mark.parametrize("text", ["[", "[]", '{"mcpServers": 7}', "mcpServers", "\x00", "{}{}"])
def test_a_file_that_is_no_settings_file_stays_as_it_is(
    text: str, home: Path, project: Path, cli: Cli
) -> None:
    place = project / ".mcp.json"
    place.write_text(text)
    for undo in ((), ("--undo",)):
        done = cli("mcp", "install", "claude-code", *undo, cwd=project)
        assert (done.status, place.read_text()) == (1, text)
        assert "E_SETTINGS" in done.err
        assert '"preread"' in done.err  # what to add by hand


@pytest.mark.parametrize("text", ["model = \n", "[[mcp_servers]]\na = 1\n", "mcp_servers = 5\n"])
def test_a_toml_file_with_an_error_stays_as_it_is(
    text: str, home: Path, project: Path, cli: Cli
) -> None:
    place = home / ".codex" / "config.toml"
    place.parent.mkdir()
    place.write_text(text)
    for undo in ((), ("--undo",)):
        done = cli("mcp", "install", "codex", *undo, cwd=project)
        assert (done.status, place.read_text()) == (1, text)
        assert "[mcp_servers.preread]" in done.err


def test_a_file_of_a_windows_editor_comes_back_byte_for_byte(
    home: Path, project: Path, cli: Cli
) -> None:
    for client, name, text in (
        ("codex", ".codex/config.toml", '\ufeffmodel = "a"\r\n\r\n[mcp_servers.x]\r\na = 1\r\n'),
        ("codex", ".codex/config.toml", '\ufeffmodel = "a"\r\n'),
        ("gemini", ".gemini/settings.json", '\ufeff{\r\n  "a": 1,\r\n}\r\n'),
    ):
        place = home / name
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(text.encode())
        for state in ("added", "unchanged"):
            assert cli("mcp", "install", client, "--json", cwd=project).json["state"] == state
        assert cli("mcp", "install", client, "--undo", cwd=project).status == 0
        assert place.read_bytes() == text.encode()


def test_an_entry_that_an_editor_has_formatted_is_updated(
    home: Path, project: Path, cli: Cli
) -> None:
    place = project / ".cursor" / "mcp.json"
    place.parent.mkdir()
    place.write_text('{"mcpServers": {"preread": {"command": "/old", /* mine */ "args": [],},},}')
    assert cli("mcp", "install", "cursor", "--json", cwd=project).json["state"] == "changed"
    assert "/* mine */" in place.read_text()
    text = place.read_text().replace("/* mine */", "").replace("],}", "]}")
    place.write_text(text)
    assert command(place, "cursor")[1] == "mcp"


SAME = [
    ("codex", "[mcp_servers]\n# ask Anna before adding one\n"),
    ("codex", "[mcp_servers]\n\n[z]\na = 1\n"),
    ("codex", "mcp_servers = {}\n"),
    ("codex", 'a = 1\n\n\n# the end\n\n\n'),
    ("codex", "a = 1"),
    ("codex", '[mcp_servers.x]\r\ncommand = "x"\r\n# about z\r\n[z]\r\na = 1\r\n'),
    ("codex", 'mcp_servers.a.command = "a"\n# about z\n[[z]]\nb = 1\n'),
    ("zed", '{\n  "theme": "One",\n  "context_servers": {\n    // "github": {}\n  }\n}\n'),
    ("zed", '{\n  "context_servers": {\n    // "github": {}\n  }\n}\n'),
    ("gemini", '// mine\n{ "mcpServers": { /* add servers here */ } }'),
    ("gemini", "{\n  // keep me\n}\n"),
    ("gemini", '{"a": 1 /* one */ }'),
]  # fmt: skip


@pytest.mark.parametrize(("client", "text"), SAME)
def test_what_a_person_has_in_the_file_is_there_again_byte_for_byte(
    client: str, text: str, home: Path, project: Path, cli: Cli
) -> None:
    place = Path(cli("mcp", "install", client, "--dry-run", "--json", cwd=project).json["path"])
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text.encode())
    assert cli("mcp", "install", client, cwd=project).status == 0
    assert command(place, client)[1] == "mcp"
    assert cli("mcp", "install", client, "--undo", cwd=project).status == 0
    assert place.read_bytes().decode() == text


def test_what_a_person_adds_below_and_to_the_entry_stays(
    home: Path, project: Path, cli: Cli
) -> None:
    place = home / ".codex" / "config.toml"
    below = '\n# Work profile: ask Anna before changing\n[profiles.work]\nmodel = "x"\n'
    assert cli("mcp", "install", "codex", cwd=project).status == 0
    text = place.read_text().replace("env_vars = [", 'env_vars = ["ANTHROPIC_API_KEY", ')
    own = "required = true  # mine\n\n[mcp_servers.preread.env]\nA = 'b'\n"
    place.write_text(text + own + below)
    found = entry(place, "codex")
    place.write_text(place.read_text().replace(str(found["command"]), "/old/preread"))
    assert cli("mcp", "install", "codex", "--json", cwd=project).json["state"] == "changed"
    again = entry(place, "codex")
    assert {**again, "env_vars": 0} == {**found, "env_vars": 0}
    assert set(again["env_vars"]) == set(found["env_vars"])  # type: ignore[call-overload]
    assert place.read_text().endswith(own + below)
    assert cli("mcp", "install", "codex", "--json", cwd=project).json["state"] == "unchanged"
    assert cli("mcp", "install", "codex", "--undo", cwd=project).status == 0
    assert place.read_text().strip() == below.strip()

    place = home / ".gemini" / "settings.json"
    assert cli("mcp", "install", "gemini", cwd=project).status == 0
    text = place.read_text()
    place.write_text(text.replace('"command": "', '"trust": true, // mine\n"command": "/old'))
    assert cli("mcp", "install", "gemini", cwd=project).status == 0
    assert "/old" not in place.read_text()
    assert '"trust": true, // mine' in place.read_text()


def test_a_link_is_followed_in_a_persons_folder_and_refused_out_of_a_project(
    home: Path, project: Path, cli: Cli
) -> None:
    real = home / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_text("{}")
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").symlink_to(real)
    (project / ".vscode").mkdir()
    (project / ".vscode" / "mcp.json").symlink_to(real)
    assert "E_OUTSIDE" in cli("mcp", "install", "vscode", cwd=project).err
    assert real.read_text() == "{}"
    assert cli("mcp", "install", "gemini", cwd=project).status == 0
    assert "preread" in real.read_text()
    assert (home / ".gemini" / "settings.json").is_symlink()


def test_an_unknown_client_is_bad_usage(home: Path, project: Path, cli: Cli) -> None:
    done = cli("mcp", "install", "emacs", cwd=project)
    assert done.status == 2
    assert "claude-code" in done.err
    assert not list(home.iterdir())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(max_size=6), JSON, max_size=4),
    st.sampled_from([None, 1, 4, "\t"]),
)
def test_any_object_gets_the_entry_and_is_the_same_without_it(value, indent) -> None:
    value.pop("servers", None)
    text = json.dumps(value, indent=indent, ensure_ascii=len(value) % 2 == 0)
    keys = ("servers", "preread")
    added = jsonc.with_entry(text, keys, {"command": "x"})
    assert json.loads(added) == value | {"servers": {"preread": {"command": "x"}}}
    assert json.loads(jsonc.without_entry(added, keys)) == value
