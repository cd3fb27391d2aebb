"""Passwords and salts that only their name gives away: `ADMIN_PASSWORD = 'hunter2'`.

They may be short, and even words, so the name decides, unless the value is a label, a type, a path
or a placeholder. If the name often means other things, as `token` does, or the value is not in
quotes, as in YAML, the value has to mix letters and digits. `secrets` finds all other secrets, by
their shape.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Match

_WORDS = (
    r"(?i:passw(?:or)?d|passphrase|passcode)"
    r"|(?:(?<![A-Za-z])|(?<=[a-z])(?=[SP]))(?i:pwd|secret|salt|pepper)"
    r"|(?i:(?:api|access|private|auth|encryption|signing|secret)[_-]?key)"
    r"|(?i:(?:access|auth|api|bearer|refresh|secret)[_-]?token)"
)
# Names that mean other things more often than not.
_WEAK = r"(?:(?<![A-Za-z])|(?<=[a-z])(?=[TPC]))(?i:token|pass|credentials?)"
# The name ends in such a word: `password_field` names no password.
_ASSIGNED = re.compile(
    rf"(?P<name>(?:(?<![\w-])[\w-]{{0,60}}?)?(?:{_WORDS}|(?P<weak>{_WEAK}))\d{{0,3}})[\"'`\])]{{0,3}}"
    r"(?P<sign>[ \t]{0,4}(?::[ \t]{0,4}[\w\[\]., |]{1,40}=|=>|:=|[!=]==?|[:=])[ \t]{0,4})"
    r"[bru]{0,2}(?:\"(?P<a>[^\"\\\n]{1,80})\"|'(?P<b>[^'\\\n]{1,80})'|`(?P<c>[^`\\\n]{1,80})`)"
)
# A line of YAML, a properties file or a shell script: only a name, a sign and a bare value.
_BARE = re.compile(
    rf"(?m)^[ \t>]{{0,40}}(?:[-*`][ \t]{{0,4}}){{0,2}}(?:(?:export|set|ENV|ARG)[ \t]+)?"
    rf"(?P<name>(?:(?!self\.|this\.)[\w.-]{{1,60}}?)?(?:{_WORDS}|{_WEAK}))(?P<sign>[ \t]*=|:[ \t]+)"
    r"[ \t]*(?P<value>[^\s\"'`()\[\]{}<>,;|$]{4,80})(?=[ \t]*(?:`|\#|\r|$))"
)
_INSIDE = re.compile(r"`([^`\n]{6,200})`")
_MARKS = ("pass", "pwd", "secret", "salt", "pepper", "key", "token", "credential")
_PLACEHOLDER = re.compile(
    r"(?i)example|your|placeholder|change[_-]?me|redacted|\*{3}|\.{3}|x{4}|\$\{|\$\(|%\(|%s|\{\w*\}"
    r"|<[a-z]|process\.env|environ"
)
# Whole values that tests and samples use, and that nobody is let in by. Not `admin` or `test123`:
# somebody uses those.
_DUMMY = re.compile(r"(?i)test|testing|dummy|fake|sample|foo|bar|baz|foobar|wrong|invalid|x{2,}")
_TELLING = re.compile(r"(?i)pass|pwd|secret|salt|pepper|key|token|credential")
_NUMBER = re.compile(r"(?i)[\d.]+ ?[a-z]{1,3}$|0x|v?\d+\.\d|sha\d|utf-?\d|int\d|u?int\d|float\d")
_PLACE = re.compile(r"[/.#\[<{$%@&?~]|\w+://|\w+(?:\.[a-z_]\w*)+$")


def contains(text: str) -> bool:
    """Whether a text assigns a secret to a name that says so."""
    lower = text.lower()
    if not any(mark in lower for mark in _MARKS):
        return False
    if any(_is_assigned(one) for one in _ASSIGNED.finditer(text)):
        return True
    texts = (text, *_INSIDE.findall(text))
    return any(_is_bare(one) for each in texts for one in _BARE.finditer(each))


def _is_assigned(found: Match[str]) -> bool:
    value = found["a"] or found["b"] or found["c"]
    is_clear = not found["weak"] or _is_mixed(value)
    return is_clear and _is_secret(found["name"], found["sign"], value)


def _is_bare(found: Match[str]) -> bool:
    return _is_mixed(found["value"]) and _is_secret(found["name"], found["sign"], found["value"])


def _is_mixed(value: str) -> bool:
    """Whether a value mixes letters and digits, and is no name or measure: `token_2`, `8px`."""
    has_both = any(map(str.isalpha, value)) and any(map(str.isdigit, value))
    return has_both and len(value) >= 4 and not _TELLING.search(value) and not _NUMBER.match(value)


def _is_secret(name: str, sign: str, value: str) -> bool:
    if _PLACEHOLDER.search(value) or _PLACE.match(value) or len(value.split()) > 1:
        return False
    if _DUMMY.fullmatch(value) or not any(char.isalnum() for char in value):
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
