"""What the child says: lines of `claude -p --output-format stream-json --verbose` into counts, answers and progress.

Tried with 2.1.329. Nothing in a line is trusted: it may be anything, what is kept is bounded, and what tools answered
is not kept at all, but for the configured MCP servers.
"""

import re
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preread.builders import loose
from preread.infra.secrets import Credentials

WIDTH = 80  # of a message for a person
EXTERNAL = 4_000_000  # characters of MCP answers that are kept
DENIALS = 50
RECENT = 256  # calls and messages that can still be referred to
SYNTHETIC = "<synthetic>"  # the model of messages that the program makes up itself: its errors
TOKENS = {
    "input": ("input_tokens", "inputTokens"),
    "output": ("output_tokens", "outputTokens"),
    "cache_read": ("cache_read_input_tokens", "cacheReadInputTokens"),
    "cache_creation": ("cache_creation_input_tokens", "cacheCreationInputTokens"),
}
RESULT = "subtype result terminal_reason stop_reason api_error api_error_type startup_failure_reason".split()
# What a call is told as, and which of its arguments says what it is about.
CALLS = {
    "Read": ("reads", "file_path"),
    "Write": ("writes", "file_path"),
    "Edit": ("edits", "file_path"),
    "Glob": ("looks for", "pattern"),
    "Grep": ("searches", "pattern"),
}
TARGETS = ("file_path", "path", "pattern", "command", "url", "query", "id", "key", "name")
WAITS = {
    "overloaded": "the service is overloaded",
    "server_error": "the service is failing",
    "rate_limit": "the rate limit is reached",
    "authentication_failed": "the login was refused",
}
STAGED = re.compile(r"^\.project/\.cache/staging/[^/]+/")


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error that the program reports; `kind` and `code` are its own words for it."""

    kind: str
    status: int | None = None
    code: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class _Call:
    tool: str
    target: str
    server: str = ""


class Transcript:
    """What one run of the program has said so far.

    `cost_usd` is None until a result told it; results tell the run's cost so far, not their message's. `turns` counts
    answers of the model: the `num_turns` of a result counts tool calls too, and only those since the last message.
    """

    def __init__(self, root: Path, servers: Collection[str] = ()) -> None:
        self.model = self.version = self.text = ""
        self.tools: tuple[str, ...] = ()
        self.configured = tuple(servers)
        self.servers: dict[str, str] = {}  # what the program says of each
        self.answered: set[str] = set()  # configured servers that gave a result
        self.turns = 0
        self.cost_usd: float | None = None
        self.denials: list[str] = []
        self.external: list[str] = []
        self.unkept = 0  # answers of configured servers beyond EXTERNAL
        self.result: dict[str, Any] | None = None
        self.done = False  # a result came since the last message was sent
        self.errors: deque[Trouble] = deque(maxlen=20)
        self.waiting: Trouble | None = None  # the last request failed and is to be tried again
        self.tries = 0  # how often it failed so far
        self.resets: float | None = None  # when a limit of use ends, in epoch seconds
        self.skipped = 0  # lines that were no JSON object
        self._root = str(root).rstrip("/") + "/"
        self._prefixes = {
            f"mcp__{re.sub(r'[^a-zA-Z0-9_-]', '_', name)}__": name for name in servers
        }
        self._calls: dict[str, _Call] = {}
        self._usage: dict[str, dict[str, int]] = {}  # of messages that no result has summed up
        self._told = dict.fromkeys(TOKENS, 0)
        self._room = EXTERNAL
        self._credentials = Credentials(root)
        self._handlers: dict[str, Callable[[dict[str, Any]], str]] = {
            "system": self._system,
            "assistant": self._assistant,
            "user": self._user,
            "result": self._result,
            "rate_limit_event": self._limit,
        }

    @property
    def tokens(self) -> dict[str, int]:
        """Tokens used by kind. Before a result it is what messages said at their start: output is less than it was."""
        return {
            kind: self._told[kind] + sum(used[kind] for used in self._usage.values())
            for kind in TOKENS
        }

    @property
    def failed(self) -> bool:
        """Whether the last result is an error, whatever its subtype says."""
        return bool(self.result and self.result["is_error"])

    @property
    def interrupted(self) -> bool:
        """Whether the last result says that it was stopped from outside, by a signal."""
        return bool(self.result and self.result["terminal_reason"].startswith("aborted"))

    def sent(self) -> None:
        """Another message was sent: the result so far is not the last."""
        self.done = False
        self.errors.clear()

    def feed(self, line: bytes) -> str | None:
        """Take in one line; a message for a person where it is worth one. Never raises, whatever the bytes are."""
        event = loose.record(line)
        if event is None:
            self.skipped += bool(line.strip())
            return None
        handler = self._handlers.get(loose.text(event.get("type")))
        said = handler(event) if handler else ""
        return loose.clean(said, WIDTH) if said else None

    def _system(self, event: dict[str, Any]) -> str:
        match loose.text(event.get("subtype")):
            case "init":
                return self._init(event)
            case "api_retry":
                kind, status = (
                    loose.text(event.get("error")),
                    loose.status(event.get("error_status")),
                )
                self.waiting, self.tries = Trouble(kind, status), self.tries + 1
                why = WAITS.get(kind) or (
                    "the service has an error" if status else "no answer from the service"
                )
                return f"turn {self.turns + 1}: waits: {why} (try {self.tries})"
            case "permission_denied":
                call = self._calls.get(loose.text(event.get("tool_use_id")))
                denied = self._deny(
                    event.get("tool_use_id"), event.get("tool_name"), call.target if call else ""
                )
                return f"turn {self.turns}: was refused: {denied}"
            case "model_fallback":
                self._goes_on()
                return (
                    f"turn {self.turns + 1}: goes on with {loose.text(event.get('fallback_model'))}"
                )
            case _:
                return ""

    def _goes_on(self) -> None:
        self.waiting, self.tries = None, 0

    def _init(self, event: dict[str, Any]) -> str:
        self.model = self.model or loose.clean(event.get("model"), 100)  # until one answers
        self.version = loose.clean(event.get("claude_code_version"), 100)
        self.tools = tuple(
            loose.clean(name, 200) for name in loose.items(event.get("tools"))[:RECENT]
        )
        for server in loose.items(event.get("mcp_servers"))[:RECENT]:
            name, status = (
                loose.clean(loose.mapping(server).get(key), 200) for key in ("name", "status")
            )
            self.servers[name] = status
        self.servers = dict(list(self.servers.items())[:RECENT])
        return f"turn {self.turns + 1}: asks {loose.clean(event.get('model'), 40)}"

    def _assistant(self, event: dict[str, Any]) -> str:
        message = loose.mapping(event.get("message"))
        content = message.get("content")
        model = loose.clean(message.get("model"), 100)
        if model == SYNTHETIC or event.get("error"):
            status = loose.status(event.get("api_error_status"))
            kind, code = loose.text(event.get("error")), loose.text(event.get("api_error"))
            self.errors.append(Trouble(kind, status, code, loose.words(content)))
            return ""
        self._goes_on()
        self.model = model or self.model
        self._count(message)
        blocks = [self._block(loose.mapping(block)) for block in loose.items(content)]
        said = next((words for words in reversed(blocks) if words), "")
        return f"turn {self.turns}: {said}" if said else ""

    def _count(self, message: dict[str, Any]) -> None:
        """A message comes in parts, each with the usage of the whole as it was known at its start."""
        name, usage = loose.text(message.get("id")), loose.mapping(message.get("usage"))
        used = {kind: loose.count(usage.get(key)) for kind, (key, _) in TOKENS.items()}
        if name not in self._usage:
            self.turns += 1
            self._usage[name] = used
        self._usage[name] = {
            kind: max(used[kind], known) for kind, known in self._usage[name].items()
        }
        while len(self._usage) > RECENT:
            oldest = self._usage.pop(next(iter(self._usage)))
            self._told = {kind: self._told[kind] + oldest[kind] for kind in TOKENS}

    def _block(self, block: dict[str, Any]) -> str:
        if "thinking" in loose.text(block.get("type")):
            return "thinks"
        if block.get("type") != "tool_use":
            return ""
        tool, given = loose.clean(block.get("name"), 200), loose.mapping(block.get("input"))
        target = self._target(given)
        prefix = next((prefix for prefix in self._prefixes if tool.startswith(prefix)), "")
        self._calls[loose.text(block.get("id"))] = _Call(
            tool, target, self._prefixes.get(prefix, "")
        )
        while len(self._calls) > RECENT:
            del self._calls[next(iter(self._calls))]
        if tool.startswith("mcp__"):
            server, _, name = tool.removeprefix("mcp__").rpartition("__")
            return f"asks {self._prefixes.get(prefix, server)}: {name}"
        if tool not in CALLS:
            return f"calls {tool}"
        word, key = CALLS[tool]
        if tool != "Grep":
            return f"{word} {loose.tail(self._path(given.get(key)), 55)}"
        where = self._path(given.get("path")) or loose.clean(given.get("glob"), 30)
        return f'{word} "{loose.clean(given.get(key), 30)}"' + (
            f" in {loose.tail(where, 25)}" if where else ""
        )

    def _target(self, given: dict[str, Any]) -> str:
        """What a call is about, for the run's record: a model can put a secret into any argument."""
        value = next((words for key in TARGETS if (words := loose.text(given.get(key)))), "")
        return "…" if self._credentials.found(value) else self._path(value)

    def _path(self, value: object) -> str:
        """A path as a person would write it: from the root on, drafts by their name."""
        path = loose.clean(value, 400)
        path = path.removeprefix(self._root) if path != self._root.rstrip("/") else "."
        return STAGED.sub("", path)

    def _user(self, event: dict[str, Any]) -> str:
        for block in map(
            loose.mapping, loose.items(loose.mapping(event.get("message")).get("content"))
        ):
            call = self._calls.get(loose.text(block.get("tool_use_id")))
            if not call or block.get("type") != "tool_result":
                continue
            if block.get("is_error"):
                if (
                    self.tools and call.tool not in self.tools
                ):  # one that it does not have is no denial to the program
                    self._deny(block.get("tool_use_id"), call.tool, call.target)
                continue
            if not call.server:
                continue
            self.answered.add(call.server)
            text = loose.words(block.get("content"), EXTERNAL)
            if len(text) + 100 <= self._room:  # a text costs memory besides its characters
                self._room -= len(text) + 100
                self.external.append(text)
            else:
                self.unkept += 1
        return ""

    def _result(self, event: dict[str, Any]) -> str:
        self.done = True
        self.result = {key: loose.text(event.get(key)) for key in RESULT}
        self.result["is_error"] = bool(event.get("is_error"))
        self.result["api_error_status"] = loose.status(event.get("api_error_status"))
        self.result["errors"] = [
            loose.text(error) for error in loose.items(event.get("errors"))[:20]
        ]
        self.text = self.result["result"]
        if not self.interrupted:
            self._goes_on()
        cost = loose.number(event.get("total_cost_usd"))
        if cost is not None:
            self.cost_usd = max(self.cost_usd or 0.0, cost)  # a crash tells 0
        for denial in map(
            loose.mapping, loose.items(event.get("permission_denials"))[: 2 * DENIALS]
        ):
            target = self._target(loose.mapping(denial.get("tool_input")))
            self._deny(denial.get("tool_use_id"), denial.get("tool_name"), target)
        self._sum(event)
        return ""

    def _sum(self, event: dict[str, Any]) -> None:
        """Tokens as a result tells them: of the run so far by model, or (older versions) of its message."""
        models = [
            loose.mapping(used)
            for used in list(loose.mapping(event.get("modelUsage")).values())[:RECENT]
        ]
        usage, before = loose.mapping(event.get("usage")), self.tokens
        for kind, (key, camel) in TOKENS.items():
            so_far = sum(loose.count(used.get(camel)) for used in models)
            told = so_far if models else self._told[kind] + loose.count(usage.get(key))
            self._told[kind] = max(told, before[kind])
        self._usage.clear()

    def _deny(self, name: object, tool: object, target: str) -> str:
        denied = loose.clean(f"{loose.text(tool)} {target}", 120)
        key = f"denied {loose.text(name)}"
        if key not in self._calls and len(self.denials) <= DENIALS:
            self._calls[key] = _Call("", "")
            self.denials.append(denied if len(self.denials) < DENIALS else "and more")
        return denied

    def _limit(self, event: dict[str, Any]) -> str:
        info = loose.mapping(event.get("rate_limit_info"))
        if info.get("status") == "rejected":
            self.resets = loose.number(info.get("resetsAt"))
        return ""
