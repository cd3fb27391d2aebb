"""Who calls, and how a request is refused."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from preread.daemon.tokens import Scope
from preread.errors import PrereadError
from preread.records import sessions

CODE_OF_STATUS = {400: "E_USAGE", 401: "E_NOT_ALLOWED", 403: "E_NOT_ALLOWED", 404: "E_NOT_FOUND",
    405: "E_USAGE", 413: "E_USAGE", 421: "E_NOT_ALLOWED", 429: "E_RATE_LIMIT",
    431: "E_USAGE"}  # fmt: skip


@dataclass(frozen=True)
class Peer:
    """An authenticated caller, and what it may do."""

    identity: sessions.Identity
    scope: Scope
    only: str = ""  # the only root that it may open; empty for all
    is_local: bool = False  # a process of this user, on a Unix socket: it may open any folder
    # Whether its token or login has ended since; streams and WebSockets keep checking.
    has_ended: Callable[[], bool] = lambda: False
    # Counts calls against its rate limit. Raises Refused.
    spend: Callable[[int], None] = lambda _calls: None


class Refused(Exception):  # noqa: N818 - an answer
    """A request is refused, with this HTTP status and error."""

    def __init__(
        self, status: int, message: str, hint: str = "", details: dict[str, Any] | None = None,
        **headers: str,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.status, self.headers = status, {k.replace("_", "-"): v for k, v in headers.items()}
        self.error = PrereadError(CODE_OF_STATUS.get(status, "E_USAGE"), message, hint, details)


def status_of(code: str) -> int:
    """The HTTP status of a response that is only an error."""
    return {"E_NOT_FOUND": 404, "E_USAGE": 400, "E_NOT_ALLOWED": 403}.get(code, 500)
