"""Passwords and salts that only their name gives away: `ADMIN_PASSWORD = 'hunter2'`.

They may be short, and even words, so the name decides, and what the value is not: a label, a type,
a path, a placeholder. Keys and tokens of any other name are found by their shape alone.
"""

from __future__ import annotations

import re

_WORDS = (
    r"(?i:passw(?:or)?d|passphrase|passcode)"
    r"|(?:(?<![A-Za-z])|(?<=[a-z])(?=[SP]))(?i:pwd|secret|salt|pepper)"
    r"|(?i:(?:api|access|private|auth|encryption|signing|secret)[_-]?key)"
    r"|(?i:(?:access|auth|api|bearer|refresh|secret)[_-]?token)"
)
# The name ends in such a word: `password_field` names no password.
_ASSIGNED = re.compile(
    rf"(?P<name>(?:(?<![\w-])[\w-]{{0,60}}?)?(?:{_WORDS})\d{{0,3}})[\"'`\])]{{0,3}}"
    r"(?P<sign>[ \t]{0,4}(?::[ \t]{0,4}[\w\[\]., |]{1,40}=|=>|:=|[!=]==?|[:=])[ \t]{0,4})"
    r"[bru]{0,2}(?:\"(?P<a>[^\"\\\n]{1,80})\"|'(?P<b>[^'\\\n]{1,80})'|`(?P<c>[^`\\\n]{1,80})`)"
)
_MARKS = ("passw", "passphrase", "passcode", "pwd", "secret", "salt", "pepper", "key", "token")
_STANDS_FOR = re.compile(
    r"(?i)example|your|placeholder|change[_-]?me|redacted|\*{3}|\.{3}|x{4}|\$\{|\$\(|%\(|%s|\{\w*\}"
    r"|<[a-z]|process\.env|environ"
)
_TELLING = re.compile(r"(?i)pass|pwd|secret|salt|pepper|key|token|credential")
_PLACE = re.compile(r"[/.#\[<{$%@&?~]|\w+://|\w+(?:\.[a-z_]\w*)+$")


def contains(text: str) -> bool:
    """Whether a text assigns a secret to a name that says so."""
    lower = text.lower()
    if not any(mark in lower for mark in _MARKS):
        return False
    return any(
        _is_secret(one["name"], one["sign"], one["a"] or one["b"] or one["c"])
        for one in _ASSIGNED.finditer(text)
    )


def _is_secret(name: str, sign: str, value: str) -> bool:
    if _STANDS_FOR.search(value) or _PLACE.match(value) or len(value.split()) > 1:
        return False
    if not any(char.isalnum() for char in value):
        return False
    is_word = value.isalpha()
    is_label = value.replace("_", "").replace("-", "").isalpha() and _TELLING.search(value)
    if is_label or _plain(value) == _plain(name):
        return False
    if not is_word or name.lower().endswith(("salt", "pepper")):
        return True
    # A word may as well be a type or a message: `password: "Required"`, `typeof secret == "x"`.
    is_assignment = "==" not in sign and "=" in sign and sign != sign.strip()
    return name.upper() == name or is_assignment


def _plain(text: str) -> str:
    return re.sub(r"[\W_]", "", text).lower()
