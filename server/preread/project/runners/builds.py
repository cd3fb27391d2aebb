"""Build tools whose files list each test: CTest, Bazel, Meson."""

import re
from pathlib import PurePosixPath

from preread.project.runners.model import (
    Command,
    Note,
    Proof,
    Runner,
    Target,
    line_with,
    nearest,
    relative,
)

PATHS = re.compile(r"[\s();\"/]+")  # between the names in a line of CMake
DISCOVERS = re.compile(r"\b(?:add_test|\w+_discover_tests)\s*\(")
REGISTERS = re.compile(
    r"\s*\w*(?:add|register)_?\w*test\w*\s*\(\s*(?:NAME\s+)?\"?([\w.-]+)\"?(?=[\s)])", re.IGNORECASE
)
RULE = re.compile(r"(\w+)\(\s*$")  # of Bazel, with its name in a line of its own
RULE_NAME = re.compile(r"\s+name\s*=\s*\"([^\"]+)\"")
MESON_TEST = re.compile(r"^\s*(?:test|benchmark)\s*\(", re.MULTILINE)


def ctest(target: Target) -> Command | None:
    """The test that CMake registers under its file's name; all tests if it only lists the file."""
    own, listed = PurePosixPath(target.test), None
    for _, path in nearest(target, "CMakeLists.txt"):
        lines = target.tree.lines(path) or []
        for number, line in enumerate(lines, 1):
            match = REGISTERS.match("\n".join(lines[number - 1 : number + 3]))
            proof = Proof(path, number, number)
            if match and match[1] in {own.stem, own.name}:
                return Command("ctest", f"ctest -R {own.stem}", proof, "<build folder>")
            if own.name in PATHS.split(line):
                listed = listed or proof
        if listed is not None and DISCOVERS.search(target.tree.text(path) or ""):
            return Command("ctest", "ctest", listed, "<build folder>", _condition(target, path))
    return None


def _condition(target: Target, path: str) -> tuple[Note, ...]:
    """The `if` right above the line that adds a folder of tests to the build."""
    added = re.compile(
        rf"\s*add_subdirectory\(\s*\S*{re.escape(PurePosixPath(path).parent.name)}\b"
    )
    for _, outer in nearest(target, "CMakeLists.txt"):
        condition = None
        for number, line in enumerate(target.tree.lines(outer) or (), 1):
            if re.match(r"\s*(?:else)?(?:if|endif)\s*\(", line):
                condition = Note(line.strip(), Proof(outer, number, number), "built on a condition")
            elif condition is not None and added.match(line):
                return () if condition.text.startswith("endif") else (condition,)
    return ()


def bazel(target: Target) -> Command | None:
    """The test rule that lists the file, in the package that contains it."""
    roots = [
        folder for folder, _ in nearest(target, "MODULE.bazel", "WORKSPACE", "WORKSPACE.bazel")
    ]
    package, path = next(nearest(target, "BUILD.bazel", "BUILD"), ("", ""))
    if not roots or not path:
        return None
    is_test = False
    source, name, proof = f'"{relative(package, target.test)}"', "", Proof(path, 1, 1)
    for number, line in enumerate(target.tree.lines(path) or (), 1):
        if rule := RULE.match(line):
            name, is_test = "", rule[1].endswith("_test")
        elif found := RULE_NAME.match(line):
            name, proof = found[1] if is_test else "", Proof(path, number, number)
        if name and source in line:
            label = f"//{relative(roots[0], package) if package != roots[0] else ''}:{name}"
            return Command("bazel", "bazel test", proof, roots[0], files=(label,))
    return None


def meson(target: Target) -> Command | None:
    """All tests: most projects name theirs in a loop over the files."""
    listed = re.compile(rf"[\"'/]{re.escape(PurePosixPath(target.test).name)}[\"']")
    for _, path in nearest(target, "meson.build"):
        proof = line_with(target.tree, path, listed)
        if proof is not None and MESON_TEST.search(target.tree.text(path) or ""):
            return Command("meson", "meson test", proof, "<build folder>", is_general=True)
    return None


ANY: tuple[Runner, ...] = (bazel, meson)  # for files of any language
