"""What the sides of a git merge did to a dossier, which git's union of their lines does not show.

Git knows what both sides had, and what they had in common before: a fact of that common version
which a side no longer has was deleted, reworded or refreshed there. The manifest of a side says
which of its facts are people's, and what was at the lines that they cite; on the other side,
something else may be there. Nothing is known if git does not say which versions were merged.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from preread.dossier import fact_text, markdown, published
from preread.dossier.committed import Committed
from preread.dossier.published import Published
from preread.infra.reading import plain_bytes
from preread.layout import FILES, MANIFEST
from preread.models import Fact, Manifest, Section
from preread.project.tree import Tree
from preread.services import Services

MAX_COMMITS, MAX_MERGES = 300, 10  # how far back merges are looked for, and how many count
MAX_MOVES = 100  # of HEAD, among which a rebase is looked for
STARTED = re.compile(r"(?:rebase|pull)\b.* \(start\): ")
FINISHED = re.compile(r"(?:rebase|pull)\b.* \(finish\): ")
INDEX = ""  # as in `git show :path`


class Side(NamedTuple):
    """The facts of one version, and what its last build knew."""

    words: dict[str, str]  # id -> what identifies its words without the lines they name
    facts: dict[fact_text.FactKey, tuple[Section, Fact]]
    of_people: set[fact_text.FactKey]  # those of the keys that are people's, if that is known
    loaded: set[fact_text.FactKey]  # those in files as the last load wrote them
    fences: set[str]  # ids
    manifest: Manifest | None  # None if git merged it, too
    commit: str


@dataclass(frozen=True)
class Sides:
    """What the sides of a merge did."""

    taken_out: set[str] = field(default_factory=set)  # ids of facts
    of_people: set[fact_text.FactKey] = field(default_factory=set)
    # Facts whose lines one side only moved, while a person corrected them on the other.
    superseded: set[fact_text.FactKey] = field(default_factory=set)
    joined_fences: set[str] = field(default_factory=set)  # ids of those that neither side has
    sides: list[Side] = field(default_factory=list)
    # Those that git has written again on top of another, latest first.
    rebased: list[Side] = field(default_factory=list)


class _Merge(NamedTuple):
    """Two versions that git merged, and the result: names of commits, or the index."""

    ours: str
    theirs: str
    result: str
    is_rebase: bool = False


def merged(services: Services, feature: str) -> Sides:
    """What the sides of the merges since the last load did.

    A load writes another manifest than a merge has.
    """
    dossier = _Dossier(services, feature)
    now = _plain(plain_bytes(services.layout.dossier(feature) / MANIFEST) or b"")
    found = Sides()
    for merge in dossier.merges(now):
        base = services.tree.git("merge-base", merge.ours, merge.theirs).out.decode().strip()
        versions = [dossier.version(one) for one in (base, *merge[:3])] if base else []
        if versions and all(one.words for one in versions):
            before, ours, theirs, result = versions
            found.taken_out.update(_gone(before, ours, theirs) & result.words.keys())
            found.of_people.update(ours.of_people | theirs.of_people)
            found.superseded.update(_superseded(before, ours, theirs))
            found.joined_fences.update(result.fences - ours.fences - theirs.fences)
            found.sides.extend((ours, theirs))
            found.rebased.extend([ours] if merge.is_rebase else [])
    return found


def ours(services: Services, merged: Published) -> Published | None:
    """What our side of the latest merge had, if that merge made this dossier."""
    feature = merged.manifest.feature if merged.manifest is not None else ""
    committed = Committed(services, feature)
    for merge in (*_pending(services.tree), *_merged(services.tree, committed.folder)):
        is_same = committed.at(merge.result).manifest == merged.manifest
        return committed.at(merge.ours) if is_same else None
    return None


def _gone(before: Side, ours: Side, theirs: Side) -> set[str]:
    """The ids of the facts that a side no longer has, also with the lines that the other gave.

    If the other side only has new lines for a fact, the sources that people corrected stay.
    """
    gone: set[str] = set()
    corrected: set[str] = set()
    for side, other in ((ours.words, theirs), (theirs.words, ours)):
        gone |= before.words.keys() - side.keys()
        moved = {
            before.words[id_] for id_ in before.words.keys() - side.keys() - other.words.keys()
        }
        moved -= {*side.values()}
        gone |= {id_ for id_, words in other.words.items() if words in moved}
        new = {id_ for id_, _ in other.of_people - before.facts.keys()} & before.words.keys()
        corrected |= {id_ for id_ in new if other.words[id_] in side.values()}
    return gone - corrected


def _superseded(before: Side, ours: Side, theirs: Side) -> Iterator[fact_text.FactKey]:
    """The facts that a side's load moved, while the other side has sources that no load wrote."""
    versions = [_only_keys(one) for one in (before, ours, theirs)]
    for id_ in versions[0].keys() & versions[1].keys() & versions[2].keys():
        keys = [one[id_] for one in versions]
        if len({*keys}) == len(keys):
            moved = [
                key for key, one in zip(keys[1:], (ours, theirs), strict=True) if key in one.loaded
            ]
            yield from moved if len(moved) == 1 else ()


def _only_keys(side: Side) -> dict[str, fact_text.FactKey]:
    """The keys of facts whose words no other fact has, by their ids."""
    counts = Counter(id_ for id_, _ in side.facts)
    return {key[0]: key for key in side.facts if counts[key[0]] == 1}


class _Dossier:
    """The versions of a dossier that git has."""

    def __init__(self, services: Services, feature: str) -> None:
        self.tree, self.feature = services.tree, feature
        self.committed = Committed(services, feature)

    def version(self, commit: str) -> Side:
        """The facts of a commit's version; none if it has no dossier, or git cannot read it."""
        names = [row.name for row in FILES]
        *files, data = self.committed.contents(commit, [*names, MANIFEST])
        manifest = published.parse_manifest(data, self.feature)
        if manifest is not None and not all(manifest.files.values()):
            manifest = None
        found = Side({}, {}, set(), set(), set(), manifest, commit)
        for name, data in zip(names, files, strict=True):
            text, digest = published.text_of(data), published.digest(data)
            is_loaded = manifest is not None and manifest.files.get(name) == digest
            draft = markdown.parse(name, self.feature, text)[0]
            for section in draft.sections:
                found.fences.update(fact_text.fence_id(name, one.lines) for one in section.fences)
            for _, section, fact in markdown.all_facts([draft]):
                key = fact_text.fact_key(name, fact)
                own = fact_text.fact_id(name, fact_text.without_places(fact.text))
                found.words[key[0]] = own
                found.facts[key] = section, fact
                found.loaded.update({key} if is_loaded else ())
                if manifest and manifest.facts and not published.is_built(manifest, name, fact):
                    found.of_people.add(key)
        return found

    def merges(self, now: bytes) -> Iterator[_Merge]:
        """The merges since the last load, latest first; `now` is the manifest."""
        rebase = _last_rebase(self.tree)
        if rebase is not None and self._manifest(rebase.result) == now:
            yield rebase
        for merge in (*_pending(self.tree), *_merged(self.tree, self.committed.folder)):
            if self._manifest(merge.result) != now:
                break
            yield merge
            now = self._manifest(merge.ours)

    def _manifest(self, commit: str) -> bytes:
        return self.committed.contents(commit, (MANIFEST,))[0]


def _plain(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")  # autocrlf adds them


def _pending(tree: Tree) -> Iterator[_Merge]:
    """The merge that is not committed yet."""
    if theirs := _commit(tree, "MERGE_HEAD"):
        yield _Merge("HEAD", theirs, INDEX)


def _merged(tree: Tree, folder: str) -> Iterator[_Merge]:
    """The latest merges that changed a folder."""
    oldest = tree.git("rev-list", "--first-parent", "-n", str(MAX_COMMITS), "HEAD").out.split()[-1:]
    command = ("log", "--first-parent", "--merges", "-n", str(MAX_MERGES), "--format=%H %P")
    done = tree.git(*command, "HEAD", *(f"^{one.decode()}" for one in oldest), "--", folder)
    for line in done.out.decode().splitlines():
        result, ours, theirs, *_ = line.split()
        yield _Merge(ours, theirs, result)


def _last_rebase(tree: Tree) -> _Merge | None:
    """The rebase that HEAD's log ends with, or that has not ended yet."""
    done = tree.git("log", "--walk-reflogs", "-n", str(MAX_MOVES), "--format=%H %gs", "HEAD")
    moves = [line.partition(" ") for line in done.out.decode("utf-8", "replace").splitlines()]
    result = "HEAD"
    for commit, _, what in moves:
        if FINISHED.match(what):
            result = commit
        if STARTED.match(what):
            ours = _commit(tree, "ORIG_HEAD")
            return _Merge(ours, commit, result, is_rebase=True) if ours else None
    return None


def _commit(tree: Tree, name: str) -> str:
    """The commit that a name refers to; empty if there is none."""
    return tree.git("rev-parse", "-q", "--verify", f"{name}^{{commit}}").out.decode().strip()
