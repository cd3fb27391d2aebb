"""Go: the package of a test file, from its module's folder, with the build tags it needs."""

import re

from preread.project.runners.model import (
    Command,
    Note,
    Proof,
    Target,
    folders,
    line_with,
    nearest,
    relative,
)

MODULE = re.compile(r"^module\s+\S+")
BUILD = re.compile(r"//go:build\s+(\w+(?:\s*&&\s*\w+)*)\s*$")
# Build tags that the toolchain sets itself: `go tool dist list`, `go help buildconstraint`.
SET_BY_GO = frozenset(
    """
    aix android darwin dragonfly freebsd illumos ios js linux netbsd openbsd plan9 solaris wasip1
    windows unix
    386 amd64 arm arm64 loong64 mips mips64 mips64le mipsle ppc64 ppc64le riscv64 s390x wasm
    cgo gc gccgo race msan asan ignore
    """.split()
)
MAX_NAMES = 100  # characters of the tests' names: if they take more, the whole package runs


def go(target: Target) -> Command | None:
    for folder, path in nearest(target, "go.mod"):
        proof = line_with(target.tree, path, MODULE)
        if proof is None:
            continue
        package = f"./{folders(relative(folder, target.test))[0]}".removesuffix("/")
        tags, asked = _tags(target)
        start = f"go test {tags}".rstrip()
        notes = (Note(asked[0], asked[1]),) if asked else ()
        if names := _names(target):
            return Command("go", f"{start} {package} -run '", proof, folder, notes, names, "|", "'")
        return Command("go", start, proof, folder, notes, (package,))
    return None


def _names(target: Target) -> tuple[str, ...]:
    """The tests to run by name: only plain test functions, not those of suites or examples."""
    lines = target.tree.lines(target.test) or []
    own = {
        name for line in lines for name in re.findall(r"^func (Test\w*)\(\w+ \*testing\.T\)", line)
    }
    named = tuple(f"^{name}$" for name in dict.fromkeys(target.names) if name in own)
    return named if sum(map(len, named)) <= MAX_NAMES else ()


def _tags(target: Target) -> tuple[str, tuple[str, Proof] | None]:
    """The flag for the build tags that the file needs, and the line that requires them."""
    for number, line in enumerate(target.tree.lines(target.test) or (), 1):
        if line.startswith("package "):
            break
        if match := BUILD.match(line):
            asked = [tag for tag in re.split(r"\s*&&\s*", match[1]) if not _is_set(tag)]
            proof = Proof(target.test, number, number)
            return (f"-tags {','.join(asked)}", (line.strip(), proof)) if asked else ("", None)
    return "", None


def _is_set(tag: str) -> bool:
    return tag in SET_BY_GO or re.fullmatch(r"go1(_\d+)*", tag) is not None
