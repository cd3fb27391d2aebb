"""A project with gates, and sessions of the real Claude Code in it with the plugin installed."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from _claude import bare_environ
from _headless import STANDARD, asked_for, output
from _launcher import compiled
from _messages_api import Answer, Block, MessagesAPI, Request, text, tool
from _processes import small
from conftest import ROOT

LOAD = "mcp__plugin_preread_preread__load_context"
GATES = "**/{feature}.spec.ts\n!legacy/**\n"
CHILD = "Output directory: "  # only in the prompt of a build's child
CALL = re.compile(r"Call (\S+) with (\{[^}]*\})")
ALLOWED = ("Bash", "Write", "Edit", "Read", "Agent", LOAD)
PATIENCE = 300.0  # several run at once, on a machine that may be busy


def drafting(request: Request) -> Answer:
    """A build's model: drafts about the small project, for whichever feature the prompt names."""
    if request.turn:
        return [text("Done.")]
    folder = output(request)
    feature = folder.name.partition(".")[0]
    files = {
        name: STANDARD[name].replace(": login\n", f": {feature}\n", 1)
        for name in asked_for(request)
    }
    return [
        tool("Write", file_path=str(folder / name), content=content)
        for name, content in files.items()
    ]


def call_in(words: str) -> Block:
    """The call that a gate's text names, as a model would make it."""
    found = CALL.search(words)
    assert found, words
    return tool(found[1], **json.loads(found[2]))


class Flow:
    """One project and its sessions."""

    def __init__(self, claude: Path, api: MessagesAPI, tmp: Path, plugin: Path = ROOT) -> None:
        self.claude, self.api, self.tmp, self.plugin = claude, api, tmp, plugin
        self.home = tmp / "home"
        self.home.mkdir()
        self.project = small(
            tmp / "a shop", {".project/gates": GATES, "tests/old.spec.ts": "test('old')\n"}
        )
        self.starts = tmp / "starts"
        wrapper = tmp / "python"  # says that it is started, as what, and whether by a build's child
        wrapper.write_text(
            f'#!/bin/sh\necho "${{PREREAD_CHILD:-}} $*" >> "{self.starts}"\nexec '
            f'"{sys.executable}" "$@"\n'
        )
        wrapper.chmod(0o755)
        for name in ("preread-inline", "preread-preread"):
            data = self.home / ".claude" / "plugins" / "data" / name
            data.mkdir(parents=True)
            (data / "pycache").symlink_to(compiled(tmp))
        own = {
            "PREREAD_PYTHON": str(wrapper),
            "PREREAD_CLAUDE": str(claude),
            "PREREAD_LEVEL": "standard",
        }
        # The first turn waits for the server, however busy the machine is.
        own |= {"MCP_CONNECTION_NONBLOCKING": "0"}
        own |= dict.fromkeys(("MCP_TIMEOUT", "MCP_CONNECT_TIMEOUT_MS"), "240000")
        self.environ = bare_environ(api, self.home) | own
        api.play(drafting, when=CHILD)

    def claude_says(self, *arguments: str, cwd: Path | None = None) -> str:
        """A command of Claude Code that has to succeed; what it printed."""
        done = subprocess.run(
            [str(self.claude), *arguments],
            cwd=cwd or self.project, env=self.environ, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=PATIENCE,
        )  # fmt: skip
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout.decode()

    def session(
        self, script: Callable[[Request], Answer], *flags: str, prompt: str = "GO", **options: Any
    ) -> "Session":
        """One run; `GO` is in the person's prompt. The plugin is the repository's by default."""
        self.api.play(script, when="GO")
        return self.run(*flags, prompt=prompt, **options)

    def run(
        self,
        *flags: str,
        prompt: str = "GO",
        allowed: Iterable[str] = ALLOWED,
        **options: Any,
    ) -> "Session":
        """One more run, with the script that was played last; several may run at once."""
        before = len(self.api.requests)
        arguments = [*(flags or ("--plugin-dir", str(self.plugin))), "--allowedTools", *allowed]
        out = self.claude_says(
            "-p", prompt, "--output-format", "stream-json", "--verbose", *arguments, **options
        )
        events = [json.loads(line) for line in out.splitlines()]
        return Session(events, self.api.requests[before:])

    def write(self, name: str, content: str = "") -> None:
        place = self.project / ".project" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)

    def there(self, name: str) -> bool:
        return (self.project / name).exists()

    def spec(self, name: str) -> Block:
        """A Write of a new file."""
        return tool("Write", file_path=str(self.project / name), content="test('it', () => {})\n")


class Session:
    """What one run did: its own requests, those of its builds' children, what the person saw."""

    def __init__(self, events: list[Mapping[str, Any]], requests: list[Request]) -> None:
        self.init = next(event for event in events if event.get("subtype") == "init")
        self.result = next(event for event in events if event["type"] == "result")
        said = [event for event in events if event.get("subtype") == "informational"]
        self.notices = [event["content"] for event in said]  # what hooks told the person
        self.own = [r for r in requests if r.session == self.init["session_id"]]
        self.children = [request for request in requests if CHILD in request.prompt]

    @property
    def server(self) -> list[tuple[str, str]]:
        return [(each["name"], each["status"]) for each in self.init["mcp_servers"]]

    def told(self, call: Block) -> tuple[str, bool]:
        """The result of a call as the model saw it, and whether it was an error."""
        found = (
            result for request in self.own for result in request.results if result.id == call["id"]
        )
        result = next(found)
        return result.text, result.is_error

    def remark(self, call: Block) -> str:
        """What a hook added to the request after a call, outside of its result."""
        request = next(r for r in self.own if any(result.id == call["id"] for result in r.results))
        blocks = [
            b for m in request.messages[-2:] if isinstance(m["content"], list) for b in m["content"]
        ]
        texts = [m["content"] for m in request.messages[-2:] if isinstance(m["content"], str)]
        texts += [block["text"] for block in blocks if block["type"] == "text"]
        return "\n".join(words for words in texts if "hook additional context" in words)
