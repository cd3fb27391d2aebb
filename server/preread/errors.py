"""Expected failures: `PrereadError`, and the table of codes that every face maps to its own."""

import errno
from typing import Any, NamedTuple


class Code(NamedTuple):
    """One row of the table: JSON-RPC number, exit status, and the line in docs/errors.md."""

    jsonrpc: int
    exit: int
    meaning: str


USAGE, FAILED, INTERRUPTED, BUG = 2, 1, 130, 3

CODES: dict[str, Code] = {
    "E_USAGE": Code(-32602, USAGE, "an argument is missing, unknown or of the wrong type"),
    "E_METHOD": Code(-32601, USAGE, "there is no operation of that name"),
    "E_AGENT": Code(-32000, FAILED, "an agent or a run of agents failed"),
    "E_WORKTREE": Code(
        -32001, FAILED, "a worktree cannot be created, merged or removed in its current state"
    ),
    "E_SEARCH": Code(-32002, FAILED, "the index of facts cannot be used for a search"),
    "E_ISSUE": Code(-32010, USAGE, "not an issue number, or the project has no issue with it"),
    "E_FEATURE_NAME": Code(
        -32031, USAGE, "not a valid feature name; `details.slug` is one, if the name has one"
    ),
    "E_TICKET_NAME": Code(-32032, USAGE, "not a valid ticket id"),
    "E_PROJECT_DIR": Code(
        -32003, FAILED, "`.project` is a file, or the project folder is gone or cannot be opened"
    ),
    "E_OUTSIDE": Code(
        -32004, FAILED, "a path leads out of the project, by `..` or a symbolic link"
    ),
    "E_SETTINGS": Code(-32005, FAILED, "a setting has an unknown name or an invalid value"),
    "E_NOT_FOUND": Code(-32006, FAILED, "there is no such dossier, file, fact or ticket"),
    "E_WRITE": Code(
        -32007, FAILED, "a file cannot be written: disk full, read-only or not permitted"
    ),
    "E_READ": Code(
        -32015, FAILED, "a file or folder exists but cannot be read, or git does not answer"
    ),
    "E_TIMEOUT": Code(
        -32020, FAILED, "a build, a search or an agent did not finish within its deadline"
    ),
    "E_BUSY": Code(
        -32035, FAILED, "too many builds of the project are waiting already (`max_waiting`)"
    ),
    "E_BACKUP": Code(-32019, FAILED, "files of a backup are missing or damaged"),
    "E_CANCELLED": Code(-32009, INTERRUPTED, "it was cancelled, or its last caller went away"),
    "E_CHECK": Code(
        -32033, FAILED, "the published dossier breaks format rules or has invalid sources"
    ),
    "E_RECURSION": Code(-32011, FAILED, "the headless builder's own child asked for a dossier"),
    "E_PROMPT": Code(
        -32012, FAILED, "a project's template uses an unknown variable or cannot be rendered"
    ),
    "E_GATES": Code(-32013, FAILED, "Preread's own hooks are missing or do not answer"),
    "E_SCOPE": Code(
        -32014, USAGE, "the scope is neither a folder nor the name of exactly one package"
    ),
    "E_NOT_ALLOWED": Code(
        -32016, USAGE, "the operation is for people, or the settings do not allow its effect"
    ),
    "E_REMEMBER": Code(
        -32017, FAILED, "a fact cannot be remembered, as for a secret or an invalid source"
    ),
    "E_DAEMON": Code(
        -32018, FAILED, "the daemon runs already, does not run, or cannot listen where it should"
    ),
    "E_DOCUMENT": Code(
        -32040,
        FAILED,
        "a document cannot be read: encrypted, damaged, unknown format; see `details.reason`",
    ),
    "E_DOCUMENT_LIMIT": Code(
        -32041,
        FAILED,
        "a document is too large, or takes too much memory or time; see `details.reason`",
    ),
    "E_EXTRA": Code(
        -32042, FAILED, "an optional package is missing; the hint says how to install it"
    ),
    # Why the static builder took over: these codes are in `degraded` and `partial` replies, which
    # are not errors.
    "E_CLI": Code(-32034, FAILED, "Claude Code is not installed, too old or cannot be started"),
    "E_LOGIN": Code(-32021, FAILED, "Claude Code is not logged in, or its key was rejected"),
    "E_SERVER": Code(
        -32022, FAILED, "a configured MCP server is unknown, not logged in or unreachable"
    ),
    "E_RATE_LIMIT": Code(
        -32023,
        FAILED,
        "the account's rate or usage limit is reached, or the daemon's for one caller: "
        "`details.retry_after` seconds",
    ),
    "E_OVERLOADED": Code(-32024, FAILED, "the model's service is overloaded or failing"),
    "E_NETWORK": Code(-32025, FAILED, "the model's service could not be reached"),
    "E_MODEL": Code(
        -32026, FAILED, "the service rejected the request: unknown model, or prompt too long"
    ),
    "E_TURNS": Code(-32027, FAILED, "the model used all its turns"),
    "E_MONEY": Code(-32028, FAILED, "a spending limit is reached, of one build or of the month"),
    "E_CHILD": Code(-32029, FAILED, "Claude Code ended without a result"),
    "E_DRAFTS": Code(
        -32030, FAILED, "the model finished, but a required file of its drafts is invalid"
    ),
    "E_INTERNAL": Code(-32603, BUG, "a bug in Preread; the log named in the hint helps to fix it"),
}


class PrereadError(Exception):
    """An expected failure.

    `message` says what happened and why, `hint` what to do now; `details` is data for programs.
    """

    def __init__(
        self, code: str, message: str, hint: str = "", details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        if code not in CODES:
            raise LookupError(f"unknown error code {code}")
        self.code = code
        self.message = message
        self.hint = hint
        self.details = details or {}

    @property
    def exit_status(self) -> int:
        return CODES[self.code].exit

    @property
    def jsonrpc(self) -> int:
        return CODES[self.code].jsonrpc

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" + (f" {self.hint}" if self.hint else "")


MORE_FILES = "Raise the limit of open files (`ulimit -n`) or close other programs"
# What to do about errors that are not a matter of permissions or the disk.
_TO_READ = {
    errno.EMFILE: MORE_FILES,
    errno.ENFILE: MORE_FILES,
    errno.EISDIR: "Move it away or make it a regular file",
}


class Unreadable(PrereadError):  # noqa: N818 - a state of a file, other than absent
    """A file exists, or may exist, but cannot be read."""

    CODE = "E_READ"

    def __init__(self, path: object, error: OSError) -> None:
        self.why = (error.strerror or str(error)).lower()
        to_do = _TO_READ.get(error.errno or 0, "Fix its permissions or the disk")
        hint = f"{to_do}, then call again. Nothing published has changed."
        details = {"path": str(path), "errno": error.errno}
        super().__init__(self.CODE, f"{path} cannot be read: {self.why}.", hint, details)


_NOT_WRITTEN = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})


def from_os_error(error: OSError) -> PrereadError:
    """The expected failure for an error of the operating system."""
    if error.errno in _NOT_WRITTEN:
        name = error.filename or "The output"
        return PrereadError("E_WRITE", f"{name} cannot be written: {error.strerror}.")
    return Unreadable(error.filename or "a file", error)


class Cancelled(PrereadError):  # noqa: N818 - a state, not an error anyone made
    """The work was stopped: a person interrupted it, or its last caller cancelled."""

    def __init__(self, message: str = "The build was cancelled.") -> None:
        hint = "Nothing that was published has changed; load again to build."
        super().__init__("E_CANCELLED", message, hint)
