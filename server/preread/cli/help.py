"""What `--help` says about a command."""

from typing import TypedDict


class Help(TypedDict):
    """Keyword arguments of click's commands."""

    help: str
    short_help: str  # click would cut a long one short that it makes of the help


def described(doc: str, example: str, more: str = "") -> Help:
    """One line for the list of commands; with `more` and an example for the command itself."""
    whole = f"{doc} {more}".strip()
    return Help(help=f"{whole}\n\n\b\nExample:\n  {example}", short_help=doc)
