"""Find secrets that must never be published: by shape, and the values of `.env` files."""

from functools import cached_property
from pathlib import Path

from preread.gates.secrets import HIDDEN, kind_of_secret, redacted
from preread.infra import env_files


class Credentials:
    """The secrets of one project. Each check creates a new object, because `.env` files change."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The secret values in the project's `.env` files."""
        return env_files.secret_values(self.root)

    def found(self, text: str) -> str:
        """The kind of secret that a text contains, without repeating it; empty for none."""
        if kind := kind_of_secret(text):
            return kind
        return "value of a .env file" if any(value in text for value in self.values) else ""

    def hidden(self, text: str) -> str:
        """A text with its secrets replaced, or all of it if they cannot be separated from it."""
        for value in self.values:
            text = text.replace(value, HIDDEN)
        text = redacted(text)
        return HIDDEN if self.found(text) else text

    def without(self, text: str) -> str:
        """A text without its lines that contain secrets; empty if a secret spans several lines."""
        if not text or not self.found(text):
            return text
        kept = "\n".join(line for line in text.split("\n") if not self.found(line))
        return "" if self.found(kept) else kept
