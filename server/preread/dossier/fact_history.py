"""How a dossier's facts changed over time: `.state/history/<feature>.jsonl`, one line per publish.

Each line is an `Event` with the facts that it added, removed, moved or changed; together they give
the facts at any time. What people or git changed between two publishes is an event of its own.
"""

import json
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, ValidationError

from preread.dossier import fact_text, markdown, merged_sides, sources
from preread.dossier.committed import Committed
from preread.dossier.fact_changes import Change, Facts, Known, compare
from preread.dossier.published import Published
from preread.dossier.relocation import Relocator
from preread.dossier.sources import Ref
from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.layout import BY_NAME, Layout
from preread.models import Fact, Manifest, Model
from preread.project import git
from preread.project.tree import Tree
from preread.services import Services

MAX_BYTES = 4_000_000  # of the file; a larger one is renamed, and a new one started
EDITED, UNKNOWN = "edited", "published before its history was kept"
LOST = "its record was lost"
UNDATED = frozenset({UNKNOWN, LOST})
CHECKED_OUT, MERGED, RESTORED = "checked out", "merged", "restored"
RETURNED = frozenset({CHECKED_OUT, MERGED, RESTORED})  # what these bring was written earlier


class Event(Model):
    """One publish, or what changed between two."""

    at: float = Field(description="In epoch seconds.")
    how: str = Field(
        description="`built`, `refreshed`, …; `edited` by people; `checked out` or `merged`, if "
        "git replaced the files by those of another build or of two; `restored` from a backup; "
        "another text if the event itself is not known."
    )
    builder: str = ""
    model: str = ""
    commit: str = Field("", description="The commit that was checked out.")
    why: str = Field("", description="Why the dossier was stale before.")
    changes: tuple[Change, ...] = ()


def facts_in(texts: Mapping[str, str], feature: str) -> Facts:
    """The facts in a dossier's files."""
    drafts = [markdown.parse(name, feature, text)[0] for name, text in texts.items()]
    found = (_known(draft.name, fact) for draft, _, fact in markdown.all_facts(drafts))
    return {(one.file, one.id): one for one in found}


def _known(file: str, fact: Fact) -> Known:
    id_ = fact_text.fact_id(file, fact.text)
    return Known(id=id_, file=file, text=fact.text, sources=fact.sources)


def events(layout: Layout, feature: str) -> list[Event]:
    """All recorded events of a feature's facts, oldest first. Raises Unreadable."""
    found = []
    for line in _lines(layout, feature):
        with suppress(ValidationError):  # a line of a killed writer or of a later version
            found.append(Event.model_validate_json(line))
    return found


def files(layout: Layout, feature: str) -> tuple[Path, Path]:
    """The files of a feature's history, oldest first; both need not exist."""
    path = layout.history(feature)
    return path.with_suffix(".old.jsonl"), path


def _lines(layout: Layout, feature: str) -> list[bytes]:
    data = [plain_bytes(path) or b"" for path in files(layout, feature)]
    return b"\n".join(data).split(b"\n")


def _has_edits(layout: Layout, feature: str) -> bool:
    """Whether a person may have edited the dossier before its last publish; parses no event."""
    return any(EDITED.encode() in line for line in _lines(layout, feature))


def facts_after(past: Iterable[Event]) -> Facts:
    """The facts after these events."""
    facts: Facts = {}
    for event in past:
        for change in event.changes:
            if change.was is not None:
                facts.pop((change.was.file, change.was.id), None)
        for change in event.changes:
            if change.now is not None:
                facts[change.now.file, change.now.id] = change.now
    return facts


def before_merge(layout: Layout, merged: Published) -> Facts | None:
    """The facts from before git merged a dossier, if the merge is recorded. Raises Unreadable.

    The merged files can have a fact twice, as each of the branches had it.
    """
    feature = merged.manifest.feature if merged.manifest is not None else ""
    past = events(layout, feature)
    last = max((i for i, event in enumerate(past) if event.how == MERGED), default=None)
    if last is None or facts_after(past[: last + 1]) != facts_in(merged.texts, feature):
        return None
    return facts_after(past[:last])


def built_ids(past: Iterable[Event]) -> set[str]:
    """Ids of the facts that builds wrote, as far as the history goes back."""
    of_people: set[tuple[str, str]] = set()
    found: set[str] = set()
    for event in past:
        for change in event.changes:
            was = (change.was.file, change.was.id) if change.was is not None else None
            by_person = was in of_people or event.how in {EDITED, *UNDATED, *RETURNED}
            if change.now is not None and by_person:
                of_people.add((change.now.file, change.now.id))
                found.discard(change.now.id)
            elif change.now is not None:
                found.add(change.now.id)
    return found


def overridden(past: Iterable[Event], by_builds: Collection[str]) -> dict[str, str]:
    """Ids of builds' facts that people edited, also their lasting ids -> ids of people's versions.

    Only if the words are still similar; otherwise it is not known which fact replaced which.
    """
    found: dict[str, str] = {}
    for event in past:
        for was, now in ((one.was, one.now) for one in event.changes):
            if was is None or now is None or was.id == now.id:
                continue
            if was.id in found.values():
                found = {id_: now.id if by == was.id else by for id_, by in found.items()}
            elif event.how == EDITED and was.id in by_builds:
                found[was.id] = now.id
                found[fact_text.lasting_id(was.file, was.text, was.sources)] = now.id
    return found


def all_facts(past: Iterable[Event]) -> Iterator[Known]:
    """All facts that ever existed, as far as the history goes back, oldest first."""
    changes = (change for event in past for change in event.changes)
    return (change.now for change in changes if change.now is not None)


def deleted_by_people(services: Services, found: Published, replaced: Collection[str]) -> set[str]:
    """Ids and lasting ids of the builds' facts whose lines people deleted from a dossier.

    `replaced`: ids of facts that people edited, which do not count. Raises Unreadable.
    """
    manifest, layout = found.manifest or Manifest(feature=""), services.layout
    shown = facts_in(found.texts, manifest.feature).values()
    gone = _with_lines_unless_deleted(services, found) - {one.id for one in shown} - {*replaced}
    if not gone and not _has_edits(layout, manifest.feature):
        return set()
    past = events_and_edits(layout, manifest.feature, found)
    gone |= _deleted(past) - {*replaced, *manifest.replaced}
    # After a merge, the manifest also has the ids of lines that the other branch has moved.
    known = (one for one in all_facts(past) if one.id in gone)
    return gone | (_lasting_ids(known) - _lasting_ids(shown))


def _with_lines_unless_deleted(services: Services, found: Published) -> set[str]:
    """Ids of the builds' facts whose lines are there unless somebody deleted them.

    A merged manifest can have those that one side's build has left out. So the manifests of the
    sides count: their facts without lines there, and those whose lines are on all sides.
    """
    manifest = found.manifest or Manifest(feature="")
    is_in_git = found.is_merged and services.tree.is_git
    sides = merged_sides.merged(services, manifest.feature).sides if is_in_git else []
    built = [({*side.manifest.facts}, {*side.words}) for side in sides if side.manifest]
    if not built:
        return {*manifest.facts}
    deleted = [facts - there for facts, there in built]
    return set.union(*deleted, set.intersection(*(facts & there for facts, there in built)))


def _deleted(past: Iterable[Event]) -> set[str]:
    """Ids of facts whose lines people deleted and that have not come back since."""
    found: set[str] = set()
    for event in past:
        if event.how == EDITED:
            found |= {one.was.id for one in event.changes if one.was and one.now is None}
        found -= {one.now.id for one in event.changes if one.now}
    return found


def _lasting_ids(facts: Iterable[Known]) -> set[str]:
    return {fact_text.lasting_id(one.file, one.text, one.sources) for one in facts}


# -- writing it


class Publish(NamedTuple):
    """What is about to be published, and what it replaces."""

    before: Published
    after: Facts
    new: Manifest
    how: str
    why: str


def record(services: Services, publish: Publish) -> None:
    """Record what a publish changed; skipped if the file cannot be written."""
    layout, feature = services.layout, publish.new.feature
    with suppress(PrereadError):
        past, before = events(layout, feature), facts_in(publish.before.texts, feature)
        meanwhile = _change_since(layout, past, publish.before, before)
        new = [meanwhile] if meanwhile is not None else []
        if not past and before:
            new = _first_events(services, publish.before, before)
        changes = compare(before, publish.after)
        reasons = _Reasons(services.tree, publish.before.manifest, publish.new)
        event = Event(
            at=new[-1].at if new else round(time.time(), 3),
            how=publish.how,
            builder=publish.new.builder,
            model=publish.new.model,
            commit=git.head(layout.root)[:12],
            why=publish.why,
            changes=tuple(one.model_copy(update={"why": reasons.of(one)}) for one in changes),
        )
        new = [one for one in (*new, event) if one.changes]
        path = layout.history(feature)
        if new and path.exists() and path.stat().st_size > MAX_BYTES:
            atomic.replace(path, path.with_suffix(".old.jsonl"))
            new.insert(0, _starting_event(facts_after(past), new[0].at))
        append(layout, feature, new)


def record_replacement(
    services: Services, feature: str, before: Published, after: Published, how: str
) -> None:
    """Record that the files were replaced or removed without a build."""
    manifest = after.manifest or before.manifest or Manifest(feature=feature)
    facts = facts_in(after.texts, feature)
    record(services, Publish(before=before, after=facts, new=manifest, how=how, why=""))


def _first_events(services: Services, found: Published, now: Facts) -> list[Event]:
    """Events to start a history: what was published, and what people or git changed since."""
    earlier = _facts_of_git(services, found) or now
    at = time.time()
    start = _starting_event(earlier, round(at - 0.001, 3))
    return [start, _event_of_others(services.layout, found, tuple(compare(earlier, now)), at)]


def _facts_of_git(services: Services, found: Published) -> Facts:
    """The facts of a dossier before a person edited it or git merged it, if git knows them."""
    if found.is_as_built or found.manifest is None or not services.tree.is_git:
        return {}
    feature = found.manifest.feature
    if found.is_merged:
        ours = merged_sides.ours(services, found)
        return facts_in(ours.texts, feature) if ours is not None else {}
    last = Committed(services, feature).at("HEAD")
    return facts_in(last.texts, feature) if last.manifest == found.manifest else {}


def _starting_event(facts: Facts, at: float) -> Event:
    """An event with all facts, to start a history or a new file of it."""
    changes = tuple(Change(kind="added", now=one) for one in facts.values())
    return Event(at=at, how=UNKNOWN, changes=changes)


def append(layout: Layout, feature: str, new: list[Event]) -> None:
    """Add events to the history of a feature's facts. Raises E_WRITE."""
    path = layout.history(feature)
    for event in new:
        data = event.model_dump(mode="json", exclude_defaults=True)
        atomic.append(path, json.dumps(data, ensure_ascii=True).encode())


def events_and_edits(layout: Layout, feature: str, found: Published) -> list[Event]:
    """All recorded events, and one for what has changed since the last of them."""
    past = events(layout, feature)
    change = _change_since(layout, past, found, facts_in(found.texts, feature))
    return [*past, change] if change is not None else past


def _change_since(layout: Layout, past: list[Event], found: Published, now: Facts) -> Event | None:
    """What people or git changed since the last event; None if nothing is known from before."""
    changes = tuple(compare(facts_after(past), now)) if past else ()
    if not changes:
        return None
    return _event_of_others(layout, found, changes, time.time())


def _event_of_others(
    layout: Layout, found: Published, changes: tuple[Change, ...], at: float
) -> Event:
    """An event with what people or git changed in a dossier."""
    how = CHECKED_OUT if found.is_as_built else MERGED if found.is_merged else EDITED
    commit = "" if how == EDITED else git.head(layout.root)[:12]
    return Event(at=round(at, 3), how=how, commit=commit, changes=changes)


class _Reasons:
    """Why facts were removed or changed: what happened to their sources."""

    def __init__(self, tree: Tree, old: Manifest | None, new: Manifest) -> None:
        self._tree, self._relocator = tree, Relocator(tree)
        self._old, self._new = old or Manifest(feature=""), new

    def of(self, change: Change) -> str:
        if change.was is None or change.kind == "moved":
            return ""
        found = [why for source in change.was.sources if (why := self._of_source(source, change))]
        return "; ".join(found)

    def _of_source(self, source: str, change: Change) -> str:
        ref, digest = sources.parse(source), self._old.spans.get(source)
        if ref is None or not digest or ref.kind not in {"lines", "path", "test"}:
            return ""
        is_there = self._relocator.exists(ref)
        if self._relocator.has_digest(ref, digest) or self._has_moved(ref, digest, change):
            return ""
        return f"{source} changed" if is_there else f"{source} is gone"

    def _has_moved(self, ref: Ref, digest: str, change: Change) -> bool:
        """Whether a source's text is elsewhere: other lines of the fact may have changed."""
        now = change.now.sources if change.now is not None else ()
        if any(self._new.spans.get(one) == digest for one in now):
            return True
        if ref.kind != "lines":
            return self._relocator.found_elsewhere(ref, digest) is not None
        mark = self._old.marks.get(str(ref))
        if mark is not None:
            return self._relocator.relocate(ref, digest, mark) is not None
        return self._relocator.equal_lines(ref, digest) is not None


def reason(event: Event, change: Change) -> str:
    """Why an event changed a fact: what happened to its sources, else why the dossier was stale.

    A fact that only moved needs no reason, and a person's edit of one file is none for another's.
    """
    shown = change.now or change.was
    if change.why or not event.why or shown is None or change.kind == "moved":
        return change.why
    edited = [name for name in BY_NAME if name in event.why]
    return "" if edited and shown.file not in edited else f"the dossier was stale: {event.why}"


def lineage(past: Iterable[Event], fact: Known) -> Iterator[tuple[Event, Change]]:
    """The events that shaped a fact, latest first, back to when it was added."""
    key: tuple[str, str] | None = (fact.file, fact.id)
    for event in reversed(list(past)):
        for change in event.changes:
            if change.now is not None and (change.now.file, change.now.id) == key:
                yield event, change
                if change.was is not None:
                    key = change.was.file, change.was.id
                elif event.how not in RETURNED:
                    key = None
                break


def fate(later: Iterable[Event], fact: Known) -> list[tuple[Event, Change]]:
    """What these events did to a fact that was there before them, latest first."""
    found: list[tuple[Event, Change]] = []
    key = (fact.file, fact.id)
    for event in later:
        for change in event.changes:
            if change.was is not None and (change.was.file, change.was.id) == key:
                found.insert(0, (event, change))
                if change.now is not None:
                    key = change.now.file, change.now.id
                break
    return found
