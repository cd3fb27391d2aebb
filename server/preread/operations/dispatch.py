"""Runs operations for every face: who may run which, the audit log, bugs as errors."""

import difflib
import sys
import time
import traceback
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from preread import __version__, resolve
from preread.errors import USAGE, PrereadError, from_os_error
from preread.infra import atomic
from preread.models import Model
from preread.names import feature_name
from preread.operations import ALIASES
from preread.operations.agent import methods as agent_methods
from preread.operations.arguments import nearest
from preread.operations.registry import AnswerNeeded, Context, Operation, log_file
from preread.records import audit, sessions
from preread.settings import Settings

# What an agent is always allowed: the gates ask for it.
ALWAYS = "context.load"
MAX_NEAR = 3  # suggestions for an unknown name
# Not logged: `init --undo` has to leave no trace; the others change no dossier and no fact.
UNRECORDED = frozenset({"config.init", "config.install_client", "session.hear"})
# States of replies for which this call changed nothing.
UNCHANGED = frozenset({"cached", "joined", "shown"})


def find(operations: Mapping[str, Operation], method: str, *, for_agent: bool = True) -> Operation:
    """The operation with this full name, alias, or unambiguous bare name. Raises E_METHOD.

    To an agent, the error does not suggest operations that are for people.
    """
    name = ALIASES.get(method) or agent_methods.name(method)
    if name in operations:
        return operations[name]
    bare = [full for full in operations if full.partition(".")[2] == method]
    if len(bare) == 1:
        return operations[bare[0]]
    if bare:
        names = " or ".join(f"`{full}`" for full in bare)
        raise PrereadError("E_METHOD", f"`{method}` is more than one operation.", f"Use {names}.")
    raise _no_operation(operations, method, for_agent=for_agent)


def _no_operation(
    operations: Mapping[str, Operation], method: str, *, for_agent: bool
) -> PrereadError:
    """The error for an unknown method, with the most similar names."""
    known = [name for name, one in operations.items() if not (for_agent and one.people_only)]
    words = {*known, *ALIASES, *(full.partition(".")[2] for full in known)}
    by_command = [full for full in known if operations[full].command == method]
    near = by_command or difflib.get_close_matches(method.lower(), sorted(words), MAX_NEAR, 0.5)
    similar = f"Similar: {', '.join(f'`{one}`' for one in near)}. " if len(near) > 1 else ""
    guess = f" Did you mean `{near[0]}`?" if near else ""
    return PrereadError(
        "E_METHOD",
        f"There is no operation `{ascii(method[:60])[1:-1]}`.{guess}",
        f"{similar}`preread ops` lists them.",
        {"nearest": near},
    )


def no_category(wanted: str, known: Iterable[str]) -> PrereadError:
    """The error for an unknown category."""
    near = nearest(wanted, known)
    return PrereadError(
        "E_USAGE",
        f"There is no category `{ascii(wanted[:60])[1:-1]}`.{near}",
        f"Categories: {', '.join(known)}.",
    )


def permit(operation: Operation, settings: Settings) -> None:
    """Refuse what an agent may not run. Raises E_NOT_ALLOWED."""
    if operation.people_only:
        raise PrereadError(
            "E_NOT_ALLOWED",
            f"{operation.name} is for people, and an agent cannot call it.",
            "Tell the person what you need it for, and continue without it.",
        )
    if operation.effect not in settings.allow and operation.name != ALWAYS:
        does = {"execute": "runs programs", "write": "changes files", "read": "reads"}
        raise PrereadError(
            "E_NOT_ALLOWED",
            f"{operation.name} {does[operation.effect]}, which agents are not allowed here.",
            f"A person can run it: `{operation.example}` in a terminal. Or allow it to agents, by "
            "PREREAD_ALLOW in their environment.",
        )


def offered(operations: Iterable[Operation], settings: Settings) -> list[Operation]:
    """The operations that an agent may run."""
    return [
        operation
        for operation in operations
        if not operation.people_only
        and (operation.effect in settings.allow or operation.name == ALWAYS)
    ]


async def run(context: Context, operation: Operation, request: Model) -> Model:
    """The operation's reply; a call that may have changed something is recorded.

    Raises what the operation raises, and E_NOT_ALLOWED for an agent's call.
    """
    if context.is_agent and operation.name != ALWAYS:
        permit(operation, context.settings)
    if operation.effect == "read" or operation.name in UNRECORDED:
        return await _reply(context, operation, request)
    if operation.name == ALWAYS:
        _note_feature(context, request)
    begun, outcome = time.monotonic(), "E_CANCELLED"
    try:
        reply = await _reply(context, operation, request)
        outcome = _outcome(reply)
    except Exception as error:
        outcome = _code_of(error)
        raise
    finally:
        if outcome:
            _record(context, operation, request, outcome, time.monotonic() - begun)
    return reply


def _note_feature(context: Context, request: Model) -> None:
    """Let other sessions see which feature an agent's session works on."""
    if not context.is_agent:
        return
    # The call itself reports an invalid name, a missing project, or a read-only disk.
    with suppress(PrereadError):
        feature = feature_name(str(getattr(request, "feature", "")))
        me = sessions.caller(context.by, is_person=False)
        if sessions.is_noted(context.start, me, feature):  # record only changes
            return
        if context.layout.project.is_dir():
            sessions.note_feature(context.layout, context.start, me, feature)


async def _reply(context: Context, operation: Operation, request: Model) -> Model:
    reply: Model = await operation.run(context, request)
    return reply


def _outcome(reply: Model) -> str:
    """`ok`, or the code of an error reply; empty if the call changed nothing."""
    if getattr(reply, "state", "") in UNCHANGED:
        return ""
    return "ok" if getattr(reply, "status", "ok") != "error" else str(getattr(reply, "code", ""))


def _code_of(error: Exception) -> str:
    """The code of a failure; empty if the call was not run."""
    if isinstance(error, PrereadError):
        return "" if error.exit_status == USAGE else error.code
    return "" if isinstance(error, AnswerNeeded) else "E_INTERNAL"


def _record(
    context: Context, operation: Operation, request: Model, outcome: str, seconds: float
) -> None:
    params = request.model_dump(mode="json", exclude_defaults=True)
    try:
        layout = resolve.open_layout(context.start)
        if layout.project.is_dir():
            audit.add(layout, operation.name, params, context.by, outcome, seconds)
    except PrereadError as error:  # the caller gets the call's own outcome
        if outcome == "ok":
            sys.stderr.write(f"preread: the audit log lacks a call of {operation.name}: {error}\n")


def expected(start: Path, face: str, error: Exception) -> PrereadError:
    """The failure to report for any exception: itself, a system error with its path, or a bug."""
    if isinstance(error, PrereadError):
        return error
    return from_os_error(error) if isinstance(error, OSError) else _bug(start, face, error)


def _bug(start: Path, face: str, error: Exception) -> PrereadError:
    """The error for a bug; its traceback goes to the project's log, else to standard error."""
    head = f"\n{time.strftime('%Y-%m-%d %H:%M:%S')} preread {__version__} {face}\n"
    text = head + "".join(traceback.format_exception(error))
    try:
        path = log_file(str(start))
        atomic.append(path, text.encode("utf-8", "backslashreplace"))
        where = f"the end of {path}"
    except PrereadError:
        sys.stderr.write(text)
        where = "the server's standard error output"
    message = f"{type(error).__name__}: {error}".rstrip(".")
    return PrereadError("E_INTERNAL", f"{message}.", f"Please report it with {where}.")
