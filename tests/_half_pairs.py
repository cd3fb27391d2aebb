"""Messages with half a surrogate pair, which is valid in JSON and no text."""

import json
from typing import Any

HALF = ["\ud800", "\udfff", "a\udc80b", "\udfff\ud800", "🦊\ud83e"]


def spellings(value: Any) -> list[bytes]:
    """A message as a line with escapes, and with the bytes that UTF-8 forbids."""
    raw = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return [json.dumps(value).encode() + b"\n", raw + b"\n"]


def with_half_pairs(half: str) -> list[dict[str, Any]]:
    """Messages with half a surrogate pair where a server may echo it."""
    inner = json.dumps({"feature": half, half: [half]})
    state = {"method": "facts", "params": inner, "metadata": json.dumps({half: {"a": half}})}
    call = {"jsonrpc": "2.0", "id": 5, "method": "tools/call"}
    operation = {"name": "context_operation", "arguments": state}
    return [
        {"jsonrpc": "2.0", "id": half, "method": "ping"},
        {"jsonrpc": "2.0", "id": [half], "method": half},
        {"jsonrpc": "2.0", "method": half, "params": {half: half}},
        {"jsonrpc": "2.0", "id": 5, "result": {half: half}},
        {"jsonrpc": "2.0", "id": 5, "method": half},
        call | {"params": {"name": half}},
        call | {"params": {"name": "load_context", "arguments": {"feature": half, half: half}}},
        call | {"params": operation},
        call | {"params": operation | {"arguments": state | {"params": "{}"}}},
        call | {"params": operation | {"arguments": state | {"method": half, "options": inner}}},
        call | {"params": operation | {"_meta": {"progressToken": half}}},
    ]
