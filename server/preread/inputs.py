"""A dossier's inputs besides the tree: ticket, knowledge and test reports, each with a digest."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from preread.dossier.published import digest
from preread.errors import PrereadError, Unreadable
from preread.gates.spans import decoded
from preread.infra.reading import require_no_obstacle
from preread.models import Request
from preread.project.globs import glob_pattern
from preread.project.tree import WALK_SKIPS, Tree
from preread.services import Services
from preread.settings import Settings

if TYPE_CHECKING:
    from preread.reports.update import ReportState

UNREADABLE = "unreadable:"
MAX_ENTRIES = 20_000  # folder entries examined in one search for reports


def ticket(tree: Tree, id: str) -> str | None:  # noqa: A002 - as in the registry
    """The text of a ticket's file; None when there is none. Raises E_TICKET_NAME."""
    return decoded(tree.required(tree.layout.relative(tree.layout.ticket(id))))


def report_paths(tree: Tree, settings: Settings) -> list[str]:
    """The files that the setting `reports` matches, sorted; from disk, as git often ignores them.

    A glob without a literal folder at its start, in a git project, matches files in the root and
    those that git does not ignore.
    """
    if (globs := tuple(settings.reports)) not in tree.reports:
        tree.reports[globs] = _report_paths(tree, globs)
    return tree.reports[globs]


def _report_paths(tree: Tree, reports: Sequence[str]) -> list[str]:
    found: set[str] = set()
    for folder, globs in _by_folder(reports).items():
        recursive = [glob for glob in globs if not folder and _is_recursive(glob)]
        deep = bool(folder) or (bool(recursive) and not tree.is_git)
        found.update(filter(_any_of(globs).fullmatch, _on_disk(tree, folder, deep=deep)))
        if recursive and tree.is_git:
            found.update(filter(_any_of(recursive).fullmatch, listed(tree)))
    return sorted(path for path in found if path.isprintable() and _is_plain(tree, path))


def _is_plain(tree: Tree, path: str) -> bool:
    """Whether a path names a regular file, without a symbolic link anywhere in it."""
    full = os.path.join(tree.root, path)  # noqa: PTH118
    return os.path.realpath(full) == full and os.path.isfile(full)  # noqa: PTH113


def listed(tree: Tree) -> Iterable[str]:
    """The names in `tree.files`, and those of links, without the cost of a `stat` for each."""
    if not tree.is_git:
        return tree.files
    return (name for name in tree.names if not name.startswith(".project/"))


def watched(tree: Tree) -> Iterable[str]:
    """`listed`, and what dossiers may cite besides: the files of submodules."""
    return (*listed(tree), *tree.in_submodules)


def _any_of(globs: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{glob_pattern(glob).pattern})" for glob in globs), re.DOTALL)


def digests(services: Services, request: Request) -> dict[str, str]:
    """The digest of each input that exists: `ticket:<id>`, `knowledge`, `documents`, `failures`.

    Raises Unreadable, also for a folder or a pipe in place of an input: it may hide facts.
    """
    tree, found = services.tree, {}
    files = {"knowledge": tree.layout.knowledge, "documents": tree.layout.loaded}
    if request.ticket:
        files[f"ticket:{request.ticket}"] = tree.layout.ticket(request.ticket)
    for key, file in files.items():
        data = tree.required(tree.layout.relative(file))
        if data is None:
            require_no_obstacle(file)
        else:
            found[key] = digest(data)
    current = reports(services)
    if current is not None and current.failures_digest:
        found["failures"] = current.failures_digest
    return found


def unreadable(tree: Tree) -> dict[str, str]:
    """Inputs that cannot be read, each with the reason; the keys are like those of `digests`."""
    return {f"{UNREADABLE}{path}": why for path, why in tree.unreadable.items()}


def is_readable_again(tree: Tree, key: str) -> bool:
    """Whether a file that could not be read can be read now, or is gone."""
    try:
        tree.required(key.removeprefix(UNREADABLE))
    except Unreadable:
        return False
    return True


def reports(services: Services) -> "ReportState | None":
    """Read the reports and add changed ones to the test history; None without any reports."""
    paths = report_paths(services.tree, services.settings)
    if not paths:
        return None
    from preread.reports.update import update  # not needed in a project without reports

    return update(services.tree, paths)


def report_folders(settings: Settings) -> dict[str, bool]:
    """The folders to search for reports -> whether to search below them; "" is the root."""
    grouped = _by_folder(settings.reports)
    return {
        folder: bool(folder) or any(map(_is_recursive, globs)) for folder, globs in grouped.items()
    }


def _is_recursive(glob: str) -> bool:
    """Whether a glob that starts at the root also matches files below it."""
    return "/" in glob or "**" in glob


def _by_folder(globs: Sequence[str]) -> dict[str, list[str]]:
    """The globs by the literal folder that they start with; "" is the root."""
    grouped: dict[str, list[str]] = {}
    for glob in globs:
        literal = re.split(r"[*?]", glob, maxsplit=1)[0]
        grouped.setdefault(literal.rpartition("/")[0], []).append(glob)
    return grouped


def _on_disk(tree: Tree, folder: str, *, deep: bool) -> Iterator[str]:
    """The regular files in a folder; links are not followed, at most MAX_ENTRIES are examined."""
    if not _is_plain_folder(tree, folder):
        return
    stack, seen = [f"{folder}/" if folder else ""], 0
    while stack:
        tree.check()
        prefix = stack.pop()
        for entry in _entries(tree, tree.root / prefix):
            seen += 1
            if seen > MAX_ENTRIES:
                return
            if entry.is_file(follow_symlinks=False):
                yield prefix + entry.name
            elif deep and entry.name not in WALK_SKIPS and entry.is_dir(follow_symlinks=False):
                stack.append(f"{prefix}{entry.name}/")


def _is_plain_folder(tree: Tree, folder: str) -> bool:
    """Whether a folder is in the project, and not behind a link."""
    try:
        start = tree.layout.inside(folder) if folder else tree.root
        return tree.layout.real(start) == start
    except PrereadError:
        return False


def _entries(tree: Tree, folder: Path) -> list[os.DirEntry[str]]:
    """The entries of a folder, sorted, so that a search that hits its limit is reproducible."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        tree.note_folder(error)
        return []
