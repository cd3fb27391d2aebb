"""The transcript that a client keeps of a session: a JSON object on each line."""

from __future__ import annotations

import os

from preread.gates import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TAIL = 2_000_000  # bytes at the end of a transcript that are read


def paths(event: events.Event) -> list[str]:
    """The transcript of the agent that sent the event, if one did, then the session's."""
    path, agent = event.get("transcript_path"), event.get("agent_id")
    if not isinstance(path, str) or not os.path.isabs(path) or "\0" in path:
        return []
    if not isinstance(agent, str) or not agent.replace("-", "").replace("_", "").isalnum():
        return [path]
    folder = os.path.splitext(path)[0]
    return [os.path.join(folder, "subagents", "agent-" + agent + ".jsonl"), path]


def tail(path: str, size: int = MAX_TAIL) -> bytes | None:
    """The end of a file, from the start of a line; None when there is no such file."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return None
    with os.fdopen(handle, "rb") as file:
        whole = file.seek(0, os.SEEK_END)
        file.seek(max(0, whole - size))
        data = file.read(size)
    return data if whole <= size else data.partition(b"\n")[2]


def blocks(line: bytes) -> Iterator[dict[str, object]]:
    """The blocks of the message on a line: texts, calls of tools, results."""
    try:
        entry = events.read(line)
    except events.InvalidEvent:
        return
    yield from blocks_of(entry)


def blocks_of(entry: events.Event) -> Iterator[dict[str, object]]:
    """The blocks of an entry's message; a plain text is one block."""
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            yield block
