"""What rules look at: the feature's files, symbols and tests, each with how strongly it belongs to the feature."""

import math
import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from itertools import chain
from typing import Any, TypeVar

from preread.evidence import cases
from preread.evidence.pieces import FileView, HotCase, HotSymbol, views_of
from preread.index import gitlog, words
from preread.index.analysis import Kept
from preread.layout import PROJECT
from preread.models import Request
from preread.ranking.fusion import Query
from preread.services import Services
from preread.syntax import Outline, Symbol

__all__ = ["FileView", "HotCase", "HotSymbol", "View", "views_of"]

MOST_SYMBOLS = 24
SYMBOL_FLOOR = 0.35  # of the best symbol's score; what is below belongs to something else
FEW_SYMBOLS, LOW_FLOOR = 12, 0.15  # where so few are above it, those that follow


@dataclass
class View:
    """One request's view of the project, shared by all rules. Lists are best first."""

    services: Services
    connection: sqlite3.Connection
    request: Request
    query: Query
    kept: Kept
    sources: list[FileView]
    tests: list[FileView]
    docs: list[FileView]
    ticket: str = ""
    knowledge: str = ""
    notes: list[str] = field(default_factory=list)
    memo: dict[str, Any] = field(
        default_factory=dict
    )  # what several rules ask for, by who works it out

    @property
    def whole_project(self) -> bool:
        return self.request.feature == PROJECT

    @cached_property
    def wanted(self) -> frozenset[str]:
        """Stems of the feature's own words."""
        return frozenset(words.stem(word) for word in self.query.feature)

    @cached_property
    def joined(self) -> str:
        """The feature's words as one, as modules and settings often write them: `httpcache`; empty for one word."""
        one = "".join(self.query.feature).lower() if len(self.query.feature) > 1 else ""
        return one if len(one) > 5 else ""

    @cached_property
    def also(self) -> frozenset[str]:
        """Stems of the description's words."""
        return frozenset(words.stem(word) for word in self.query.description)

    @cached_property
    def spelled(self) -> frozenset[str]:
        """Identifiers that the description spells out: `BindEnv`, `line_ranges`, `click.confirm`, no plain words."""
        found = words.IDENTIFIER.findall(self.request.description)
        named = {name for name in found if "_" in name.strip("_") or re.search(r"[a-z][A-Z]", name)}
        return frozenset(named) | frozenset(
            re.findall(r"(?<=\w\.)[A-Za-z]\w+", self.request.description)
        )

    @cached_property
    def initials(self) -> frozenset[str]:
        """What three words of the description in a row are called for short: `sse` for server-sent events."""
        runs = [
            run.lower().split()
            for run in re.split(r"[^A-Za-z\s-]", self.request.description.replace("-", " "))
        ]
        rows = [run[i : i + 3] for run in runs for i in range(len(run) - 2)]
        return frozenset(
            "".join(word[0] for word in row) for row in rows if not words.STOP.intersection(row)
        )

    def relevance(self, *names: str) -> float:
        """How much these identifiers or sentences are about the feature: 1 when they hold all its words."""
        if self.whole_project:
            return 1.0
        known = self._relevances.get(names)
        if known is None:
            known = self._relevances[names] = self._relevance(names)
        return known

    @cached_property
    def _relevances(self) -> dict[tuple[str, ...], float]:
        return {}

    def _relevance(self, names: tuple[str, ...]) -> float:
        if not any(map(self._may_hold_a_word, names)):
            return 0.0
        found = set(chain.from_iterable(map(words.IDENTIFIER.findall, names)))
        held = frozenset().union(*map(words.stems, found))
        short = self.initials & held and self.initials & {
            p.lower() for name in found for p in words.parts(name)
        }
        whole = short or (self.joined and any(self.joined in name.lower() for name in found))
        own = 1.0 if whole else len(self.wanted & held) / max(len(self.wanted), 1)
        # Half of a name is mostly another thing's name: it counts a quarter.
        return own * own + 0.5 * (len(self.also & held) / len(self.also) if self.also else 0.0)

    def _may_hold_a_word(self, text: str) -> bool:
        """Not whether it does, which is to look at each of its words, but whether that is worth while."""
        lowered = text.lower()
        return not text.isascii() or any(beginning in lowered for beginning in self._beginnings)

    @cached_property
    def _beginnings(self) -> tuple[str, ...]:
        """What every word with one of the wanted stems holds: a stem is a word's beginning, but for its last letter."""
        return tuple({stem[:-1] for stem in self.wanted | self.also} | self.initials)

    @cached_property
    def symbols(self) -> list[HotSymbol]:
        """The definitions of the top sources that the request is about."""
        found = []
        for file in self.sources:
            at_home = self.relevance(file.path)
            functions = {
                s.name
                for s in file.outline.symbols
                if s.kind in {"function", "method", "component"}
            }
            for symbol in file.outline.symbols:
                if symbol.kind == "heading" or symbol.container.rpartition(".")[2] in functions:
                    continue  # what stands inside a function is its own affair
                score = math.sqrt(file.score) * self._symbol_score(file, symbol, at_home)
                if score > 0:
                    found.append(HotSymbol(file, symbol, score))
        found.sort(key=lambda hot: (-hot.score, hot.file.path, hot.symbol.start))
        best = found[0].score if found else 1.0
        unique: dict[tuple[str, str, str], HotSymbol] = {}
        for hot in found:
            if hot.score < (SYMBOL_FLOOR if len(unique) >= FEW_SYMBOLS else LOW_FLOOR) * best:
                break
            key = (hot.file.path, hot.symbol.container, hot.symbol.name)
            other = unique.get(key)  # overloads: the longest one is the implementation
            if (
                other is None
                or hot.symbol.end - hot.symbol.start > other.symbol.end - other.symbol.start
            ):
                unique[key] = HotSymbol(hot.file, hot.symbol, round(hot.score / best, 3))
        return list(unique.values())[:MOST_SYMBOLS]

    def _symbol_score(self, file: FileView, symbol: Symbol, at_home: float) -> float:
        if self.whole_project:
            outside = self.mentions_of(symbol.name)
            return 0.2 + min(outside, 20) / 20 if symbol.kind != "method" else 0.1
        extra = len(words.stems(symbol.name) - self.wanted - self.also)
        if symbol.name in self.spelled:
            return 2.0  # whatever else its name holds
        named = 2.0 * self.relevance(symbol.name) / (1 + 0.25 * extra) + 0.9 * self.relevance(
            symbol.container
        )
        body = " ".join(file.lines[symbol.start - 1 : min(symbol.end, symbol.start + 200)])
        said = 0.6 * min(1.0, self.relevance(body)) if not named else 0.0
        public = 0.8 if symbol.name.startswith("_") else 1.0
        return public * (named + said + 0.7 * at_home) if named + said + at_home >= 0.3 else 0.0

    def mentions_of(self, identifier: str) -> int:
        """In how many files an identifier stands; cheap, from the index."""
        term = identifier.lower().replace('"', "")
        sql = "SELECT count(*) FROM words WHERE words MATCH ?"
        return (
            int(self.connection.execute(sql, (f'body : "{term}"',)).fetchone()[0])
            if term.strip("_$")
            else 0
        )

    @cached_property
    def cases(self) -> list[HotCase]:
        """The tests that the request is about."""
        return cases.chosen(self)

    @cached_property
    def uses(self) -> re.Pattern[str]:
        """The names of the feature's own definitions."""
        names = [
            hot.symbol.name
            for hot in self.symbols
            if len(hot.symbol.name) > 3 and self.is_telling(hot)
        ]
        return re.compile(
            r"\b(" + "|".join(map(re.escape, names[:20])) + r")\b" if names else r"(?!)"
        )

    def tests_it(self, hot: HotCase) -> bool:
        """Whether a test has to do with the feature beyond its name, which may be of another thing."""
        return cases.tests_it(self, hot)

    def is_telling(self, hot: HotSymbol) -> bool:
        """Whether to use a definition is to be about the feature: not if its name has but one word of several."""
        relevance, name = self.relevance(hot.symbol.name), hot.symbol.name
        return relevance >= 0.5 or (
            relevance > 0 and hot.score >= 0.75 and not (name.isalpha() and name.islower())
        )

    @cached_property
    def case_text(self) -> str:
        """The source of the feature's tests."""
        return "\n".join(
            "\n".join(hot.file.lines[hot.case.start - 1 : hot.case.end]) for hot in self.cases
        )

    def case_text_holds(self, name: str) -> bool:
        return (
            name in self.case_text
            and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.case_text) is not None
        )

    @cached_property
    def test_paths(self) -> list[str]:
        """Every test and test helper of the project."""
        rows = self.connection.execute(
            "SELECT path, role FROM files WHERE role IN ('test', 'support') ORDER BY path"
        ).fetchall()
        homes = {path.rpartition("/")[0].split("/", 1)[0] for path, role in rows if role == "test"}
        # A library's own `testing.py` is no test of it.
        return [
            path
            for path, role in rows
            if role == "test" or path.rpartition("/")[0].split("/", 1)[0] in homes
        ]

    @cached_property
    def support_paths(self) -> list[str]:
        rows = self.connection.execute(
            "SELECT path FROM files WHERE role = 'support' ORDER BY path"
        )
        return [path for (path,) in rows]

    def holds(self, literal: str, paths: Iterable[str]) -> bool:
        """Whether any of these files holds a literal text; exact, by reading them."""
        return self.services.tree.containing(literal, paths) is not None

    def outline(self, path: str) -> Outline:
        """The outline of any file: kept, or made now."""
        self.services.progress.check()
        return self.kept.outline(path)

    def candidates(self, identifier: str, roles: Sequence[str]) -> list[str]:
        """Files of these roles that may hold an identifier: from the index, to be confirmed by reading."""
        term = identifier.lower().strip("$").replace('"', "")
        marks = ", ".join("?" * len(roles))
        sql = (
            "SELECT f.path FROM words JOIN files f ON f.id = words.rowid "  # noqa: S608
            f"WHERE words MATCH ? AND f.role IN ({marks}) ORDER BY f.path"
        )
        return (
            [path for (path,) in self.connection.execute(sql, (f'body : "{term}"', *roles))]
            if term.strip("_")
            else []
        )

    @cached_property
    def commits(self) -> list[gitlog.Commit]:
        """The latest commits of the feature's files, newest first."""
        chosen = [f.path for f in (*self.sources[:6], *self.tests[:4])]
        return gitlog.commits_of(self.kept.log, chosen)

    @cached_property
    def told(self) -> list[gitlog.Commit]:
        """Commits whose subjects are about the feature, and those of its files, newest first; the former reach back
        beyond renames."""
        found = {commit.sha: commit for commit in self.commits}
        if not self.whole_project:
            stems = sorted(self.wanted, key=len)
            for commit in gitlog.mentioning(self.kept.log, stems[-2:]):
                if self.relevance(commit.subject) >= 1:
                    found.setdefault(commit.sha, commit)
        return sorted(found.values(), key=lambda commit: commit.date, reverse=True)

    @cached_property
    def patches(self) -> list[gitlog.Patch]:
        """The latest changes of the feature's first files, line by line."""
        return gitlog.patches_of(
            self.kept.log, [f.path for f in (*self.sources[:3], *self.tests[:4])]
        )

    def heat(self, file: FileView, line: int) -> float:
        """How much a line belongs to the feature, 0 to 1: as the innermost definition around it that does."""
        if self.whole_project or self.relevance(file.path) >= 1:
            return 1.0
        around = [
            h for h in self.symbols if h.file is file and h.symbol.start <= line <= h.symbol.end
        ]
        return min(around, key=lambda h: h.symbol.end - h.symbol.start).score if around else 0.0

    def is_hot(self, file: FileView, line: int) -> bool:
        """Whether a line belongs to one of the feature's symbols, or to a file that is the feature's own."""
        if self.whole_project or self.relevance(file.path) >= 1:
            return True
        return any(h.file is file and h.symbol.start <= line <= h.symbol.end for h in self.symbols)


T = TypeVar("T")


def once(rule: Callable[[View], Iterable[T]]) -> Callable[[View], list[T]]:
    """A rule whose findings other rules look at, too: worked out once for each view."""

    @wraps(rule)
    def kept(view: View) -> list[T]:
        name = f"{rule.__module__}.{rule.__name__}"
        if name not in view.memo:
            view.memo[name] = list(rule(view))
        found: list[T] = view.memo[name]
        return found

    return kept
