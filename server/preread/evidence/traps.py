"""Traps: warnings in comments, deprecated helpers, documents against code, parameters never read, what was taken back."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple


from preread.evidence import phrases, words
from preread.evidence.history import Patch
from preread.evidence.view import FileView, View
from preread.models import Finding
from preread.sources import Ref

STRONG = re.compile(
    r"(?i)\b(don['’]?t|do not|never|must not|mustn['’]?t|careful|beware|race|deadlock|security|CVE-\d|unsafe|dangerous|workaround|hack|breaks?|otherwise"
    r"|subtle|surprising(ly)?|historically|order matters|on purpose|intentional(ly)?)\b|\b(WARNING|HACK|XXX|FIXME|BUG|CAREFUL|IMPORTANT|ATTENTION)\b"
)
WEAK = re.compile(r"\b(NOTE|TODO|N\.B\.)\b|(?i:\b(must|only because|assum\w+|legacy|backwards?[- ]compat\w*|for now|temporary|compatibility)\b)|(?<![\w&])#\d{2,6}\b|\bgh-\d+|issues/\d+")
TOOLING = re.compile(r"(?i)^\W*(type:|noqa|pragma|eslint|prettier|ts-(ignore|expect)|pylint|mypy|nosec|fmt:|ruff|isort|@ts-|istanbul|v8 ignore|region|copyright|spdx|licensed?\b|sourcemapping)")
CODE_LIKE = re.compile(r"[;{}]\s*$|^\s*(return|const|let|var|if|for|import|from|def|self\.)\b.*[=(:]")
DEPRECATED = re.compile(r"(?i)@deprecated\b|\bdeprecated\b|DeprecationWarning|PendingDeprecationWarning")
INSTEAD = re.compile(r"(?i)(?:use|call|prefer|replaced by|superseded by|in favou?r of|instead of \w+,? use|switch to|see)\s+[`'\":]*(?:\w+:`)?[~.]*([A-Za-z_][\w.]*(?:\(\))?)")
NUMBER = re.compile(r"(?<![\w.#/-])(\d[\d_,]*(?:\.\d+)?)(?![\w.]*\.\w)")
UNITS = frozenset({"s", "ms", "sec", "second", "minut", "hour", "day", "default", "def", "in", "of", "the"})
SCALES = (1, 1000, 1 / 1000, 60, 1 / 60, 3600, 1 / 3600, 86400, 1 / 86400, 100, 1 / 100, 1024, 1 / 1024, 60_000, 1 / 60_000)
ASSIGN = re.compile(r"^\s*(?:export\s+)?(?:const|let|var|static|final|public|private|readonly|\s)*([A-Za-z_][\w.]*)\??\s*(?::\s*[\w\[\]| .<>]+?)?\s*[=:]\s*([\"']?[\w.+-]+[\"']?)\s*[,;]?\s*(?:#.*|//.*)?$")
SLEEP = re.compile(r"(\w+\.)*(waitForTimeout|sleep|setTimeout)\([^)]*\)")
NEWS = re.compile(r"(?i)change|history|news|release|migrat|upgrad|whatsnew|roadmap|todo|adr")
NAME_IN_DOC = re.compile(r"`{1,2}([A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+)`{1,2}")


def warnings(view: View) -> Iterator[Finding]:
    """Comments at the feature's symbols that warn."""
    n = 0
    for file in (*view.sources[:8], *view.tests[:4]):
        for comment in file.details.comments:
            folded = " ".join(comment.text.split())
            if TOOLING.search(folded) or CODE_LIKE.search(comment.text) or len(folded) < 20 or n >= 14:
                continue
            strong, weak = STRONG.search(folded), WEAK.search(folded)
            here = view.is_hot(file, comment.start) or view.is_hot(file, comment.end + 1) or view.relevance(folded) >= 1
            if not (strong or weak) or not here or DEPRECATED.search(folded) or len(folded) > 900:
                continue
            said = _around(folded, (strong or weak).start() if strong or weak else 0)
            n += 1
            where = f"{phrases.code(comment.within)}: " if phrases.provable(comment.within) and re.fullmatch(r"[\w.]+", comment.within) else ""
            yield Finding(
                rule="warnings",
                kind="warning",
                text=where + phrases.quote(said, 150),
                sources=(file.cite(comment.start, comment.end),),
                reason=f"a comment that warns: {(strong or weak)[0] if strong or weak else ''}",
                score=(0.75 if strong else 0.5) + 0.15 * min(1.0, view.relevance(folded)) - (0.2 if file.role != "source" else 0),
            )


def _around(text: str, at: int) -> str:
    """The sentence that holds position `at`, without a leading mark."""
    start = max(text.rfind(". ", 0, at) + 2 if text.rfind(". ", 0, at) >= 0 else 0, 0)
    end = text.find(". ", at)
    return text[start : end if end >= 0 else len(text)].strip().rstrip(".")


def deprecated(view: View) -> Iterator[Finding]:
    """Deprecated names in the feature's files, with what replaces them."""
    for file in (*view.sources[:8], *view.tests[:6]):
        seen: set[str] = set()
        for symbol in file.outline.symbols:
            if symbol.kind == "heading" or symbol.name in seen:
                continue
            first = max(1, symbol.start - 14)
            above = _comment_above(file, symbol.start, first)
            body = file.lines[symbol.start - 1 : min(symbol.end, symbol.start + 25)]
            marked = any(DEPRECATED.search(d) for d in symbol.decorators) or re.search(r"@deprecated", "\n".join(above))
            warns = symbol.kind not in {"class", "interface"} and _warns_first(body)
            if not (marked or warns):
                continue
            seen.add(symbol.name)
            block = [*above, *body] if marked else body
            start = symbol.start - len(above) if marked else symbol.start
            yield from _deprecated(view, file, symbol.name, block, start, symbol.start)


def _warns_first(body: list[str]) -> bool:
    """Whether a function announces its own deprecation, at the level of its body and not for one argument."""
    indent = min((len(line) - len(line.lstrip()) for line in body[1:] if line.strip()), default=0)
    for i, line in enumerate(body[1:], 1):
        if re.match(r"\s*(?:warnings\.)?warn\(|\s*console\.warn\(", line) and len(line) - len(line.lstrip()) == indent:
            return bool(re.search(r"DeprecationWarning|(?i:deprecated)", " ".join(body[i : i + 6])))
    return False


def _comment_above(file: FileView, start: int, first: int) -> list[str]:
    """The comment and decorator lines right above a definition."""
    at = start - 1
    while at >= first and re.match(r"\s*(//|/\*|\*|#|@)", file.lines[at - 1]):
        at -= 1
    return file.lines[at : start - 1]


def _deprecated(view: View, file: FileView, name: str, block: list[str], start: int, at: int) -> Iterator[Finding]:
    i = next((i for i, line in enumerate(block) if DEPRECATED.search(line)), 0)
    text = " ".join(re.sub(r"^\s*(\*|//|#|\"\"\")\s?", "", line).strip() for line in block[i : i + 5])
    instead = next((m[1] for m in INSTEAD.finditer(text) if m[1].strip("()") not in {name, "the", "a", "it", "this", "instead"}), "")
    end = max(at, min(start + i + 4, start + len(block) - 1))
    if instead and phrases.provable(instead.strip("()")):
        what = f": use {phrases.code(instead)}"
    else:
        what = f": {phrases.plain(phrases.sentence(re.sub(r'^.*?@?deprecated:?', '', text, flags=re.IGNORECASE), 90))}" if "deprecated" in text.lower() else ""
    yield Finding(
        rule="deprecated",
        kind="deprecated",
        text=f"{phrases.code(name)} is deprecated{what if len(what) > 6 else ''}",
        sources=(file.cite(min(start + i, at), end),),
        reason="marked as deprecated in the feature's files",
        score=0.7 + 0.2 * min(1.0, view.relevance(name)),
    )


# -- documents against code


class _Value(NamedTuple):
    name: str
    number: float
    file: FileView
    line: int


def _numbers(text: str) -> list[float]:
    found = []
    for raw in NUMBER.findall(text):
        try:
            found.append(float(raw.replace("_", "").replace(",", "")))
        except ValueError:
            continue
    return found


def _values(view: View) -> Iterator[_Value]:
    """Names of the feature with one number each: constants, fields, defaults."""
    for file in view.sources[:6]:
        for member in file.details.members:
            if member.kind in {"constant", "field"} and view.is_hot(file, member.line):
                numbers = _numbers(member.value)
                if len(numbers) == 1 and re.fullmatch(r"[\d_.,]+\w{0,2}", member.value.strip()):
                    yield _Value(member.name, numbers[0], file, member.line)


def documents_against_code(view: View) -> Iterator[Finding]:
    """The same name with two values: one in the documents, one in the code; and documented names that are nowhere."""
    docs = [doc for doc in view.docs if not NEWS.search(doc.path)]
    for value in _values(view):
        yield from _disagreement(view, docs, value)
    yield from _documented_only(view, docs)


def _disagreement(view: View, docs: list[FileView], value: _Value) -> Iterator[Finding]:
    named = {s for s in words.stems(value.name)} - UNITS
    for doc in docs:
        for number, line in enumerate(doc.lines, 1):
            literal = re.search(rf"(?<!\w){re.escape(value.name)}(?!\w)", line)
            said = words.stems_of(line)
            if not literal and not (len(named) >= 2 and named <= said and (view.relevance(doc.path) >= 1 or view.relevance(line) >= 1)):
                continue
            rest = line.replace(value.name, "")
            numbers = _numbers(rest)
            if not numbers or len(numbers) > 3 or any(_same(value.number, other) for other in numbers):
                continue
            yield Finding(
                rule="documents_against_code",
                kind="disagreement",
                text=f"{phrases.code(value.name)}: documents say {phrases.quote_line(doc, number, 90)}; code has {phrases.quote_line(value.file, value.line, 70)}",
                sources=(doc.cite(number), value.file.cite(value.line)),
                reason="one name, two values",
                score=1.0 if literal else 0.8,
            )
            return


def _same(code: float, said: float) -> bool:
    return any(abs(code * scale - said) <= 1e-9 * max(1.0, abs(said)) for scale in SCALES)


def _documented_only(view: View, docs: list[FileView]) -> Iterator[Finding]:
    """Names that a document of the feature gives as code and that stand in no file but documents."""
    n = 0
    roles = ("source", "test", "support", "config", "data", "generated")
    globs = _source_globs(view)
    for doc in docs:
        for number, line in enumerate(doc.lines, 1):
            for name in NAME_IN_DOC.findall(line):
                about = view.relevance(doc.path) >= 1 or view.relevance(line, name) >= 1
                if len(name) < 6 or not about or n >= 4 or view.candidates(name, roles) or not globs:
                    continue
                paths = {p for glob in globs for p in view.services.tree.matching(glob)}
                if view.holding(name, paths):
                    continue
                n += 1
                yield Finding(
                    rule="documents_against_code",
                    kind="disagreement",
                    text=f"{phrases.code(name)} is documented and stands nowhere in the code",
                    sources=(doc.cite(number), *(str(Ref("absent", glob, name=name)) for glob in globs)),
                    reason="a documented name that no source holds",
                    score=0.9,
                )


def _source_globs(view: View) -> list[str]:
    """Globs of the files in which the feature's code is written: its languages' suffixes, at most two."""
    suffixes = [f.path.rpartition(".")[2] for f in view.sources[:4] if "." in f.path]
    return [f"**/*.{suffix}" for suffix in dict.fromkeys(suffixes)][:2]


# -- parameters


def unread_parameters(view: View) -> Iterator[Finding]:
    """Parameters of the feature's own functions whose names their bodies never hold."""
    for file in view.sources[:6]:
        owners: dict[str, list[str]] = defaultdict(list)
        for symbol in file.outline.symbols:
            if symbol.kind == "class":
                owners[symbol.name] = re.findall(r"\((.*)\)", symbol.signature)[:1]
        for parameter in file.details.parameters:
            symbol_ = next((s for s in file.outline.symbols if s.name == parameter.function.rpartition(".")[2] and s.start <= parameter.line <= s.end), None)
            if parameter.used or symbol_ is None or not view.is_hot(file, parameter.line) or symbol_.decorators or symbol_.name.startswith("__"):
                continue
            bases = (owners.get(symbol_.container.rpartition(".")[2]) or [""])[0]
            if bases or re.search(r"\b(implements|extends)\b", next((s.signature for s in file.outline.symbols if s.name == symbol_.container), "")):
                continue  # a base class may ask for it
            yield Finding(
                rule="unread_parameters",
                kind="unread",
                text=f"{phrases.code(parameter.name) if phrases.provable(parameter.name) else parameter.name} of {phrases.code(symbol_.name)} is never read: setting it changes nothing",
                sources=(file.cite(parameter.line if parameter.line <= symbol_.start else symbol_.start, max(parameter.line, symbol_.start)),),
                reason="a parameter that its function does not use",
                score=0.8,
            )


# -- history


def reverts(view: View) -> Iterator[Finding]:
    """What was tried and taken back, with the reason if one was given."""
    n = 0
    for commit in view.commits:
        if not commit.is_revert or n >= 5:
            continue
        about = view.relevance(commit.subject, commit.body)
        if about < 0.5 and not (len(commit.files) <= 8 and any(view.relevance(p) >= 1 for p in commit.files)):
            continue
        n += 1
        original = re.search(r"reverts commit ([0-9a-f]{7,40})", commit.body)
        body = re.sub(r"This reverts commit [0-9a-f]+[.,]?", "", commit.body).strip()
        why = phrases.plain(phrases.clip(body, 150)) if len(body) > 20 and not re.match(r"(?i)co-authored|signed-off|closes|https?:", body) else ""
        title = phrases.subject(commit.subject)
        cites = [f"commit:{commit.sha[:9]}"]
        if original and view.services.tree.git("cat-file", "-e", f"{original[1]}^{{commit}}").status == 0:
            cites.append(f"commit:{original[1][:9]}")
        yield Finding(
            rule="reverts",
            kind="reverted",
            text=f"{phrases.quote(title, 100)} was taken back" + (f": {why}" if why else ""),
            sources=tuple(cites),
            reason="a revert that touched the feature's files",
            score=0.8 + 0.15 * min(1.0, about),
        )


def back_and_forth(view: View) -> Iterator[Finding]:
    """Values that were changed and changed back: A → B → A."""
    history: dict[tuple[str, str], list[tuple[str, str, Patch]]] = defaultdict(list)
    for patch in view.patches:  # newest first
        removed, added = _assignments(patch.removed), _assignments(patch.added)
        for name in removed.keys() & added.keys():
            if removed[name] != added[name]:
                history[patch.path, name].append((removed[name], added[name], patch))
    n = 0
    for (path, name), steps in history.items():
        later = next((i for i in range(len(steps) - 1) if steps[i][1] == steps[i + 1][0] and steps[i][0] == steps[i + 1][1]), None)
        if later is None or n >= 4 or not (view.relevance(name) or view.relevance(path) >= 1):
            continue
        n += 1
        (before, now, latest), (_, _, earlier) = steps[later], steps[later + 1]
        yield Finding(
            rule="back_and_forth",
            kind="reverted",
            text=f"{phrases.code(name)} went from {now} to {before} and back: {phrases.quote(phrases.subject(latest.commit.subject), 90)}",
            sources=(f"commit:{latest.commit.sha[:9]}", f"commit:{earlier.commit.sha[:9]}"),
            reason="a value changed and changed back",
            score=0.9,
        )


def _assignments(lines: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for line in lines:
        if (match := ASSIGN.match(line)) and re.search(r"\d|true|false|True|False|[\"']", match[2]) and len(match[1]) >= 4:
            found[match[1]] = match[2]
    return found


def replaced_sleeps(view: View) -> Iterator[Finding]:
    """Sleeps that a commit took out of the feature's tests, with the wait that it put there."""
    n = 0
    for patch in view.patches:
        if not any(file.path == patch.path and file.role != "source" for file in view.tests):
            continue
        gone = next((m[0] for line in patch.removed if (m := SLEEP.search(line))), "")
        new = next((line.strip() for line in patch.added if re.search(r"(?i)wait|poll|until|expect\(|toBe|clock|freeze|timers", line)), "")
        if not gone or any(SLEEP.search(line) for line in patch.added) or n >= 3:
            continue
        n += 1
        yield Finding(
            rule="replaced_sleeps",
            kind="reverted",
            text=f"do not wait by {phrases.quote(gone, 60)}" + (f": replaced by {phrases.quote(new.rstrip(';'), 80)}" if new else ": taken out"),
            sources=(f"commit:{patch.commit.sha[:9]}",),
            reason="a sleep that was replaced",
            score=0.85,
        )


