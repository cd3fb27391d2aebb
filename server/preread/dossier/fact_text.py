"""The parts of a fact's text: its quotes, its own words, the ids derived from it, its tokens."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from preread.dossier import sources
from preread.gates import spans
from preread.models import Fact, Fence, Section

FactKey = tuple[str, frozenset[str]]  # a fact's id and its sources
PLACE = spans.PLACE
MIN_QUOTE = 4  # characters; shorter backticked texts prove nothing
# Control characters, direction overrides, tags and lone surrogates: they change what a terminal
# shows, or a model reads them and a person does not.
INVISIBLE = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    "\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)


@lru_cache(maxsize=1_000)  # a check asks several times for each fact
def fact_id(file: str, text: str) -> str:
    """A fact's id for `wrong` and the index: 8 hex digits, from its file and words only."""
    words = " ".join(text.split()).lower()
    return hashlib.sha256(f"{file}\n{words}".encode("utf-8", "surrogatepass")).hexdigest()[:8]


def fact_key(file: str, fact: Fact) -> FactKey:
    """What tells facts apart that have the same words: a person's may have other sources."""
    return fact_id(file, fact.text), frozenset(fact.sources)


def cited_digest(file: str, fact: Fact) -> str:
    """A digest of a fact's words and sources: 8 hex digits."""
    return fact_id(file, "\n".join((fact.text, *sorted({*fact.sources}))))


def with_sources(fact: Fact) -> str:
    """A fact's text and full sources."""
    return f"{fact.text} ({', '.join(fact.sources)})"


def fence_id(file: str, lines: Iterable[str]) -> str:
    """The id of a fence: 8 hex digits, from its file and text only."""
    return fact_id(file, "\n".join(("```", *lines)))


def fence_key(file: str, section: Section, fence: Fence) -> str:
    """The key of a fence in a manifest: its id and its source."""
    return f"{fence_id(file, fence.lines)} {section.source}"


def heading_id(file: str, heading: str) -> str:
    """The id of a section's heading: 8 hex digits, from its file and text only."""
    return fact_id(file, f"## {heading}")


def lasting_id(file: str, text: str, cited: Iterable[str]) -> str:
    """An id that survives other numbers in the fact's text: from its shape and the cited files."""
    refs = map(sources.parse, cited)
    places = sorted({ref.path or ref.name for ref in refs if ref is not None})
    return fact_id(file, " ".join((shape(text), *places)))


def quotes(text: str) -> list[str]:
    """The backticked texts that the fact's sources have to contain."""
    return [q for q in (span.strip() for span in _code_spans(text)) if len(q) >= MIN_QUOTE]


def places(quote: str, text: str) -> Iterator[int]:
    """Where a text contains a quote; the start of a longer number does not count."""
    if quote not in text:
        return
    before = r"(?<!\d)(?<!\d[._])" if quote[:1].isdecimal() else ""
    after = r"(?!\d|[._]\d)" if quote[-1:].isdecimal() else ""
    yield from (one.start() for one in re.finditer(f"{before}{re.escape(quote)}{after}", text))


def dotted(quote: str) -> str:
    """A quoted name with dots between its parts, and without brackets."""
    name = re.sub(r"^\(\*?(\w+)\)", r"\1", quote.removesuffix("()"))  # Go: (*T).Close
    return re.sub(r"::|#", ".", name)


def own_words(text: str) -> str:
    """A fact's text without its backticked parts: the words that no source proves."""
    for span in _code_spans(text):
        text = text.replace(f"`{span}`", " ", 1)
    return text


def shape(text: str) -> str:
    """A fact's words without the numbers outside backticks, which change as the code does."""
    words = re.sub(r"\d+", "0", own_words(text)).split()
    return " ".join((*words, *quotes(text))).lower()


@lru_cache(maxsize=1_000)  # a comparison asks several times for each fact
def without_places(text: str) -> str:
    """A fact's text without the lines that it names, and without their paths."""
    return spans.without_places(text)


@lru_cache(maxsize=1_000)  # a check asks several times for each fact
def _code_spans(text: str) -> tuple[str, ...]:
    """The text between each run of backticks and the next run of the same length."""
    return tuple(_between_ticks(text)) if "`" in text else ()


def _between_ticks(text: str) -> Iterator[str]:
    """The code spans of a text, in one pass."""
    runs = list(re.finditer("`+", text))
    closing: dict[int, int] = {}  # run -> the next run of the same length
    later: dict[int, int] = {}
    for i in range(len(runs) - 1, -1, -1):
        length = len(runs[i][0])
        if length in later:
            closing[i] = later[length]
        later[length] = i
    i = 0
    while i < len(runs):
        if i in closing:
            yield text[runs[i].end() : runs[closing[i]].start()]
        i = closing.get(i, i) + 1


def code(text: str) -> str:
    """`text` as a code span, delimited by more backticks than it contains in a row."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def tokens(text: str) -> int:
    """Estimated tokens of a text, at 4 characters each."""
    return (len(text) + 3) // 4
