"""Cache lookup: does the published dossier cover a request? Checks cheap conditions first."""

import os
import shlex
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Literal, NamedTuple

from preread import inputs, passed_checks, signatures
from preread.dossier import (
    build_records,
    fact_text,
    markdown,
    published,
    sources,
    wrong_marks,
)
from preread.dossier.published import Published
from preread.dossier.sources import Ref, SourceError
from preread.errors import Unreadable
from preread.gates import submodules
from preread.gates.freshness import CHANGED, GONE
from preread.layout import MANIFEST, REQUIRED
from preread.models import LEVELS, Draft, Manifest, Request
from preread.passed_checks import Check
from preread.project.globs import glob_pattern
from preread.project.tree import Tree
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
    why, doubt = _content_miss(services, request, found)
    if doubt:
        return Lookup(True, "", found, "nothing", doubt)
    if why:
        return Lookup(False, why, found, "refresh")
    if found.manifest and (why := next(_new_description(request, found.manifest), "")):
        return Lookup(False, why, found, "widen")
    return Lookup(True, "", found, "nothing")


def _content_miss(services: Services, request: Request, found: Published) -> tuple[str, str]:
    """Why the dossier's inputs and sources have changed, else what makes that uncertain."""
    if found.manifest and (doubt := unfit_work_tree(services, found.manifest)):
        return "", "; ".join((doubt, *_lost(found)))
    try:
        why = next(_content_misses(services, request, found), "")
    except Unreadable as error:
        return "", error.message
    # A rebuild would drop facts from files that cannot be read now.
    doubt = services.tree.troubles
    return "" if doubt else why, doubt


def unfit_work_tree(services: Services, manifest: Manifest) -> str:
    """Why a dossier does not fit this work tree; empty if it does.

    It is not refreshed here, because files that are not checked out would look deleted: in a
    submodule, and, if git tracks the dossier, in a sparse or shallow work tree.
    """
    if why := next(_missing_submodules(services, manifest), ""):
        return why
    cut = services.tree.cut
    if not cut or cut == manifest.cut:
        return ""
    if not is_tracked(services, manifest.feature):
        return ""
    kinds = " and ".join(part.partition(":")[0] for part in cut.split())
    return f"this work tree is {kinds}, and the dossier was made from another one"


def _missing_submodules(services: Services, manifest: Manifest) -> Iterator[str]:
    """That the dossier cites a submodule that is not checked out, and what to do about it."""
    root = str(services.layout.root)
    paths = {ref.path for ref in map(sources.parse, manifest.spans) if ref and ref.path}
    gone = (path for path in sorted(paths) if not os.path.lexists(f"{root}/{path}"))
    for repository, name in filter(None, (submodules.missing(root, path) for path in gone)):
        inside = ("-C", repository) if repository else ()
        command = shlex.join(("git", *inside, "submodule", "update", "--init", name))
        where = f"{repository}/{name}".lstrip("/")
        yield f"the submodule {where}, which it cites, is not checked out (`{command}`)"


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
    if not _wrong(services, manifest).isdisjoint(manifest.facts):
        yield "it has a fact that was marked as wrong"
    yield from _lost(found)
    yield from _changed_inputs(services, request, manifest)
    yield from _edits(found, manifest)
    yield from _changed_spans(services, manifest)


def _lost(found: Published) -> Iterator[str]:
    """The files that are missing or damaged, or may have been cut off."""
    yield from (f"{name} is missing or damaged" for name in found.lost)
    for name in found.edited:
        if not found.texts[name].endswith("\n"):
            yield f"{name} ends in the middle of a line"


def _wrong(services: Services, manifest: Manifest) -> set[str]:
    """The ids of the dossier's facts that were marked as wrong; git may have restored them."""
    marks = wrong_marks.marks(services.layout).items()
    return {id_ for id_, mark in marks if mark.feature == manifest.feature}


def is_fresh(services: Services, request: Request, found: Published) -> bool:
    """Whether a dossier's inputs and cited spans are unchanged, and people's edits are tracked."""
    try:
        return next(_content_misses(services, request, found), None) is None
    except Unreadable:
        return False


def _edits(found: Published, manifest: Manifest) -> Iterator[str]:
    """Facts of people in the files that were edited, and files that git merged.

    The manifest does not list people's facts. Those whose sources it knows may be older ones.
    """
    if found.is_merged:
        yield "git merged two versions of it"
    for name in found.restored:
        yield f"a person removed paths from {name}"
    for name in found.edited:
        if manifest.files.get(name) == "":
            yield f"it is not known who wrote {name}"
        draft = markdown.parse(name, manifest.feature, found.texts[name])[0]
        theirs = [one for one in draft.facts if not published.is_built(manifest, name, one)]
        for fact in theirs:
            is_known = manifest.spans.keys() >= {*fact.sources}
            if not is_known and not published.is_unverified(manifest, fact):
                is_new = fact_text.fact_id(name, fact.text) not in manifest.facts
                what = "added to" if is_new else "changed the sources in"
                yield f"a person {what} {name}: {fact.text}"
        yield from _new_fences(found, manifest, name)
        yield from _repeated(draft)
        if any(fact.sources for fact in theirs):
            yield f"a person edited {name}"


def _repeated(draft: Draft) -> Iterator[str]:
    """The facts that a file has twice, as when a person undid what they made of one."""
    seen = set()
    for _, section, fact in markdown.all_facts([draft]):
        key = fact_text.fact_key(draft.name, fact)
        place = (key, markdown.heading_source(section.heading))
        if place in seen:
            yield f"{draft.name} says twice: {fact.text}"
        seen.add(place)


def _new_fences(found: Published, manifest: Manifest, name: str) -> Iterator[str]:
    """The code blocks of a file that no build has seen with their sources."""
    for section in markdown.parse(name, manifest.feature, found.texts[name])[0].sections:
        for fence in section.fences:
            is_built = published.is_built_fence(manifest, name, section, fence)
            is_known = fact_text.fence_key(name, section, fence) in manifest.peoples_fences
            if not is_built and not is_known:
                yield f"a person added code to {name}: {section.heading}"


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
    run = build_records.read(services.layout, manifest.feature)
    if run is None or not 0 <= time.time() - run.finished < services.settings.degraded_for:
        why = manifest.fault.reason if manifest.fault else "for an unknown reason"
        yield f"it is degraded ({why}), and it is time to try again"


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
    signature_of = _signatures(tree)
    slow: dict[str, Check] = {}
    commits: list[str] = []
    for text, digest in manifest.spans.items():
        ref = sources.parse(text)
        if ref is None:
            yield f"a cited source cannot be parsed: {text}"
        elif ref.kind == "commit":
            commits.append(ref.name)
        elif ref.kind in SLOW:
            files = signature_of(ref)
            signature = f"{digest} {files}" if files else ""
            slow[text] = Check(signature, partial(_changed, ref, digest, tree))
        elif sources.ROWS[ref.kind].local:
            yield from _changed(ref, digest, tree)
    if commits:
        check = partial(_missing_commits, commits, tree)
        key = passed_checks.commits_key(manifest.feature)
        slow[key] = Check(signatures.of_head(commits, tree), check)
    yield from passed_checks.run_unless_passed(services, slow)


def _signatures(tree: Tree) -> Callable[[Ref], str]:
    """For a source of a slow kind, the signature of the files that it depends on."""
    listed = cache(lambda: list(inputs.listed(tree)))

    @cache
    def of_glob(glob: str) -> str:
        from preread.roles import with_all_tests  # most look-ups do not need it

        matching = [*filter(glob_pattern(glob).fullmatch, listed())]
        return signatures.of_files(tree, with_all_tests(matching, listed()))

    def signature_of(ref: Ref) -> str:
        if ref.kind == "absent":
            return of_glob(ref.path)
        return signatures.of_files(tree, (ref.path,))

    return signature_of


def _changed(ref: Ref, digest: str, tree: Tree) -> Iterator[str]:
    tree.check()
    try:
        now = sources.resolve(ref, tree).digest
    except SourceError as error:
        yield f"{GONE}{ref} ({error})"
    else:
        if now != digest:
            yield f"{CHANGED}{ref}"


def _missing_commits(names: list[str], tree: Tree) -> Iterator[str]:
    """Cited commits that do not exist. Commits never change, so one call of git is enough."""
    known: list[str] = []
    if tree.is_git:
        done = tree.git("rev-list", "--no-walk", "--ignore-missing", *names, "--", must=True)
        known = done.out.decode().split()
    for name in names:
        if not any(commit.startswith(name) for commit in known):
            yield f"a cited commit is gone: {name}"
