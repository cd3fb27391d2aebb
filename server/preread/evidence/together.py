"""What changes together: methods with twins that only call them, places that list the same options, documents that
commits about the feature touch too."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preread.dossier import code
from preread.evidence import phrases
from preread.evidence.view import FileView, View
from preread.index import commits
from preread.models import Finding
from preread.sources import Ref

if TYPE_CHECKING:
    from preread.syntax import Member, Symbol

LEAST, MOST, WIDE = (
    3,
    2,
    10,
)  # members or methods that make a family; facts; lines that one list takes
ALONGSIDE = re.compile(
    r"(?i)(^|/)(change|history|news|release|readme|upgrad|migrat)|\.(md|mdx|rst|txt)$|(^|/)(docs?|newsfragments|changes)/"
)
LATEST, SHARE = (
    30,
    0.4,
)  # commits to the feature that are looked at, and how many of them must agree


def facades(view: View) -> Iterator[Finding]:
    """Methods with a function of the module beside them that only calls them on one shared instance."""
    for file in view.sources[:4]:
        methods = {s.name: s for s in file.outline.symbols if s.kind == "method"}
        pairs: list[tuple[Symbol, Symbol]] = []
        for symbol in file.outline.symbols:
            if symbol.kind != "function" or symbol.container or symbol.name not in methods:
                continue
            body = "\n".join(file.lines[symbol.start - 1 : symbol.end])
            if symbol.end - symbol.start <= WIDE and re.search(
                rf"\w\.{re.escape(symbol.name)}\(", body
            ):
                pairs.append((methods[symbol.name], symbol))
        hot = [pair for pair in pairs if view.heat(file, pair[0].start) >= 0.45]
        hot.sort(key=lambda pair: (-view.heat(file, pair[0].start), pair[0].start))
        if len(pairs) >= LEAST and hot and phrases.provable(hot[0][0].name):
            method, function = hot[0]
            start, end = min(method.start, function.start), max(method.start, function.end)
            cites = (
                [file.cite(start, end)]
                if end - start < 40
                else [file.cite(method.start), file.cite(function.start, function.end)]
            )
            yield _shape(
                "facades",
                "twin",
                f"{code(method.name)} and {len(pairs) - 1} other methods each have a twin in the package that calls the"
                " method on one global instance: change both",
                cites,
                "a function of the same name that only hands over to the method",
                0.7,
            )


def _shape(
    rule: str, kind: str, text: str, sources: list[str], reason: str, score: float
) -> Finding:
    return Finding(
        rule=rule,
        kind=kind,
        text=text,
        sources=tuple(dict.fromkeys(sources)),
        reason=reason,
        score=score,
    )


def listed_again(view: View) -> Iterator[Finding]:
    """Where else the members of one of the feature's families stand together: a new one goes there too."""
    n = 0
    for file in view.sources[:6]:
        families: dict[str, list[Member]] = defaultdict(list)
        for member in file.details.members:
            if (
                member.owner
                and member.kind in {"field", "option", "enum", "union"}
                and view.heat(file, member.line) >= 0.45
            ):
                families[member.owner].append(member)
        for owner, members in families.items():
            names = list(dict.fromkeys(member.name for member in members if len(member.name) >= 4))
            telling = sorted((name for name in names if len(name) >= 8), key=len, reverse=True)[:4]
            if len(names) < LEAST or not telling or n >= MOST or not phrases.provable(owner):
                continue
            places = [
                place
                for path in _holders(view, file, telling)
                for place in _lists(view, path, telling)
            ][:3]
            if not places:
                continue
            n += 1
            counts = Counter(path.rpartition("/")[2] for path, _, _ in places)
            where = ", ".join(
                f"{name} twice" if many == 2 else name for name, many in counts.items()
            )
            first, last = min(m.line for m in members), max(m.line for m in members)
            at = next(
                (
                    line
                    for line in range(first, max(0, first - 12), -1)
                    if owner in file.lines[line - 1]
                ),
                0,
            )
            if at:
                yield _shape(
                    "listed_again",
                    "twin",
                    f"a new option of {code(owner)} goes into {where} too, where the others stand",
                    [
                        *(str(Ref("lines", path, a, b)) for path, a, b in places),
                        file.cite(at, last),
                    ],
                    "other files name the same members one beside the other",
                    0.6,
                )


def _holders(view: View, file: FileView, names: list[str]) -> list[str]:
    """Files that may hold the most telling of these names, the feature's own documents and code first."""
    paths = [path for path in view.candidates(names[0], ("source", "doc")) if path != file.path][
        :20
    ]
    near = {one.path for one in (*view.sources, *view.docs)}
    return sorted(paths, key=lambda path: (path not in near, path))[:8]


def _lists(view: View, path: str, names: list[str]) -> Iterator[tuple[str, int, int]]:
    """Spans of a file that hold at least two of these names."""
    found = [
        (number, name)
        for number, line in enumerate(view.services.tree.lines(path) or (), 1)
        for name in names
        if name in line and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", line)
    ]
    at = 0
    while at < len(found):
        near = [pair for pair in found[at:] if pair[0] - found[at][0] <= WIDE]
        if len({name for _, name in near}) > 1:
            yield path, near[0][0], near[-1][0]
        at += len(near)


def companions(view: View) -> Iterator[Finding]:
    """Documents that the commits to the feature's first files change too."""
    own = {file.path for file in view.sources[:2]}
    latest = [
        one for one in commits.commits(view.connection).values() if own.intersection(one.paths)
    ][:LATEST]
    counts = Counter(path for one in latest for path in one.paths if ALONGSIDE.search(path))
    for path, many in counts.most_common(1):
        if many < LEAST or many < SHARE * len(latest) or path not in view.services.tree.files:
            continue
        yield _shape(
            "companions",
            "caller",
            f"{many} of the last {len(latest)} commits to its code change {code(path)} too",
            [f"commit:{one.sha[:9]}" for one in latest if path in one.paths][:2],
            "a change of the feature comes with a line there",
            0.55,
        )
