"""`impact`: the facts that a change to some files affects, or the changes that git shows."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple

from pydantic import Field

from preread.dossier import fact_text, published, sources
from preread.dossier.relocation import Relocator
from preread.dossier.sources import Ref, SourceError
from preread.errors import PrereadError, Unreadable
from preread.infra.subprocesses import Done
from preread.layout import Layout
from preread.models import Fact, Manifest, Model
from preread.operations import published_dossier
from preread.operations.history.lines_since import LinesSince
from preread.operations.registry import Context, Operation, RequestModel, in_thread
from preread.project import git, line_map
from preread.project.globs import glob_pattern
from preread.project.tree import Tree
from preread.services import Services

MIN_MOVED = 2  # lines after the first; fewer may be equal by chance in another file
NO_COMMIT = b"bad revision"  # what git says about an unknown commit
NAME_THEM = "name the files, like `preread impact src/a.py`."
# These override the repository's `diff.noprefix` and `diff.mnemonicPrefix`.
PREFIXES = ("--src-prefix=a/", "--dst-prefix=b/")
Ranges = list[tuple[int, int]] | None  # None: the whole file
How = Literal["cites", "in the change", "moved", "changed", "gone"]


class ImpactRequest(RequestModel):
    """Which change."""

    paths: tuple[str, ...] = Field(
        (), description="Files and folders. Default: the files that git shows as changed."
    )
    against: str | None = Field(
        None, description="The commit to compare with. Default: HEAD, so uncommitted changes."
    )


class TouchedFact(Model):
    """A fact that the change affects."""

    id: str
    feature: str = Field(description="Its dossier.")
    file: str
    text: str
    source: str = Field(description="The source that is affected.")
    how: How = Field(
        description="`cites` the file; its lines are `in the change`; they `moved`, `changed`, or "
        "are `gone`, and the dossier is not updated yet."
    )


class ImpactReply(Model):
    """The facts that a change affects, the most affected first."""

    paths: tuple[str, ...]
    features: tuple[str, ...] = Field(description="The dossiers that they are in.")
    facts: tuple[TouchedFact, ...]


ORDER: tuple[How, ...] = ("gone", "changed", "in the change", "moved", "cites")


async def impact(context: Context, request: ImpactRequest) -> ImpactReply:
    # An agent knows paths from dossiers, a person those of the current folder.
    folder = context.layout.root if context.is_agent else context.start
    return await in_thread(context, context.services(), _impact, request, folder)


def _impact(services: Services, request: ImpactRequest, folder: Path) -> ImpactReply:
    changed = _changed(services, request, Path(os.path.realpath(folder)))
    found = [
        one
        for feature in published.features(services.layout)
        for one in _of(services, feature, changed, request.against or "HEAD")
    ]
    return ImpactReply(
        paths=tuple(changed),
        features=tuple(sorted({one.feature for one in found if one.feature})),
        facts=tuple(sorted(found, key=lambda one: (ORDER.index(one.how), one.feature))),
    )


def _changed(services: Services, request: ImpactRequest, folder: Path) -> dict[str, Ranges]:
    """The changed files: path -> its changed lines as they are now.

    `folder`: the one that the request's paths may be relative to, besides the root.
    Raises E_USAGE, E_OUTSIDE, E_NOT_FOUND, E_READ.
    """
    tree = services.tree
    known = {*tree.files, *_cited(services)} if request.paths else set()
    paths = [_relative(services.layout, path, folder, known) for path in request.paths]
    if paths and not request.against:
        return dict.fromkeys(one for path in paths for one in _named(services, path, known))
    if not tree.is_git:
        raise PrereadError(
            "E_USAGE", "Without git, name the files.", "Like: `preread impact src/a.py`"
        )
    revision = request.against or "HEAD"
    options = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--unified=0")
    done = tree.git(
        "diff", *options, *PREFIXES, "--relative", "--end-of-options", revision, "--", *paths
    )
    if done.status != 0:
        raise _without_diff(tree, revision, done)
    found = _hunks(done.out)
    others = tree.git("ls-files", "-z", "--others", "--exclude-standard", "--", *paths)
    new = [path for path in others.out.decode("utf-8", "replace").split("\0") if path]
    found.update(dict.fromkeys(path for path in new if not path.startswith(".project/")))
    return found


def _without_diff(tree: Tree, revision: str, done: Done) -> PrereadError:
    """Why git showed no changes: outside of what it takes for a repository, it prints its usage."""
    if NO_COMMIT in done.err:
        message = f"git knows no commit {revision[:60]!a}."
        return PrereadError("E_USAGE", message, f"Like HEAD~3 or main. Or {NAME_THEM}")
    asked = tree.git("rev-parse", "--git-dir")
    command, done = ("rev-parse", asked) if asked.status else ("diff", done)
    why = git.failure((command,), done, git.SECONDS, must=True) or "git is not installed"
    hint = f"Fix that, or {NAME_THEM}"
    return PrereadError(Unreadable.CODE, f"The changes are not known: {why}.", hint)


def _relative(layout: Layout, path: str, folder: Path, known: set[str]) -> str:
    """A path as one relative to the root; what it names in the folder counts first, as in git.

    Raises E_OUTSIDE.
    """
    pure, place = PurePosixPath(path), Path(os.path.normpath(folder / path))
    if path and place.is_relative_to(layout.root):
        here = layout.relative(place)
        if os.path.lexists(place) or _known_in(here, known):
            return layout.relative(layout.inside(here))
    if pure.is_absolute() and pure.is_relative_to(layout.root):
        path = pure.relative_to(layout.root).as_posix()
    return layout.relative(layout.inside(path))


def _cited(services: Services) -> Iterator[str]:
    """The files that dossiers cite, whether they still exist or not."""
    for feature in published.features(services.layout):
        found = published_dossier.find(services, feature)
        of_facts = (source for _, fact in found.facts() for source in fact.sources)
        for source in dict.fromkeys((*found.manifest.spans, *of_facts)):
            ref = sources.parse(source)
            if ref is not None and ref.path and ref.kind != "absent":
                yield ref.path


def _named(services: Services, path: str, known: set[str]) -> list[str]:
    """The known file with this path, or those in this folder. Raises E_NOT_FOUND."""
    found = _known_in(path, known)
    if not found and not services.layout.inside(path).exists():
        raise PrereadError(
            "E_NOT_FOUND", f"There is no {path[:120]!a}, and no dossier cites it.",
            "Paths are relative to the current folder or to the project's root.",
        )  # fmt: skip
    return sorted(found) or [path]


def _known_in(path: str, known: set[str]) -> list[str]:
    return [one for one in known if path == "." or one == path or one.startswith(f"{path}/")]


def _hunks(diff: bytes) -> dict[str, Ranges]:
    found: dict[str, Ranges] = {}
    old = ""
    ranges: Ranges = None
    for line, hunk in line_map.headings(diff):
        if line.startswith(b"--- "):
            old = _name(line)
        elif line.startswith(b"+++ "):
            path = _name(line)
            ranges = [] if path else None  # a removed file is changed as a whole
            found[path or old] = ranges
        elif ranges is not None and hunk is not None:
            ranges.append((hunk.new, hunk.new + max(hunk.new_count, 1) - 1))
    return {path: lines for path, lines in found.items() if not path.startswith(".project/")}


def _name(line: bytes) -> str:
    text = line[4:].decode("utf-8", "replace").rstrip("\t\r").strip('"')
    return "" if text == "/dev/null" else text[2:]


class _Change(NamedTuple):
    """What the facts of one dossier are compared with."""

    services: Services
    manifest: Manifest
    relocator: Relocator
    since: LinesSince
    changed: dict[str, Ranges]


def _of(
    services: Services, feature: str, changed: dict[str, Ranges], revision: str
) -> Iterator[TouchedFact]:
    found = published_dossier.find(services, feature)
    relocator, spans = Relocator(services.tree), found.manifest.spans
    since = LinesSince(services.tree, relocator, spans, revision)
    change = _Change(services, found.manifest, relocator, since, changed)
    how = {
        source: touched
        for source, digest in spans.items()
        if (touched := _touched(change, source, digest))
    }
    for name, fact in found.facts():
        unknown = _without_digests(change, fact)
        of_fact = {source: how[source] for source in fact.sources if source in how} | unknown
        if of_fact:
            source = min(of_fact, key=lambda one: ORDER.index(of_fact[one]))
            id_ = fact_text.fact_id(name, fact.text)
            yield TouchedFact(
                id=id_,
                feature=feature,
                file=name,
                text=fact.text,
                source=source,
                how=of_fact[source],
            )


def _without_digests(change: _Change, fact: Fact) -> dict[str, How]:
    """What the change does to sources without a digest: unverified, or not seen by a build yet."""
    manifest, changed = change.manifest, change.changed
    is_new = not published.is_unverified(manifest, fact)  # it means the lines as they are
    found: dict[str, How] = {}
    for source in fact.sources:
        ref = sources.parse(source) if source not in manifest.spans else None
        if ref is not None and (paths := _paths(ref, changed, change.services.tree)):
            is_inside = is_new and _is_inside(ref, changed[paths[0]])
            found[source] = "in the change" if is_inside else "cites"
    return found


def _is_inside(ref: Ref, ranges: Ranges) -> bool:
    """Whether some of the lines that a source names are among the changed ones."""
    if ref.kind != "lines" or ranges is None:
        return False
    return any(start <= ref.end and ref.start <= end for start, end in ranges)


def _touched(change: _Change, source: str, digest: str) -> How | None:
    """What the change does to a source; None if it does not affect it."""
    change.services.progress.check()
    ref = sources.parse(source)
    if ref is None or not (paths := _paths(ref, change.changed, change.services.tree)):
        return None
    if ref.kind != "lines":
        return _touched_as_a_whole(change.services, change.relocator, ref, digest)
    mark = change.manifest.marks.get(source)
    now: Ref | How | None = None
    if mark is None:
        now = _without_mark(change, ref, digest)
    else:
        now = change.relocator.relocate(ref, digest, mark)
    if now is None:
        return "changed" if change.relocator.has_symbol(ref.path, mark) else "gone"
    if not isinstance(now, Ref):
        return now
    if now != ref:
        return "moved"
    return "in the change" if _is_inside(ref, change.changed[paths[0]]) else "cites"


def _without_mark(change: _Change, ref: Ref, digest: str) -> Ref | How | None:
    """Where lines without a mark are now, or what has become of them; None if it is not known.

    Git knows which of several equal lines they are, but not that lines moved within a file.
    """
    found = change.since.find(ref)
    if isinstance(found, Ref):
        return found
    now = _equal_lines(change.relocator, ref, digest, change.changed)
    return now if now is not None and change.since.has_moved(ref, now) else found


def _touched_as_a_whole(services: Services, relocator: Relocator, ref: Ref, digest: str) -> How:
    """What the change does to a source that is a file, a test or the absence of a text."""
    try:
        is_same = sources.resolve(ref, services.tree).digest == digest
    except SourceError:
        return "gone" if relocator.found_elsewhere(ref, digest) is None else "moved"
    return "cites" if is_same or ref.kind != "test" else "changed"


def _equal_lines(relocator: Relocator, ref: Ref, digest: str, changed: Iterable[str]) -> Ref | None:
    """The cited lines in their file, or, if there are several, in another changed file."""
    suffix = ref.path.rpartition(".")[2]
    others = [path for path in changed if path != ref.path and path.endswith(f".{suffix}")]
    for path in (ref.path, *(others if ref.end - ref.start >= MIN_MOVED else ())):
        now = relocator.equal_lines(replace(ref, path=path), digest)
        if now is not None:
            return now
    return None


def _paths(ref: Ref, changed: dict[str, Ranges], tree: Tree) -> list[str]:
    if ref.kind == "absent":
        matches, searched = glob_pattern(ref.path).fullmatch, {*tree.searched(ref.path)}
        return [path for path in changed if matches(path) or path in searched]
    return [ref.path] if ref.path in changed else []


OPERATION = Operation(
    name="history.impact",
    request=ImpactRequest,
    reply=ImpactReply,
    effect="read",
    doc="List the facts that a change to these files affects; default: the files changed in git.",
    example="preread impact api/shop/checkout.py",
    run=impact,
    command="impact",
    positional=("paths",),
    pages="facts",
)
