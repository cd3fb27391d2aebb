"""The attributes by which tests find the feature's elements."""

import re
from collections import defaultdict
from collections.abc import Iterator

from preread.dossier.fact_text import code
from preread.evidence import quoting
from preread.evidence.files import FileView
from preread.evidence.relevance import RELATED
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View

MAX_FILES, MAX_SHOWN = 6, 8  # files that are read; values in one fact
MAX_VALUE = 60  # characters
# The attributes by which browser tests find elements, in JSX, HTML and templates.
ATTRIBUTE = re.compile(
    r"(?<![\w-])(data-test[\w-]*|data-cy|data-qa|aria-label|placeholder)=[\"']([^\"'{}<>`$]+)[\"']"
)


def find(view: View) -> Iterator[Found]:
    """The elements of each ranked file by attribute."""
    for rank, file in enumerate(view.sources[:MAX_FILES]):
        groups: dict[str, dict[str, int]] = defaultdict(dict)
        for name, value, line in _attributes(file):
            if view.relevance_at(file, line, value) >= RELATED:
                groups[name].setdefault(value, line)
        if groups:
            yield Found(_listed(file, groups), (), 0.9 / (1 + rank))


def _attributes(file: FileView) -> Iterator[tuple[str, str, int]]:
    for number, line in enumerate(file.lines, 1):
        if "=" in line and len(line) <= 1_000:
            for name, value in ATTRIBUTE.findall(line):
                if len(value) <= MAX_VALUE and value.strip():
                    yield name, value.strip(), number


def _listed(file: FileView, groups: dict[str, dict[str, int]]) -> str:
    """Each attribute with its values and their lines, the first one with the file's path."""
    path, parts, left = file.path, list[str](), MAX_SHOWN
    for name, values in groups.items():
        shown = []
        for value, line in list(values.items())[:left]:
            shown.append(quoting.anchored(value, line, path))
            path = ""
        left -= len(shown)
        parts += [f"{code(name)}: {', '.join(shown)}"] if shown else []
    return "; ".join(parts)


RULE = Rule(
    name="selectors",
    file="codebase.md",
    heading="Selectors",
    weight=0.03,
    find=find,
    example="`data-testid`: `login-form` src/Login.tsx:12, `login-error` :30",
)
