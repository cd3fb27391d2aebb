"""Split identifiers and sentences into words, and stem them."""

import itertools
import re
from collections import Counter
from functools import lru_cache

import Stemmer  # type: ignore[import-not-found]  # it has no types

MAX_LENGTH = 61  # characters of an identifier
IDENTIFIER = re.compile(rf"[^\W\d$][\w$]{{1,{MAX_LENGTH - 1}}}|\$[\w$]{{1,{MAX_LENGTH - 1}}}")
_WORDS = bytes(
    c if chr(c) in "$_" or (c < 128 and chr(c).isalnum()) else ord(" ") for c in range(256)
)
# `URLs` is one word, `HTTPServer` two.
WORD_PART = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
TEST_MARK = re.compile(r"^tests?_|_tests?$|[._-](test|tests|spec|e2e|cy|fixture)$|Tests?$|Spec$")
LETTERS = re.compile(r"[^\W\d_]+")
# Without a cache of its own, a call holds the GIL throughout, so that threads can share it.
_ENGLISH = Stemmer.Stemmer("english", 0)
REPEAT = 30  # occurrences of a word in a file beyond this do not count
MAX_SPLIT = 200_000  # words whose tokens are cached
STOP_WORDS = frozenset(
    """
    a about above after again all also an and any are as at be because been before being below
    between both but by can could did do does done down during each else ever every few for from
    further get gets had has have he her here him his how i if in into is it its itself just let
    like make makes many may me might more most must my new no nor not now of off on once one only
    or other our out over own per please same say set she should so some such than that the their
    them then there these they thing this those through to too two under until up upon us use used
    uses using very via want was way we well were what when where whether which while who whom why
    will with within without would yes you your add added adds allow allows change changes code
    ensure feature file files fix fixes function functionality implement implementation need needs
    project support supports test tests testing update user users work works write avoid chore
    correctly enhancement feat handle handles handling improve improved improvement improves
    improving introduce introduces issue issues now perf possible properly refactor refactored
    refactoring remove removed removes reduce replace replaced replaces updated updates
    """.split()
)


# Common in reports of all kinds: no more telling in a title than in the text.
REPORT_WORDS = frozenset(
    """
    actual behavior behaviour break breaking breaks broken bug bugs crash crashed crashes crashing
    error errors exception exceptions expected fail failed failing fails failure failures
    inconsistent incorrect incorrectly missing problem problems raise raised raises raising
    regression report running sometimes strange throw throwing thrown throws trying unexpected
    unexpectedly version versions weird working wrong wrongly
    """.split()
)


@lru_cache(maxsize=200_000)
def parts(identifier: str) -> tuple[str, ...]:
    """`placeOrder2` → place, order, 2: lower case, in order. Non-ASCII words are split at
    non-letters only.
    """
    if not identifier.isascii():
        return tuple(LETTERS.findall(identifier.lower()))
    if identifier.islower() and identifier.isalpha():
        return (identifier,)
    return tuple(map(str.lower, WORD_PART.findall(identifier)))


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """A lower-case word by Snowball's rules for English: `cookie` and `cookies` are one, and so
    are `validate` and `validator`.
    """
    stemmed: str = _ENGLISH.stemWord(word)
    return stemmed


@lru_cache(maxsize=200_000)
def stems(identifier: str) -> frozenset[str]:
    """The stems of an identifier's parts."""
    return frozenset(stem(part) for part in parts(identifier))


def whole_stem(identifier: str) -> str:
    """The stem of an identifier as one word, which is how a request's words are looked up."""
    return stem(identifier.strip("_$").lower())


def of_sentence(text: str) -> tuple[str, ...]:
    """The searchable words of a sentence, each once, in order: no stop words, no numbers."""
    found: dict[str, None] = {}
    for identifier in IDENTIFIER.findall(text):
        whole = identifier.lower().strip("_$")
        split = parts(identifier)
        if len(split) > 1 and len(whole) > 3:
            found[whole] = None  # a whole identifier is more specific than its parts
        for part in split:
            if len(part) > 1 and part not in STOP_WORDS and not part.isdigit():
                found[part] = None
    return tuple(found)


def of_feature(feature: str) -> tuple[str, ...]:
    """The words of a feature's name; stop words count only if there are no others."""
    split = [part for part in feature.split("-") if part]
    return tuple(part for part in split if part not in STOP_WORDS and len(part) > 1) or tuple(split)


def compounds(feature: str) -> tuple[str, ...]:
    """The whole name as one identifier: tmp-path → tmp_path, tmppath."""
    split = feature.split("-")
    return ("_".join(split), "".join(split)) if len(split) > 1 else ()


class _Tokens(dict[str, tuple[str, ...]]):
    """The tokens that the full-text index gets for a word, each followed by a space; none for
    numbers.
    """

    def __missing__(self, word: str) -> tuple[str, ...]:
        if word.isdecimal():
            return ()
        if len(self) >= MAX_SPLIT:
            self.clear()
        if 1 < len(word) <= MAX_LENGTH and not word[0].isdigit():
            found = self[word] = _split(word)
            return found
        return tuple([token for name in IDENTIFIER.findall(word) for token in _split(name)])


_tokens = _Tokens()


def _split(identifier: str) -> tuple[str, ...]:
    """An identifier's parts and, if it has several, the identifier; each followed by a space."""
    lower = identifier.lower()
    if lower == identifier and lower.isascii() and lower.isalpha():
        return (f"{lower} ",)
    whole = lower.strip("$")
    # Like `parts`, but without its cache: the tokens are cached here, and a second cache is slow.
    split = WORD_PART.findall(identifier) if identifier.isascii() else LETTERS.findall(lower)
    if len(split) != 1 or len(split[0]) != len(whole):
        split.append(whole)
    return tuple([f"{token} " for token in map(str.lower, split)])


def identifiers(text: str) -> list[str]:
    """Roughly what IDENTIFIER finds, several times faster for ASCII text."""
    return (
        text.encode().translate(_WORDS).decode().split()
        if text.isascii()
        else IDENTIFIER.findall(text)
    )


def bag(text: str) -> str:
    """The text to put into the full-text index: each identifier's parts and, if it has several,
    the identifier.
    """
    counts: dict[str, int] = {}
    known = counts.get
    for word, n in Counter(identifiers(text)).items():
        for token in _tokens[word]:
            counts[token] = known(token, 0) + n
    return "".join([token * min(n, REPEAT) for token, n in counts.items()])


def stems_of(text: str) -> frozenset[str]:
    """The stems of all words of a text and of adjacent words joined: `time-out` also yields
    `timeout`.
    """
    split = [part for identifier in IDENTIFIER.findall(text) for part in parts(identifier)]
    joined = (a + b for a, b in itertools.pairwise(split))
    return frozenset(stem(word) for word in (*split, *joined))


def stem_of(path: str) -> str:
    """A file's name without its suffix and the marks of a test; its case separates its words."""
    name = path.rpartition("/")[2]
    name = name.rpartition(".")[0] or name
    return TEST_MARK.sub("", name).removeprefix("_")
