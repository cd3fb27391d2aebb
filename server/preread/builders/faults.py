"""Why a child ended, judged by its last result, its retries, its exit status and its stderr."""

import random
import re
import time
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from preread.builders import untrusted
from preread.builders.failure_table import CONFIG, ROWS, STDERR, TRY_AGAIN, Reported, Row, classify
from preread.builders.stream import ApiError, Transcript
from preread.gates.secrets import kind_of_secret
from preread.models import Fault, Outcome

if TYPE_CHECKING:
    from preread.infra.subprocesses import Ended

RETRIES_ENV: dict[str, str] = {
    "CLAUDE_CODE_MAX_RETRIES": "5",
    "API_TIMEOUT_MS": "60000",
    "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS": "60000",
}
MAX_ATTEMPTS = 3
MAX_PAUSE = 60.0  # seconds
# Failures in a row, which take about two seconds. After them, a refused login or a missing network
# counts as hopeless, and callers need not wait for a busy service.
MAX_TRIES = 3
SECRETS = re.compile(
    r"(?i)\bsk-[\w-]{4,}|\bbearer\s+[^\s,;]+|(?<=://)[^/\s@]+@|\b(?:api[-_]?key|token)\s*[=:]\s*\S+"
)
CANNOT_START = (126, 127)  # exit statuses
PAUSES = {(row.code, row.reason): row.pause for row in ROWS if row.pause}


def of_run(transcript: Transcript, ended: "Ended") -> Fault | None:
    """Why a run failed; None after a good result, even if the program then exited with an error."""
    if transcript.done and not transcript.interrupted:
        return _of_result(transcript) if transcript.failed else None
    late = ended.cut == "deadline"
    if transcript.retrying:
        fault = _fault(_of_error(transcript.retrying), transcript)
        reason = f"{fault.reason}, until the time was up"
        return fault.model_copy(update={"reason": reason}) if late else fault
    return out_of_time(()) if late else _of_exit(transcript, ended)


def of_delay(transcript: Transcript) -> Fault | None:
    """Why the service keeps the program waiting; None before it has failed MAX_TRIES times."""
    error = transcript.retrying
    if error is None or transcript.tries < MAX_TRIES or is_hopeless(transcript):
        return None
    return _fault(_of_error(error), transcript)


def is_hopeless(transcript: Transcript) -> bool:
    """Whether the program keeps retrying something that cannot succeed, so it can be ended now."""
    error = transcript.retrying
    if not error or transcript.tries < MAX_TRIES:
        return False
    return error.kind == "authentication_failed" or (error.status is None and transcript.turns == 0)


def out_of_time(attempts: Sequence[Outcome]) -> Fault:
    """The fault of a build without time for another child: the last attempt's, if it has one."""
    known = attempts[-1].fault if attempts else None
    return known or Fault(
        code="E_TIMEOUT",
        reason="the time was up before the model had finished",
        hint=f"Raise `timeout` {CONFIG}, or ask for a smaller feature.",
    )


def of_attempt(outcome: Outcome, before: Sequence[Outcome]) -> Fault | None:
    """Why an attempt failed; the fault before it, if time was up before the service answered."""
    is_cut = outcome.fault is not None and outcome.fault.code == "E_TIMEOUT" and not outcome.turns
    return before[-1].fault if is_cut and before else outcome.fault


def retry_after(fault: Fault, attempt: int, resets_at: float | None = None) -> float | None:
    """Seconds to wait before attempt number `attempt + 1`; None if a retry would not help.

    `resets_at` is `Transcript.limit_resets_at`. By then the program itself has retried for 18 s.
    """
    if attempt >= MAX_ATTEMPTS:
        return None
    if fault.code == "E_RATE_LIMIT" and resets_at:
        left = resets_at - time.time() + 1
        return left if 0 < left <= MAX_PAUSE else None
    wait = PAUSES.get((fault.code, fault.reason), 0) * 2 ** (attempt - 1)
    pause = wait * random.uniform(0.8, 1.2)  # noqa: S311 - spreads callers, is no secret
    return min(pause, MAX_PAUSE) or None


def server_warnings(transcript: Transcript) -> tuple[str, ...]:
    """Warnings about configured MCP servers that could not be used, and about lost answers."""
    if not transcript.version:
        return ()  # it never got as far as connecting to servers
    warnings = [
        f"E_SERVER: the MCP server `{untrusted.clean(name, 60)}` {_server_problem(name, status)}"
        for name in transcript.configured
        if (status := transcript.servers.get(name, "")) != "connected"
        and name not in transcript.answered
    ]
    if transcript.answers_lost:
        warnings.append(
            f"E_SERVER: {transcript.answers_lost} answers of MCP servers were too long to keep; "
            "no fact can cite them."
        )
    return tuple(warnings)


def _server_problem(name: str, status: str) -> str:
    match status:
        case "needs-auth":
            login = f"`claude mcp login {untrusted.clean(name, 60)}`"
            return f"is not logged in. Run {login}, or `/mcp` in Claude Code."
        case "pending":
            return (
                "did not answer in time and was not searched. "
                "Check whether it runs, or set MCP_TIMEOUT higher."
            )
        case "failed":
            return "could not be started or reached. Run `claude mcp list` to see why."
        case "":
            return "was not loaded. Run `claude mcp list` to see whether Claude Code knows it."
        case _:
            return f"is {untrusted.clean(status, 30)}. Run `/mcp` in Claude Code."


def _of_result(transcript: Transcript) -> Fault:
    result = transcript.result or {}
    last = transcript.errors[-1] if transcript.errors else ApiError("")
    text = result["result"] or "; ".join(result["errors"])
    kind = last.kind if last.text == result["result"] else ""
    subtype = "startup_failure" if result["startup_failure_reason"] else result["subtype"]
    code = result["api_error"] or result["terminal_reason"]
    spelled = re.search(r"API Error: (\d{3})\b", text)
    status = result["api_error_status"] or (int(spelled[1]) if spelled else None)
    reported = Reported(subtype, code, kind or result["api_error_type"], status, text)
    return _fault(reported, transcript)


def _of_error(error: ApiError) -> Reported:
    """What an error reports; a request that got no answer at all had no connection."""
    code = error.code or ("" if error.status or error.text else "connection_failed")
    return Reported(code=code, kind=error.kind, status=error.status, text=error.text)


def _of_exit(transcript: Transcript, ended: "Ended") -> Fault:
    err = ended.err.decode("utf-8", "replace").strip()
    if ended.status in CANNOT_START:
        why = _excerpt(err) or "there is no such program"
        return Fault(
            code="E_CLI",
            reason=f"Claude Code could not be started: {why}",
            hint="Install it (`npm install -g @anthropic-ai/claude-code`), "
            "or set PREREAD_CLAUDE to its path.",
        )
    for row in STDERR:
        if ended.status and re.search(row.pattern, err, re.IGNORECASE):
            return _fault(Reported(text=err.splitlines()[-1]), transcript, row)
    if transcript.errors:
        return _fault(_of_error(transcript.errors[-1]), transcript)
    how = "was interrupted" if transcript.interrupted else "ended without a result"
    if ended.status > 128:
        how = f"was ended by signal {ended.status - 128}"
    detail = f"exit status {ended.status}" + (f": {_excerpt(err.splitlines()[-1])}" if err else "")
    return Fault(code="E_CHILD", reason=f"Claude Code {how} ({detail})", hint=TRY_AGAIN)


def _fault(reported: Reported, transcript: Transcript, row: Row | None = None) -> Fault:
    row = row or classify(reported)
    detail = re.search(r"\([^()]{1,20}\)$", reported.text)
    reason = row.reason.format(
        detail=detail[0] if detail else "",
        excerpt=_excerpt(reported.text) or "it did not say why",
        resets=_resets(transcript, reported.text),
    )
    return Fault(code=row.code, reason=reason.strip(), hint=row.hint)


def _resets(transcript: Transcript, text: str) -> str:
    """When a limit ends: from its event, from `…|<epoch>` in older versions, or from the text."""
    old = re.search(r"\|(\d{10})\b", text)
    at = transcript.limit_resets_at or (float(old[1]) if old else None)
    if at and at < 1e10:
        return f" until {datetime.fromtimestamp(at).astimezone():%b %d, %H:%M %Z}"
    words = re.search(r"\bresets ([^·|()]{1,40})", text)
    return f"; it resets {untrusted.clean(words[1], 40)}" if words else ""


def _excerpt(text: str) -> str:
    """The child's message for display; empty if it may contain a secret."""
    text = SECRETS.sub("…", text[:4000]).removeprefix("API Error: ")
    excerpt = untrusted.clean(text, 160)
    return "" if kind_of_secret(excerpt) else excerpt
