"""Does no test have the names and messages of which a dossier says so? Every test file is read."""

import re

from definitions import definitions
from kinds import SOURCE, TEST, kind_of
from repositories import State

_SECTION = re.compile(r"^## No test names\n(.*?)(?=^#{1,2} |\Z)", re.MULTILINE | re.DOTALL)
_CLAIM = re.compile(r'`+([^`\n]+)`+|"([^"\n]+)"')
_BETWEEN = re.compile(r"(?: :\d+(?:-\d+)?)?\s*(?:,|;|and)?\s*")


def claimed(dossier: str) -> list[str]:
    """What each fact begins with: names, of one with an owner the last part, and messages."""
    found: dict[str, None] = {}
    for line in "\n".join(_SECTION.findall(dossier)).split("\n"):
        at = 2 if line.startswith("- ") else len(line)
        while claim := _CLAIM.match(line, at):
            name = claim[1] or claim[2]
            found[re.split(r"[.#:]+", name.strip("()"))[-1] if claim[1] else name] = None
            at = _BETWEEN.match(line, claim.end()).end()  # type: ignore[union-attr]
    return [name for name in found if name.strip()]


def wrong(dossier: str, state: State) -> dict[str, str]:
    """The claims that do not hold, each with a test file that has it."""
    names = claimed(dossier)
    found: dict[str, str] = {}
    for path, text in _tests(state) if names else ():
        for name in names:
            if name not in found and name in text and _has(text, name):
                found[name] = path
    return found


def _has(text: str, name: str) -> bool:
    before, after = (r"\b" if one.isalnum() else "" for one in (name[0], name[-1]))
    return re.search(before + re.escape(name) + after, text) is not None


def _tests(state: State):
    for file in state.files:
        if kind_of(file.path) == TEST:
            yield file.path, state.text(file.path)
        elif file.path.endswith(".rs") and kind_of(file.path) == SOURCE:  # tests beside the code
            text = state.text(file.path)
            lines = text.split("\n") if "test" in text else []
            tests = (one for one in definitions(file.path, text) if lines and one.is_test)
            yield file.path, "\n".join("\n".join(lines[one.start - 1 : one.end]) for one in tests)
