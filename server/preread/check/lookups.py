"""What the sources of one check say: each looked up once, within bounds, and searched for quotes."""

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

MOST_CHARACTERS = 20_000_000  # of all sources of one dossier, which has a thousandth of that
MOST_SLOW = 100  # sources of one dossier that are a run of git or a search of many files
SLOW = frozenset({"commit", "absent"})
COMMENT_MARK = re.compile(r"^(?:#+!?|//+!?|/?\*+/?|--|<!--|\"\"\"|;+|%+|>+)\s?|(?:\*/|-->)$")
# A reference stands whole where no character of a longer one is beside it; punctuation after it ends a sentence.
BEFORE = re.compile(r"[\w+.%/-]")
AFTER = re.compile(r"[.,;:!?'*~]*+[\w/%&=#+@$(-]")
ESCAPES = {r"\n": " ", r"\r": " ", r"\t": " ", r"\"": '"', r"\/": "/", r"\\": "\\"}


class Answers:
    """What the configured servers answered in this run; often JSON, so it is read without its escapes, too."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(texts)

    @cached_property
    def readings(self) -> tuple[str, ...]:
        plain = [
            re.sub(r"\\[nrt\"/\\]", lambda match: ESCAPES[match[0]], text) for text in self.texts
        ]
        return tuple(_one_line(text) for text in dict.fromkeys((*self.texts, *plain)))

    def holding(self, reference: str) -> tuple[str, ...]:
        """The answers in which a reference stands whole."""
        return tuple(text for text in self.readings if _stands_whole(reference, text))


def _stands_whole(reference: str, text: str) -> bool:
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
        self, services: Services, feature: str, answers: Answers, *, standing: bool
    ) -> None:
        self.services, self.feature, self.answers, self._standing = (
            services,
            feature,
            answers,
            standing,
        )
        self.resolved: dict[str, Span | SourceError] = {}
        self.readings: dict[str, tuple[str, ...]] = {}
        self.own: dict[str, bool] = {}
        self.characters = self.slow = 0

    @cached_property
    def published(self) -> Manifest | None:
        """The manifest of the dossier that stands, whose external references were verified in the run that made it."""
        if not self._standing or not is_feature(self.feature):
            return None
        found = published.read(self.services.layout, self.feature)
        return found.manifest if found is not None else None

    def span(self, text: str) -> Span | SourceError:
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
            raise SourceError("E_SOURCE_FORM", f"`{text[:80]}` is no source")
        if ref.kind == "external":
            return self._external(ref)
        if ref.path and ref.kind != "absent" and self._is_own(ref.path):
            raise SourceError(
                "E_SOURCE_OWN",
                f"`{text[:80]}` is a file of Preread's or git's own, which proves nothing",
            )
        if ref.path and ref.kind != "absent" and self._is_private(ref.path):
            raise SourceError(
                "E_SOURCE_SECRET",
                f"`{text[:80]}` is an .env file of this machine, which no fact rests on",
            )
        self.slow += ref.kind in SLOW
        if (
            self.slow <= MOST_SLOW or not self.feature
        ):  # the project's knowledge grows without a budget
            span = sources.resolve(ref, self.services.tree)
            self.characters += sum(map(len, span.lines))
            if self.characters <= MOST_CHARACTERS or not self.feature:
                return span
        raise SourceError("E_SOURCE_MANY", "these are more sources than a dossier has")

    def _is_own(self, path: str) -> bool:
        if path not in self.own:
            self.own[path] = sources.is_own(path, self.services.tree)
        return self.own[path]

    def _is_private(self, path: str) -> bool:
        """Whether it is an `.env` file that git does not have: what quotes would find, and digests tell, is secret."""
        try:
            real = self.services.layout.real(self.services.layout.inside(path))
        except PrereadError:
            return False
        return (
            is_env_file(real.name)
            and self.services.layout.relative(real) not in self.services.tree.files
        )

    def _external(self, ref: Ref) -> Span:
        span = sources.external_span(ref)
        self.readings[ref.name] = self.answers.holding(ref.name)
        listed = self.published.spans.get(ref.name) if self.published is not None else None
        if self.readings[ref.name] or listed == span.digest:
            return span
        return sources.resolve(ref, self.services.tree)

    def stands(self, quote: str, source: str, span: Span) -> bool:
        """Whether a quote stands in a span, white space collapsed; comment marks at line ends count as white space."""
        if source not in self.readings:
            self.readings[source] = tuple(_readings(span))
        needle = _one_line(quote)
        return any(needle in reading for reading in self.readings[source]) or needle in span.names

    def was_verified(self, identity: str, refs: Iterable[str]) -> bool:
        """Whether the run that made the standing dossier found this fact in an answer, which is not kept."""
        known = self.published is not None and identity in self.published.facts
        return known and any(not self.readings.get(ref, True) for ref in refs)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _readings(span: Span) -> Iterable[str]:
    """A span on one line: as it is, and without its comment marks."""
    yield _one_line(" ".join(span.lines))
    yield _one_line(" ".join(COMMENT_MARK.sub("", line.strip()) for line in span.lines))
