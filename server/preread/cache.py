"""Lookup: does the standing dossier cover a request? Every condition of *covers*, cheapest first."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, partial
from typing import NamedTuple

from preread import inputs, published, sources
from preread.errors import PrereadError
from preread.infra import db
from preread.layout import REQUIRED
from preread.models import LEVELS, Manifest, Request
from preread.project.tree import Tree, glob_pattern, is_young
from preread.published import Published
from preread.services import Services
from preread.settings import Level
from preread.sources import Ref, SourceError

Recipe = str | Callable[[Level], str]
SLOW = frozenset({"absent", "test", "doc"})  # a search of many files, a parse, a document to open


class Lookup(NamedTuple):
    """Whether the standing dossier covers the request, why not in words a person reads, and the dossier."""

    covers: bool
    why: str
    published: Published | None


def lookup(services: Services, request: Request, recipe: Recipe) -> Lookup:
    """Look at what is published; `recipe` is that of the asked level, or gives the recipe of any level."""
    found = published.read(services.layout, request.feature)
    if found is None:
        return Lookup(False, "no dossier", None)
    why = next(_obstacles(services, request, recipe, found), "")
    return Lookup(not why, why, found)


def _obstacles(
    services: Services, request: Request, recipe: Recipe, found: Published
) -> Iterator[str]:
    manifest = found.manifest
    if request.force:
        yield "a rebuild was asked for"
    if manifest is None:
        yield "its manifest is missing, unreadable or of another version"
        return
    yield from (
        f"{name} is missing or empty" for name in REQUIRED if not found.texts.get(name, "").strip()
    )
    yield from _unlike(request, recipe, manifest)
    yield from _degraded(services, manifest)
    yield from _changed_inputs(services, request, manifest)
    yield from _changed_spans(services, manifest)


def _unlike(request: Request, recipe: Recipe, manifest: Manifest) -> Iterator[str]:
    """What was asked then and is asked now; what a request leaves open matches anything."""
    if LEVELS.index(manifest.level) < LEVELS.index(request.level):
        yield f"it was built at level {manifest.level}, not {request.level}"
    if request.ticket and request.ticket != manifest.ticket:
        yield f"it was built for {f'ticket {manifest.ticket}' if manifest.ticket else 'no ticket'}"
    if request.description and request.description.split() != manifest.description.split():
        yield (
            "it was built for another description"
            if manifest.description
            else "it was built without description"
        )
    if request.scope and request.scope != manifest.scope:
        yield f"it was built for {manifest.scope or 'the whole project'}, not for {request.scope}"
    if (recipe if isinstance(recipe, str) else recipe(manifest.level)) != manifest.recipe:
        yield "the settings, the template or the rules changed"


def _degraded(services: Services, manifest: Manifest) -> Iterator[str]:
    if manifest.status != "degraded":
        return
    run = published.recorded(services.layout, manifest.feature)
    if run is None or not 0 <= time.time() - run.finished < services.settings.degraded_for:
        why = manifest.fault.reason if manifest.fault else "of unknown reason"
        yield f"it is degraded ({why}) and due for another try"


def _changed_inputs(services: Services, request: Request, manifest: Manifest) -> Iterator[str]:
    now = inputs.digests(services, request.model_copy(update={"ticket": manifest.ticket}))
    for key in sorted(manifest.used.keys() | now.keys()):
        if manifest.used.get(key) != now.get(key):
            what = (
                "is gone" if key not in now else "is new" if key not in manifest.used else "changed"
            )
            yield f"{key.replace(':', ' ')} {what}"


def _changed_spans(services: Services, manifest: Manifest) -> Iterator[str]:
    """Cited spans that do not hold any more; the slow kinds last, and only if nothing says that they hold."""
    tree = services.tree
    listed = cache(lambda: list(inputs.listed(tree)))
    of_glob = cache(lambda glob: _signature(tree, filter(glob_pattern(glob).fullmatch, listed())))
    slow: dict[str, _Check] = {}
    commits: list[str] = []
    for text, value in manifest.spans.items():
        ref = sources.parse(text)
        if ref is None:
            yield f"a cited span cannot be read: {text}"
        elif ref.kind == "commit":
            commits.append(ref.name)
        elif ref.kind in SLOW:
            files = of_glob(ref.path) if ref.kind == "absent" else _signature(tree, (ref.path,))
            slow[text] = _Check(
                f"{value} {files}" if files else "", partial(_changed, ref, value, tree)
            )
        elif sources.ROWS[ref.kind].local:
            yield from _changed(ref, value, tree)
    if commits:
        key = f"commits of {manifest.feature}"
        slow[key] = _Check(_of_head(commits, tree), partial(_missing_commits, commits, tree))
    yield from _unless_remembered(services, slow)


def _changed(ref: Ref, value: str, tree: Tree) -> Iterator[str]:
    tree.check()
    try:
        now = sources.resolve(ref, tree).digest
    except SourceError as error:
        yield f"a cited span is gone: {ref} ({error})"
    else:
        if now != value:
            yield f"a cited span changed: {ref}"


def _missing_commits(names: list[str], tree: Tree) -> Iterator[str]:
    """Commits never change: it is enough that the repository still has them, asked in one call."""
    held = tree.git("rev-list", "--no-walk", "--ignore-missing", *names, "--").out.decode().split()
    yield from (
        f"a cited commit is gone: {name}"
        for name in names
        if not any(h.startswith(name) for h in held)
    )


class _Check(NamedTuple):
    """A slow check; as long as `signature` is the same it would find the same. Empty: nothing says so."""

    signature: str
    run: Callable[[], Iterator[str]]


def _unless_remembered(services: Services, checks: dict[str, _Check]) -> Iterator[str]:
    """What the checks find, left out those that an earlier lookup passed; an unusable database has none."""
    if not checks:
        return
    held: dict[str, str] = {}
    with suppress(PrereadError):
        held = db.use(services.layout, lambda connection: _recall(connection, checks))
    new = {
        key: check
        for key, check in checks.items()
        if not check.signature or held.get(key) != check.signature
    }
    for check in new.values():
        yield from check.run()
    kept = [(key, check.signature) for key, check in new.items() if check.signature]
    if kept:
        with suppress(PrereadError):
            db.use(services.layout, lambda connection: _remember(connection, kept))


def _recall(connection: sqlite3.Connection, keys: Iterable[str]) -> dict[str, str]:
    select = "SELECT key, signature FROM passed_checks WHERE key = ?"
    return dict(row for key in keys for row in connection.execute(select, (key,)))


def _remember(connection: sqlite3.Connection, rows: list[tuple[str, str]]) -> None:
    with db.transaction(connection):
        connection.executemany("INSERT OR REPLACE INTO passed_checks VALUES (?, ?)", rows)


def _signature(tree: Tree, paths: Iterable[str]) -> str:
    """A signature of the files that a source reads; empty when one is so young that it may change unnoticed.

    Size and times stand for the content, as in git's index; see "racy git" in its documentation.
    """
    parts, now = [""], time.time_ns()
    for path in paths:
        try:
            info = os.stat(f"{tree.root}/{path}")  # noqa: PTH116 - a wide glob names thousands
        except (OSError, ValueError):
            return ""
        if is_young(info.st_mtime_ns, now):
            return ""
        parts.append(f"{path}\0{info.st_size} {info.st_mtime_ns} {info.st_ctime_ns}")
    return published.digest("\n".join(parts).encode("utf-8", "surrogateescape"))


def _of_head(commits: list[str], tree: Tree) -> str:
    """A signature of HEAD from git's own files, since asking git takes as long as the check; or empty."""
    git = tree.root / ".git"
    try:
        if git.is_file():  # a worktree
            git = tree.root / git.read_text().removeprefix("gitdir:").strip()
        common = (
            git / (git / "commondir").read_text().strip() if (git / "commondir").exists() else git
        )
        head = (git / "HEAD").read_text().strip()
        branch, packed = common / head.removeprefix("ref: "), common / "packed-refs"
        tip = branch.read_text() if branch.is_file() else ""
        info = packed.stat() if packed.exists() else None
    except (OSError, ValueError):
        return ""
    if head.startswith("ref: ") and not tip and info is None:
        return ""
    pack = f"{info.st_mtime_ns} {info.st_size}" if info else ""
    return published.digest("\n".join([*sorted(commits), head, tip, pack]).encode())
