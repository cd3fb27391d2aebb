"""Which feature an agent's prompt names. docs/gates-reference.md lists the steps under "Agents"."""

from __future__ import annotations

from preread.gates.feature_names import PROJECT, slug
from preread.gates.stop_words import STOP_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from preread.gates.rules import Rules

MAX_LENGTH = 200_000  # characters of a prompt that are read
QUOTES = "\"'`"
BARE = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_.-")
LOWER_CASE = dict(zip(range(ord("A"), ord("Z") + 1), "abcdefghijklmnopqrstuvwxyz"))


def feature_in(prompt: str, rules: Rules, roots: list[str]) -> str | None:
    """The feature that serves what a prompt names; None when it names none, or several."""
    prompt = prompt[:MAX_LENGTH]
    found = {rules.served_by_name(name) for name in explicit(prompt)}
    if not found:
        # Most prompts name it explicitly, and the module for the others is slow to import.
        from preread.gates import prompt_guesses

        found = prompt_guesses.features(prompt, rules, roots)
    return found.pop() if len(found) == 1 else None


def explicit(prompt: str) -> list[str]:
    """The names of `feature: login`, `"feature": "login"`, `**Feature:** login`, …"""
    lower = prompt.translate(LOWER_CASE)
    found = []
    at = lower.find("feature")
    while at >= 0:
        start = _value_start(lower, at)
        quoted, end = _value(lower, start) if start else ("", 0)
        plain = quoted.strip(QUOTES)
        name = PROJECT if plain == PROJECT else slug(plain)
        if name and (quoted[0] in QUOTES or name not in STOP_WORDS):
            found.append(name)
        at = lower.find("feature", max(end, at + 1))
    return found


def _value_start(text: str, at: int) -> int:
    """Where the value of the `feature` at `at` begins; 0 when it has none."""
    if at and (text[at - 1].isalnum() or text[at - 1] == "_"):
        return 0
    at += len("feature")
    at = _skip(text, at + (text[at : at + 1] in tuple(QUOTES)), " \t*")
    return _skip(text, at + 1, " \t*") if text[at : at + 1] in (":", "=") else 0


def _skip(text: str, at: int, characters: str) -> int:
    while at < len(text) and text[at] in characters:
        at += 1
    return at


def _value(text: str, start: int) -> tuple[str, int]:
    """The value that begins at `start`, with its quotes, and where it ends."""
    if text[start : start + 1] in tuple(QUOTES):
        return _quoted_value(text, start)
    end = start
    while end < len(text) and text[end] in BARE:
        end += 1
    return text[start:end], end


def _quoted_value(text: str, start: int) -> tuple[str, int]:
    end = start + 1
    while end < len(text) and text[end] not in QUOTES + "\n":
        end += 1
    is_closed = end > start + 1 and text[end : end + 1] == text[start]
    return (text[start : end + 1], end + 1) if is_closed else ("", 0)
