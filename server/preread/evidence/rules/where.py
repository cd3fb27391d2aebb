"""Where the feature is: the best definitions of the first sources, and the best tests."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import PurePosixPath

from preread.dossier.fact_text import code
from preread.dossier.sources import Ref
from preread.evidence import nearest, quoting
from preread.evidence.files import Definition, FileView, Test
from preread.evidence.nearest import Place, is_on, is_quotable
from preread.evidence.rule import Found, Rule
from preread.evidence.symbols import FUNCTIONS
from preread.evidence.view import View
from preread.gates import submodules
from preread.index import words

SOURCES, TESTS = 4, 3
NEARLY = 0.85  # of the last source's score: one more source is named above it
SECOND = 0.7  # of a file's best definition's score: a second one is named above it
WHOLE = 0.4  # of a method's score: its class is named instead above it
SECOND_TEST = 0.4  # of the best test's score: other files' tests are named above it
NEAREST = 4
DECLARATIONS = re.compile(r"\.d\.[cm]?ts$")  # they repeat what other files define
MAX_MISSING = 3
MAX_SUBMODULES = 8
MAX_CHARACTERS = 1_800  # of a fact and its sources


def find(view: View) -> Iterator[Found]:
    """Code, then tests; for a thin feature, what is missing and what is nearest."""
    if view.thin:
        yield from _missing(view)
        return
    yield from _code(view)
    if tests := list(_tests(view))[:TESTS]:
        yield _listed("tests", tests, 0.9)


def _code(view: View) -> Iterator[Found]:
    best = {file.path: view.definitions_in(file)[0].score for file in view.code}
    # Those come first whose best definition has most of the request.
    files = sorted(_first_sources(view), key=lambda file: -best.get(file.path, 0.0))
    places = [place for file in files for place in _defined(view, file)]
    if any(place.name or words.stems(place.file.path) & view.relevance.feature for place in places):
        yield _listed("code", places, 1.0)
    else:
        yield from _mentioned(view, files)


def _first_sources(view: View) -> Sequence[FileView]:
    """The best sources, and one more whose score is nearly as high."""
    quotable = [f for f in view.sources if is_quotable(f) and view.mentions_request(f)]
    code = [file for file in quotable if not DECLARATIONS.search(file.path)]
    ranked = code or quotable
    scores = [file.score for file in ranked[: SOURCES + 1]]
    is_close = len(scores) > SOURCES and scores[-1] >= NEARLY * scores[-2]
    return ranked[: SOURCES + is_close]


def _mentioned(view: View, ranked: Sequence[FileView]) -> Iterator[Found]:
    """The likeliest files that mention what none of them is about."""
    found = (nearest.mentioned_in(view, file) for file in (*ranked, *view.tests, *view.docs))
    if lines := tuple(islice(filter(None, found), SOURCES)):
        text = "code: no definition named after it was found; it is mentioned here"
        yield Found(text, lines, 1.0)


def _listed(label: str, places: Sequence[Place], score: float, heading: str = "") -> Found:
    """Definitions by their lines; files that have none of their own are sources at the end."""
    places = list(_fitting(places))
    names = ", ".join(place.text for place in places if place.name)
    files = dict.fromkeys(place.source for place in places if not place.name)
    also = ("; also" if names else " files") if files else ""
    return Found(f"{label}:{names and ' '}{names}{also}", tuple(files), score, heading)


def _fitting(places: Iterable[Place]) -> Iterator[Place]:
    """The first places: a fact that is too long with its sources would not be there at all."""
    size = 0
    for place in places:
        size += len(place.text) + len(place.source)
        if size > MAX_CHARACTERS:
            return
        yield place


def _defined(view: View, file: FileView) -> Iterator[Place]:
    """The best definition of a file and a second one that is nearly as good and not part of it."""
    own = [one for one in view.definitions_in(file) if _is_telling(view, one)]
    if not own:
        yield Place(file)
        return
    first = _whole(view, own[0], own).symbol
    yield Place.of(file, first)
    for one in own:
        other = _whole(view, one, own).symbol
        apart = other.start > first.end or other.end < first.start
        if one.score >= SECOND * own[0].score and apart and other.name != first.name:
            yield Place.of(file, other)
            return


def _is_telling(view: View, one: Definition) -> bool:
    """Whether a definition is about the feature: by its name, if others are inside."""
    symbol = one.symbol
    # A file's own name says nothing that the path does not.
    by_name = view.relevance.of(symbol.name) > 0 or symbol.name == PurePosixPath(one.file.path).stem
    is_named = is_on(one.file, symbol.name, symbol.start)
    return one.score > 0 and (by_name or not _is_home(one)) and is_named


def _is_home(one: Definition) -> bool:
    return one.symbol.kind not in FUNCTIONS and one.symbol.end > one.symbol.start


def _whole(view: View, one: Definition, own: Sequence[Definition]) -> Definition:
    """The class of a method if its name is as telling, else the method; of a class that only its
    file's name tells, the best definition in it with a telling name.

    Methods of Go and Rust are outside of their types' lines.
    """
    name, telling = one.symbol.container.rpartition(".")[2], view.relevance.of(one.symbol.name)
    if _is_home(one) and not telling:
        return next((o for o in own if view.relevance.of(o.symbol.name)), one)
    good = (c for c in own if c.symbol.name == name and c.score >= WHOLE * one.score)
    homes = (c for c in good if c.symbol.kind not in FUNCTIONS)
    return next((c for c in homes if view.relevance.of(name) >= telling), one)


def _tests(view: View) -> Iterator[Place]:
    """The best test of each of the feature's test files that can be quoted."""
    for file in filter(is_quotable, view.test_files):
        own = (one for one in view.main_cases if one.file is file)
        one = next((one for one in own if _has_title(file, one)), None)
        if one is not None and one.score >= SECOND_TEST * view.cases[0].score:
            yield Place(file, one.case.name, one.case.start)


def _has_title(file: FileView, one: Test) -> bool:
    """Whether a test has a title that can be quoted from its line, not a variable's name."""
    title, line = one.case.name, one.case.start
    return is_on(file, title, line) and not quoting.is_variable(file, title, line)


def _missing(view: View) -> Iterator[Found]:
    """The words that no file mentions for a thin feature, and the nearest places."""
    absent = nearest.absent_words(view)[:MAX_MISSING]
    if absent:
        text = f"the project does not mention {', '.join(map(code, absent))}"
        sources = tuple(str(Ref("absent", nearest.EVERYWHERE, name=word)) for word in absent)
        yield Found(text, sources, 1.0, "Hardly mentioned")
    elif found := nearest.mention(view):
        text, source = found
        yield Found(f"the project hardly mentions it: {text}", (source,), 1.0, "Hardly mentioned")
    yield from _not_searched(view)
    near = list(nearest.places(view))[:NEAREST]
    if near:
        nothing = "the project says next to nothing about it; "
        yield _listed(f"{'' if absent else nothing}nearest names", near, 0.9, "Hardly mentioned")


def _not_searched(view: View) -> Iterator[Found]:
    """The project's submodules, which may have it: they are projects of their own."""
    path, tree = submodules.NAME, view.services.tree
    text = tree.text(path) if path in tree.files else None
    found = [one for one in submodules.listed(text or "") if quoting.can_be_anchored(one[0])]
    if found:
        names = quoting.in_file(path, found, MAX_SUBMODULES)
        text = f"not searched, because submodules have dossiers of their own: {names}"
        yield Found(text, (), 0.95, "Hardly mentioned")


RULE = Rule(
    name="where",
    file="summary.md",
    heading="Where",
    weight=0.2,
    find=find,
    for_thin=True,
    example="code: `ShellComplete` src/click/shell_completion.py:278",
)
