"""Source lookups of one check: each source is resolved once, within limits, and searched."""

import re
from collections.abc import Iterable
from functools import cached_property

from preread import published, sources
from preread.errors import PrereadError
from preread.gates.feature_names import is_feature
from preread.infra.secrets import is_env_file
from preread.models import Manifest
from preread.services import Services
from preread.sources import Ref, SourceError, Span

MAX_CHARACTERS = 20_000_000  # of all sources of one dossier; a usual dossier's have 20,000
MAX_SLOW = 100  # sources of one dossier that need a git process or a search of many files
SLOW = frozenset({"commit", "absent"})
COMMENT_MARK = re.compile(r"^(?:#+!?|//+!?|/?\*+/?|--|<!--|\"\"\"|;+|%+|>+)\s?|(?:\*/|-->)$")
# A match is a whole reference unless one of these touches it, so that `doc/1` is not found in
# `doc/12`. Punctuation after it may end the sentence, if nothing of a URL follows.
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


class Lookups:
    """The spans of one check of one dossier."""

    def __init__(
        self, services: Services, feature: str, answers: Answers, *, trust_published: bool
    ) -> None:
        self.services, self.feature, self.answers = services, feature, answers
        self._trust_published = trust_published
        self.resolved: dict[str, Span | SourceError] = {}
        self.normalized: dict[str, tuple[str, ...]] = {}
        self.own: dict[str, bool] = {}
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

    def _look_up(self, text: str) -> Span:
        ref = sources.parse(text)
        if ref is None:
            raise SourceError("E_SOURCE_FORM", f"`{text[:80]}` is not a source")
        if ref.kind == "external":
            return self._external(ref)
        if ref.path and ref.kind != "absent" and self._is_own(ref.path):
            raise SourceError(
                "E_SOURCE_OWN",
                f"`{text[:80]}` was written by Preread or git, so it proves nothing",
            )
        if ref.path and ref.kind != "absent" and self._is_private(ref.path):
            raise SourceError(
                "E_SOURCE_SECRET",
                f"`{text[:80]}` is a .env file that git does not track; it may hold secrets",
            )
        self.slow += ref.kind in SLOW
        has_limits = bool(self.feature)  # the project's knowledge has none
        if self.slow <= MAX_SLOW or not has_limits:
            span = sources.resolve(ref, self.services.tree)
            self.characters += sum(map(len, span.lines))
            if self.characters <= MAX_CHARACTERS or not has_limits:
                return span
        raise SourceError("E_SOURCE_MANY", "the dossier has too many or too large sources")

    def _is_own(self, path: str) -> bool:
        if path not in self.own:
            self.own[path] = sources.is_own(path, self.services.tree)
        return self.own[path]

    def _is_private(self, path: str) -> bool:
        """Whether `path` is a `.env` file that git does not track: a digest would leak secrets."""
        root, tree = self.services.layout, self.services.tree
        try:
            real = root.real(root.inside(path))
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

        The names of the symbols around the span count as part of it.
        """
        if source not in self.normalized:
            self.normalized[source] = tuple(_normalized(span))
        needle = _one_line(quote)
        if any(needle in reading for reading in self.normalized[source]):
            return True
        # `A.b`, `A::b`, `A#b` and `b()` name the enclosing symbol.
        named = re.sub(r"::|#", ".", needle.removesuffix("()"))
        return needle in span.names or named in span.names

    def was_verified(self, identity: str, refs: Iterable[str]) -> bool:
        """Whether the published build found this fact in a server's answer, which is not stored."""
        known = self.published is not None and identity in self.published.facts
        return known and any(not self.normalized.get(ref, True) for ref in refs)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _normalized(span: Span) -> Iterable[str]:
    """A span as one line, with and without its comment marks."""
    yield _one_line(" ".join(span.lines))
    yield _one_line(" ".join(COMMENT_MARK.sub("", line.strip()) for line in span.lines))
