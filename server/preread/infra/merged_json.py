"""JSON with one entry per line: written so that git's union merge cannot mix entries, and read.

Where both branches changed a text, such a merge has the lines of one and then those of the other,
without repeating what they have in common, and that can be the line with a section's name. So each
section has an indentation of its own: a line shows where it belongs, whatever is around it.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

MARKER = re.compile(r"(?:<{7}|={7}|>{7}|\|{7})(?: .*)?")
LINE = re.compile(r'( *)(?:("(?:[^"\\]|\\.)*"): )?(.+?),?')
EMPTY: Mapping[str, object] = {"{": {}, "[": []}
TOP, OTHERS = 2, 4  # spaces before names, and before the entries of sections without their own
CLOSING = frozenset({"", "}", "]", "},", "],"})


def to_text(value: Mapping[str, Any], sections: Sequence[str] = ()) -> str:
    """Canonical JSON, each entry of an object and of its lists and objects on a line.

    `sections`: the lists and objects that git may merge. Their places determine the indentations,
    so that new ones belong at the end.
    """
    rows = (f"  {_dumped(name)}: {_spread(name, value[name], sections)}" for name in sorted(value))
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _spread(name: str, value: object, sections: Sequence[str]) -> str:
    """A value with each of its own entries on a line."""
    indent = " " * (OTHERS + 1 + sections.index(name) if name in sections else OTHERS)
    if isinstance(value, dict) and value:
        rows = (f"{indent}{_dumped(key)}: {_dumped(value[key])}" for key in sorted(value))
        return "{\n" + ",\n".join(rows) + "\n  }"
    if isinstance(value, list | tuple) and value:
        return "[\n" + ",\n".join(f"{indent}{_dumped(one)}" for one in value) + "\n  ]"
    return _dumped(value)


def _dumped(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def parse(
    text: str, sections: Sequence[str] = (), agreed: Collection[str] = ()
) -> dict[str, object]:
    """Parse what git made of the texts of two sides; of a key's different values the last one wins.

    Conflict markers, missing commas and brackets at the wrong places are ignored. The objects with
    the names `agreed` lack the keys to which both sides gave different values. Raises ValueError.
    """
    first, *lines, last = text.replace("\r\n", "\n").strip().split("\n")
    if (first, last) != ("{", "}"):
        raise ValueError("not an object with one entry per line")
    homes = dict(enumerate(sections, OTHERS + 1))
    merged = _Merged()
    name = ""
    for line in lines:
        match = LINE.fullmatch(line)
        if match is None or line.strip() in CLOSING or MARKER.fullmatch(line):
            continue
        key = str(_loaded(match[2])) if match[2] else None
        if key is not None and len(match[1]) == TOP:
            name = key
            merged.set(name, EMPTY[match[3]] if match[3] in EMPTY else _loaded(match[3]))
        else:
            merged.add(homes.get(len(match[1]), name), key, _loaded(match[3]))
    return merged.without_differing(agreed)


def has_repeated_keys(text: str) -> bool:
    """Whether JSON is valid and an object has a key twice. Raises ValueError."""
    repeated: list[str] = []

    def pairs(found: list[tuple[str, object]]) -> dict[str, object]:
        if len(made := dict(found)) < len(found):
            repeated.append(found[0][0])
        return made

    json.loads(text, object_pairs_hook=pairs)
    return bool(repeated)


def _loaded(text: str) -> object:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("too deep") from error


class _Merged:
    """What the lines that were read say."""

    def __init__(self) -> None:
        self.found: dict[str, object] = {}
        self.differing: set[tuple[str, str]] = set()

    def set(self, name: str, value: object) -> None:
        """Take a value of the top level; of a list or an object, whose entries follow, the kind."""
        if isinstance(value, list | dict):
            if not isinstance(self.found.get(name), type(value)):
                self.found[name] = type(value)()
            entries = value.items() if isinstance(value, dict) else ((None, one) for one in value)
            for key, one in entries:
                self.add(name, key, one)
        elif value is not None or name not in self.found:
            self.found[name] = value

    def add(self, name: str, key: str | None, value: object) -> None:
        """Take an entry of a list, or of an object if it has a key. Raises ValueError."""
        if self.found.get(name) is None:
            self.found[name] = [] if key is None else {}
        home = self.found[name]
        if isinstance(home, dict) and key is not None:
            if home.setdefault(key, value) != value:
                self.differing.add((name, key))
            home[key] = value
        elif isinstance(home, list) and key is None:
            home += [value] if value not in home else []
        else:
            raise ValueError(f"an entry that does not belong to {name!r}")

    def without_differing(self, names: Collection[str]) -> dict[str, object]:
        """All of it, except the keys with different values in the objects with these names."""
        for name, key in self.differing:
            home = self.found[name]
            if name in names and isinstance(home, dict):
                del home[key]
        return self.found
