"""What no test holds: the sources that prove it, few and short; and what callers outside can name at all."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice

from preread.evidence.view import FileView, View
from preread.models import Finding
from preread.sources import Ref
from preread.syntax import Symbol, enclosing
from preread.syntax.languages import language_of

MOST_GLOBS = 3
MOST_CALLERS, DEEP = 20, 3  # files that a name is looked for in; callers of callers
HIDDEN = re.compile(
    r"\s*(?:(?:static|final|abstract|async|override|open|sealed|virtual|suspend|inline|readonly)\s+)*"
    r"(?:(?:private|internal|protected)\b(?!\s*[(=:])|#\w)"
)
SAID_OPEN = {"Rust": r"\bpub\b(?!\()", "Java": r"\bpublic\b", "C#": r"\bpublic\b"}
BESIDE = {"rs": "#[cfg(test)]", "d": "unittest"}  # what opens the tests that stand in a source file
INPUTS = ("data", "config", "doc", "generated")  # what tests read: snapshots, fixtures, cases
MOST_INPUTS = 200  # files of no known format among them
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


@lru_cache(maxsize=16)
def _cited(paths: tuple[str, ...], near: tuple[str, ...]) -> list[str]:
    """The globs that a fact names: those for the tests near the feature, by their folders or by how they are called."""
    globs = test_globs(paths)
    if len(globs) > MOST_GLOBS:
        suffixes = {path.rpartition(".")[2] for path in near}
        named = [f"**/{name}" for name in TEST_NAMES if name.rpartition(".")[2] in suffixes]
        globs = [glob for glob in named if any(_is_named(path, glob[3:]) for path in near)] or globs
    held = [glob for glob in globs if any(path == glob or _is_under(path, glob) for path in near)]
    return (held or globs)[:2]


def _is_under(path: str, glob: str) -> bool:
    return (
        path.startswith(glob[:-2])
        if glob.endswith("/**")
        else _is_named(path, glob.rpartition("/")[2])
    )


@lru_cache(maxsize=1024)
def _is_of_tests(folder: str) -> bool:
    return bool(TEST_FOLDER.fullmatch(folder))


def _is_named(path: str, pattern: str) -> bool:
    return fnmatchcase(path.rpartition("/")[2], pattern)


def tests_for(view: View, file: FileView) -> list[str]:
    """The project's tests that could name this file's symbols."""
    language = language_of(file.path)
    mine = language.name if language else ""
    kin = next((group for group in KIN if mine in group), {mine})
    return [
        p for p in view.test_paths if (other := language_of(p)) is not None and other.name in kin
    ]


def is_exported(view: View, file: FileView, symbol: Symbol) -> bool:
    """Whether callers outside can name a definition, by the rule of its language."""
    language, name = language_of(file.path), symbol.name
    spoken, line = language.name if language else "", file.lines[symbol.start - 1]
    if (
        name.startswith("_")
        or "._" in f".{symbol.container}"
        or HIDDEN.match(line)
        or HIDDEN.match(symbol.signature)
    ):
        return False
    if spoken == "Ruby" and _is_private_in_ruby(file, symbol):
        return False
    if spoken == "Go":
        return name[0].isupper() and not re.search(r"(?:^|/)(?:internal|cmd)/", file.path)
    if spoken in KIN[0] and not symbol.container:
        return "export" in line or bool(
            re.search(rf"(?m)^export\b.*\b{re.escape(name)}\b", file.text)
        )
    if spoken == "Rust" and not _is_of_library(view, file.path):
        return False
    return spoken not in SAID_OPEN or bool(
        re.search(SAID_OPEN[spoken], f"{line} {symbol.signature}")
    )


def _is_private_in_ruby(file: FileView, symbol: Symbol) -> bool:
    """Whether a method stands below a bare `private` of its class, or is made private by its name."""
    line = file.lines[symbol.start - 1]
    indent = line[: len(line) - len(line.lstrip())]
    for above in reversed(file.lines[: symbol.start - 1]):
        if above.strip() and len(above) - len(above.lstrip()) < len(indent):
            break
        if above.rstrip() in {f"{indent}{word}" for word in ("private", "protected", "public")}:
            return above.strip() != "public" and not re.match(r"\s*def\s+self\.", line)
    named = (
        rf"(?m)^\s*(?:private|protected|private_class_method)\b[^\n]*:{re.escape(symbol.name)}\b"
    )
    return re.search(named, file.text) is not None


def _is_of_library(view: View, path: str) -> bool:
    """Whether a Rust file is of a crate that others can use: one with a lib.rs."""
    folders = path.split("/")[:-1]
    return any(
        "/".join([*folders[:n], "lib.rs"]) in view.services.tree.files
        for n in range(len(folders) + 1)
    )


def is_reached(view: View, name: str, deep: int = DEEP) -> bool:
    """Whether a function that tests name calls this one, or calls one that does: it is tested without its name."""
    with_brackets = re.compile(rf"(?<!\w){re.escape(name)}\s*[(<]")
    bare = re.compile(
        rf"^(?!\s*#).*(?<![\w:@]){re.escape(name)}(?![\w?!:]|\s*=[^=~])"
    )  # as Ruby's calls
    outer = set[str]()
    for path in view.candidates(name, ("source",))[:MOST_CALLERS]:
        called = bare if path.endswith((".rb", ".rake")) else with_brackets
        for number, line in enumerate(view.services.tree.lines(path) or (), 1):
            if (
                name in line
                and called.search(line)
                and (around := enclosing(view.outline(path), number))
            ):
                if not isinstance(around, Symbol):
                    return True  # a test that stands beside it
                own = (
                    around.container.rpartition(".")[2]
                    if around.name in {"__init__", "new"}
                    else around.name
                )
                outer.update({own} - {name, ""})
    if any(view.candidates(caller, ("test", "support")) for caller in outer):
        return True
    return deep > 1 and any(
        is_reached(view, caller, deep - 1) for caller in sorted(outer)[:MOST_CALLERS]
    )


def _beside(view: View, literal: str) -> bool:
    """Whether tests that stand in source files, or what tests read, hold a text."""
    for path in view.candidates(literal, ("source", *INPUTS)):
        opens = BESIDE.get(path.rpartition(".")[2])
        if opens and literal in (view.services.tree.text(path) or "").partition(opens)[2]:
            return True
        if any(map(_is_of_tests, path.split("/")[:-1])) and view.holds(literal, [path]):
            return True
    return view.holds(literal, _own_formats(view))


def _own_formats(view: View) -> list[str]:
    """Files among the tests in a format of the project's own, which the index leaves out: `tests/all.cases`."""
    if "proofs.own_formats" not in view.memo:
        files = (path for path in view.services.tree.files if language_of(path) is None)
        found = (path for path in files if any(map(_is_of_tests, path.split("/")[:-1])))
        view.memo["proofs.own_formats"] = list(islice(found, MOST_INPUTS))
    paths: list[str] = view.memo["proofs.own_formats"]
    return paths


def absent(view: View, literal: str, paths: Sequence[str]) -> tuple[str, ...]:
    """Sources for that no test holds a text: none of these, all of which are read, none beside sources, no input of
    tests; none when one does."""
    if not paths or '"' in literal or "`" in literal or "\n" in literal or _beside(view, literal):
        return ()
    globs = _cited(tuple(paths), tuple(file.path for file in view.tests[:3] if file.role == "test"))
    if not globs or any(set("~,") & set(glob) for glob in globs):
        return ()
    matched = {p for glob in globs for p in view.services.tree.matching(glob)}
    return () if view.holds(literal, sorted(matched.union(paths))) else proof(globs, literal)


def proof(globs: Sequence[str], literal: str) -> tuple[str, ...]:
    return tuple(str(Ref("absent", glob, name=literal)) for glob in globs)


def absent_shortly(
    view: View, literal: str, paths: Sequence[str], least: int = 12
) -> tuple[str, ...]:
    """Sources for that no test holds a text, by as few of its first words as no test holds."""
    parts = literal.split(" ")
    for n in range(2, len(parts)):
        short = " ".join(parts[:n])
        if len(short) >= least and (found := absent(view, short, paths)):
            return found
        if len(short) > 40:
            break
    if "`" in literal:  # which no proof can hold
        longest = max(literal.split("`")[::2], key=len).strip()
        return absent_shortly(view, longest, paths, least) if len(longest) >= least else ()
    return absent(view, literal, paths)


def gap(rule: str, text: str, sources: Sequence[str], reason: str, score: float) -> Finding:
    return Finding(
        rule=rule,
        kind="gap",
        text=text,
        sources=tuple(dict.fromkeys(sources)),
        reason=reason,
        score=round(score, 3),
    )
