"""What no dossier may contain: secrets, invisible characters, orders to an assistant."""

from dataclasses import replace
from typing import NamedTuple

from preread.dossier import fact_text
from preread.infra import prompt_injection
from preread.infra.secrets import Credentials
from preread.layout import BY_NAME
from preread.models import Fact, Problem


class Rejection(NamedTuple):
    """Why an item is dropped."""

    code: str
    message: str


class Screening:
    """The screening of texts, with the project's secrets."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    def rejection(self, text: str) -> Rejection | None:
        """Why a text cannot be published; None if it can.

        Call this before reporting any problem whose message quotes the text.
        """
        if fact_text.INVISIBLE.search(text):
            message = "contains control characters or others that a reader cannot see"
            return Rejection("E_UNSEEN", message)
        if kind := self._credentials.found(text.replace("\t", "\n")):  # each part is a line
            return Rejection("E_SECRET", f"contains what looks like a secret: {kind}")
        if order := prompt_injection.found(text):
            return Rejection("E_ORDER", f"gives orders to an assistant: it {order}")
        return None

    def redacted(self, problem: Problem) -> Problem:
        """A format problem without any secret or invisible characters that its message quotes."""
        if kind := self._credentials.found(f"{problem.path} {problem.message}"):
            path = problem.path if problem.path in BY_NAME else "a file"
            return replace(problem, path=path, message=f"contains what looks like a secret: {kind}")
        message = fact_text.INVISIBLE.sub("\N{REPLACEMENT CHARACTER}", problem.message)
        return replace(problem, message=message)


def orders_in_own_words(fact: Fact) -> Rejection | None:
    """The rejection of a fact whose own words give orders; None if they do not.

    A reader might take them for Preread's own, because they are not quoted from a source.
    """
    found = prompt_injection.in_own_words(fact_text.own_words(fact.text))
    message = f"says `{found}` in its own words; quote it from its source, or leave it out"
    return Rejection("E_ORDER", message) if found else None
