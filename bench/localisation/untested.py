"""Does no test have the names and messages of which a dossier says so? Every test file is read."""

import re

from definitions import definitions
from kinds import SOURCE, TEST, kind_of
from repositories import State

_SECTION = re.compile(r"^## No test names\n(.*?)(?=^#{1,2} |\Z)", re.MULTILINE | re.DOTALL)
_CLAIM = re.compile(r'`+([^`\n]+)`+|"([^"\n]+)"')
_BETWEEN = re.compile(r"(?: :\d+(?:-\d+)?)?\s*(?:,|;|and)?\s*")


def claimed(dossier: str) -> dict[str, bool]:
    """What each fact begins with: names, of one with an owner the last part; messages are True."""
    found: dict[str, bool] = {}
    for line in "\n".join(_SECTION.findall(dossier)).split("\n"):
        at = 2 if line.startswith("- ") else len(line)
        while claim := _CLAIM.match(line, at):
            name = claim[2] or re.split(r"[.#:]+", claim[1].strip("()"))[-1]
            found |= {name: claim[2] is not None} if name else {}
            at = _BETWEEN.match(line, claim.end()).end()  # type: ignore[union-attr]
    return found


def wrong(dossier: str, state: State) -> dict[str, str]:
    """The claims that do not hold, each with a test file that has it."""
    claims = claimed(dossier)
    found: dict[str, str] = {}
    for path, text in _tests(state) if claims else ():
        for name, is_message in claims.items():
            if name not in found and name in text and (is_message or _has(text, name)):
                found[name] = path
    return found


def _has(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _tests(state: State):
    for file in state.files:
        if kind_of(file.path) == TEST:
            yield file.path, state.text(file.path)
        elif file.path.endswith(".rs") and kind_of(file.path) == SOURCE:  # tests beside the code
            text = state.text(file.path)
            lines = text.split("\n") if "test" in text else []
            tests = (one for one in definitions(file.path, text) if lines and one.is_test)
            yield file.path, "\n".join("\n".join(lines[one.start - 1 : one.end]) for one in tests)
