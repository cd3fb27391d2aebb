"""At home: whether a commit changed what is the feature's own, and what of it is left."""

import re
from collections import defaultdict
from collections.abc import Iterable

from preread.evidence.lineage import TELLING, lineage
from preread.evidence.subjects import CODE, code_of, compact
from preread.evidence.view import View, once
from preread.index import gitlog
from preread.index.gitlog import Commit
from preread.syntax.languages import own_role

HARDLY = 1 / 16  # of the lines that a commit put in
MOST_FILES, NAMESAKES = (
    40,
    3,
)  # of a commit whose lines are read; files of one name that they may stand in today


def is_own(view: View, commit: Commit) -> bool:
    """Whether a commit is the feature's own by its subject or by what little else it changed."""
    return (
        view.relevance(commit.subject) >= 0.5
        or (view.relevance(commit.subject) > 0 and len(code_of(commit)) <= 6)
        or is_at_home(view, commit)
    )


def is_at_home(view: View, commit: Commit) -> bool:
    """Whether a commit changed little else than the feature's own files, or those that its description spells out."""
    code = code_of(commit)
    spelled = sum(path in _spelled(view) for path in code)
    return is_small_at_home(view, commit) or (len(code) <= 4 and 2 * spelled >= len(code) > 0)


def is_small_at_home(view: View, commit: Commit) -> bool:
    """Whether a commit changed little else than the feature's own files."""
    code = code_of(commit)
    home = sum(view.relevance(path) >= 1 for path in code)
    small = len(code) <= 4 and 2 * home >= len(code) > 0
    return small or (len(code) <= 6 and _homes(view).get(commit.sha, 0.0) >= 0.5)


@once
def _spelled(view: View) -> list[str]:
    """The first files that are called like several words of the description: `selectionpolicies`."""
    said = re.split(r"[\W_]+", view.request.description.lower())
    runs = {"".join(said[i : i + n]) for n in (2, 3) for i in range(len(said) - n + 1)}
    return [
        file.path
        for file in view.sources[:3]
        if compact(file.path.rpartition("/")[2].partition(".")[0]) in runs
    ]


def _homes(view: View) -> dict[str, float]:
    """How near the functions are that commits changed, worked out once."""
    if "homes" not in view.memo:
        view.memo["homes"] = lineage(view)[0].home()
    found: dict[str, float] = view.memo["homes"]
    return found


def gone(view: View, commits: Iterable[Commit]) -> set[str]:
    """The ids of those commits that put in code of which hardly a line stands today, in files of the same names."""
    asked = [commit for commit in commits if len(commit.files) <= MOST_FILES]
    put: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for patch in gitlog.patches_in(view.kept.log, [commit.sha for commit in asked]):
        if own_role(patch.path) in CODE:
            folded = (" ".join(line.split()) for line in patch.added)
            put[patch.commit.sha] += [(patch.path, line) for line in folded if TELLING.match(line)]
    left = {
        sha: sum(line in _today(view, path) for path, line in lines) for sha, lines in put.items()
    }
    return {sha for sha, lines in put.items() if lines and left[sha] <= HARDLY * len(lines)}


def _today(view: View, path: str) -> frozenset[str]:
    """The lines that stand today in the files that are called like this one."""
    known: dict[str, frozenset[str]] = view.memo.setdefault("lines today", {})
    name = path.rpartition("/")[2]
    if name not in known:
        (places,) = _places(view)
        texts = (
            view.services.tree.lines(place) or () for place in places.get(name, ())[:NAMESAKES]
        )
        known[name] = frozenset(" ".join(line.split()) for lines in texts for line in lines)
    return known[name]


@once
def _places(view: View) -> list[dict[str, list[str]]]:
    """The files of the project by their names."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in view.services.tree.files:
        places[path.rpartition("/")[2]].append(path)
    return [places]
