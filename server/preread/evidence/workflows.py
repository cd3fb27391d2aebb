"""Commands in CI's workflows: whether a line is a whole one, and whether it is for the feature's tests."""

import re

from preread.evidence.view import View

MOST_RUN = 140  # characters of a command; a longer one is not told
MATRIX = re.compile(r"\$\{\{\s*matrix\.([\w-]+)\s*\}\}")
SKIPS = re.compile(r"(?i)skip[.-]?tests?|test\.skip|--shard\b")  # no tests, a part of them
CHOSEN = re.compile(  # tests by a name, a module by its own
    r"(?<!\S)(?:--?run|-k|--tests?|--filter|-Dtest|--package|--projects?|-pl)[= ][\"']?([^\s\"']+)"
)


def rows(run: str, lines: list[str]) -> list[tuple[int, str]]:
    """The lines of a workflow that list what the places of a command stand for."""
    listed = [re.compile(rf"\s*{name}:\s*\[.*\]") for name in dict.fromkeys(MATRIX.findall(run))]
    found = (
        next(((n, row) for n, row in enumerate(lines, 1) if one.match(row)), None) for one in listed
    )
    return [(one[0], one[1].strip()) for one in found if one is not None]


def is_whole(run: str, lines: list[str]) -> bool:
    """Whether a line is a whole command that tests something, and its workflow says what its places stand for."""
    if len(run) > MOST_RUN or run.endswith("\\") or SKIPS.search(run) or "$" in MATRIX.sub("", run):
        return False
    return len(set(MATRIX.findall(run))) == len(rows(run, lines))


def is_of_others(view: View, run: str) -> bool:
    """Whether a command is for tests by a name, or for a folder or file, that is not the feature's."""
    own = [f"{file.path}/" for file in (*view.tests, *view.sources)]
    files = view.services.tree.files
    for word in re.split(r"[\s=]+", run):
        path = word.strip("\"'").removeprefix("./").removesuffix("...").rstrip("/")
        is_runner = "/" not in path and path in files  # as ./mvnw
        named = (
            "/" in word
            and path
            and not is_runner
            and any(f"{one}/".startswith(f"{path}/") for one in files)
        )
        if named and not any(one.startswith(f"{path}/") for one in own):
            return True
    return any(
        view.relevance(name) < 1 and not any(f"/{name}/" in f"/{one}" for one in own)
        for name in CHOSEN.findall(run)
    )
