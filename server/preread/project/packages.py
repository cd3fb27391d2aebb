"""Packages of a monorepo: folders with a manifest, their workspaces, and lookup by name."""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from preread.errors import PrereadError
from preread.project.globs import glob_pattern
from preread.project.tree import Tree
from preread.roles import left_out

MAX_SUGGESTIONS = 5  # packages in a hint
Extract = Callable[[str], Iterable[str]]  # a file's text -> the names or globs in it


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


def _texts_at(found: object, *keys: str) -> list[str]:
    """The text, or the list of texts, at this path of keys."""
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    texts = found if isinstance(found, list) else [found]
    return [text for text in texts if isinstance(text, str) and text]


def _matches(pattern: str) -> Extract:
    """A function that returns what the pattern's groups match in a text."""
    return lambda text: ("".join(groups) for groups in re.findall(f"(?m){pattern}()", text))


def _npm_members(text: str) -> list[str]:
    found = _json(text)
    return _texts_at(found, "workspaces") or _texts_at(found, "workspaces", "packages")


def _pyproject_name(text: str) -> list[str]:
    found = _toml(text)
    return _texts_at(found, "project", "name") or _texts_at(found, "tool", "poetry", "name")


def _maven_name(text: str) -> Iterable[str]:
    own = re.sub(r"(?s)<(parent|dependencies|build|profiles)>.*?</\1>", "", text)
    return re.findall(r"<artifactId>\s*([^<\s]+)\s*</artifactId>", own)


def _go_members(text: str) -> Iterator[str]:
    for block, line in re.findall(r"(?m)^use\s*(?:\(([^)]*)\)|(\S+))", text):
        yield from (block or line).split()


def _gradle_members(text: str) -> Iterator[str]:
    for names in re.findall(r"(?m)^[ \t]*include\s*+\(?((?:\s*+[\"'][^\"'\n]+[\"']\s*+,?)+)", text):
        for name in re.findall(r"[\"']([^\"'\n]+)[\"']", names):
            yield name.strip(":").replace(":", "/")


# A package's names in its manifest; the first counts. Without any, its folder's name is used.
NAMES: dict[str, Extract] = {
    "package.json": lambda text: _texts_at(_json(text), "name"),
    "pyproject.toml": _pyproject_name,
    "Cargo.toml": lambda text: _texts_at(_toml(text), "package", "name"),
    "go.mod": _matches(r"^module\s+(\S+)"),
    "pom.xml": _maven_name,
    "build.gradle": lambda _: (),
    "build.gradle.kts": lambda _: (),
    "composer.json": lambda text: _texts_at(_json(text), "name"),
}
# The members that a workspace's file lists, as globs relative to its folder.
MEMBERS: dict[str, Extract] = {
    "pnpm-workspace.yaml": _matches(
        r"^[ \t]*-[ \t]*+[\"']?([^\"'#\n]*[^\"'#\s])[\"']?[ \t]*(?:#.*)?$"
    ),
    "package.json": _npm_members,
    "lerna.json": lambda text: _texts_at(_json(text), "packages"),
    "pyproject.toml": lambda text: _texts_at(_toml(text), "tool", "uv", "workspace", "members"),
    "Cargo.toml": lambda text: _texts_at(_toml(text), "workspace", "members"),
    "go.work": _go_members,
    "pom.xml": _matches(r"<module>\s*([^<\s]+)\s*</module>"),
    "settings.gradle": _gradle_members,
    "settings.gradle.kts": _gradle_members,
}


def packages(tree: Tree) -> list[Package]:
    """The packages below the root, sorted by path.

    If a folder has several manifests, the first in the order of NAMES counts.
    """
    names: dict[str, str] = {}
    workspaces: list[tuple[str, list[str]]] = []
    for path in _manifests(tree):
        tree.check()
        folder, file, text = path.rpartition("/")[0], _basename(path), tree.text(path) or ""
        if folder and file in NAMES and folder not in names:
            names[folder] = next(iter(NAMES[file](text)), "") or _basename(folder)
        if file in MEMBERS and (globs := list(MEMBERS[file](text))):
            workspaces.append((path, globs))
    workspaces.sort(key=lambda workspace: list(MEMBERS).index(_basename(workspace[0])))
    return [Package(names[path], path, _workspace(path, workspaces)) for path in sorted(names)]


def _manifests(tree: Tree) -> list[str]:
    """The files that name a package or list a workspace's members, in the order of NAMES."""
    order = {name: n for n, name in enumerate(NAMES)}
    known = NAMES.keys() | MEMBERS.keys()
    found = [path for path in tree.files if _basename(path) in known and not left_out(path)]
    return sorted(found, key=lambda path: (order.get(_basename(path), 0), path))


def _basename(path: str) -> str:
    return path.rpartition("/")[2]


def _workspace(folder: str, workspaces: list[tuple[str, list[str]]]) -> str:
    """The first workspace file that lists a folder; empty without one."""
    for path, globs in workspaces:
        home = path.removesuffix(_basename(path))
        if folder.startswith(home) and _is_member(folder.removeprefix(home), globs):
            return path
    return ""


def _is_member(folder: str, globs: list[str]) -> bool:
    """Whether the last of these globs that matches a folder includes it."""
    for glob in reversed(globs):
        bare = glob.removeprefix("!").removeprefix("./").rstrip("/")
        if glob_pattern(bare).fullmatch(folder):
            return not glob.startswith("!")
    return False


def scope_of(tree: Tree, asked: str) -> str:
    """The folder for a scope, which is a path or a package's name; "" is the root.

    Raises E_SCOPE.
    """
    scope = asked.strip()
    root = f"{tree.root.as_posix()}/"
    bare = f"{scope}/".removeprefix(root).removeprefix("./").strip("/")
    if not scope or bare in {"", "."} or f"{scope}/" == root:
        return ""
    if _is_folder(tree, bare):
        return bare
    found = packages(tree)
    named = [package for package in found if package.name == scope]
    if len(named) == 1:
        return named[0].path
    raise _ambiguous_or_unknown(scope, named, named or _nearest(scope, found))


def _ambiguous_or_unknown(
    scope: str, named: list[Package], suggested: list[Package]
) -> PrereadError:
    what = f"{len(named)} packages are called" if named else "There is no folder and no package"
    listed = ", ".join(f"{package.path} ({package.name})" for package in suggested)
    hint = f"Name a folder from the project's root, or a package: {listed}."
    return PrereadError(
        "E_SCOPE",
        f"{what} {scope[:120]!r}.",
        hint if suggested else "Name a folder from the root.",
        {"packages": [package.path for package in suggested]},
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
        for key in (_basename(package.path), package.path, package.name)
    }
    near = difflib.get_close_matches(asked.strip("/ "), list(known), n=MAX_SUGGESTIONS, cutoff=0.5)
    return list(dict.fromkeys(known[key] for key in near)) or found[:MAX_SUGGESTIONS]
