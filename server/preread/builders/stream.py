"""Reads `claude -p --output-format stream-json --verbose`: counts, server answers, progress.

Observed with 2.1.329. Lines are not trusted: they may contain anything, and only a bounded part of
them is kept. Answers of tools are not kept, except those of the configured MCP servers.
"""

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preread.builders import untrusted
from preread.builders.tool_calls import Call, CallReader

WIDTH = 80  # characters of a progress message
MAX_EXTERNAL = 4_000_000  # characters of MCP answers that are kept
MAX_DENIALS = 50
MAX_RECENT = 256  # calls and messages that later lines can refer to
SYNTHETIC = "<synthetic>"  # the "model" of messages that the program itself makes up: its errors
# Our name for each kind of token -> its names in `usage` and in `modelUsage`.
TOKENS = {
    "input": ("input_tokens", "inputTokens"),
    "output": ("output_tokens", "outputTokens"),
    "cache_read": ("cache_read_input_tokens", "cacheReadInputTokens"),
    "cache_creation": ("cache_creation_input_tokens", "cacheCreationInputTokens"),
}
RESULT = (
    "subtype", "result", "terminal_reason", "stop_reason", "api_error", "api_error_type",
    "startup_failure_reason",
)  # fmt: skip
RETRY_REASONS = {
    "overloaded": "the service is overloaded",
    "server_error": "the service is failing",
    "rate_limit": "the rate limit is reached",
    "authentication_failed": "the login was refused",
}


@dataclass(frozen=True, slots=True)
class ApiError:
    """An error that the program reported; `kind` and `code` are its own words."""

    kind: str
    status: int | None = None
    code: str = ""
    text: str = ""


class Transcript:
    """What one run of the program has reported so far.

    `cost_usd` is None until a result reports it. A result reports the cost of the run so far, not
    of its message alone. `turns` counts the model's answers; the `num_turns` of a result would also
    count tool calls, and only those since the last message.
    """

    def __init__(self, root: Path, servers: Collection[str] = ()) -> None:
        self.model = self.version = self.text = ""
        self.tools: tuple[str, ...] = ()
        self.configured = tuple(servers)
        self.servers: dict[str, str] = {}  # name -> status, as the program reports it
        self.answered: set[str] = set()  # configured servers that returned a result
        self.turns = 0
        self.cost_usd: float | None = None
        self.denials: list[str] = []
        self.external: list[str] = []
        self.answers_lost = 0  # answers of configured servers beyond MAX_EXTERNAL
        self.result: dict[str, Any] | None = None
        self.done = False  # a result came since the last message was sent
        self.errors: deque[ApiError] = deque(maxlen=20)
        self.retrying: ApiError | None = None  # why the current request is being retried
        self.tries = 0  # how often that request has failed so far
        self.limit_resets_at: float | None = None  # of the account's usage limit, epoch seconds
        self._reader = CallReader(root, servers)
        self._calls: dict[str, Call] = {}
        self._usage: dict[str, dict[str, int]] = {}  # of messages that no result has summed up
        self._summed = dict.fromkeys(TOKENS, 0)
        self._external_left = MAX_EXTERNAL
        self._handlers: dict[str, Callable[[dict[str, Any]], str]] = {
            "system": self._system,
            "assistant": self._assistant,
            "user": self._user,
            "result": self._result,
            "rate_limit_event": self._limit,
        }

    @property
    def tokens(self) -> dict[str, int]:
        """Tokens used, by kind.

        Before a result, these are the counts at the start of each message, so output is too low.
        """
        return {
            kind: self._summed[kind] + sum(used[kind] for used in self._usage.values())
            for kind in TOKENS
        }

    @property
    def failed(self) -> bool:
        """Whether the last result is an error, whatever its subtype says."""
        return bool(self.result and self.result["is_error"])

    @property
    def interrupted(self) -> bool:
        """Whether the last result says that a signal stopped the run."""
        return bool(self.result and self.result["terminal_reason"].startswith("aborted"))

    def message_sent(self) -> None:
        """Note that another message was sent, so the result so far is not the last."""
        self.done = False
        self.errors.clear()

    def feed(self, line: bytes) -> str | None:
        """Process one line; returns its progress message, if any. Never raises."""
        event = untrusted.json_object(line)
        if event is None:
            return None
        handler = self._handlers.get(untrusted.text(event.get("type")))
        message = handler(event) if handler else ""
        return untrusted.clean(message, WIDTH) if message else None

    def _system(self, event: dict[str, Any]) -> str:
        match untrusted.text(event.get("subtype")):
            case "init":
                return self._init(event)
            case "api_retry":
                return self._retry(event)
            case "permission_denied":
                name = event.get("tool_use_id")
                call = self._calls.get(untrusted.text(name))
                denied = self._deny(name, event.get("tool_name"), call.target if call else "")
                return f"turn {self.turns}: was refused: {denied}"
            case "model_fallback":
                self._clear_retry()
                model = untrusted.text(event.get("fallback_model"))
                return f"turn {self.turns + 1}: continues with {model}"
            case _:
                return ""

    def _retry(self, event: dict[str, Any]) -> str:
        kind = untrusted.text(event.get("error"))
        status = untrusted.status(event.get("error_status"))
        self.retrying, self.tries = ApiError(kind, status), self.tries + 1
        other = "the service has an error" if status else "no answer from the service"
        why = RETRY_REASONS.get(kind) or other
        return f"turn {self.turns + 1}: waits: {why} (try {self.tries})"

    def _clear_retry(self) -> None:
        self.retrying, self.tries = None, 0

    def _init(self, event: dict[str, Any]) -> str:
        self.model = self.model or untrusted.clean(event.get("model"), 100)  # until one answers
        self.version = untrusted.clean(event.get("claude_code_version"), 100)
        tools = untrusted.items(event.get("tools"))[:MAX_RECENT]
        self.tools = tuple(untrusted.clean(name, 200) for name in tools)
        for server in untrusted.items(event.get("mcp_servers"))[:MAX_RECENT]:
            row = untrusted.mapping(server)
            self.servers[untrusted.clean(row.get("name"), 200)] = untrusted.clean(
                row.get("status"), 200
            )
        self.servers = dict(list(self.servers.items())[:MAX_RECENT])
        return f"turn {self.turns + 1}: asks {untrusted.clean(event.get('model'), 40)}"

    def _assistant(self, event: dict[str, Any]) -> str:
        message = untrusted.mapping(event.get("message"))
        content = message.get("content")
        model = untrusted.clean(message.get("model"), 100)
        if model == SYNTHETIC or event.get("error"):
            status = untrusted.status(event.get("api_error_status"))
            kind = untrusted.text(event.get("error"))
            code = untrusted.text(event.get("api_error"))
            self.errors.append(ApiError(kind, status, code, untrusted.content_text(content)))
            return ""
        self._clear_retry()
        self.model = model or self.model
        self._count(message)
        blocks = [self._block(untrusted.mapping(block)) for block in untrusted.items(content)]
        last = next((words for words in reversed(blocks) if words), "")
        return f"turn {self.turns}: {last}" if last else ""

    def _count(self, message: dict[str, Any]) -> None:
        """Count a message once, although it comes in parts, each with the usage at its start."""
        name = untrusted.text(message.get("id"))
        usage = untrusted.mapping(message.get("usage"))
        used = {kind: untrusted.count(usage.get(key)) for kind, (key, _) in TOKENS.items()}
        if name not in self._usage:
            self.turns += 1
            self._usage[name] = used
        self._usage[name] = {
            kind: max(used[kind], known) for kind, known in self._usage[name].items()
        }
        while len(self._usage) > MAX_RECENT:
            oldest = self._usage.pop(next(iter(self._usage)))
            self._summed = {kind: self._summed[kind] + oldest[kind] for kind in TOKENS}

    def _block(self, block: dict[str, Any]) -> str:
        if "thinking" in untrusted.text(block.get("type")):
            return "thinks"
        if block.get("type") != "tool_use":
            return ""
        self._calls[untrusted.text(block.get("id"))] = self._reader.call(block)
        while len(self._calls) > MAX_RECENT:
            del self._calls[next(iter(self._calls))]
        return self._reader.describe(block)

    def _user(self, event: dict[str, Any]) -> str:
        content = untrusted.mapping(event.get("message")).get("content")
        for block in map(untrusted.mapping, untrusted.items(content)):
            call = self._calls.get(untrusted.text(block.get("tool_use_id")))
            if not call or block.get("type") != "tool_result":
                continue
            if block.get("is_error"):
                # The program does not report a call of a tool that does not exist as a denial.
                if self.tools and call.tool not in self.tools:
                    self._deny(block.get("tool_use_id"), call.tool, call.target)
            elif call.server:
                self._keep_answer(call.server, block)
        return ""

    def _keep_answer(self, server: str, block: dict[str, Any]) -> None:
        self.answered.add(server)
        text = untrusted.content_text(block.get("content"), MAX_EXTERNAL)
        size = len(text) + 100  # a text costs memory besides its characters
        if size <= self._external_left:
            self._external_left -= size
            self.external.append(text)
        else:
            self.answers_lost += 1

    def _result(self, event: dict[str, Any]) -> str:
        self.done = True
        errors = untrusted.items(event.get("errors"))[:20]
        self.result = {key: untrusted.text(event.get(key)) for key in RESULT} | {
            "is_error": bool(event.get("is_error")),
            "api_error_status": untrusted.status(event.get("api_error_status")),
            "errors": [untrusted.text(error) for error in errors],
        }
        self.text = self.result["result"]
        if not self.interrupted:
            self._clear_retry()
        cost = untrusted.number(event.get("total_cost_usd"))
        if cost is not None:
            self.cost_usd = max(self.cost_usd or 0.0, cost)  # after a crash it reports 0
        denials = untrusted.items(event.get("permission_denials"))[: 2 * MAX_DENIALS]
        for denial in map(untrusted.mapping, denials):
            target = self._reader.target(untrusted.mapping(denial.get("tool_input")))
            self._deny(denial.get("tool_use_id"), denial.get("tool_name"), target)
        self._sum(event)
        return ""

    def _sum(self, event: dict[str, Any]) -> None:
        """Take a result's token counts: those of the run by model, or (older) of its message."""
        used_by_model = untrusted.mapping(event.get("modelUsage")).values()
        models = [untrusted.mapping(used) for used in list(used_by_model)[:MAX_RECENT]]
        usage, before = untrusted.mapping(event.get("usage")), self.tokens
        for kind, (key, model_key) in TOKENS.items():
            so_far = sum(untrusted.count(used.get(model_key)) for used in models)
            if not models:
                so_far = self._summed[kind] + untrusted.count(usage.get(key))
            self._summed[kind] = max(so_far, before[kind])
        self._usage.clear()

    def _deny(self, name: object, tool: object, target: str) -> str:
        denied = untrusted.clean(f"{untrusted.text(tool)} {target}", 120)
        key = f"denied {untrusted.text(name)}"
        if key not in self._calls and len(self.denials) <= MAX_DENIALS:
            self._calls[key] = Call("", "")
            self.denials.append(denied if len(self.denials) < MAX_DENIALS else "and more")
        return denied

    def _limit(self, event: dict[str, Any]) -> str:
        info = untrusted.mapping(event.get("rate_limit_info"))
        if info.get("status") == "rejected":
            self.limit_resets_at = untrusted.number(info.get("resetsAt"))
        return ""
