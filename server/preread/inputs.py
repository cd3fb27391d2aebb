"""What a dossier is made from besides the tree: ticket, knowledge, test reports, with a digest of each."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from preread.errors import PrereadError
from preread.models import Request
from preread.project.tree import WALK_SKIPS, Tree, glob_pattern
from preread.published import digest
from preread.services import Services
from preread.settings import Settings

if TYPE_CHECKING:
    from preread.reports.look import Looked

MAX_ENTRIES = 20_000  # folder entries looked at in one search for reports


def ticket(tree: Tree, id: str) -> str | None:  # noqa: A002 - the word of the registry
    """The text of a ticket that is kept as a file; None when there is none. Raises E_TICKET_NAME."""
    return tree.text(tree.layout.relative(tree.layout.ticket(id)))


def report_paths(tree: Tree, settings: Settings) -> list[str]:
    """The files that the settings' globs for reports name, sorted; on disk, because git mostly ignores them.

    A glob that starts in any folder names files at root level, and those that git does not ignore.
    """
    found: set[str] = set()
    for folder, globs in _by_folder(settings.reports).items():
        anywhere = [glob for glob in globs if not folder and _is_anywhere(glob)]
        deep = bool(folder) or (bool(anywhere) and not tree.is_git)
        found.update(filter(_any_of(globs).fullmatch, _on_disk(tree, folder, deep=deep)))
        if anywhere and tree.is_git:
            found.update(filter(_any_of(anywhere).fullmatch, listed(tree)))
    return sorted(path for path in found if path.isprintable() and _is_plain(tree, path))


def _is_plain(tree: Tree, path: str) -> bool:
    """Whether a path names a regular file with no symbolic link on its way."""
    whole = os.path.join(tree.root, path)  # noqa: PTH118
    return os.path.realpath(whole) == whole and os.path.isfile(whole)  # noqa: PTH113


def listed(tree: Tree) -> Iterable[str]:
    """The names in `tree.files`, and of links, without a look at each: that would slow each cached load."""
    if not tree.is_git:
        return tree.files
    done = tree.git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return (name for name in os.fsdecode(done.out).split("\0") if not name.startswith(".project/"))


def _any_of(globs: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{glob_pattern(glob).pattern})" for glob in globs), re.DOTALL)


def digests(services: Services, request: Request) -> dict[str, str]:
    """The digest of each input that is there: `ticket:<id>`, `knowledge`, `failures` of reports."""
    tree, found = services.tree, {}
    named = {"knowledge": tree.layout.knowledge}
    if request.ticket:
        named[f"ticket:{request.ticket}"] = tree.layout.ticket(request.ticket)
    for key, file in named.items():
        data = tree.data(tree.layout.relative(file))
        if data is not None:
            found[key] = digest(data)
    looked = reports(services)
    if looked is not None and looked.says:
        found["failures"] = looked.says
    return found


def reports(services: Services) -> "Looked | None":
    """What the reports say now, None without any; those that changed are folded into the history of tests."""
    paths = report_paths(services.tree, services.settings)
    if not paths:
        return None
    from preread.reports.look import look  # a project without reports needs none of it

    return look(services.tree, paths)


def report_folders(settings: Settings) -> dict[str, bool]:
    """The folders in which reports are looked for, and whether below them too; the root is the empty one."""
    grouped = _by_folder(settings.reports)
    return {
        folder: bool(folder) or any(map(_is_anywhere, globs)) for folder, globs in grouped.items()
    }


def _is_anywhere(glob: str) -> bool:
    """Whether a glob that starts at the root also names files below it."""
    return "/" in glob or "**" in glob


def _by_folder(globs: list[str]) -> dict[str, list[str]]:
    """The globs by the literal folders that they start with; the root is the empty one."""
    grouped: dict[str, list[str]] = {}
    for glob in globs:
        literal = re.split(r"[*?]", glob, maxsplit=1)[0]
        grouped.setdefault(literal.rpartition("/")[0], []).append(glob)
    return grouped


def _on_disk(tree: Tree, folder: str, *, deep: bool) -> Iterator[str]:
    """The regular files below a folder of the project, links not followed, at most MAX_ENTRIES looked at."""
    try:
        start = tree.layout.inside(folder) if folder else tree.root
        if tree.layout.real(start) != start:
            return
    except PrereadError:
        return
    stack, seen = [f"{folder}/" if folder else ""], 0
    while stack:
        tree.check()
        prefix = stack.pop()
        for entry in _entries(tree.root / prefix):
            seen += 1
            if seen > MAX_ENTRIES:
                return
            if entry.is_file(follow_symlinks=False):
                yield prefix + entry.name
            elif deep and entry.name not in WALK_SKIPS and entry.is_dir(follow_symlinks=False):
                stack.append(f"{prefix}{entry.name}/")


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """The entries of a folder in a fixed order, so that a search cut at its bound finds the same again."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
