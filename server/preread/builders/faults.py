"""What ended a child, told from its last result, its retries, its exit and its stderr."""

import random
import re
import time
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from preread.builders import loose
from preread.builders.failures import CONFIG, ROWS, STDERR, Row, Seen, first
from preread.builders.stream import Transcript, Trouble
from preread.gates.secrets import kind_of_secret
from preread.models import Fault, Outcome

if TYPE_CHECKING:
    from preread.infra.subprocesses import Ended

RETRIES_ENV: dict[str, str] = {
    "CLAUDE_CODE_MAX_RETRIES": "5",
    "API_TIMEOUT_MS": "60000",
    "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS": "60000",
}
MOST_ATTEMPTS = 3
LONGEST_PAUSE = 60.0
HOPELESS = 3  # tries in a row after which a refused login or a missing network is not waited for
SECRETS = re.compile(
    r"(?i)\bsk-[\w-]{4,}|\bbearer\s+[^\s,;]+|(?<=://)[^/\s@]+@|\b(?:api[-_]?key|token)\s*[=:]\s*\S+"
)
CANNOT_START = (126, 127)


PAUSES = {(row.code, row.reason): row.pause for row in ROWS if row.pause}


def fault(transcript: Transcript, ended: "Ended") -> Fault | None:
    """Why the run is not whole; None for one that ended in a good result, however the program left afterwards."""
    if transcript.done and not transcript.interrupted:
        return _of_result(transcript) if transcript.failed else None
    late = ended.cut == "deadline"
    if transcript.waiting:
        found = _fault(_of_trouble(transcript.waiting), transcript)
        return (
            found.model_copy(update={"reason": f"{found.reason}, until its time was over"})
            if late
            else found
        )
    if late:
        return too_late(())
    return _of_exit(transcript, ended)


def hopeless(transcript: Transcript) -> bool:
    """Whether the program goes on trying what will not come right: its child can be ended now."""
    waits = transcript.waiting
    if not waits or transcript.tries < HOPELESS:
        return False
    return waits.kind == "authentication_failed" or (waits.status is None and transcript.turns == 0)


def too_late(attempts: Sequence[Outcome]) -> Fault:
    """The fault of a build that has no time for another child: the one before it, if there was one."""
    known = attempts[-1].fault if attempts else None
    hint = f"Raise `timeout` {CONFIG}, or ask for a smaller feature."
    return known or Fault(
        code="E_TIMEOUT", reason="its time was over before the model had finished", hint=hint
    )


def retry_after(fault: Fault, attempt: int, resets: float | None = None) -> float | None:
    """Seconds after which another child may fare better, after so many; None where it would not.

    `resets` is when the account's limit ends (`Transcript.resets`). The program itself has tried for 18 s by then.
    """
    if attempt >= MOST_ATTEMPTS:
        return None
    if fault.code == "E_RATE_LIMIT" and resets:
        left = resets - time.time() + 1
        return left if 0 < left <= LONGEST_PAUSE else None
    wait = PAUSES.get((fault.code, fault.reason), 0) * 2 ** (attempt - 1)
    pause = wait * random.uniform(0.8, 1.2)  # noqa: S311 - spreads callers, is no secret
    return min(pause, LONGEST_PAUSE) or None


def servers(transcript: Transcript) -> tuple[str, ...]:
    """A warning, with what to do, for each configured MCP server that the child could not use, and for lost answers."""
    if not transcript.version:
        return ()  # it never came so far
    lost = f"E_SERVER: {transcript.unkept} answers of MCP servers were too long to keep; nothing can rest on them."
    troubled = ((name, transcript.servers.get(name, "")) for name in transcript.configured)
    warnings = (
        f"E_SERVER: the MCP server `{loose.clean(name, 60)}` {_ails(name, status)}"
        for name, status in troubled
        if status != "connected" and name not in transcript.answered
    )
    return (*warnings, lost) if transcript.unkept else tuple(warnings)


def _ails(name: str, status: str) -> str:
    match status:
        case "needs-auth":
            return f"is not logged in. Run `claude mcp login {loose.clean(name, 60)}`, or `/mcp` in Claude Code."
        case "pending":
            return "did not answer in time and was not searched. Look at whether it runs, or set MCP_TIMEOUT higher."
        case "failed":
            return "could not be started or reached. Run `claude mcp list` to see why."
        case "":
            return "was not loaded. Run `claude mcp list` to see whether Claude Code knows it."
        case _:
            return f"is {loose.clean(status, 30)}. Run `/mcp` in Claude Code."


def _of_result(transcript: Transcript) -> Fault:
    result = transcript.result or {}
    last = transcript.errors[-1] if transcript.errors else Trouble("")
    text = result["result"] or "; ".join(result["errors"])
    kind = last.kind if last.text == result["result"] else ""
    subtype = "startup_failure" if result["startup_failure_reason"] else result["subtype"]
    code = result["api_error"] or result["terminal_reason"]
    spelled = re.search(r"API Error: (\d{3})\b", text)
    status = result["api_error_status"] or (int(spelled[1]) if spelled else None)
    return _fault(Seen(subtype, code, kind or result["api_error_type"], status, text), transcript)


def _of_trouble(trouble: Trouble) -> Seen:
    """A request that is tried again and had no answer at all had no connection."""
    code = trouble.code or ("" if trouble.status or trouble.text else "connection_failed")
    return Seen(code=code, kind=trouble.kind, status=trouble.status, text=trouble.text)


def _of_exit(transcript: Transcript, ended: "Ended") -> Fault:
    err = ended.err.decode("utf-8", "replace").strip()
    if ended.status in CANNOT_START:
        return Fault(
            code="E_CLI",
            reason=f"Claude Code could not be started: {_excerpt(err) or 'there is no such program'}",
            hint="Install it (`npm install -g @anthropic-ai/claude-code`), or set PREREAD_CLAUDE to its path.",
        )
    for row in STDERR:
        if ended.status and re.search(row.says, err, re.IGNORECASE):
            return _fault(Seen(text=err.splitlines()[-1]), transcript, row)
    if transcript.errors:
        return _fault(_of_trouble(transcript.errors[-1]), transcript)
    how = "was interrupted" if transcript.interrupted else "ended without a result"
    if ended.status > 128:
        how = f"was ended by signal {ended.status - 128}"
    said = f"exit status {ended.status}" + (f": {_excerpt(err.splitlines()[-1])}" if err else "")
    hint = "Call again to try anew; `preread status FEATURE` shows the end of what it said."
    return Fault(code="E_CHILD", reason=f"Claude Code {how} ({said})", hint=hint)


def _fault(seen: Seen, transcript: Transcript, row: Row | None = None) -> Fault:
    row = row or first(seen)
    detail = re.search(r"\([^()]{1,20}\)$", seen.text)
    reason = row.reason.format(
        detail=detail[0] if detail else "", excerpt=_excerpt(seen.text) or "it did not say why",
        resets=_resets(transcript, seen.text),
    )  # fmt: skip
    return Fault(code=row.code, reason=reason.strip(), hint=row.hint)


def _resets(transcript: Transcript, text: str) -> str:
    """When a limit ends: from the event that tells it, from the older form `…|<epoch>`, or as the text says it."""
    old = re.search(r"\|(\d{10})\b", text)
    at = transcript.resets or (float(old[1]) if old else None)
    if at and at < 1e10:
        return f" until {datetime.fromtimestamp(at).astimezone():%b %d, %H:%M %Z}"
    said = re.search(r"\bresets ([^·|()]{1,40})", text)
    return f"; it resets {loose.clean(said[1], 40)}" if said else ""


def _excerpt(text: str) -> str:
    """What the child said, to be shown; nothing of it where a secret may stand in it."""
    excerpt = loose.clean(SECRETS.sub("…", text[:4000]).removeprefix("API Error: "), 160)
    return "" if kind_of_secret(excerpt) else excerpt
