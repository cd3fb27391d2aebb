"""Names and messages of the feature that no test has in any spelling, each with its proof."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from preread.evidence import quoting
from preread.evidence.absence import absent
from preread.evidence.files import Definition, FileView
from preread.evidence.relevance import RELATED
from preread.evidence.rule import Found, Rule
from preread.evidence.view import MAIN_FLOOR, View
from preread.evidence.visibility import is_public
from preread.syntax import Raise

MAX_FILES, MAX_DEFINITIONS = 5, 30  # that are checked
MAX_SHOWN, MAX_PROOFS = 4, 6  # names in one fact, and their sources: a name has up to three
MIN_NAME, MIN_WORDS = 5, 3  # letters of a name, words of a message
MAX_BELOW = 8  # lines between an error's name and its message
KINDS = frozenset({"function", "method", "class", "component"})
# Tests may use the property instead of its accessor.
ACCESSOR = re.compile(r"^(?:get|set|is)_?(?=[A-Z]|(?<=_)[a-z])(.{4,})")


class _Absence(NamedTuple):
    """What no test names, with its line and the sources that prove it."""

    name: str
    line: int
    sources: tuple[str, ...]


def find(view: View) -> Iterator[Found]:
    """By file the definitions, then the messages."""
    said: set[str] = set()
    for rank, file in enumerate(view.code[:MAX_FILES]):
        score = 0.9 / (1 + 0.3 * rank)
        for own in (_definitions(view, file), _messages(view, file)):
            if found := [one for one in own if one.name not in said]:
                shown = found[: min(MAX_SHOWN, MAX_PROOFS // len(found[0].sources))]
                said.update(one.name for one in shown)
                yield _fact(file, shown, score)
                score *= 0.9


def _fact(file: FileView, found: Sequence[_Absence], score: float) -> Found:
    text = quoting.in_file(file.path, [(one.name, one.line) for one in found])
    proofs = (source for one in found for source in one.sources)
    return Found(text, tuple(dict.fromkeys(proofs)), score)


# -- definitions


def _definitions(view: View, file: FileView) -> Iterator[_Absence]:
    """The public ones that the feature is about."""
    floor = MAIN_FLOOR * view.best_score
    seen: set[str] = set()
    # Classes last: tests often reach one by a function that makes it.
    ordered = sorted(view.definitions[:MAX_DEFINITIONS], key=lambda one: one.symbol.kind == "class")
    for one in ordered:
        symbol = one.symbol
        if one.file is file and one.score >= floor and symbol.name not in seen:
            seen.add(symbol.name)
            if _is_candidate(view, one) and (proof := absent(view, *_spellings(symbol.name))):
                yield _Absence(symbol.name, symbol.start, proof)


def _is_candidate(view: View, one: Definition) -> bool:
    """Whether tests could be expected to name it: public, and not called by a framework."""
    symbol = one.symbol
    if symbol.kind not in KINDS or len(symbol.name) < MIN_NAME or not symbol.name.isidentifier():
        return False
    imposed = any("over" in decorator.lower() for decorator in symbol.decorators)
    return not imposed and not _is_derived(one) and is_public(view, one.file, symbol)


def _is_derived(one: Definition) -> bool:
    """Whether it is a method of a class with a base, which may be what calls it."""
    owner = one.symbol.container.rpartition(".")[2]
    line = one.file.line(one.symbol.start)
    if not owner:
        return False
    classes = (s for s in one.file.outline.symbols if s.name == owner and s.kind != "method")
    bases = " ".join(s.signature.partition(owner)[2] for s in classes)
    return "override" in line or re.search(r"\w", re.sub(r"<[^<>]*>", "", bases)) is not None


def _spellings(name: str) -> list[str]:
    """A name, and the property that it reads or writes."""
    match = ACCESSOR.match(name)
    return [name, match[1]] if match else [name]


# -- messages


def _messages(view: View, file: FileView) -> Iterator[_Absence]:
    """Messages of which tests do not have any three words in a row."""
    seen: set[str] = set()
    for raised in file.details.raises:
        if raised.message in seen or file.is_in_test(raised.line):
            continue
        seen.add(raised.message)
        is_related = view.relevance.of(raised.message, raised.within) >= RELATED
        if is_related or view.is_in_main(file, raised.line):
            yield from _message(view, file, raised)


def _message(view: View, file: FileView, raised: Raise) -> Iterator[_Absence]:
    text = quoting.message(raised.message)
    split = [word for word in text.split() if any(map(str.isalnum, word))]
    runs = [" ".join(split[n : n + MIN_WORDS]) for n in range(len(split) - MIN_WORDS + 1)]
    line = quoting.line_with(file, text, raised.line, MAX_BELOW)
    if line and runs and len(text) <= quoting.MAX_LINE and "``" not in text:
        literal = max(runs, key=len).strip(".,:;!?'")
        if literal in text and (proof := absent(view, literal, *runs)):
            yield _Absence(text, line, proof)


RULE = Rule(
    name="unmentioned",
    file="existing-tests.md",
    heading="No test names",
    weight=0.08,
    find=find,
    example="`add_completion_class` src/click/shell_completion.py:565",
)
