"""JSON that git's union merge combined line by line: parse the values of both sides."""

import json
import re
from collections.abc import Collection, Iterator

MARKER = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?: .*)?$", re.MULTILINE)
WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]|[^\s{}\[\]",:]+')
MAX_DEPTH = 20


def parse(text: str, agreed: Collection[str] = ()) -> object:
    """Parse JSON; values of repeated keys are joined if lists or objects, else the last one wins.

    Conflict markers and missing commas are ignored. The objects with the names `agreed` lack the
    keys to which both sides gave different values. Raises ValueError.
    """
    words = (match[0] for match in WORD.finditer(MARKER.sub("", text)))
    return _Reader(words, agreed).value(next(words, ""), 0)


def has_repeated_keys(text: str) -> bool:
    """Whether JSON is valid and an object has a key twice. Raises ValueError."""
    repeated: list[str] = []

    def pairs(found: list[tuple[str, object]]) -> dict[str, object]:
        if len(made := dict(found)) < len(found):
            repeated.append(found[0][0])
        return made

    json.loads(text, object_pairs_hook=pairs)
    return bool(repeated)


class _Reader:
    def __init__(self, words: Iterator[str], agreed: Collection[str]) -> None:
        self.words, self.agreed = words, agreed

    def value(self, word: str, depth: int, *, agreed: bool = False) -> object:
        if depth > MAX_DEPTH:
            raise ValueError("too deep")
        if word == "[":
            return self.list_(depth)
        if word == "{":
            return self.object_(depth, agreed=agreed)
        return json.loads(word)

    def list_(self, depth: int) -> list[object]:
        found: list[object] = []
        for word in self.words:
            if word == "]":
                return found
            value = self.value(word, depth + 1)
            found += [value] if value not in found else []
        raise ValueError("a list that never ends")

    def object_(self, depth: int, *, agreed: bool) -> dict[str, object]:
        found: dict[str, object] = {}
        differing = set()
        for word in self.words:
            if word == "}":
                return {name: value for name, value in found.items() if name not in differing}
            name = str(json.loads(word))
            value = self.value(next(self.words, ""), depth + 1, agreed=name in self.agreed)
            differing |= {name} if agreed and found.get(name, value) != value else set()
            found[name] = _joined(found[name], value) if name in found else value
        raise ValueError("an object that never ends")


def _joined(one: object, other: object) -> object:
    if isinstance(one, list) and isinstance(other, list):
        return one + [value for value in other if value not in one]
    if isinstance(one, dict) and isinstance(other, dict):
        return one | other
    return other
