"""The real Claude Code, Codex, Gemini CLI and OpenCode with what `mcp install` writes for them.

Each reads its file, connects, offers the tools to a scripted model and brings it the dossier.
"""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from _claude import INSTALL, installed
from _messages_api import MessagesAPI, Request, text, tool
from _model_apis import ModelAPI
from conftest import ROOT, Cli
from preread.operations.install_client import CLIENTS

PREFIX = Path(tempfile.gettempdir()) / "preread-clients" / "node_modules"
REQUIRED = bool(os.environ.get("PREREAD_REQUIRE_CLIENTS"))
CALL = {"feature": "checkout"}
PROMPT = "Write a test of the checkout."
JSON = json.JSONDecoder()
TRIES = 5
HANGS = 240  # seconds for what takes two to five where nothing else runs


@dataclass
class Seen:
    """What the model was offered and told, and how the client ended."""

    schema: dict[str, Any] = field(default_factory=dict)
    result: str = ""
    output: str = ""


class Real:
    """A client: where it is, what its settings held before, how it lists servers and works."""

    package: str
    place: str
    before = '{\n  // Mine.\n  "KEY": {"other": {"command": "true", "args": []}}\n}\n'
    environ: ClassVar[Mapping[str, str]] = {}

    def __init__(self, program: Path, project: Path, home: Path) -> None:
        self.program, self.project, self.home = program, project, home

    def run(self, *arguments: str, **more: str) -> str:
        done = subprocess.run(
            [self.program, *arguments], cwd=self.project, env=self.variables(more), timeout=HANGS,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout

    def variables(self, more: Mapping[str, str]) -> dict[str, str]:
        mine = {"HOME": str(self.home), "TERM": "dumb", "PATH": os.environ["PATH"]}
        return mine | {"TMPDIR": tempfile.gettempdir()} | dict(self.environ) | more

    def lists_it(self) -> bool:
        raise NotImplementedError

    def work(self) -> Seen:
        raise NotImplementedError


def by_anthropic(run: Callable[[str], str], ends: str = "load_context") -> Seen:
    """What a client does whose model speaks the Messages API."""
    seen = Seen()

    def script(request: Request) -> list[dict[str, Any]]:
        if request.results:
            seen.result = request.results[0].text
            return [text("Done.")]
        [offered] = [one for one in request.body["tools"] if one["name"].endswith(ends)]
        seen.schema = offered["input_schema"]
        return [tool(offered["name"], **CALL)]

    with MessagesAPI() as api:
        api.play(script)
        try:
            seen.output = run(api.url)
        finally:
            assert api.errors == []
    return seen


def by_others(run: Callable[[str], str], schema: str) -> Seen:
    with ModelAPI("load_context", CALL) as api:
        output = run(api.url)
    return Seen(api.offered[schema], api.results[0], output)


class Codex(Real):
    package = "@openai/codex@0.169.0-linux-x64"
    place = "@openai/codex/vendor/x86_64-unknown-linux-musl/bin/codex"
    before = '# Mine.\n\n[mcp_servers.other]\ncommand = "true"\nenabled = false\n'
    environ: ClassVar = {"SCRIPTED_KEY": "any"}

    def lists_it(self) -> bool:
        # It says what it would start, and starts nothing.
        said = self.run("mcp", "get", "preread", "--json")
        found = JSON.raw_decode(said, said.index("{\n"))[0]
        assert found["transport"]["env_vars"] == ["XDG_RUNTIME_DIR", "XDG_STATE_HOME"]
        return bool(found["enabled"]) and found["transport"]["args"] == ["mcp"]

    def work(self) -> Seen:
        def run(url: str) -> str:
            model = {"name": "scripted", "base_url": f"{url}/v1", "env_key": "SCRIPTED_KEY"}
            inline = ", ".join(f"{key} = {json.dumps(value)}" for key, value in model.items())
            # By default its first request may come before a server's tools.
            settings = (
                "model='m'",
                "model_provider='scripted'",
                "mcp_servers.preread.required=true",
            )
            given = (*settings, f'model_providers.scripted={{{inline}, wire_api = "responses"}}')
            return self.run("exec", *(word for one in given for word in ("-c", one)), PROMPT)

        return by_others(run, "parameters")


class Gemini(Real):
    package = "@google/gemini-cli@0.61.0"
    place = "@google/gemini-cli/bundle/gemini.js"
    before = (
        '{\n  // Mine.\n  "security": {"auth": {"selectedType": "gemini-api-key"}},\n'
        '  "privacy": {"usageStatisticsEnabled": false}\n}\n'
    )
    environ: ClassVar = {"GEMINI_API_KEY": "any", "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def lists_it(self) -> bool:
        # On a busy machine it may not wait for the server here: 5 s unless the entry says otherwise.
        return bool(re.search(r"preread: \S+ mcp \(stdio\)", self.run("mcp", "list")))

    def work(self) -> Seen:
        # Without a person it runs only tools that it is told to.
        asked = ("--allowed-tools", "mcp_preread_load_context", "--model", "gemini-2.5-flash")
        return by_others(
            lambda url: self.run(*asked, "-p", PROMPT, GOOGLE_GEMINI_BASE_URL=url),
            "parametersJsonSchema",
        )


class OpenCode(Real):
    package = "opencode-linux-x64@1.18.33"
    place = "opencode-linux-x64/bin/opencode"
    # It adds the first line itself to a file that has none.
    before = (
        '{\n  "$schema": "https://opencode.ai/config.json",\n  "autoupdate": false, // Mine.\n}\n'
    )
    environ: ClassVar = {"OPENCODE_DISABLE_MODELS_FETCH": "1"}

    def lists_it(self) -> bool:
        return bool(re.search(r"✓ preread \S*connected", self.run("mcp", "list")))

    def work(self) -> Seen:
        def run(url: str) -> str:
            options = {"baseURL": f"{url}/v1", "apiKey": "any"}
            model = {"npm": "@ai-sdk/anthropic", "options": options, "models": {"m": {}}}
            settings = {"model": "scripted/m", "small_model": "scripted/m"}
            whole = json.dumps({**settings, "provider": {"scripted": model}})
            return self.run("run", PROMPT, OPENCODE_CONFIG_CONTENT=whole)

        return by_anthropic(run)


class ClaudeCode(Real):
    package = INSTALL
    before = '{\n  "mcpServers": {\n    "other": {"command": "true", "args": []}\n  }\n}\n'
    environ: ClassVar = {
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ANTHROPIC_API_KEY": "any",
        # By default its first request may come before a server's tools, as Codex's.
        "MCP_CONNECTION_NONBLOCKING": "0",
        "MCP_CONNECT_TIMEOUT_MS": "60000",
        "MCP_TIMEOUT": "300000",  # ms; a server's start on a busy machine
    }

    def lists_it(self) -> bool:
        # A project's servers start once a person has trusted it and approved them.
        person = {"hasTrustDialogAccepted": True, "enabledMcpjsonServers": ["preread"]}
        told = {"hasCompletedOnboarding": True, "projects": {str(self.project): person}}
        (self.home / ".claude.json").write_text(json.dumps(told))
        return bool(re.search(r"preread: .* Connected", self.run("mcp", "list")))

    def work(self) -> Seen:
        given = ("--allowedTools", "mcp__preread__load_context", "-p", PROMPT)
        return by_anthropic(lambda url: self.run(*given, ANTHROPIC_BASE_URL=url))


REAL: dict[str, type[Real]] = {
    "claude-code": ClaudeCode,
    "codex": Codex,
    "gemini": Gemini,
    "opencode": OpenCode,
}


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture(params=REAL)
def client(request: pytest.FixtureRequest, project: Path, home: Path) -> Real:
    kind = REAL[request.param]
    program = installed() if kind is ClaudeCode else PREFIX / kind.place
    if program is None or not program.is_file():
        (pytest.fail if REQUIRED else pytest.skip)(f"{kind.package} is not installed; .ci/run does")
    # No model drafts, whatever programs and accounts there are.
    (project / ".project" / "config.toml").write_text('level = "light"\n')
    return kind(program, project, home)


def test_a_client_reads_what_is_written_connects_and_gets_the_dossier(
    client: Real, cli: Cli, project: Path, home: Path
) -> None:
    name = next(name for name, kind in REAL.items() if isinstance(client, kind))
    place = Path(cli("mcp", "install", name, "--dry-run", "--json", cwd=project).json["path"])
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(client.before)
    assert cli("mcp", "install", name, cwd=project).status == 0
    # Each gives up by itself on a server that starts slowly, as on a busy machine.
    assert any(client.lists_it() for _ in range(TRIES))
    seen = client.work()
    reply = JSON.raw_decode(seen.result, seen.result.index("{"))[0]
    assert reply["status"] == "ok", reply
    assert "checkout" in reply["dossier"]
    # The tool as it came through the client to the model.
    assert seen.schema["required"] == ["feature"]
    assert {"description", "feature", "force", "level", "scope", "ticket"} <= set(
        seen.schema["properties"]
    )
    assert seen.schema["properties"]["level"]["enum"][:3] == ["light", "standard", "full"]
    assert cli("mcp", "install", name, "--undo", cwd=project).status == 0
    assert place.read_text() == client.before


def test_the_documents_name_the_versions_that_are_run() -> None:
    page = (ROOT / "docs" / "clients.md").read_text()
    [install] = re.findall(r"^npm install .*preread-clients.*$", page, re.MULTILINE)
    assert set(install.split()[8:]) == {kind.package for kind in REAL.values()} - {INSTALL}
    started = re.findall(r"^\| `(\S+)` \| (\S+) \| started \|$", page, re.MULTILINE)
    versions = {
        name: re.search(r"@(\d+\.\d+\.\d+)", kind.package)[1] for name, kind in REAL.items()
    }
    assert dict(started) == versions
    checked = page.partition("## What was checked")[2].partition("## ")[0]
    assert set(re.findall(r"^\| `(\S+)`", checked, re.MULTILINE)) == CLIENTS.keys()
