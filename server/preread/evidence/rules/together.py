"""What changes with the feature's first files, counted over their small commits."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from preread.evidence import quoting
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View
from preread.index import commits
from preread.index.commits import PastCommit

MAX_FILES, MAX_PARTNERS = 4, 4
SMALL = 10  # files: a larger commit says little about which belong together
MAX_COMMITS = 40  # the newest of each file
MIN_COMMITS = 5  # of a file: fewer say nothing about what usually comes with it
MIN_SHARED, SHARE = 3, 1 / 3  # how often two files change together to be named


def find(view: View) -> Iterator[Found]:
    """One fact for each of the first sources that has companions."""
    small = [one for one in commits.commits(view.connection).values() if len(one.paths) <= SMALL]
    seen: set[frozenset[str]] = set()
    for rank, file in enumerate(view.sources[:MAX_FILES]):
        own = [one for one in small if file.path in one.paths][:MAX_COMMITS]
        partners = [
            (path, count)
            for path, count in _partners(view, file.path, own)
            if frozenset((path, file.path)) not in seen
        ]
        if partners and len(own) >= MIN_COMMITS:
            seen.update(frozenset((path, file.path)) for path, _ in partners)
            yield _fact(view, file.path, own, partners, 1 / (1 + rank))


def _partners(view: View, path: str, own: list[PastCommit]) -> list[tuple[str, int]]:
    """The files of today that changed with one, the most often first."""
    counts = Counter(other for one in own for other in one.paths if other != path)
    least = max(MIN_SHARED, SHARE * len(own))
    often = [(other, count) for other, count in counts.most_common() if count >= least]
    return [one for one in often if one[0] in view.services.tree.files][:MAX_PARTNERS]


def _fact(
    view: View, path: str, own: list[PastCommit], partners: list[tuple[str, int]], score: float
) -> Found:
    (first, most), *others = ((_name(view, other), count) for other, count in partners)
    rest = "".join(f", {count} {name}" for name, count in others)
    latest = next(one for one in own if partners[0][0] in one.paths)
    commits_to = f"of the last {len(own)} small commits to {_name(view, path)}"
    text = f"{commits_to}, {most} also changed {first}{rest}"
    return Found(text, (f"commit:{latest.sha[:9]}",), score, about=path)


def _name(view: View, path: str) -> str:
    """A file's name, with its folder where the project has others of this name."""
    same = view.once(_by_name)[path.rpartition("/")[2]]
    return quoting.shortest_path(path, same)


def _by_name(view: View) -> dict[str, list[str]]:
    """All files of the project by their names."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in view.services.tree.files:
        found[path.rpartition("/")[2]].append(path)
    return found


RULE = Rule(
    name="together",
    file="codebase.md",
    heading="Changed together",
    weight=0.04,
    find=find,
    example="of the last 40 small commits to core.py, 21 also changed test_core.py, 17 types.py",
)
