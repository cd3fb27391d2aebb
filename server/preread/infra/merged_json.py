"""JSON that git's union merge combined line by line: parse the values of both sides."""

import json
import re
from collections.abc import Iterator

MARKER = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?: .*)?$", re.MULTILINE)
WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]|[^\s{}\[\]",:]+')
MAX_DEPTH = 20


def parse(text: str) -> object:
    """Parse JSON; values of repeated keys are joined if lists or objects, else the last one wins.

    Conflict markers and missing commas are ignored. Raises ValueError.
    """
    words = (match[0] for match in WORD.finditer(MARKER.sub("", text)))
    return _value(next(words, ""), words, 0)


def _value(word: str, words: Iterator[str], depth: int) -> object:
    if depth > MAX_DEPTH:
        raise ValueError("too deep")
    if word == "[":
        return _list(words, depth)
    if word == "{":
        return _object(words, depth)
    return json.loads(word)


def _list(words: Iterator[str], depth: int) -> list[object]:
    found: list[object] = []
    for word in words:
        if word == "]":
            return found
        found += [value] if (value := _value(word, words, depth + 1)) not in found else []
    raise ValueError("a list that never ends")


def _object(words: Iterator[str], depth: int) -> dict[str, object]:
    found: dict[str, object] = {}
    for word in words:
        if word == "}":
            return found
        name = str(json.loads(word))
        value = _value(next(words, ""), words, depth + 1)
        found[name] = _joined(found[name], value) if name in found else value
    raise ValueError("an object that never ends")


def _joined(one: object, other: object) -> object:
    if isinstance(one, list) and isinstance(other, list):
        return one + [value for value in other if value not in one]
    if isinstance(one, dict) and isinstance(other, dict):
        return one | other
    return other
