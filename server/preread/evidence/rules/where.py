"""Where the feature is: the best definitions of the first sources, the best tests of the first test files."""

import difflib
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from preread.dossier import code
from preread.evidence import quoting
from preread.evidence.files import FileView
from preread.evidence.rule import Found, Rule
from preread.evidence.view import FUNCTIONS, Definition, View
from preread.index import words
from preread.sources import Ref

SOURCES, TESTS = 3, 3
NEARLY = 0.85  # of the third source's score: a fourth one with as much is named, too
SECOND = 0.7  # of a file's best definition: a second one with as much is named, too
WHOLE = 0.4  # of a method's score: its class is named instead if it has as much
SECOND_TEST = 0.4  # of the best test's score: other files' tests with as much are named, too
NEAREST = 4
CLOSE = 0.85  # of difflib's ratio: `carrt` and `cart`, but not `invoice` and `voice`
MAX_MISSING = 3
EVERYWHERE = "**"  # the glob of every file


class Place(NamedTuple):
    """A name with its line; without a name the file as a whole."""

    file: FileView
    name: str = ""
    line: int = 0

    @property
    def text(self) -> str:
        if not self.name:
            return f'"{self.file.path.rpartition("/")[2]}"'
        return quoting.anchored(self.name, self.line, quoting.path_of(self.file.path))

    @property
    def source(self) -> str:
        return self.file.cite(self.line) if self.name else str(Ref("path", self.file.path))


def find(view: View) -> Iterator[Found]:
    """Code, then tests; where there is none of the feature, what is missing and what comes nearest."""
    if view.thin:
        yield from _missing(view)
        return
    ranked = [file for file in view.sources if _is_quotable(file)][: SOURCES + 1]
    if len(ranked) > SOURCES and ranked[SOURCES].score < NEARLY * ranked[SOURCES - 1].score:
        ranked = ranked[:SOURCES]
    if ranked:
        yield _listed("code", [place for file in ranked for place in _defined(view, file)], 1.0)
    tests = list(_tests(view))[:TESTS]
    if tests:
        yield _listed("tests", tests, 0.9)


def _listed(label: str, places: Sequence[Place], score: float, heading: str = "") -> Found:
    text = f"{label}: {', '.join(place.text for place in places)}"
    return Found(text, tuple(dict.fromkeys(place.source for place in places)), score, heading)


def _defined(view: View, file: FileView) -> Iterator[Place]:
    """The best definition of a file and a second one that is nearly as good and not part of it."""
    own = [one for one in view.definitions if one.file is file and _is_telling(view, one)]
    if not own:
        yield Place(file)
        return
    first = _whole(own[0], own).symbol
    yield Place(file, first.name, first.start)
    for one in own:
        other = _whole(one, own).symbol
        apart = other.start > first.end or other.end < first.start
        if one.score >= SECOND * own[0].score and apart and other.name != first.name:
            yield Place(file, other.name, other.start)
            return


def _is_telling(view: View, one: Definition) -> bool:
    """Whether a definition is about the feature: by its name, if others are inside."""
    symbol = one.symbol
    is_home = symbol.kind not in FUNCTIONS and symbol.end > symbol.start
    by_name = view.relevance.of(symbol.name) > 0 or symbol.name == PurePosixPath(one.file.path).stem
    return (
        one.score > 0 and (by_name or not is_home) and _is_on(one.file, symbol.name, symbol.start)
    )


def _whole(one: Definition, own: Sequence[Definition]) -> Definition:
    """The class of a method if it is about the feature itself, else the method."""
    name = one.symbol.container.rpartition(".")[2]
    around = (
        c
        for c in own
        if c.symbol.name == name and c.symbol.start <= one.symbol.start <= c.symbol.end
    )
    return next((c for c in around if c.score >= WHOLE * one.score), one)


def _tests(view: View) -> Iterator[Place]:
    """The best test of each test file that is nearly as much about the feature as the best one."""
    seen: set[str] = set()
    for one in view.cases:
        if one.score < SECOND_TEST * view.cases[0].score:
            return
        if (
            one.file.path not in seen
            and _is_quotable(one.file)
            and _is_on(one.file, one.case.name, one.case.start)
        ):
            seen.add(one.file.path)
            yield Place(one.file, one.case.name, one.case.start)


def _is_quotable(file: FileView) -> bool:
    """Whether a path can be written inside a fact's words: a backtick would open a quote."""
    return "`" not in file.path


def _is_on(file: FileView, name: str, line: int) -> bool:
    """Whether a name is on its line as a quote can have it."""
    text = file.lines[line - 1] if 0 < line <= len(file.lines) else ""
    return bool(name.strip()) and name == name.strip() and " ".join(name.split()) in text


# -- what the project does not have


def _missing(view: View) -> Iterator[Found]:
    tree = view.services.tree
    absent = [word for word in view.query.feature if _is_absent(view, word)][:MAX_MISSING]
    if absent:
        text = f"the project does not mention {', '.join(map(code, absent))}"
        sources = tuple(str(Ref("absent", EVERYWHERE, name=word)) for word in absent)
        yield Found(text, sources, 1.0, "Thin")
    near = list(_nearest(view))
    if near:
        label = (
            "nearest names"
            if absent
            else "the project says next to nothing about it; nearest names"
        )
        yield _listed(label, near, 0.9, "Thin")
    tree.check()


def _is_absent(view: View, word: str) -> bool:
    """Whether no file has a word, in whatever case, and no text has it inside a longer one."""
    tree = view.services.tree
    roles = ("source", "test", "support", "doc")
    return (
        quoting.is_provable(word)
        and not view.candidates(word, roles)
        and tree.holding(word, tree.matching(EVERYWHERE)) is None
    )


def _nearest(view: View) -> Iterator[Place]:
    """The definitions with the feature's other words in their names, else those spelled most alike."""
    found = [one for one in view.definitions if view.relevance.of(one.symbol.name)]
    best = sorted(
        found, key=lambda one: (-view.relevance.of(one.symbol.name), len(one.symbol.name))
    )
    places = [Place(one.file, one.symbol.name, one.symbol.start) for one in best]
    places = places or list(_alike(view))
    shown = [one for one in places if _is_quotable(one.file) and _is_on(*one)]
    yield from list({one.name: one for one in reversed(shown)}.values())[::-1][:NEAREST]


def _alike(view: View) -> Iterator[Place]:
    rows = view.connection.execute(
        "SELECT path, names FROM files WHERE role = 'source' ORDER BY path"
    )
    homes = {name: path for path, names in rows for name in names.split("\n") if name}
    longest_first = sorted(homes, key=lambda name: -len(name))  # so the shortest name stays
    parts = {part: name for name in longest_first for part in words.parts(name)}
    for word in view.query.feature:
        for part in difflib.get_close_matches(word, parts, n=2, cutoff=CLOSE):
            file = view.any_file(homes[parts[part]])
            for symbol in file.outline.symbols:
                if symbol.name == parts[part]:
                    yield Place(file, symbol.name, symbol.start)
                    break


RULE = Rule(
    name="where",
    file="summary.md",
    heading="Where",
    weight=0.1,
    find=find,
    example="code: `ShellComplete` src/click/shell_completion.py:278",
)
