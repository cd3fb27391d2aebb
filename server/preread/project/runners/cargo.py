"""Cargo: the package, the features that a test needs, and the target that contains it."""

import re
from collections.abc import Iterator
from itertools import pairwise
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
WHOLE = re.compile(r"--test [\w-]+")  # a whole target: one command can run several
OPEN = re.compile(r"\b(?:any|not)\(")  # a condition that does not require all its features


def cargo(target: Target) -> Command | None:
    for folder, path in nearest(target, "Cargo.toml"):
        proof, manifest = line_with(target.tree, path, PACKAGE), toml(target.tree, path)
        name = table(manifest, "package").get("name")
        if proof is None or not isinstance(name, str) or not NAME.fullmatch(name):
            continue
        inner = relative(folder, target.test)
        home = _workspace(target, folder)
        package = f"-p {name}" if home != folder else ""
        own = _on_by_default(manifest)
        needed = [one for one in dict.fromkeys(_features(target, folder, inner)) if one not in own]
        features = f"--features {','.join(needed)}" if needed else ""
        what = _target(target, folder, manifest, inner)
        files = (what,) if WHOLE.fullmatch(what) else ()
        parts = ("cargo test", package, features, "" if files else what)
        return Command("cargo", " ".join(filter(None, parts)), proof, home, files=files)
    return None


def _workspace(target: Target, folder: str) -> str:
    """The folder of the workspace that a package belongs to, or else the package's own folder."""
    for above in folders(folder) if folder else ():
        manifest = toml(target.tree, within(above, "Cargo.toml"))
        if "workspace" in manifest:
            excluded = table(manifest, "workspace").get("exclude")
            is_excluded = isinstance(excluded, list) and relative(above, folder) in excluded
            return folder if is_excluded else above
    return folder


def _features(target: Target, folder: str, inner: str) -> Iterator[str]:
    """The features that a test's modules, its file and the test itself need to be compiled."""
    parts = PurePosixPath(inner).with_suffix("").parts
    for n in range(1, len(parts)) if parts[0] == "src" else ():
        at = within(folder, "/".join(parts[:n]))
        homes = ("lib.rs", "main.rs") if n == 1 else ("mod.rs",)
        for home in (*(f"{at}/{name}" for name in homes), f"{at}.rs"):
            yield from _of_module(target.tree.lines(home) or [], parts[n])
    for line, following in pairwise((*(target.tree.lines(target.test) or ()), "")):
        if line.startswith("#![cfg(") or line.strip().startswith("#[cfg(all(test"):
            yield from _required(line)
        elif line.strip() == "#[cfg(test)]":
            yield from _required(following)


def _of_module(lines: list[str], name: str) -> Iterator[str]:
    """The features that the attributes of a `mod` require."""
    declares = re.compile(rf"\s*(?:pub\S*\s+)?mod {re.escape(name)};")
    at = next((n for n, line in enumerate(lines) if declares.match(line)), 0)
    while at > 0 and lines[at - 1].lstrip().startswith("#["):
        at -= 1
        yield from _required(lines[at])


def _required(line: str) -> list[str]:
    """The features that an attribute requires."""
    condition = CFG.match(line)
    return FEATURE.findall(condition[1]) if condition and not OPEN.search(condition[1]) else []


def _on_by_default(manifest: dict[str, Any]) -> set[str]:
    features, on, left = table(manifest, "features"), set[str](), ["default"]
    while left:
        if (name := left.pop()) not in on:
            on.add(name)
            more = features.get(name)
            left += [str(one) for one in more] if isinstance(more, list) else []
    return on


def _target(target: Target, folder: str, manifest: dict[str, Any], inner: str) -> str:
    """The arguments that select a file's tests: a target in tests/, a module in src/."""
    first, *rest = inner.removesuffix(".rs").split("/")
    if first == "src":
        return _module(target, folder, rest)
    if first == "examples" and rest:
        return f"--example {rest[0]}"
    return _integration(target, folder, manifest, inner) if first == "tests" and rest else ""


def _module(target: Target, folder: str, rest: list[str]) -> str:
    """The arguments for a module of the library, or of the binary if there is no library."""
    modules = [name for name in rest if name not in {"mod", "lib", "main"}]
    only = "--lib" if within(folder, "src/lib.rs") in target.tree.files else ""
    if rest[0] in {"bin", "main"}:
        only, modules = "--bins", []
    return " ".join(filter(None, (only, f"{'::'.join(modules)}::" if modules else "")))


def _integration(target: Target, folder: str, manifest: dict[str, Any], inner: str) -> str:
    """The arguments for a file in tests/: its own target, or the target that it is a module of."""
    named = _named_targets(manifest)
    if inner in named:
        return f"--test {named[inner]}"
    is_target = _is_own_target(manifest, inner)
    for root, name in _roots_above(inner, named):
        is_there = within(folder, root) in target.tree.files
        if is_there and (name in named.values() or not is_target):
            return f"--test {name} {_modules(root, inner)}".rstrip()
    _, first, *rest = PurePosixPath(inner).with_suffix("").parts
    return f"--test {first}" if is_target or rest == ["main"] else f"{PurePosixPath(inner).stem}::"


def _named_targets(manifest: dict[str, Any]) -> dict[str, str]:
    """The test targets that a manifest declares: their names, by the paths of their root files."""
    rows = manifest.get("test")
    return {
        str(row.get("path") or f"tests/{row.get('name')}.rs"): str(row.get("name"))
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict)
    }


def _roots_above(inner: str, named: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The root files of targets that a file could be a module of, with the targets' names."""
    path = PurePosixPath(inner)
    first = path.with_suffix("").parts[1]
    usual = {f"tests/{first}/main.rs": first, "tests/main.rs": "main"}
    for root, name in (usual | named).items():
        if root != inner and PurePosixPath(root).parent in path.parents:
            yield root, name


def _modules(root: str, inner: str) -> str:
    """The filter for the tests of a file that is a module of the target with this root file."""
    below = PurePosixPath(inner).with_suffix("").relative_to(PurePosixPath(root).parent)
    names = [part for part in below.parts if part != "mod"]
    return f"{'::'.join(names)}::" if names != ["main"] else ""


def _is_own_target(manifest: dict[str, Any], inner: str) -> bool:
    """Whether the file is a target of its own: directly in tests/, if the manifest allows that."""
    return inner.count("/") == 1 and table(manifest, "package").get("autotests") is not False
