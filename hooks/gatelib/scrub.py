"""Takes secrets out of what is written down: by the names they are given under, and by their shape."""

from __future__ import annotations

import re

HIDDEN = "***"
_NAME = (
    r"[\w.-]{0,40}(?:token|secret|passw(?:or)?d|passphrase|(?:api|private|access)[-_]?key|credential|cookie|authorization)"
    r"[\w.-]{0,40}"
)
_NAMED = re.compile(r"^-{0,2}" + _NAME + r"$", re.IGNORECASE)
_SHORT = re.compile(
    r"(?<![\w.-])(-{0,2}" + _NAME + r"[\"']?\s?(?:=(?!=)|:(?!:|\d+\b))\s?[\"']?)[^\s\"',;)}\]]+",
    re.IGNORECASE,
)
_SHAPES = re.compile(
    r"(?<![\w-])(?:"
    r"(?:sk|pk|rk)[-_][A-Za-z0-9_-]{10,}|gh[a-z]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{10,}"
    r"|xox[a-z]-[\w-]{8,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[\w-]{20,}|npm_[A-Za-z0-9]{20,}|eyJ[\w-]{8,}\.[\w.-]{8,}"
    r"|-----BEGIN [A-Z ]+-----.*"
    r"|(?:[Bb]earer|[Bb]asic) [\w.~+/=-]{8,})"
)
_IN_URL = re.compile(r"(?<=://)[^\s/@\"']{1,200}@")
_RUN = re.compile(r"[A-Za-z0-9+_=-]{32,}")


def text(words: str) -> str:
    """A text without what looks like a secret."""
    words = _IN_URL.sub(HIDDEN + "@", words)
    words = _SHAPES.sub(HIDDEN, words)
    words = _SHORT.sub(lambda match: match[1] + HIDDEN, words)
    return _RUN.sub(lambda match: HIDDEN if _is_random(match[0]) else match[0], words)


def command(words: list[str]) -> str:
    """A command's words as one line without what looks like a secret; the word after `--token` goes too."""
    shown, hide = [], False
    for word in words:
        hidden = hide and not word.startswith("-")
        hide = word.startswith("-") and "=" not in word and bool(_NAMED.match(word))
        shown.append(HIDDEN if hidden else _quoted(text(word)))
    return " ".join(shown)


def _quoted(word: str) -> str:
    plain = bool(word) and all(char.isalnum() or char in "@%+=:,./_-*~[]{}^" for char in word)
    return word if plain else "'" + word.replace("'", "'\\''") + "'"


def _is_random(run: str) -> bool:
    """Whether a long run of characters is no name: letters of both cases and digits, all mixed."""
    return (
        any(c.isdigit() for c in run)
        and any(c.isupper() for c in run)
        and any(c.islower() for c in run)
    )
