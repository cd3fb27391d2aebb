"""The secret values in a project's `.env` files, found on disk because git usually ignores them."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from preread.errors import Unreadable
from preread.gates.secrets import is_placeholder, logins, looks_random
from preread.infra.reading import chunks

MAX_FOLDERS, MAX_ENTRIES, MAX_FILES, MAX_BYTES = 300, 20_000, 50, 64_000
MAX_VALUES = 1000
MIN_LENGTH = 8  # characters of a value; shorter ones occur in ordinary text
EXAMPLES = ("example", "sample", "template", "dist", "defaults")
ENV_FOLDER = "/.envs/"  # every file below such a folder is an env file
SKIPPED = frozenset(
    """
    .git .hg .svn .project node_modules bower_components vendor venv .venv env .tox .nox
    __pycache__ site-packages dist build target coverage .next .nuxt .cache .gradle .terraform
    .mypy_cache .pytest_cache .ruff_cache Pods .idea
    """.split()
)
_ASSIGNED = re.compile(r"\s*(?:export\s+)?([A-Za-z_][\w.]{0,200})\s*[=:]\s*(.*)")
_SECRET_NAME = re.compile(
    r"(?i).*(?:pass(?:wor[dt]|wd|phrase)?|pwd|secret|token|credentials?"
    r"|(?:api|secret|private|access|encryption|signing|account|auth)_?key)(?:_?base|_?\d+)?"
)
_COMMON = re.compile(r"(?i)passw|^test|1234")  # in passwords that are not secret
_WORD = re.compile(r"[A-Za-z]+")
_PLAIN = re.compile(
    r"[\d\s.,:/+%TZ-]+|[.~]{0,2}/[\w./ @-]*|[A-Za-z]:\\[\w.\\ -]*|\w[\w.+-]*@[\w-]+\.[\w.-]+"
)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S*")  # its parts are checked one by one
_PARTS = re.compile(r"[\s,;:\"'{}()&?=@/|<>\[\]]+")


def secret_values(root: Path) -> tuple[str, ...]:
    """The secret values in `.env` files, without those that their examples also contain."""
    files = _env_files(root)
    examples = "\n".join(_text(path) for path, is_example in files if is_example)
    found: dict[str, None] = {}
    for path, is_example in files:
        for name, value in () if is_example else _assignments(_text(path)):
            found |= dict.fromkeys(v for v in _secret_parts(name, value) if v not in examples)
        if len(found) > MAX_VALUES:
            break
    return tuple(found)[:MAX_VALUES]


def _env_files(root: Path) -> list[tuple[str, bool]]:
    """The `.env` files of a project and whether each is an example, shallow folders first.

    Symbolic links are not followed.
    """
    found: list[tuple[str, bool]] = []
    folders, seen = [str(root)], 0
    for folder in folders:  # the list grows during the loop
        is_env_folder = ENV_FOLDER in f"{folder[len(folders[0]) :]}/"
        for entry in _entries(folder):
            seen += 1
            name = entry.name
            if entry.is_file(follow_symlinks=False):
                if is_env_folder or _has_env_name(name):
                    found.append((entry.path, _is_example(name)))
            elif (
                name not in SKIPPED
                and len(folders) < MAX_FOLDERS
                and entry.is_dir(follow_symlinks=False)
            ):
                folders.append(entry.path)
        if seen > MAX_ENTRIES or len(found) >= MAX_FILES:
            break
    return found[:MAX_FILES]


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # unreadable, or removed meanwhile
        return []


def is_env_file(name: str) -> bool:
    """Whether a file of this name is an env file, and not an example of one."""
    return _has_env_name(name) and not _is_example(name)


def _has_env_name(name: str) -> bool:
    return name.startswith(".env") or name.endswith(".env")


def _is_example(name: str) -> bool:
    return any(word in EXAMPLES for word in name.lower().split("."))


def _text(path: str) -> str:
    """The start of a regular file; empty for anything else."""
    try:
        return next(chunks(path, MAX_BYTES), b"").decode("utf-8", "replace")
    except Unreadable:
        return ""


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    """Yield names and values. A quoted value may span lines, which are yielded one by one."""
    lines = iter(text.split("\n"))
    for line in lines:
        match = _ASSIGNED.match(line)
        if not match:
            continue
        name, value = match[1], match[2].strip()
        quote = value[:1] if value[:1] in {'"', "'", "`"} else ""
        if not quote:
            value = re.split(r"\s#", value, maxsplit=1)[0].strip()
        elif quote in value[1:]:
            value = value[1 : value.index(quote, 1)]
        else:
            value = value[1:]
            for more in lines:
                yield name, more.split(quote)[0].strip()
                if quote in more:
                    break
        yield from ((name, part.strip()) for part in value.split("\\n"))


def _secret_parts(name: str, value: str) -> Iterator[str]:
    """A value if it is a secret, and the parts of a URL or JSON that are secrets themselves."""
    if len(value) >= MIN_LENGTH and _is_secret(name, value):
        yield value
    for login in logins(value):
        password = login[2]
        is_word = _WORD.fullmatch(password) or _is_common(password)
        if len(password) >= MIN_LENGTH and not is_word:
            yield password
    yield from (part for part in _PARTS.split(value) if part != value and looks_random(part))


def _is_secret(name: str, value: str) -> bool:
    if any(pattern.fullmatch(value) for pattern in (_PLAIN, _URL, _WORD)) or _is_common(value):
        return False
    if _SECRET_NAME.fullmatch(name) or looks_random(value):
        return True
    kinds = (r"[a-zA-Z]", r"\d", r"[!#$%^&*~+=?]")
    return " " not in value and all(re.search(kind, value) for kind in kinds)


def _is_common(value: str) -> bool:
    return is_placeholder(value) or _COMMON.search(value) is not None
