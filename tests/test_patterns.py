"""No pattern of the package takes for ever: each reads hostile lines in a moment."""

import importlib
import pkgutil
import re
import signal
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from itertools import chain
from pathlib import Path

import pytest

import preread

PIECES = (
    " ", "\t", "a", "A", "1", "_", "-", "=", "#", "*", "`", "'", '"', "(", ")", "[", "]", "{", "}", "<", ">", "/", "\\",
    ".", ",", ":", ";", "|", "@", "!", "a ", "ab.", "a.b", "a/b", "a-b", "a_b", "aB", "1.", "#1 ", ", #1", "(#1) ",
    "by @a ", "by @a in #1, ", "[a](b) ", "[#1](b), ", "-- a ", "fix #1, ", "a, b", "a: b ", "a=b ", "a(b) ", "a && b ",
    "if a: ", "f(a, b", "<a>", "</a>", "<!-- ", "/* ", "* a", "> a", "**a** ", "``a`` ", ":a:`b` ", "https://a.b/c ",
    "not a ", "no longer ", "0.1.", "v1.2.3 ", "1990-01-01 ", "é", "\n", "a\n", " \n", "# a\n", "- a\n", "\r\n",
)  # fmt: skip
ENDS = ("", "!", "\n")
LONG, PATIENCE = (
    200,
    0.5,
)  # characters of a line; seconds for three of them, which take a thousandth


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Those that have a name in a module, and those in its tables."""
    for found in pkgutil.walk_packages(preread.__path__, "preread."):
        if found.name.rpartition(".")[2] != "__main__":
            for name, value in sorted(vars(importlib.import_module(found.name)).items()):
                yield from ((f"{found.name}.{name}", pattern) for pattern in _within(value))


def _within(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value
    elif isinstance(value, dict):
        yield from chain.from_iterable(map(_within, value.values()))
    elif isinstance(value, tuple | list | set | frozenset):
        yield from chain.from_iterable(map(_within, value))
    elif is_dataclass(value) and not isinstance(value, type):
        yield from chain.from_iterable(
            _within(getattr(value, field.name)) for field in fields(value)
        )


@pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="a search can be cut short by an alarm only"
)
def test_no_pattern_takes_for_ever_on_one_repeated_thing() -> None:
    def cut_short(*_: object) -> None:
        raise TimeoutError

    slow, before = [], signal.signal(signal.SIGALRM, cut_short)
    try:
        for name, pattern in {value: name for name, value in patterns()}.items():
            slow += [f"{pattern}: {piece!r}" for piece in PIECES if not _is_read(name, piece)]
    finally:
        signal.signal(signal.SIGALRM, before)
    assert slow == []


def _is_read(pattern: re.Pattern[str], piece: str) -> bool:
    """Whether a pattern is through with lines of this piece in time."""
    try:
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)
        for end in ENDS:
            pattern.search(piece * (LONG // len(piece)) + end)
    except TimeoutError:
        return False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return True


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Before 3.11.5 Python misreads `(?:a|b)*+`: write `(?>(?:a|b)*)`, which is the same."""
    package = Path(preread.__file__).parent
    found = [
        f"{path.relative_to(package)}: {line.strip()}"
        for path in package.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"(?<!\\)\)(?:[*+?]|\{+\d*,?\d*\}+)\+", line)
    ]
    assert found == []
