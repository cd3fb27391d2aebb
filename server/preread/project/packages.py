"""Packages of a monorepo: folders with a manifest, the workspaces that list them, and what a scope names."""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from preread.errors import PrereadError
from preread.languages import left_out
from preread.project.tree import Tree, glob_pattern

SHOWN = 5  # packages in a hint
Text = Callable[[str], Iterable[str]]


class Package(NamedTuple):
    """A folder with a manifest of its own."""

    name: str
    path: str  # relative to the root
    workspace: str  # the file that lists it; empty without one


def _json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _at(found: object, *keys: str) -> list[str]:
    """The text, or the texts of a list, that stand under these keys."""
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    texts = found if isinstance(found, list) else [found]
    return [text for text in texts if isinstance(text, str) and text]


def _found(pattern: str) -> Text:
    return lambda text: ("".join(groups) for groups in re.findall(f"(?m){pattern}()", text))


def _npm_members(text: str) -> list[str]:
    found = _json(text)
    return _at(found, "workspaces") or _at(found, "workspaces", "packages")


def _pyproject_name(text: str) -> list[str]:
    found = _toml(text)
    return _at(found, "project", "name") or _at(found, "tool", "poetry", "name")


def _maven_name(text: str) -> Iterable[str]:
    own = re.sub(r"(?s)<(parent|dependencies|build|profiles)>.*?</\1>", "", text)
    return re.findall(r"<artifactId>\s*([^<\s]+)\s*</artifactId>", own)


def _go_members(text: str) -> Iterator[str]:
    for block, line in re.findall(r"(?m)^use\s*(?:\(([^)]*)\)|(\S+))", text):
        yield from (block or line).split()


def _gradle_members(text: str) -> Iterator[str]:
    for given in re.findall(r"(?m)^\s*include\s*\(?((?:\s*[\"'][^\"'\n]+[\"']\s*,?)+)", text):
        yield from (
            name.strip(":").replace(":", "/")
            for name in re.findall(r"[\"']([^\"'\n]+)[\"']", given)
        )


# What a manifest calls its package, the first one counts; without a name it is called as its folder.
NAMES: dict[str, Text] = {
    "package.json": lambda text: _at(_json(text), "name"),
    "pyproject.toml": _pyproject_name,
    "Cargo.toml": lambda text: _at(_toml(text), "package", "name"),
    "go.mod": _found(r"^module\s+(\S+)"),
    "pom.xml": _maven_name,
    "build.gradle": lambda _: (),
    "build.gradle.kts": lambda _: (),
    "composer.json": lambda text: _at(_json(text), "name"),
}
# The folders that a workspace's file lists, as globs relative to its own.
MEMBERS: dict[str, Text] = {
    "pnpm-workspace.yaml": _found(r"^\s*-\s*[\"']?([^\"'#\n]+?)[\"']?\s*(?:#.*)?$"),
    "package.json": _npm_members,
    "lerna.json": lambda text: _at(_json(text), "packages"),
    "pyproject.toml": lambda text: _at(_toml(text), "tool", "uv", "workspace", "members"),
    "Cargo.toml": lambda text: _at(_toml(text), "workspace", "members"),
    "go.work": _go_members,
    "pom.xml": _found(r"<module>\s*([^<\s]+)\s*</module>"),
    "settings.gradle": _gradle_members,
    "settings.gradle.kts": _gradle_members,
}


def packages(tree: Tree) -> list[Package]:
    """The packages below the root, by their paths. Where a folder has several manifests, the first of NAMES counts."""
    names: dict[str, str] = {}
    listing: list[tuple[str, list[str]]] = []
    order = list(NAMES)
    manifests = [
        path
        for path in tree.files
        if _file(path) in NAMES.keys() | MEMBERS.keys() and not left_out(path)
    ]
    for path in sorted(
        manifests, key=lambda path: (_file(path) in NAMES and order.index(_file(path)), path)
    ):
        tree.check()
        folder, file, text = path.rpartition("/")[0], _file(path), tree.text(path) or ""
        if folder and file in NAMES and folder not in names:
            names[folder] = next(iter(NAMES[file](text)), "") or _file(folder)
        if file in MEMBERS and (globs := list(MEMBERS[file](text))):
            listing.append((path, globs))
    listing.sort(key=lambda listed: list(MEMBERS).index(_file(listed[0])))
    return [Package(names[path], path, _workspace(path, listing)) for path in sorted(names)]


def _file(path: str) -> str:
    return path.rpartition("/")[2]


def _workspace(folder: str, listing: list[tuple[str, list[str]]]) -> str:
    for path, globs in listing:
        home = path.removesuffix(_file(path))
        verdict = False
        for glob in globs if folder.startswith(home) else ():
            bare = glob.removeprefix("!").removeprefix("./").rstrip("/")
            if glob_pattern(bare).fullmatch(folder.removeprefix(home)):
                verdict = not glob.startswith("!")
        if verdict:
            return path
    return ""


def scope_of(tree: Tree, asked: str) -> str:
    """The folder that a scope names: a path from the root, or a package's name; "" for the root. Raises E_SCOPE."""
    root = f"{tree.root.as_posix()}/"
    bare = f"{asked.strip()}/".removeprefix(root).removeprefix("./").strip("/")
    if not asked.strip() or bare in {"", "."} or f"{asked.strip()}/" == root:
        return ""
    if _is_folder(tree, bare):
        return bare
    found = packages(tree)
    named = [package.path for package in found if package.name == asked.strip()]
    if len(named) == 1:
        return named[0]
    said = f"{len(named)} packages are called" if named else "There is no folder and no package"
    near = [package for package in found if package.path in named] or _nearest(asked, found)
    listed = ", ".join(f"{package.path} ({package.name})" for package in near)
    raise PrereadError(
        "E_SCOPE",
        f"{said} {asked.strip()[:120]!r}.",
        f"Name a folder from the project's root, or a package: {listed}."
        if near
        else "Name a folder from the root.",
        {"packages": [package.path for package in near]},
    )


def _is_folder(tree: Tree, path: str) -> bool:
    try:
        return ".." not in path.split("/") and tree.layout.real(tree.layout.inside(path)).is_dir()
    except (OSError, ValueError, PrereadError):
        return False


def _nearest(asked: str, found: list[Package]) -> list[Package]:
    import difflib

    known = {
        key: package
        for package in found
        for key in (_file(package.path), package.path, package.name)
    }
    near = difflib.get_close_matches(asked.strip("/ "), list(known), n=SHOWN, cutoff=0.5)
    return list(dict.fromkeys(known[key] for key in near)) or found[:SHOWN]
