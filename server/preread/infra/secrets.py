"""What must never be published: secrets by their shape, and the values of `.env` files."""

import os
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from preread.gates.secrets import is_placeholder, kind_of_secret, logins, looks_random


class Credentials:
    """The secrets that one project's texts are searched for. Made anew for each check: `.env` files change."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The values of the project's `.env` files that nothing else would say."""
        return _secrets(self.root)

    def found(self, text: str) -> str:
        """What kind of secret stands in a text, in words that do not repeat it; empty when none does."""
        if kind := kind_of_secret(text):
            return kind
        return "value of a .env file" if any(value in text for value in self.values) else ""

    def without(self, text: str) -> str:
        """A text without its lines that hold a secret; nothing of it where one goes over several lines."""
        if not text or not self.found(text):
            return text
        kept = "\n".join(line for line in text.split("\n") if not self.found(line))
        return "" if self.found(kept) else kept


# -- values of `.env` files, which are mostly ignored by git and so looked for on the disk

MOST_FOLDERS, MOST_ENTRIES = 300, 20_000
MOST_FILES, MOST_BYTES = 50, 64_000
MOST_VALUES, LEAST_LENGTH = 1000, 8
EXAMPLES = ("example", "sample", "template", "dist", "defaults")
ENV_FOLDER = "/.envs/"  # all files below are env files
SKIPPED = frozenset(
    """
    .git .hg .svn .project node_modules bower_components vendor venv .venv env .tox .nox __pycache__ site-packages
    dist build target coverage .next .nuxt .cache .gradle .terraform .mypy_cache .pytest_cache .ruff_cache Pods .idea
    """.split()
)
_ASSIGNED = re.compile(r"\s*(?:export\s+)?([A-Za-z_][\w.]{0,200})\s*[=:]\s*(.*)")
_SECRET_NAME = re.compile(
    r"(?i).*(?:pass(?:wor[dt]|wd|phrase)?|pwd|secret|token|credentials?"
    r"|(?:api|secret|private|access|encryption|signing|account|auth)_?key)(?:_?base|_?\d+)?"
)
_COMMON = re.compile(r"(?i)passw|^test|1234")  # of passwords that nobody keeps secret
_WORD = re.compile(r"[A-Za-z]+")
_PLAIN = re.compile(
    r"[\d\s.,:/+%TZ-]+|[.~]{0,2}/[\w./ @-]*|[A-Za-z]:\\[\w.\\ -]*|\w[\w.+-]*@[\w-]+\.[\w.-]+"
)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S*")  # its parts are looked at one by one
_PARTS = re.compile(r"[\s,;:\"'{}()&?=@/|<>\[\]]+")


def _secrets(root: Path) -> tuple[str, ...]:
    """The values in `.env` files that are not said by their examples, and that no ordinary text would hold."""
    files = _env_files(root)
    examples = "\n".join(_text(path) for path, is_example in files if is_example)
    found: dict[str, None] = {}
    for path, is_example in files:
        for name, value in () if is_example else _assignments(_text(path)):
            found |= dict.fromkeys(v for v in _secret_parts(name, value) if v not in examples)
        if len(found) > MOST_VALUES:
            break
    return tuple(found)[:MOST_VALUES]


def _env_files(root: Path) -> list[tuple[str, bool]]:
    """The `.env` files of a project, shallow folders first, and whether each is an example; no link is followed."""
    found: list[tuple[str, bool]] = []
    folders, entries = [str(root)], 0
    for folder in folders:  # it grows while it is walked
        all_are = ENV_FOLDER in f"{folder[len(folders[0]) :]}/"
        try:
            with os.scandir(folder) as listed:
                for entry in listed:
                    entries += 1
                    name = entry.name
                    if (all_are or _is_named_env(name)) and entry.is_file(follow_symlinks=False):
                        found.append((entry.path, _is_example(name)))
                    if (
                        name not in SKIPPED
                        and len(folders) < MOST_FOLDERS
                        and entry.is_dir(follow_symlinks=False)
                    ):
                        folders.append(entry.path)
        except OSError:
            continue  # unreadable, or gone meanwhile
        if entries > MOST_ENTRIES or len(found) >= MOST_FILES:
            break
    return found[:MOST_FILES]


def is_env_file(name: str) -> bool:
    """Whether a file of this name holds a machine's variables, and not the example of them."""
    return _is_named_env(name) and not _is_example(name)


def _is_named_env(name: str) -> bool:
    return name.startswith(".env") or name.endswith(".env")


def _is_example(name: str) -> bool:
    return any(word in EXAMPLES for word in name.lower().split("."))


def _text(path: str) -> str:
    """The beginning of a regular file; empty for everything else."""
    try:
        handle = os.open(
            path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        )
    except OSError:
        return ""
    try:
        with os.fdopen(handle, "rb") as file:
            return file.read(MOST_BYTES).decode("utf-8", "replace")
    except OSError:  # a folder, or a pipe with nothing in it
        return ""


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    """Names and values; a quoted value can go over several lines, which are given one by one."""
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
    """A value if it is a secret, and the parts of it that are secrets by themselves: of a URL, of JSON."""
    if len(value) >= LEAST_LENGTH and _is_secret(name, value):
        yield value
    for login in logins(value):
        if (
            len(login[2]) >= LEAST_LENGTH
            and not _WORD.fullmatch(login[2])
            and not _is_common(login[2])
        ):
            yield login[2]
    yield from (part for part in _PARTS.split(value) if part != value and looks_random(part))


def _is_secret(name: str, value: str) -> bool:
    if (
        _PLAIN.fullmatch(value)
        or _URL.fullmatch(value)
        or _WORD.fullmatch(value)
        or _is_common(value)
    ):
        return False
    if _SECRET_NAME.fullmatch(name) or looks_random(value):
        return True
    kinds = (r"[a-zA-Z]", r"\d", r"[!#$%^&*~+=?]")
    return " " not in value and all(re.search(kind, value) for kind in kinds)


def _is_common(value: str) -> bool:
    return is_placeholder(value) or _COMMON.search(value) is not None
