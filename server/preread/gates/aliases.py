"""Aliases of `.project/gates`: names under which another feature's dossier is served. The gates read the same lines."""

import os
import re
import stat
from typing import NamedTuple

from preread.layout import FEATURE, MAX_NAME, PROJECT, Layout, feature_name, is_feature

MOST_BYTES = 1 << 20  # of a gates file; a larger one is broken
COMMENT = re.compile(r"(?:^|(?<=[ \t]))#.*", re.DOTALL)
BLANKS = re.compile(r"[ \t]+")
MODES = frozenset({"block", "warn", "off"})


class Served(NamedTuple):
    """The feature whose dossier serves a name, and what the caller is told of that."""

    feature: str
    warnings: tuple[str, ...] = ()


class Broken(Exception):  # noqa: N818 - what the file is, not a failure of this program
    """A gates file that the gates do not use either."""


def served(layout: Layout, name: str) -> Served:
    """Which dossier serves a name: its own, or that of an alias, one step. Raises E_FEATURE_NAME.

    A broken gates file has no aliases, which is told and no error: a dossier does not need it.
    """
    feature = feature_name(name)
    try:
        target = read(layout).get(feature, feature)
    except Broken as why:
        return Served(feature, (f"The aliases of .project/gates are not used: {why}.",))
    if target == feature or not is_feature(target):
        return Served(feature)
    return Served(
        target,
        (f"{feature} is an alias of {target} in .project/gates: this is the dossier of {target}.",),
    )


def read(layout: Layout) -> dict[str, str]:
    """The aliases: left name → right name; none without a file. Raises Broken."""
    try:
        handle = os.open(
            layout.gates, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        )
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise Broken(f"it cannot be read: {error.strerror}") from error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Broken("it is no regular file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise Broken(f"it cannot be read: {error.strerror}") from error
    finally:
        os.close(handle)
    return _parse(data)


def _parse(data: bytes) -> dict[str, str]:
    if len(data) > MOST_BYTES:
        raise Broken("it is larger than 1 MiB")
    if b"\0" in data:
        raise Broken("it holds a NUL")
    try:
        lines = data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise Broken("it is not UTF-8") from error
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        words = BLANKS.split(COMMENT.sub("", line.removesuffix("\r")).strip(" \t"))
        if words[0] == "alias":
            if len(words) != 3 or not (
                _is_name(words[1]) and (_is_name(words[2]) or words[2] == PROJECT)
            ):
                raise Broken(f"line {number} is no alias")
            found.setdefault(words[1], words[2])
        elif words[0] == "mode" and (len(words) != 2 or words[1] not in MODES):
            raise Broken(f"line {number} is no mode")
        elif words[0] in {"agent", "!agent"} and len(words) != 2:
            raise Broken(f"line {number} names no agent")
    return found


def _is_name(word: str) -> bool:
    return bool(FEATURE.fullmatch(word)) and len(word) <= MAX_NAME
