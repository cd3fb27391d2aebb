"""What no test mentions: public names, error messages, values of enumerations. Each is proved by an absence."""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from preread.evidence import phrases
from preread.evidence.view import FileView, HotSymbol, View
from preread.languages import language_of
from preread.models import Finding
from preread.sources import Ref
from preread.syntax import Parameter

MOST, MOST_MESSAGES, MOST_OPTIONS = 6, 9, 4
# A test of another language cannot be expected to name a symbol of this one, but may well show its messages.
KIN = ({"JavaScript", "TypeScript", "TSX", "Vue", "Svelte"}, {"Java", "Kotlin"}, {"C", "C++"})
TEST_FOLDER = re.compile(
    r"(?i)(unit|integration|e2e|functional)?[-_]?(__)?(tests?|testing|specs?|e2e|cypress|playwright)(__)?"
)
TEST_NAMES = (
    "test_*.py",
    "*_test.py",
    "*.spec.ts",
    "*.spec.tsx",
    "*.test.ts",
    "*.test.tsx",
    "*.test.js",
    "*.spec.js",
    "*_test.go",
    "*_spec.rb",
    "*Test.java",
)


@lru_cache(maxsize=16)
def test_globs(paths: tuple[str, ...]) -> list[str]:
    """Few globs that together match every one of these test files."""
    left, globs = list(paths), []
    tops: dict[str, int] = {}
    for path in left:
        folders = path.split("/")[:-1]
        depth = next((depth for depth, name in enumerate(folders[:3], 1) if _is_of_tests(name)), 0)
        if depth:
            tops["/".join(folders[:depth])] = tops.get("/".join(folders[:depth]), 0) + 1
    for top, _ in sorted(tops.items(), key=lambda item: -item[1]):
        if any(path.startswith(f"{top}/") for path in left):
            globs.append(f"{top}/**")
            left = [path for path in left if not path.startswith(f"{top}/")]
    for name in TEST_NAMES:
        if any(_is_named(path, name) for path in left):
            globs.append(f"**/{name}")
            left = [path for path in left if not _is_named(path, name)]
    return globs + left


@lru_cache(maxsize=1024)
def _is_of_tests(folder: str) -> bool:
    return bool(TEST_FOLDER.fullmatch(folder))


def _is_named(path: str, pattern: str) -> bool:
    return fnmatchcase(path.rpartition("/")[2], pattern)


def _tests_for(view: View, file: FileView) -> list[str]:
    """The project's tests that could name this file's symbols."""
    language = language_of(file.path)
    mine = language.name if language else ""
    kin = next((group for group in KIN if mine in group), {mine})
    return [p for p in view.test_paths if (other := language_of(p)) is not None and other.name in kin]


def _absent(view: View, literal: str, paths: Sequence[str]) -> tuple[str, ...]:
    """Sources that prove that none of these tests holds a text; none when one does or it would take too many."""
    globs = test_globs(tuple(paths))
    if not paths or len(globs) > 3 or '"' in literal or "`" in literal or "\n" in literal:
        return ()
    if any(set("~,") & set(glob) for glob in globs):
        return ()
    matched = sorted({p for glob in globs for p in view.services.tree.matching(glob)})
    return () if view.holds(literal, matched) else tuple(str(Ref("absent", glob, name=literal)) for glob in globs)


def unmentioned_symbols(view: View) -> Iterator[Finding]:
    """Public functions and classes of the feature whose names stand in no test, one fact a file."""
    found: dict[str, list[tuple[HotSymbol, tuple[str, ...]]]] = {}
    for hot in view.symbols:
        name = hot.symbol.name
        if _is_private(hot) or len(name) < 5 or hot.symbol.kind not in {"function", "method", "class", "component"}:
            continue
        if sum(map(len, found.values())) >= MOST or view.candidates(name, ("test", "support")):
            continue
        if any(other.symbol.name == name for other, _ in found.get(hot.file.path, ())):
            continue
        if absent := _absent(view, name, _tests_for(view, hot.file)):
            found.setdefault(hot.file.path, []).append((hot, absent))
    for group in found.values():
        yield Finding(
            rule="unmentioned_symbols",
            kind="gap",
            text=f"no test names {phrases.names([hot.symbol.name for hot, _ in group], MOST)}",
            sources=tuple(
                dict.fromkeys(s for hot, absent in group for s in (hot.file.cite(hot.symbol.start), *absent))
            ),
            reason="public names of the feature that stand in no test",
            score=0.35 + 0.35 * group[0][0].score,
        )


def _is_private(hot: HotSymbol) -> bool:
    """Whether a definition is not meant for callers outside its file or class."""
    name, language = hot.symbol.name, language_of(hot.file.path)
    spoken = language.name if language else ""
    if spoken == "Go":
        return name[0].islower()
    if spoken in KIN[0] and not hot.symbol.container:
        line = hot.file.lines[hot.symbol.start - 1]
        return "export" not in line and not re.search(rf"(?m)^export\b.*\b{re.escape(name)}\b", hot.file.text)
    return (
        name.startswith("_")
        or "._" in f".{hot.symbol.container}"
        or bool(re.match(r"\s*private\b", hot.symbol.signature))
    )


def unmentioned_messages(view: View) -> Iterator[Finding]:
    """Errors that the feature raises and whose messages no test shows, one fact a function."""
    found: dict[tuple[str, str], list[tuple[str, str, tuple[str, ...]]]] = {}
    n = 0
    for file in view.sources[:8]:
        for item in file.details.raises:
            message = " ".join(item.message.split())
            if len(message) < 12 or message.count(" ") < 2 or n >= MOST_MESSAGES:
                continue
            if not view.is_hot(file, item.line) and view.relevance(message) < 1:
                continue
            literal = message[:60]
            at = _line_holding(file, item.line, literal)
            if not at or not (absent := _absent_shortly(view, literal, _tests_for(view, file))):
                continue
            n += 1
            found.setdefault((file.path, item.within), []).append((literal, file.cite(at), absent))
    for messages in found.values():
        shown = messages[:3]
        yield Finding(
            rule="unmentioned_messages",
            kind="gap",
            text=f"no test shows {phrases.names([literal for literal, _, _ in shown], 3)}",
            sources=tuple(dict.fromkeys(s for _, at, absent in shown for s in (at, *absent))),
            reason="errors of the feature that no test reaches by their messages",
            score=0.62 + 0.1 * min(1.0, max(view.relevance(literal) for literal, _, _ in shown)),
        )


def _absent_shortly(view: View, literal: str, paths: Sequence[str]) -> tuple[str, ...]:
    """Proofs that no test holds a text, by as few of its first words as no test holds."""
    short = literal[:32].rsplit(" ", 1)[0]
    if len(short) >= 16 and (absent := _absent(view, short, paths)):
        return absent
    return _absent(view, literal, paths)


def _line_holding(file: FileView, line: int, literal: str) -> int:
    return next(
        (n for n in range(line, min(line + 6, len(file.lines) + 1)) if literal in " ".join(file.lines[n - 1].split())),
        0,
    )


def unmentioned_members(view: View) -> Iterator[Finding]:
    """Values of the feature's enumerations and options that stand in no test, one fact a family."""
    for file in view.sources[:6]:
        families: dict[str, list[tuple[str, int, tuple[str, ...]]]] = {}
        sizes: dict[str, int] = {}
        for member in file.details.members:
            if member.kind not in {"enum", "union", "option"} or not view.is_hot(file, member.line):
                continue
            sizes[member.owner] = sizes.get(member.owner, 0) + 1
            value = member.value.strip("\"' ")
            name = member.name
            if not phrases.provable(name) or view.candidates(name, ("test", "support")):
                continue
            if value != name and len(value) > 3 and view.holds(value, view.test_paths):
                continue
            if absent := _absent(view, name, view.test_paths):
                families.setdefault(member.owner, []).append((name, member.line, absent))
        for owner, members in families.items():
            if len(members) == sizes[owner] > 3:
                continue  # no test names any: tests reach them by another way, or the family is not what they are about
            listed = members[:3]
            yield Finding(
                rule="unmentioned_members",
                kind="gap",
                text=f"no test names {phrases.names([name for name, _, _ in listed], 3)}"
                + (f" of {owner}" if owner else ""),
                sources=(
                    file.cite(min(n for _, n, _ in listed), max(n for _, n, _ in listed)),
                    *(s for _, _, a in listed for s in a),
                ),
                reason="values of the feature that stand in no test",
                score=0.66,
            )


def unmentioned_options(view: View) -> Iterator[Finding]:
    """Options of the feature's public functions, parameters with a default, that no test passes by name."""
    n, told = 0, set[str]()
    for file in view.sources[:6]:
        if not file.path.endswith((".py", ".pyi")):
            continue  # elsewhere arguments have no names
        hot = {h.symbol.name for h in view.symbols if h.file is file and h.score >= 0.5 and not _is_private(h)}
        found: dict[str, dict[str, tuple[int, tuple[str, ...]]]] = {}
        for parameter in file.details.parameters:
            name, function = parameter.name, parameter.function.rpartition(".")[2]
            about = view.relevance(name) >= 1 and (function == "__init__" or not function.startswith("_"))
            if len(name) < 4 or name.startswith("_") or not (function in hot or about):
                continue
            line = file.lines[parameter.line - 1] if parameter.line <= len(file.lines) else ""
            if "=" not in line or name in told:
                continue
            default = re.search(rf"(?<!\w){re.escape(name)}\s*(?::[^=]+)?=\s*(\S+)", line)
            if default is None or not _is_passed_by_name(file, parameter, default[1]):
                continue
            if absent := _absent(view, f"{name}=", _tests_for(view, file)):
                told.add(name)
                found.setdefault(function, {}).setdefault(name, (parameter.line, absent))
        for function, options in found.items():
            if n >= MOST_OPTIONS or len(options) > 6:
                continue  # nobody passes any: it is called by other means
            n += 1
            shown = list(options.items())[:3]
            of = f" of {function}" if function in hot else ""
            cites = [file.cite(line) for _, (line, _) in shown]
            yield Finding(
                rule="unmentioned_options",
                kind="gap",
                text=f"no test sets {phrases.names([name for name, _ in shown], 3)}{of}",
                sources=tuple(dict.fromkeys((*cites, *(s for _, (_, absent) in shown for s in absent)))),
                reason="options of the feature that no test passes by name",
                score=0.68 + (0.1 if function in hot else 0.05),
            )


def _is_passed_by_name(file: FileView, parameter: Parameter, default: str) -> bool:
    """Whether callers can be expected to spell a parameter out: a switch, or one that stands after many or a star."""
    own = [p for p in file.details.parameters if p.function == parameter.function]
    place = next((i for i, p in enumerate(own) if p.name == parameter.name), 0)
    first = own[0].line if own else parameter.line
    before = "\n".join(file.lines[first - 1 : parameter.line]).rpartition(parameter.name)[0]
    starred = re.search(r"(?<!\w)\*\s*,", before)
    return bool(starred) or place >= 4 or default.strip(",):") in {"True", "False"}
