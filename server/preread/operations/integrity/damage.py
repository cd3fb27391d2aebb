"""What is wrong with the stored files, and how each problem is repaired.

What people wrote is checked by `check`, not here, and only people repair it.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from preread import backups, check, facts, publish
from preread.builds import feature_lock, lost_files, lost_manifests, staleness
from preread.dossier import (
    build_records,
    damaged_history,
    fact_history,
    published,
    wrong_marks,
)
from preread.gates.feature_names import is_feature
from preread.infra import atomic, db
from preread.infra.plural import counted
from preread.infra.reading import names_in, obstacle, plain_bytes
from preread.layout import MANIFEST, Layout
from preread.memory import files
from preread.models import Manifest
from preread.records import stale_hints
from preread.services import Services

SET_ASIDE = "it is moved to the backups"


@dataclass(frozen=True)
class Damage:
    """One problem with the stored files. Without `repair`, only a person can fix it."""

    path: Path
    code: str
    message: str
    fix: str = ""
    repair: Callable[[], object] | None = None
    changes: tuple[Path, ...] = ()  # files that `repair` replaces or removes


def _aside(path: Path, code: str, message: str, fix: str = SET_ASIDE) -> Damage:
    return Damage(path, code, message, fix, partial(atomic.remove, path), (path,))


def _in_the_way(layout: Layout, path: Path, code: str) -> Iterator[Damage]:
    """A folder, a pipe or the like in place of a file that Preread can make again."""
    kind = obstacle(path)
    if not kind:
        return
    message = f"it is {kind} instead of a file"
    if layout.project not in path.parents:  # the person's cache folder, of which nobody has backups
        yield Damage(path, code, f"{message}; move it away")
    else:
        yield _aside(path, code, message, SET_ASIDE if path.is_dir() else "it is removed")


# -- one feature; its lock must be held


def of_feature(services: Services, feature: str) -> Iterator[Damage]:
    """What is wrong with the files of one feature's dossier; each problem is reported once."""
    layout = services.layout
    if left := publish.leftovers(services, feature):
        fix = "what is complete is published, the rest is removed"
        message = "a killed build or write left this"
        yield Damage(
            left[0], "E_LEFTOVER", message, fix, partial(publish.recover, services, feature)
        )
        return
    path = layout.dossier(feature) / MANIFEST
    if in_the_way := [*_in_the_way(layout, path, "E_MANIFEST")]:
        yield from in_the_way  # the next round restores the manifest
        return
    data = plain_bytes(path)
    manifest = published.parse_manifest(data, feature)
    if manifest is None and not (data is not None and _is_newer(data)):
        yield from _no_manifest(services, feature, data)
    if manifest is not None:
        yield from _files(services, manifest)
    yield from _hint(services, feature, manifest)
    yield from _run_record(services, feature)
    yield from _history(services, feature)


def _is_newer(data: bytes) -> bool:
    """Whether a manifest was written by a later version, which this one leaves alone."""
    import json

    with suppress(ValueError, RecursionError):
        value = json.loads(data)
        version = value.get("schema_version") if isinstance(value, dict) else None
        return isinstance(version, int) and version > published.SCHEMA
    return False


def _no_manifest(services: Services, feature: str, data: bytes | None) -> Iterator[Damage]:
    path = services.layout.dossier(feature) / MANIFEST
    if published.in_place(services.layout, feature).texts:
        message = "it is missing" if data is None else "it is not a valid manifest of this feature"
        fix = "it is restored as far as possible"
        repair = partial(lost_manifests.restore, services, feature)
        yield Damage(path, "E_MANIFEST", message, fix, repair, (path,))
    elif data is not None:
        yield _aside(path, "E_MANIFEST", "it is not a valid manifest of this feature")


def _files(services: Services, manifest: Manifest) -> Iterator[Damage]:
    feature, folder = manifest.feature, services.layout.dossier(manifest.feature)
    lost = lost_files.find(services, manifest)
    for one in lost:
        path = folder / one.name
        message = f"the manifest lists it, and it is {one.state}"
        if one.is_blocked:
            # The next round restores the file.
            yield from _in_the_way(services.layout, path, "E_FILE_MISSING")
        elif one.copy is not None:
            fix = "it is restored from a copy"
            repair = partial(atomic.write, path, one.copy, durable=True)
            yield Damage(path, "E_FILE_MISSING", message, fix, repair, (path,))
        else:
            message += f"; no copy is known; build it again: `preread load {feature}`"
            if theirs := lost_files.of_people(services, manifest, one):
                message += f". What people wrote there is gone: {theirs}"
            yield Damage(path, "E_FILE_MISSING", message)
    yield from _edited(services, manifest, {one.name for one in lost})


def _edited(services: Services, manifest: Manifest, lost: set[str]) -> Iterator[Damage]:
    """Edited files that may be damaged: only a person can tell."""
    found = published.in_place(services.layout, manifest.feature)
    shown = {id_ for _, id_ in fact_history.facts_in(found.texts, manifest.feature)}
    gone = 0 if found.is_merged else len({*manifest.facts} - shown)
    for name in found.edited:
        path = services.layout.dossier(manifest.feature) / name
        data = b"\n" if name in lost else plain_bytes(path) or b""
        try:
            data.decode()
        except UnicodeDecodeError as error:
            message = f"it is not UTF-8 (byte {error.start + 1}); save it in that encoding"
            yield Damage(path, "E_FILE_TEXT", message)
            continue
        if gone and not data.endswith(b"\n"):
            message = (
                f"it ends in the middle of a line, and {counted(gone, 'fact')} of the manifest "
                f"cannot be found; if nobody deleted them: `preread load {manifest.feature}`"
            )
            yield Damage(path, "E_FILE_TEXT", message)


def _hint(services: Services, feature: str, manifest: Manifest | None) -> Iterator[Damage]:
    """A hint for the gates that a fresh dossier is stale.

    A missing one is no damage: until someone looks, nobody knows that a dossier is stale.
    """
    layout = services.layout
    path = layout.stale(feature)
    if manifest is None or plain_bytes(path) is None:
        return
    lookup = staleness.look_up(services, manifest)
    is_about_computed = stale_hints.reason(layout, feature).startswith(stale_hints.COMPUTED)
    if lookup.covers and (not is_about_computed or staleness.is_current(services, lookup)):
        repair = partial(stale_hints.clear, layout, feature)
        yield Damage(path, "E_HINT", "the dossier is not stale", "it is removed", repair)


def _run_record(services: Services, feature: str) -> Iterator[Damage]:
    path = services.layout.run_record(feature)
    yield from _in_the_way(services.layout, path, "E_RECORD")
    if plain_bytes(path) is not None and build_records.read(services.layout, feature) is None:
        yield _aside(path, "E_RECORD", "it is not a valid run record")


def _history(services: Services, feature: str) -> Iterator[Damage]:
    """Damage to the history of a feature's facts."""
    layout = services.layout
    found = published.in_place(layout, feature)
    repair = partial(damaged_history.repair, layout, feature, found)
    paths = fact_history.files(layout, feature)
    for path in paths:
        yield from _in_the_way(layout, path, "E_RECORD")
        if broken := damaged_history.broken_lines(path):
            message = f"{counted(len(broken), 'line')} cannot be read, so events are missing"
            fix = "they are moved to the backups, and what they changed is recorded as lost"
            yield Damage(path, "E_RECORD", message, fix, repair, (path,))
    if damaged_history.is_missing(layout, feature) and fact_history.facts_in(found.texts, feature):
        message, fix = "the history of the facts is missing", "a new one starts with those of now"
        yield Damage(paths[1], "E_RECORD", message, fix, repair)


# -- damage that belongs to no single feature


def of_project(services: Services) -> Iterator[Damage]:
    """Damage outside dossiers: the index, files that belong to no dossier, marks."""
    layout = services.layout
    yield from _index(services)
    yield from _orphans(services)
    for personal in (False, True):
        yield from _topics(layout, personal=personal)
    if wrong_marks.is_damaged(layout):
        yield _aside(layout.wrong, "E_RECORD", "the facts that were marked as wrong are unreadable")
    yield from _backups(layout)
    for path in feature_lock.unfinished_backups(services):
        message = "a killed call left this"
        repair = partial(feature_lock.remove_unfinished_backups, services)
        yield Damage(path, "E_LEFTOVER", message, "it is removed", repair)


def _backups(layout: Layout) -> Iterator[Damage]:
    for backup in backups.list_all(layout):
        if damaged := backups.damaged(layout, backup):
            what = "; ".join(f"{name} {why}" for name, why in damaged.items())
            message = f"{what}; delete it if you do not need the others"
            yield Damage(layout.backup_sets / backup.id, "E_BACKUP", message)


def _topics(layout: Layout, *, personal: bool) -> Iterator[Damage]:
    """Topics on which several facts of one collection are in use, as after a merge of branches."""
    path = files.path_of(layout, personal=personal)
    found: dict[tuple[str, str], list[str]] = {}
    for entry in files.read(layout, personal=personal).live:
        for on in entry.topics:
            found.setdefault(on, []).append(f"{entry.id} (line {entry.lines[0]})")
    for (topic, collection), same in sorted(found.items()):
        if len(same) > 1:
            message = f"`{topic}` is the topic of several facts in {collection}: {', '.join(same)}"
            yield Damage(path, "E_TOPIC", message, "decide again, or forget all but one of them")


def _index(services: Services) -> Iterator[Damage]:
    path = db.place(services.layout).db
    if not path.exists():
        return
    if in_the_way := [*_in_the_way(services.layout, path, "E_INDEX")]:
        yield from in_the_way
        return
    fix = "it is built again from the files"
    if db.is_damaged(services.layout):
        yield Damage(path, "E_INDEX", "the index is damaged", fix, partial(_rebuild, services))
        return
    for name in facts.mismatched(services):
        message = f"it has other facts of {name} than the file"
        yield Damage(path, "E_INDEX", message, fix, partial(_reindex, services, name))


def _rebuild(services: Services) -> None:
    db.rebuild(services.layout)
    facts.index(services, check.check_unbudgeted)


def _reindex(services: Services, path: str) -> None:
    facts.forget(services, path)
    facts.index(services, check.check_unbudgeted)


def _orphans(services: Services) -> Iterator[Damage]:
    """Hints and records of features that have no dossier."""
    layout = services.layout
    features = {*published.features(layout), *published.unfinished(layout)}
    for name in names_in(layout.stale("x").parent):
        if name not in features and not name.startswith("."):
            path = layout.stale("x").with_name(name)
            repair = partial(atomic.remove, path)
            yield Damage(path, "E_HINT", "it is about no dossier", "it is removed", repair)
    folder = layout.run_record("x").parent
    for name in names_in(folder):
        feature, _, suffix = name.rpartition(".")
        if suffix == "json" and is_feature(feature) and feature not in features:
            yield _aside(folder / name, "E_RECORD", "it is about no dossier")
