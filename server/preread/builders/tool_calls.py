"""The child's tool calls, each described in a few words for a person."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preread.builders import untrusted
from preread.infra.secrets import Credentials

# The verb for each tool, and the argument that says what the call is about.
VERBS = {
    "Read": ("reads", "file_path"),
    "Write": ("writes", "file_path"),
    "Edit": ("edits", "file_path"),
    "Glob": ("looks for", "pattern"),
    "Grep": ("searches", "pattern"),
}
TARGETS = ("file_path", "path", "pattern", "command", "url", "query", "id", "key", "name")
STAGED = re.compile(r"^\.project/\.cache/staging/[^/]+/")


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call; `server` is the configured MCP server that it went to, if any."""

    tool: str
    target: str
    server: str = ""


class CallReader:
    """Reads the tool calls of one project's child."""

    def __init__(self, root: Path, servers: Collection[str]) -> None:
        self._root = str(root).rstrip("/") + "/"
        self._credentials = Credentials(root)
        self._prefixes = {
            f"mcp__{re.sub(r'[^a-zA-Z0-9_-]', '_', name)}__": name for name in servers
        }

    def call(self, block: dict[str, Any]) -> Call:
        """The call that a `tool_use` block makes."""
        tool = untrusted.clean(block.get("name"), 200)
        return Call(tool, self.target(untrusted.mapping(block.get("input"))), self._server(tool))

    def describe(self, block: dict[str, Any]) -> str:
        """What a `tool_use` block does, like `reads src/login.py`."""
        tool, given = untrusted.clean(block.get("name"), 200), untrusted.mapping(block.get("input"))
        if tool.startswith("mcp__"):
            server, _, name = tool.removeprefix("mcp__").rpartition("__")
            return f"asks {self._server(tool) or server}: {name}"
        if tool not in VERBS:
            return f"calls {tool}"
        verb, key = VERBS[tool]
        if tool != "Grep":
            return f"{verb} {untrusted.tail(self._path(given.get(key)), 55)}"
        where = self._path(given.get("path")) or untrusted.clean(given.get("glob"), 30)
        inside = f" in {untrusted.tail(where, 25)}" if where else ""
        return f'{verb} "{untrusted.clean(given.get(key), 30)}"{inside}'

    def target(self, given: dict[str, Any]) -> str:
        """What a call is about, for the run record; hidden if it contains a secret."""
        value = next((words for key in TARGETS if (words := untrusted.text(given.get(key)))), "")
        return "…" if self._credentials.found(value) else self._path(value)

    def _server(self, tool: str) -> str:
        return next((name for start, name in self._prefixes.items() if tool.startswith(start)), "")

    def _path(self, value: object) -> str:
        """A path as a person would write it: relative to the root, drafts by their file name."""
        path = untrusted.clean(value, 400)
        path = path.removeprefix(self._root) if path != self._root.rstrip("/") else "."
        return STAGED.sub("", path)
