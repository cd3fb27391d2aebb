"""Cargo: the package, the features that a test needs, and the target that has it."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from preread.project.runners.model import (
    Command,
    Target,
    folders,
    line_with,
    nearest,
    relative,
    table,
    toml,
    within,
)

NAME = re.compile(r"[\w-]+")
PACKAGE = re.compile(r"^\[package\]")
CFG = re.compile(r"\s*#!?\[cfg\((.*)\)\]\s*$")
FEATURE = re.compile(r'feature\s*=\s*"([\w-]+)"')
OPEN = re.compile(r"\b(?:any|not)\(")  # a condition that does not ask for each of its features


def cargo(target: Target) -> Command | None:
    for folder, path in nearest(target, "Cargo.toml"):
        proof, told = line_with(target.tree, path, PACKAGE), toml(target.tree, path)
        name = table(told, "package").get("name")
        if proof is None or not isinstance(name, str) or not NAME.fullmatch(name):
            continue
        inner = relative(folder, target.test)
        home = _workspace(target, folder)
        package = f"-p {name}" if home != folder else ""
        own = _on_by_default(told)
        needed = [one for one in dict.fromkeys(_features(target, folder, inner)) if one not in own]
        features = f"--features {','.join(needed)}" if needed else ""
        parts = ("cargo test", package, features, _target(target, folder, told, inner))
        return Command("cargo", " ".join(filter(None, parts)), proof, home)
    return None


def _workspace(target: Target, folder: str) -> str:
    """The folder of the workspace that has a package, which is its own if it has none."""
    for above in folders(folder) if folder else ():
        told = toml(target.tree, within(above, "Cargo.toml"))
        if "workspace" in told:
            left_out = table(told, "workspace").get("exclude")
            is_out = isinstance(left_out, list) and relative(above, folder) in left_out
            return folder if is_out else above
    return folder


def _features(target: Target, folder: str, inner: str) -> Iterator[str]:
    """The features without which a test is not compiled: its modules', its file's, its own."""
    parts = PurePosixPath(inner).with_suffix("").parts
    for n in range(1, len(parts)) if parts[0] == "src" else ():
        at = within(folder, "/".join(parts[:n]))
        homes = ("lib.rs", "main.rs") if n == 1 else ("mod.rs",)
        for home in (*(f"{at}/{name}" for name in homes), f"{at}.rs"):
            yield from _of_module(target.tree.lines(home) or [], parts[n])
    lines = target.tree.lines(target.test) or []
    for number, line in enumerate(lines):
        if line.startswith("#![cfg(") or line.strip().startswith("#[cfg(all(test"):
            yield from _asked(line)
        elif line.strip() == "#[cfg(test)]" and number + 1 < len(lines):
            yield from _asked(lines[number + 1])


def _of_module(lines: list[str], name: str) -> Iterator[str]:
    """The features that the attributes over a `mod` ask for."""
    declares = re.compile(rf"\s*(?:pub\S*\s+)?mod {re.escape(name)};")
    at = next((n for n, line in enumerate(lines) if declares.match(line)), 0)
    while at > 0 and lines[at - 1].lstrip().startswith("#["):
        at -= 1
        yield from _asked(lines[at])


def _asked(line: str) -> list[str]:
    told = CFG.match(line)
    return FEATURE.findall(told[1]) if told and not OPEN.search(told[1]) else []


def _on_by_default(told: dict[str, Any]) -> set[str]:
    features, on, left = table(told, "features"), set[str](), ["default"]
    while left:
        if (name := left.pop()) not in on:
            on.add(name)
            more = features.get(name)
            left += [str(one) for one in more] if isinstance(more, list) else []
    return on


def _target(target: Target, folder: str, told: dict[str, Any], inner: str) -> str:
    """What picks a file's tests: the target of tests/, the module of src/."""
    first, *rest = inner.removesuffix(".rs").split("/")
    if first == "src":
        return _module(target, folder, rest)
    if first == "examples" and rest:
        return f"--example {rest[0]}"
    return _integration(target, folder, told, inner) if first == "tests" and rest else ""


def _module(target: Target, folder: str, rest: list[str]) -> str:
    """The tests of a module of the library, or of the binary where there is no library."""
    modules = [name for name in rest if name not in {"mod", "lib", "main"}]
    only = "--lib" if within(folder, "src/lib.rs") in target.tree.files else ""
    if rest[0] in {"bin", "main"}:
        only, modules = "--bins", []
    return " ".join(filter(None, (only, f"{'::'.join(modules)}::" if modules else "")))


def _integration(target: Target, folder: str, told: dict[str, Any], inner: str) -> str:
    """The target of tests/ that a file is, or is a module of."""
    rows = told.get("test")
    named = {
        str(row.get("path") or f"tests/{row.get('name')}.rs"): str(row.get("name"))
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict)
    }
    first, *rest = inner.removesuffix(".rs").split("/")[1:]
    if inner in named:
        return f"--test {named[inner]}"
    for root in (f"tests/{first}/main.rs", "tests/main.rs", *named):
        beside = PurePosixPath(root).parent in PurePosixPath(inner).parents
        if inner != root and beside and within(folder, root) in target.tree.files:
            name = named.get(root) or (first if root.count("/") > 1 else "main")
            own = [
                part
                for part in PurePosixPath(relative(str(PurePosixPath(root).parent), inner))
                .with_suffix("")
                .parts
                if part != "mod"
            ]
            if name in named.values() or not _is_own_target(told, inner):
                return f"--test {name} {'::'.join(own)}::" if own != ["main"] else f"--test {name}"
    if rest == ["main"] or _is_own_target(told, inner):
        return f"--test {first}"
    return f"{PurePosixPath(inner).stem}::"


def _is_own_target(told: dict[str, Any], inner: str) -> bool:
    """Whether Cargo makes a target of the file: those right in tests/, unless told not to."""
    return inner.count("/") == 1 and table(told, "package").get("autotests") is not False
