"""The environment variables, command-line options and configuration keys of the feature."""

import re
from collections.abc import Iterator

from preread.evidence import quoting
from preread.evidence.files import FileView
from preread.evidence.relevance import RELATED
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View

MAX_FILES, MAX_SHOWN = 6, 8  # files that are read; settings in one fact
MAX_LINE = 1_000  # characters of a line that is searched
# `os.environ.get("X")`, `std::env::var("X")`, `ENV["X"]`, `envvar="X"`, `settings.X`
VARIABLE = re.compile(
    r"(?i:env)\w*(?:(?:\.|::)\w+)?(?:!?[(\[]|=)\s*[\"']([A-Z][A-Z0-9_]{2,})[\"']"
    r"|\b(?:env|settings)\.([A-Z][A-Z0-9_]{2,})\b"
)
# `config["key"]`, `settings.get("a.b")`, `site.config.fetch("key")`
KEY = re.compile(
    r"(?i:config|settings?)\b(?:\.(?:get|fetch|\w*[gG]et\w*))?[(\[]\s*[\"']([\w.-]{3,60})[\"']"
)


def find(view: View) -> Iterator[Found]:
    """The settings of each ranked file in one fact, each with its first line."""
    seen: set[str] = set()
    for rank, file in enumerate(view.sources[:MAX_FILES]):
        found: dict[str, int] = {}
        for name, line in _settings(file):
            if name not in seen and view.relevance_at(file, line, name) >= RELATED:
                found.setdefault(name, line)
        seen.update(found)
        if found:
            text = quoting.in_file(file.path, list(found.items()), MAX_SHOWN)
            yield Found(text, (), 0.9 / (1 + rank))


def _settings(file: FileView) -> Iterator[tuple[str, int]]:
    """By line: variables and keys as they are read, options as they are declared."""
    comments = {n for one in file.details.comments for n in range(one.start, one.end + 1)}
    options = [(one.name, one.line) for one in file.details.members if one.kind == "option"]
    found = [(name, line) for name, line in options if name in file.line(line)]
    for number, line in enumerate(file.lines, 1):
        if len(line) <= MAX_LINE and number not in comments:
            found += [(name, number) for name in _names_read(line)]
    yield from sorted(found, key=lambda one: one[1])


def _names_read(line: str) -> Iterator[str]:
    """The variables, then the keys, that a line reads."""
    for match in VARIABLE.finditer(line):
        yield match[1] or match[2]
    yield from KEY.findall(line)


RULE = Rule(
    name="settings",
    file="codebase.md",
    heading="Settings",
    weight=0.03,
    find=find,
    example="`LOGIN_TIMEOUT` src/login.py:12, `--login-as` src/cli.py:30",
)
