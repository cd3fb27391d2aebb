"""A small real MCP server for tests: `python _tracker.py CALLS` serves issues and records calls."""

import os
import sys
from pathlib import Path

from mcp.server import MCPServer

server = MCPServer("tracker")
CALLS = Path(sys.argv[1])


def note(words: str) -> None:
    with CALLS.open("a") as file:
        file.write(f"{words}\n")


@server.tool()
def get_issue(issue: str) -> str:
    """One issue."""
    note(f"get {issue}")
    return f"tracker://issue/{issue}: lock the login, as {os.environ.get('TRACKER_TOKEN')}"


@server.tool()
def delete_issue(issue: str) -> str:
    """Delete an issue for ever."""
    note(f"delete {issue}")
    return "deleted"


if __name__ == "__main__":
    note("start")
    server.run()
