"""The real server's answers for bin/relay.py; `python tests/_answers.py` writes them."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "bin" / "answers.json"
LEGACY = "legacy"
LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
FIRST = {LEGACY: "initialize", **dict.fromkeys(MODERN_PROTOCOL_VERSIONS, "server/discover")}
CLIENT = {"name": "a-client", "version": "1"}


def questions(era: str) -> list[dict[str, Any]]:
    """The messages of a client of this era, the question's method being its id."""
    if era == LEGACY:
        params = {
            "protocolVersion": HANDSHAKE_PROTOCOL_VERSIONS[-1],
            "capabilities": {},
            "clientInfo": CLIENT,
        }
        each: dict[str, Any] = {}
    else:
        meta = {"protocolVersion": era, "clientInfo": CLIENT, "clientCapabilities": {}}
        params = each = {
            "_meta": {f"io.modelcontextprotocol/{name}": value for name, value in meta.items()}
        }
    first = {"jsonrpc": "2.0", "id": FIRST[era], "method": FIRST[era], "params": params}
    done = [{"jsonrpc": "2.0", "method": "notifications/initialized"}] if era == LEGACY else []
    return [
        first,
        *done,
        *({"jsonrpc": "2.0", "id": name, "method": name, "params": each} for name in LISTS),
    ]


def asked(era: str) -> dict[str, Any]:
    """What a server in a project without anything answers to them."""
    with tempfile.TemporaryDirectory() as folder:
        program = [sys.executable, "-P", "-m", "preread", "mcp", "--project", folder]
        with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            found = {}
            for message in questions(
                era
            ):  # one at a time: what it asks in one go may be answered in any order
                server.stdin.write(json.dumps(message).encode() + b"\n")
                server.stdin.flush()
                if "id" in message:
                    answer = json.loads(server.stdout.readline())
                    found[answer["id"]] = answer["result"]
            server.stdin.close()
        return found


def written() -> str:
    answers = {"versions": list(HANDSHAKE_PROTOCOL_VERSIONS), **{era: asked(era) for era in FIRST}}
    return json.dumps(answers, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PLACE.write_text(written(), encoding="utf-8")
