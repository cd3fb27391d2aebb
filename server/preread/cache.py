"""Cache lookup: does the published dossier cover a request? Checks cheap conditions first."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Literal, NamedTuple

from preread import inputs
from preread.dossier import fact_text, markdown, published, sources
from preread.dossier.published import Published
from preread.dossier.sources import Ref, SourceError
from preread.errors import PrereadError, Unreadable
from preread.infra import db, sqlite
from preread.layout import MANIFEST, REQUIRED
from preread.models import LEVELS, Manifest, Request
from preread.project import git
from preread.project.globs import glob_pattern
from preread.project.read import data_at
from preread.project.tree import Tree, is_young
from preread.services import Services
from preread.settings import Level

BuildKey = str | Callable[[Level], str]
RETRIED_AT_ONCE = frozenset({"E_CHILD"})  # the next call may succeed without any change
SLOW = frozenset({"absent", "test", "doc"})  # they search many files, parse one or open a document


# What a dossier needs before it covers a request: `refresh` if it was built for this request
# and only its inputs have changed; `widen` if only the description differs.
Needs = Literal["nothing", "widen", "refresh", "build"]


class Lookup(NamedTuple):
    """Whether the published dossier covers the request."""

    covers: bool
    why: str  # it does not, for people to read; empty if it does
    published: Published | None
    needs: Needs
    doubt: str = ""  # what could not be read, so that the result is uncertain


def lookup(services: Services, request: Request, build_key: BuildKey) -> Lookup:
    """Look up the request's dossier.

    `build_key` is the key for its level, or a function that computes it for a level: the digest of
    what affects a dossier besides its inputs, see `builds/build_key`.
    """
    found = published.read(services.layout, request.feature)
    if found is None:
        return Lookup(False, "no dossier", None, "build")
    if why := next(_own_misses(services, request, build_key, found), ""):
        return Lookup(False, why, found, "build")
    tree = services.tree
    if found.manifest and (doubt := _unfit_work_tree(services, found.manifest)):
        return Lookup(True, "", found, "nothing", doubt)
    try:
        why = next(_content_misses(services, request, found), "")
    except Unreadable as error:
        return Lookup(True, "", found, "nothing", error.message)
    if doubt := tree.troubles:  # a rebuild would drop facts from files that cannot be read now
        return Lookup(True, "", found, "nothing", doubt)
    if why:
        return Lookup(False, why, found, "refresh")
    if found.manifest and (why := next(_new_description(request, found.manifest), "")):
        return Lookup(False, why, found, "widen")
    return Lookup(True, "", found, "nothing")


def _unfit_work_tree(services: Services, manifest: Manifest) -> str:
    """Why a tracked dossier does not fit this sparse or shallow work tree; empty if it does.

    It is not refreshed here, because files that are not checked out would look deleted.
    """
    cut = services.tree.cut
    if not cut or cut == manifest.cut:
        return ""
    if not is_tracked(services, manifest.feature):
        return ""
    kinds = " and ".join(part.partition(":")[0] for part in cut.split())
    return f"this work tree is {kinds}, and the dossier was made from another one"


def is_tracked(services: Services, feature: str) -> bool:
    """Whether git tracks a dossier."""
    layout = services.layout
    path = layout.relative(layout.dossier(feature) / MANIFEST)
    tree = services.tree
    return tree.is_git and tree.git("ls-files", "--error-unmatch", "--", path).status == 0


def _new_description(request: Request, manifest: Manifest) -> Iterator[str]:
    if not request.description or request.description.split() == manifest.description.split():
        return
    if wording(request.description) not in {one.digest for one in manifest.wordings}:
        has_one = bool(manifest.description)
        yield f"it was built {'for another' if has_one else 'without a'} description"


def wording(description: str) -> str:
    """The digest of a description, as in manifests' lists of other descriptions."""
    return published.digest(" ".join(description.split()).encode("utf-8", "surrogatepass"))


def _own_misses(
    services: Services, request: Request, build_key: BuildKey, found: Published
) -> Iterator[str]:
    """Reasons in the dossier itself why it does not cover the request."""
    manifest = found.manifest
    if request.force:
        yield "a rebuild was asked for"
    if manifest is None:
        yield "its manifest is missing, unreadable or of another version"
        return
    yield from (
        f"{name} is missing or empty" for name in REQUIRED if not found.texts.get(name, "").strip()
    )
    yield from _different_request(request, build_key, manifest)
    yield from _degraded(services, manifest)


def _content_misses(services: Services, request: Request, found: Published) -> Iterator[str]:
    """Reasons in the dossier's inputs and sources. Each is checked only when it is asked for."""
    manifest = found.manifest or Manifest(feature=request.feature)
    if manifest.cut != services.tree.cut:
        yield "the work tree had another part of the project (sparse or shallow)"
    yield from _changed_inputs(services, request, manifest)
    yield from _edits(found, manifest)
    yield from _changed_spans(services, manifest)


def is_fresh(services: Services, request: Request, found: Published) -> bool:
    """Whether a dossier's inputs and cited spans are unchanged, and people's edits are tracked."""
    try:
        return next(_content_misses(services, request, found), None) is None
    except Unreadable:
        return False


def _edits(found: Published, manifest: Manifest) -> Iterator[str]:
    """Facts that people added and whose sources are not tracked yet, and files that git merged."""
    known = {*manifest.facts}
    for name in found.edited:
        if manifest.files.get(name) == "":
            yield f"git merged {name}"
        for fact in markdown.parse(name, manifest.feature, found.texts[name])[0].facts:
            is_new = fact_text.fact_id(name, fact.text) not in known
            if is_new and fact.sources:
                yield f"a person added to {name}: {fact.text}"


def _different_request(request: Request, build_key: BuildKey, manifest: Manifest) -> Iterator[str]:
    """How the request differs from the dossier's; omitted parts match anything."""
    if not manifest.recipe:  # see `lost_manifests`
        yield "its manifest was lost, so what it was built with is unknown"
        return
    if LEVELS.index(manifest.level) < LEVELS.index(request.level):
        yield f"it was built at level {manifest.level}, not {request.level}"
    if request.ticket and request.ticket != manifest.ticket:
        yield f"it was built for {f'ticket {manifest.ticket}' if manifest.ticket else 'no ticket'}"
    if request.scope and request.scope != manifest.scope:
        yield f"it was built for {manifest.scope or 'the whole project'}, not for {request.scope}"
    current = build_key if isinstance(build_key, str) else build_key(manifest.level)
    if current != manifest.recipe:
        yield "the settings, the template or the rules changed"


def _degraded(services: Services, manifest: Manifest) -> Iterator[str]:
    if manifest.status != "degraded":
        return
    if manifest.fault is not None and manifest.fault.code == Unreadable.CODE:
        yield f"it is degraded ({manifest.fault.reason})"
    if manifest.fault is not None and manifest.fault.code in RETRIED_AT_ONCE:
        yield f"it is degraded ({manifest.fault.reason}), and its hint is to try again"
        return
    run = published.recorded(services.layout, manifest.feature)
    if run is None or not 0 <= time.time() - run.finished < services.settings.degraded_for:
        why = manifest.fault.reason if manifest.fault else "for an unknown reason"
        yield f"it is degraded ({why}), and it is time to try again"


def files_unchanged(services: Services, feature: str) -> bool:
    """Whether no file of the project has changed since the dossier's facts were computed.

    The rules that compute facts count, search and rank all files, so any file may matter.
    """
    return bool(with_unchanged_files(services, [feature]))


def with_unchanged_files(
    services: Services, features: list[str], signature: str | None = None
) -> set[str]:
    """The features for which `files_unchanged` is true; checks the files only once.

    `signature` is the project's, if it is known.
    """
    try:
        signature = project_signature(services.tree) if signature is None else signature
    except Unreadable:  # nothing better can be computed now
        return {*features}
    passed: dict[str, str] = {}
    keys = [_key(feature) for feature in features]
    with suppress(PrereadError):  # a database that cannot be used only costs time
        passed = db.use(services.layout, lambda connection: _passed(connection, keys))
    return {one for one in features if signature and passed.get(_key(one)) == signature}


def note_computed(services: Services, feature: str, signature: str) -> None:
    """Record that the dossier's facts were computed when the project had this signature."""
    if signature:
        _note(services, [(_key(feature), signature)])


def _key(feature: str) -> str:
    return f"computed {feature}"


def forget_all_but(services: Services, features: list[str]) -> int:
    """Drop cached checks of all other dossiers; returns how many."""
    layout = services.layout
    if not db.place(layout).db.exists():
        return 0
    keys: set[str] = {_key(feature) for feature in features}
    keys |= {f"commits of {feature}" for feature in features}
    for feature in features:
        found = published.read(layout, feature)
        keys |= set(found.manifest.spans) if found and found.manifest else set()
    return db.use(layout, lambda connection: _forget_all_but(connection, keys, {*features}))


def _forget_all_but(connection: sqlite3.Connection, keys: set[str], features: set[str]) -> int:
    known = {key for (key,) in connection.execute("SELECT key FROM passed_checks")}
    versions = {name for (name,) in connection.execute("SELECT DISTINCT feature FROM versions")}
    with sqlite.transaction(connection):
        delete = "DELETE FROM passed_checks WHERE key = ?"
        connection.executemany(delete, [(key,) for key in known - keys])
        delete = "DELETE FROM versions WHERE feature = ?"
        connection.executemany(delete, [(name,) for name in versions - features])
        checked = {name for (name,) in connection.execute("SELECT feature FROM cached_checks")}
        delete = "DELETE FROM cached_checks WHERE feature = ?"
        connection.executemany(delete, [(name,) for name in checked - features])
    return len(known - keys)


def project_signature(tree: Tree) -> str:
    """A signature of all files and of HEAD; empty if a file changed too recently."""
    files = _signature(tree, inputs.listed(tree), may_be_missing=True)
    return f"{files} {head_signature([], tree)}" if files else ""


def _changed_inputs(services: Services, request: Request, manifest: Manifest) -> Iterator[str]:
    now = inputs.digests(services, request.model_copy(update={"ticket": manifest.ticket}))
    for key in sorted(manifest.used.keys() | now.keys()):
        if key.startswith(inputs.UNREADABLE):
            if inputs.is_readable_again(services.tree, key):
                yield f"{key.removeprefix(inputs.UNREADABLE)} can be read now"
            continue
        if manifest.used.get(key) != now.get(key):
            change = "changed"
            if key not in now:
                change = "is gone"
            elif key not in manifest.used:
                change = "is new"
            yield f"{key.replace(':', ' ')} {change}"


def _changed_spans(services: Services, manifest: Manifest) -> Iterator[str]:
    """Cited spans that are no longer valid. Slow kinds come last, unless known to be valid."""
    tree = services.tree
    listed = cache(lambda: list(inputs.listed(tree)))
    of_glob = cache(lambda glob: _signature(tree, filter(glob_pattern(glob).fullmatch, listed())))
    slow: dict[str, _Check] = {}
    commits: list[str] = []
    for text, digest in manifest.spans.items():
        ref = sources.parse(text)
        if ref is None:
            yield f"a cited source cannot be parsed: {text}"
        elif ref.kind == "commit":
            commits.append(ref.name)
        elif ref.kind in SLOW:
            files = of_glob(ref.path) if ref.kind == "absent" else _signature(tree, (ref.path,))
            signature = f"{digest} {files}" if files else ""
            slow[text] = _Check(signature, partial(_changed, ref, digest, tree))
        elif sources.ROWS[ref.kind].local:
            yield from _changed(ref, digest, tree)
    if commits:
        key = f"commits of {manifest.feature}"
        check = partial(_missing_commits, commits, tree)
        slow[key] = _Check(head_signature(commits, tree), check)
    yield from _run_unless_passed(services, slow)


def _changed(ref: Ref, digest: str, tree: Tree) -> Iterator[str]:
    tree.check()
    try:
        now = sources.resolve(ref, tree).digest
    except SourceError as error:
        yield f"a cited span is gone: {ref} ({error})"
    else:
        if now != digest:
            yield f"a cited span changed: {ref}"


def _missing_commits(names: list[str], tree: Tree) -> Iterator[str]:
    """Cited commits that do not exist. Commits never change, so one call of git is enough."""
    known: list[str] = []
    if tree.is_git:
        done = tree.git("rev-list", "--no-walk", "--ignore-missing", *names, "--", must=True)
        known = done.out.decode().split()
    for name in names:
        if not any(commit.startswith(name) for commit in known):
            yield f"a cited commit is gone: {name}"


class _Check(NamedTuple):
    """A slow check. Its result is valid while `signature` is the same; empty means unknown."""

    signature: str
    run: Callable[[], Iterator[str]]


def _run_unless_passed(services: Services, checks: dict[str, _Check]) -> Iterator[str]:
    """Run the checks that no earlier lookup passed with the same signature."""
    if not checks:
        return
    passed: dict[str, str] = {}
    with suppress(PrereadError):  # a database that cannot be used only costs time
        passed = db.use(services.layout, lambda connection: _passed(connection, checks))
    remaining = {
        key: check
        for key, check in checks.items()
        if not check.signature or passed.get(key) != check.signature
    }
    for check in remaining.values():
        yield from check.run()
    rows = [(key, check.signature) for key, check in remaining.items() if check.signature]
    if rows:
        _note(services, rows)


def _note(services: Services, rows: list[tuple[str, str]]) -> None:
    with suppress(PrereadError):
        db.use(services.layout, lambda connection: _save_passed(connection, rows))


def _passed(connection: sqlite3.Connection, keys: Iterable[str]) -> dict[str, str]:
    select = "SELECT key, signature FROM passed_checks WHERE key = ?"
    return dict(row for key in keys for row in connection.execute(select, (key,)))


def _save_passed(connection: sqlite3.Connection, rows: list[tuple[str, str]]) -> None:
    with sqlite.transaction(connection):
        connection.executemany("INSERT OR REPLACE INTO passed_checks VALUES (?, ?)", rows)


def _signature(tree: Tree, paths: Iterable[str], *, may_be_missing: bool = False) -> str:
    """A signature of the files that a source reads; empty if one changed too recently.

    Size and times stand for the content, as in git's index; see "racy git" in its documentation.
    """
    parts, now = [""], time.time_ns()
    for path in paths:
        try:
            info = os.stat(f"{tree.root}/{path}")  # noqa: PTH116 - a glob can match thousands
        except (OSError, ValueError):
            if not may_be_missing:
                return ""
            parts.append(f"{path}\0")
            continue
        if is_young(info.st_mtime_ns, now):
            return ""
        parts.append(f"{path}\0{info.st_size} {info.st_mtime_ns} {info.st_ctime_ns} {info.st_ino}")
    return published.digest("\n".join(parts).encode("utf-8", "surrogateescape"))


def head_signature(commits: list[str], tree: Tree) -> str:
    """A signature of HEAD, empty if unknown. Reads files, because running git would be slow."""
    found = git.folders(tree.root)
    if found is None:
        return ""
    own, common = found
    try:
        head = _line(own / "HEAD")
        tip, packed = _line(common / head.removeprefix("ref: ")), common / "packed-refs"
        info = packed.stat() if packed.exists() else None
    except (OSError, ValueError):
        return ""
    if not head or (head.startswith("ref: ") and not tip and info is None):
        return ""
    pack = f"{info.st_mtime_ns} {info.st_size}" if info else ""
    parts = [*sorted(commits), head, tip, pack, tree.cut]
    return published.digest("\n".join(parts).encode())


def _line(path: Path) -> str:
    """The text of a small file; empty for anything else, like a pipe."""
    return (data_at(str(path)) or b"").decode().strip()
