"""Globs of JavaScript's runners: those in their settings, and whether one names a file."""

import re
from collections.abc import Sequence

from preread.project.tree import glob_pattern

CHOOSES = re.compile(r"[\"']?\b(?:include|testMatch|spec|files|tests)\b[\"']?\s*[:=]")
QUOTED = re.compile(r"[\"'`](!?[^\"'`\s]*\*[^\"'`\s]*)[\"'`]")
BARE = re.compile(r"(?:-|:)\s+([\w./-]*\*[\w./*{},-]*)\s*$")  # in YAML
FOLDER = re.compile(r"\btestDir\b[\"']?\s*[:=]\s*[\"']([^\"']+)[\"']")
CODE = re.compile(r"[jt]sx?\b|[jt]s[})]|\}$|\)$")  # a glob of scripts, not of folders or data


def patterns_in(lines: Sequence[str]) -> list[str]:
    """The globs that settings choose test files by: the values of such keys."""
    found: list[str] = []
    depth = 0
    for line in lines:
        if depth <= 0 and CHOOSES.search(line):
            depth = 0
        elif depth <= 0 and not (found and line.lstrip().startswith("- ")):
            continue
        depth += line.count("[") - line.count("]")
        found += [
            glob for glob in (*QUOTED.findall(line), *BARE.findall(line)) if CODE.search(glob)
        ]
    found += [
        f"{one.removeprefix('./').rstrip('/')}/**" for line in lines for one in FOLDER.findall(line)
    ]
    return [glob for glob in found if not glob.startswith("!")]


def takes(glob: str, path: str) -> bool:
    """Whether a glob names a path; one of a richer grammar than ours is given the benefit."""
    plain = glob.removeprefix("<rootDir>/").removeprefix("./")
    choices = re.search(r"\{([^{}]*)\}", plain)
    if choices:
        start, end = plain[: choices.start()], plain[choices.end() :]
        return any(takes(f"{start}{one}{end}", path) for one in choices[1].split(","))
    if "*" in plain and re.search(r"[?(|+\[]", plain):
        return True
    return glob_pattern(plain).fullmatch(path) is not None
