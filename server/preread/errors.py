"""The one root of expected failures, and the table that maps their codes to every face's own numbers."""

from typing import Any, NamedTuple


class Code(NamedTuple):
    """What one error code means to a face: a JSON-RPC number, an exit status, a line for the documents."""

    jsonrpc: int
    exit: int
    meaning: str


USAGE, FAILED, INTERRUPTED, BUG = 2, 1, 130, 3

CODES: dict[str, Code] = {
    "E_USAGE": Code(-32602, USAGE, "an argument is missing, unknown or of the wrong type"),
    "E_FEATURE_NAME": Code(
        -32001, USAGE, "the feature's name is not one; `details.slug` would do, if there is one"
    ),
    "E_TICKET_NAME": Code(-32002, USAGE, "the ticket's id holds characters that no ticket id has"),
    "E_PROJECT_DIR": Code(
        -32003, FAILED, "`.project` is a file, or the project folder cannot be used"
    ),
    "E_OUTSIDE": Code(
        -32004, FAILED, "a path leads out of the project, by `..` or by a symbolic link"
    ),
    "E_SETTINGS": Code(
        -32005, FAILED, "a setting has an unknown name or a value that it cannot have"
    ),
    "E_NOT_FOUND": Code(-32006, FAILED, "there is no such dossier, file, fact or ticket"),
    "E_WRITE": Code(
        -32007,
        FAILED,
        "the disk is full, read-only or not ours to write; what was published stands",
    ),
    "E_TIMEOUT": Code(-32008, FAILED, "the build did not end within its deadline"),
    "E_CANCELLED": Code(-32009, INTERRUPTED, "the last caller that waited for the build went away"),
    "E_CHECK": Code(
        -32010, FAILED, "the published dossier breaks rules of the format, or sources do not hold"
    ),
    "E_RECURSION": Code(-32011, FAILED, "the headless builder's own child asked for a dossier"),
    "E_PROMPT": Code(
        -32012, FAILED, "a template of the project names an unknown variable or cannot be rendered"
    ),
    "E_GATES": Code(
        -32013, FAILED, "the hooks that come with Preread are not there, or do not answer"
    ),
    "E_SCOPE": Code(
        -32014, USAGE, "the scope is no folder of the project, and no or several packages' name"
    ),
    # Why the static builder stood in: codes of `degraded` and `partial` replies, which are no errors.
    "E_CLI": Code(
        -32020, FAILED, "the Claude Code program is not there, too old or cannot be started"
    ),
    "E_LOGIN": Code(-32021, FAILED, "Claude Code is not logged in, or its key was refused"),
    "E_SERVER": Code(
        -32022, FAILED, "a configured MCP server is unknown, not logged in or could not be reached"
    ),
    "E_RATE_LIMIT": Code(-32023, FAILED, "the account's rate or usage limit is reached"),
    "E_OVERLOADED": Code(-32024, FAILED, "the model's service is overloaded or failing"),
    "E_NETWORK": Code(-32025, FAILED, "the model's service could not be reached"),
    "E_MODEL": Code(
        -32026, FAILED, "the service refused the request: an unknown model, or a prompt too long"
    ),
    "E_TURNS": Code(-32027, FAILED, "the model used all its turns"),
    "E_MONEY": Code(
        -32028, FAILED, "a limit of spending is reached, for one build or for the month"
    ),
    "E_CHILD": Code(-32029, FAILED, "the Claude Code program ended without a result"),
    "E_DRAFTS": Code(
        -32030, FAILED, "the model finished, and a required file of its drafts does not hold"
    ),
    "E_INTERNAL": Code(
        -32099, BUG, "a mistake in Preread itself; the log named in the hint helps to mend it"
    ),
}


class PrereadError(Exception):
    """An expected failure: what happened and why (message), what to do now (hint), data for programs (details)."""

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


class Cancelled(PrereadError):  # noqa: N818 - what it is, not an error of anyone's
    """Work was told to stop: the interruption of a person, or the cancellation of the last caller."""

    def __init__(self, message: str = "The build was cancelled.") -> None:
        super().__init__(
            "E_CANCELLED", message, "Nothing that was published has changed; call again to build."
        )
