"""Globs of JavaScript's test runners: those in their settings, and whether one matches a file."""

import re
from collections.abc import Sequence
from itertools import chain
from pathlib import PurePosixPath

from preread.project.globs import glob_pattern

CHOOSES = re.compile(r"[\"']?\b(?:include|testMatch|spec|files|tests)\b[\"']?\s*[:=]")
QUOTED = re.compile(r"[\"'`](!?[^\"'`\s]*\*[^\"'`\s]*)[\"'`]")
BARE = re.compile(r"(?:-|:)\s+([\w./-]*\*[\w./*{},-]*)\s*$")  # in YAML
FOLDER = re.compile(r"\btestDir\b[\"']?\s*[:=]\s*[\"']([^\"']+)[\"']")
MAX_CHOICES, MAX_NAMED = 3, 24  # braces in a glob, and commas; more can expand to too many globs
CODE = re.compile(r"[jt]sx?\b|[jt]s[})]|\}$|\)$")  # a glob of scripts, not of folders or data


def patterns_in(lines: Sequence[str]) -> list[str]:
    """The globs by which settings choose test files."""
    found: list[str] = []
    depth = 0
    for line in lines:
        if depth <= 0 and CHOOSES.search(line):
            depth = 0
        elif depth <= 0 and not (found and line.lstrip().startswith("- ")):
            continue
        depth += line.count("[") - line.count("]")
        found += filter(CODE.search, (*QUOTED.findall(line), *BARE.findall(line)))
    folders = chain.from_iterable(map(FOLDER.findall, lines))
    found += [f"{folder.removeprefix('./').rstrip('/')}/**" for folder in folders]
    return [glob for glob in found if not glob.startswith("!")]


def names_project_of(lines: Sequence[str], path: str) -> bool:
    """Whether settings list projects, and one of them is a folder that contains the file."""
    text = "\n".join(lines)
    listed = re.search(r"(?:\b(?:projects|workspace)\b[\"']?\s*[:=]|defineWorkspace\()\s*\[", text)
    if listed is None:
        return False
    named = re.findall(r"[\"']([^\"'\s]+)[\"']", text[listed.end() : _closing(text, listed.end())])
    above = [str(folder) for folder in PurePosixPath(path).parents][:-1]
    homes = [re.sub(r"/[^/]*\.config\.\w+$", "", one).removeprefix("./") for one in named]
    return any(
        matches(home.removeprefix("<rootDir>/"), folder) for home in homes for folder in above
    )


def _closing(text: str, start: int) -> int:
    """Where the list that opens before `start` ends."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"[": 1, "]": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return len(text)


def matches(glob: str, path: str) -> bool:
    """Whether a glob matches a path; True for a glob whose syntax is not supported."""
    plain = glob.removeprefix("<rootDir>/").removeprefix("./")
    if plain.count("{") > MAX_CHOICES or plain.count(",") > MAX_NAMED:
        return True
    choices = re.search(r"\{([^{}]*)\}", plain)
    if choices:
        start, end = plain[: choices.start()], plain[choices.end() :]
        return any(matches(f"{start}{one}{end}", path) for one in choices[1].split(","))
    if "*" in plain and re.search(r"[?(|+\[]", plain):
        return True
    return glob_pattern(plain).fullmatch(path) is not None
