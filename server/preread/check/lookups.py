"""Source lookups of one check: each source is resolved once, within limits, and searched."""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import accumulate

from preread.dossier import cited_commits, fact_text, markdown, published, source_paths, sources
from preread.dossier.basenames import FILE_KINDS
from preread.dossier.sources import Ref, SourceError, Span
from preread.errors import PrereadError
from preread.gates.feature_names import is_feature
from preread.infra.env_files import is_env_file
from preread.models import Manifest
from preread.services import Services

MAX_CHARACTERS = 20_000_000  # of all sources of one dossier; usually there are 20,000
MAX_SLOW = 100  # sources of one dossier that need a git process or a search of many files
SLOW = frozenset({"commit", "absent"})
MAX_PLACES = 3  # lines named for a quote that is elsewhere in the cited file
COMMENT_MARK = re.compile(r"^(?:#+!?|//+!?|/?\*+/?|--|<!--|\"\"\"|;+|%+|>+)\s?|(?:\*/|-->)$")
# A match is a whole reference unless one of these adjoins it, so that `doc/1` is not found in
# `doc/12`. Punctuation after it may end the sentence, unless the URL goes on after that.
BEFORE = re.compile(r"[\w+.%/-]")
AFTER = re.compile(r"[.,;:!?'*~]*+[\w/%&=#+@$(-]")
ESCAPES = {r"\n": " ", r"\r": " ", r"\t": " ", r"\"": '"', r"\/": "/", r"\\": "\\"}


class Answers:
    """What configured servers answered in this run: raw, and without the escapes of JSON."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(texts)

    @cached_property
    def normalized(self) -> tuple[str, ...]:
        """The answers as single lines, with and without their escape sequences."""
        plain = [
            re.sub(r"\\[nrt\"/\\]", lambda match: ESCAPES[match[0]], text) for text in self.texts
        ]
        return tuple(_one_line(text) for text in dict.fromkeys((*self.texts, *plain)))

    def containing(self, reference: str) -> tuple[str, ...]:
        """The answers that contain the whole reference, not just a longer one that includes it."""
        return tuple(text for text in self.normalized if _has_reference(text, reference))


def _has_reference(text: str, reference: str) -> bool:
    at = text.find(reference)
    while at >= 0:
        end = at + len(reference)
        if not (at and BEFORE.match(text, at - 1)) and not AFTER.match(text, end):
            return True
        at = text.find(reference, end)
    return False


class _Starts:
    """A whole file as one line of text, to find the lines on which a quote starts."""

    def __init__(self, lines: list[str]) -> None:
        rows = [_one_line(line) for line in lines]
        self.numbers = [number for number, row in enumerate(rows, 1) if row]
        rows = [row for row in rows if row]
        self.text = " ".join(rows)
        self.offsets = [0, *accumulate(len(row) + 1 for row in rows)][:-1]

    def of(self, needle: str) -> list[int]:
        """The first few lines on which the text starts."""
        found: list[int] = []
        at = self.text.find(needle)
        while at >= 0 and len(found) < MAX_PLACES:
            place = bisect_right(self.offsets, at) - 1
            found.append(self.numbers[place])
            last = place + 1 == len(self.offsets)
            at = -1 if last else self.text.find(needle, self.offsets[place + 1])
        return found


def only_said(cited: Collection[str]) -> bool:
    """Whether a fact cites only what somebody said, so there is no text to look up quotes in."""
    return bool(cited) and all(source.startswith("said:") for source in cited)


class Lookups:
    """The spans of one check of one dossier."""

    def __init__(
        self, services: Services, feature: str, answers: Answers, *, trust_published: bool
    ) -> None:
        self.services, self.feature, self.answers = services, feature, answers
        self._trust_published = trust_published
        self.resolved: dict[str, Span | SourceError] = {}
        self.normalized: dict[str, tuple[str, ...]] = {}
        self.starts: dict[str, _Starts] = {}
        self.own: dict[str, bool] = {}
        self.private: dict[str, bool] = {}
        self.characters = self.slow = 0

    @cached_property
    def published(self) -> Manifest | None:
        """The published manifest; the build that wrote it verified the references it lists."""
        if not self._trust_published or not is_feature(self.feature):
            return None
        found = published.read(self.services.layout, self.feature)
        return found.manifest if found is not None else None

    def span(self, text: str) -> Span | SourceError:
        """What a source resolves to, or why it does not."""
        if text not in self.resolved:
            self.services.progress.check()
            try:
                self.resolved[text] = self._look_up(text)
            except SourceError as error:
                self.resolved[text] = error
        return self.resolved[text]

    def read_commits(self, texts: Iterable[str]) -> None:
        """Read the commits among these sources at once."""
        refs = (sources.parse(text) for text in texts if text.startswith("commit:"))
        cited_commits.read([ref.name for ref in refs if ref is not None], self.services.tree)

    def _look_up(self, text: str) -> Span:
        ref = sources.parse(text)
        if ref is None:
            raise SourceError("E_SOURCE_FORM", f"`{text[:80]}` is not a source")
        if ref.kind == "external":
            return self._external(ref)
        if ref.path and ref.kind != "absent":
            self._check_path(ref.path, text)
        return self._limited(ref)

    def _check_path(self, path: str, text: str) -> None:
        """Raise SourceError if no fact may cite this file."""
        if self._is_own(path):
            raise SourceError(
                "E_SOURCE_OWN",
                f"`{text[:80]}` was written by Preread or git, so it proves nothing",
            )
        if self._is_private(path):
            raise SourceError(
                "E_SOURCE_SECRET",
                f"`{text[:80]}` is a .env file that git does not track; it may contain secrets",
            )

    def _limited(self, ref: Ref) -> Span:
        """The span of a source, within the limits of one check. Raises SourceError."""
        has_limits = bool(self.feature)  # the project's knowledge has none
        self.slow += ref.kind in SLOW
        if has_limits and self.slow > MAX_SLOW:
            raise _too_many()
        span = sources.resolve(ref, self.services.tree)
        self.characters += sum(map(len, span.lines))
        if has_limits and self.characters > MAX_CHARACTERS:
            raise _too_many()
        return span

    def _is_own(self, path: str) -> bool:
        if path not in self.own:
            self.own[path] = source_paths.is_own(path, self.services.tree)
        return self.own[path]

    def _is_private(self, path: str) -> bool:
        """Whether `path` is a `.env` file that git does not track: a digest would leak secrets."""
        if path not in self.private:
            self.private[path] = self._is_untracked_env_file(path)
        return self.private[path]

    def _is_untracked_env_file(self, path: str) -> bool:
        root, tree = self.services.layout, self.services.tree
        try:
            real = tree.real(path)
        except PrereadError:
            return False
        return is_env_file(real.name) and root.relative(real) not in tree.files

    def _external(self, ref: Ref) -> Span:
        span = sources.external_span(ref)
        self.normalized[ref.name] = self.answers.containing(ref.name)
        listed = self.published.spans.get(ref.name) if self.published is not None else None
        if self.normalized[ref.name] or listed == span.digest:
            return span
        return sources.resolve(ref, self.services.tree)

    def contains(self, quote: str, source: str, span: Span) -> bool:
        """Whether a span contains a quote, ignoring differences in white space and comment marks.

        The names of the symbols in and around the span count as part of it, also as `A.b`,
        `A::b`, `A#b` and `b()`. So does `b()` for a call or definition of `b` with arguments, and
        `A.b` for a word `b` of the lines, such as a field, with the symbol `A` in or around them.
        """
        if source not in self.normalized:
            self.normalized[source] = tuple(_normalized(span))
        needle = _one_line(quote)
        return (
            any(_has(reading, needle) for reading in self.normalized[source])
            or (not needle.isidentifier() and self._has_tight(_tight(needle), source))
            or (len(span.lines) > 1 and _has(_joined(span.lines), _joined([needle])))
            or (needle.endswith("()") and self._is_called(needle.removesuffix("()"), source))
            or self._is_named(needle, source, span.names)
        )

    def _is_named(self, needle: str, source: str, names: frozenset[str]) -> bool:
        name = fact_text.dotted(needle)
        is_name = _is_name(name, names) or _is_name(needle, names)  # `Cart > #add`
        return is_name or self._is_field(name, source, names)

    def _is_field(self, name: str, source: str, names: frozenset[str]) -> bool:
        symbol, _, field = name.rpartition(".")
        if symbol not in names or not field.isidentifier():
            return False
        word = re.compile(rf"(?<!\w){re.escape(field)}(?!\w)")
        return any(word.search(text) for text in self.normalized[source])

    def _has_tight(self, quote: str, source: str) -> bool:
        return any(_has(_tight(reading), quote) for reading in self.normalized[source])

    def _is_called(self, name: str, source: str) -> bool:
        pattern = re.compile(rf"(?<!\w){re.escape(name)}\(")
        return any(pattern.search(reading) for reading in self.normalized[source])

    def lines_with(self, quote: str, source: str) -> list[tuple[str, int]]:
        """Where else the cited file has a quote: its path, with each line that it starts on."""
        ref = sources.parse(source)
        if ref is None or ref.kind not in FILE_KINDS:
            return []
        if self._is_own(ref.path) or self._is_private(ref.path):
            return []
        if ref.path not in self.starts:
            self.starts[ref.path] = _Starts(self.services.tree.cited_lines(ref.path) or [])
        return [(ref.path, line) for line in self.starts[ref.path].of(_one_line(quote))]

    def is_known(self, text: str) -> bool:
        """Whether the project's knowledge has a fact in these words."""
        return _one_line(text).casefold() in self._known

    @cached_property
    def _known(self) -> frozenset[str]:
        text = self.services.tree.text(".project/knowledge.md") or ""
        facts = markdown.parse("knowledge.md", "", text)[0].facts
        return frozenset(_one_line(fact.text).casefold() for fact in facts)

    def was_verified(self, identity: str, refs: Iterable[str]) -> bool:
        """Whether the published build found this fact in a server's answer, which is not stored."""
        known = self.published is not None and identity in self.published.facts
        return known and any(not self.normalized.get(ref, True) for ref in refs)


def _too_many() -> SourceError:
    return SourceError("E_SOURCE_MANY", "the dossier has too many or too large sources")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _has(text: str, quote: str) -> bool:
    return next(fact_text.places(quote, text), None) is not None


def _tight(line: str) -> str:
    """A line without the white space that formatters add or remove: all but that between words."""
    return re.sub(r"\s+(?!\w)|(?<!\w)\s+", "", line)


def _joined(lines: Sequence[str]) -> str:
    """Lines joined without white space, and without commas that formatters add at line breaks."""
    rows = [re.sub(r"\s+", "", line) for line in lines]
    return re.sub(r",\n(?=[)\]}])", "", "\n".join(rows)).replace("\n", "")


def _normalized(span: Span) -> Iterable[str]:
    """A span as one line, with and without its comment marks."""
    yield _one_line(" ".join(span.lines))
    yield _one_line(" ".join(COMMENT_MARK.sub("", line.strip()) for line in span.lines))


def _is_name(quote: str, names: frozenset[str]) -> bool:
    """Whether a quote is one of these names, or some words of one, such as a test's title."""
    if quote in names:
        return True
    titles = [name for name in names if quote in name and " " in name]
    words = rf"(?<!\w){re.escape(quote)}(?!\w)"
    return any(re.search(words, title) for title in titles)
