"""Read a published dossier consistently, even while another process publishes it."""

import hashlib
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from preread.dossier import basenames, fact_text, lost_paths
from preread.gates.feature_names import is_feature
from preread.infra import merged_json
from preread.infra.reading import ABSENT, names_in, plain_bytes, read_errors
from preread.layout import BY_NAME, FILES, MANIFEST, REQUIRED, Layout
from preread.models import Fact, Fence, Manifest, Model, Section

SCHEMA = 1
# The parts of a manifest with a line per entry. After a merge, the indentations of the lines tell
# them apart. They depend on this order, so new names belong at the end.
SECTIONS = (
    "spans", "facts", "cited", "order", "headings", "marks", "files", "fences", "unverified",
    "sought", "used", "replaced", "cited_by_fences", "peoples_fences", "by_hand", "drafted",
    "missing", "lost", "wordings", "fault", "subjects", "cut_lines",
)  # fmt: skip
MAX_READS = 50
MAX_NAMED = 5  # files named in a note
PAUSE = 0.01  # seconds between reads; longer than any file system's time stamp resolution
# A staging folder is complete when its name has this suffix and it contains this file. A builder
# could write the file, but cannot rename its folder.
READY, MARK = ".ready", "ready.json"


class Published(NamedTuple):
    """A published dossier; `edited` names the files whose digest differs from the manifest's.

    `restored` names those whose texts have paths again that a person removed from the files.
    """

    manifest: Manifest | None
    texts: dict[str, str]
    edited: tuple[str, ...]
    restored: tuple[str, ...] = ()

    @property
    def is_as_built(self) -> bool:
        """Whether these are the files of one build, none of them edited or removed."""
        if self.manifest is None or self.edited:
            return False
        return self.manifest.files.keys() == self.texts.keys()

    @property
    def lost(self) -> tuple[str, ...]:
        """The files that the manifest lists and that are missing or damaged."""
        files = self.manifest.files if self.manifest is not None else {}
        return tuple(name for name in BY_NAME if files.get(name) and name not in self.texts)

    @property
    def is_merged(self) -> bool:
        """Whether git merged the manifests of two builds."""
        files = self.manifest.files if self.manifest is not None else {}
        return bool(files) and not any(files.values())


class Ready(Model):
    """What marks a staging folder as complete: its manifest, and digests of what it replaces."""

    order: int
    manifest: Manifest
    before: dict[str, str]

    @property
    def remove(self) -> tuple[str, ...]:
        """The published files that the new dossier no longer has."""
        return tuple(sorted(self.before.keys() - self.manifest.files.keys()))


def digest(data: bytes) -> str:
    """SHA-256 of a file's bytes, first 16 hex digits. CR before LF is ignored: autocrlf adds it."""
    return hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()[:16]


def says_nothing(data: bytes) -> bool:
    """Whether a file of a dossier is empty or damaged: a power cut can leave NUL bytes."""
    return b"\0" in data or not data.strip()


def text_of(data: bytes) -> str:
    """The text of a dossier's file, whatever its encoding."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def parse_manifest(data: bytes | None, feature: str) -> Manifest | None:
    """Parse a manifest; None unless it is valid, of this schema and of this feature.

    If git merged it, the digests of all files are empty, because it has the entries of both sides.
    """
    if data is None:
        return None
    try:
        manifest: Manifest | None = Manifest.model_validate_json(data)
        if merged_json.has_repeated_keys(data.decode()):  # a merge can be valid JSON
            manifest = _merged(data) or manifest
    except ValueError:  # ValidationError is one
        manifest = _merged(data)
    if manifest is None:
        return None
    return manifest if manifest.schema_version == SCHEMA and manifest.feature == feature else None


def _merged(data: bytes) -> Manifest | None:
    """A manifest that git merged, without what its sides say differently about the same lines."""
    try:
        value = merged_json.parse(data.decode(), SECTIONS, ("spans", "marks"))
        found = Manifest.model_validate(value)
    except ValueError:  # ValidationError and UnicodeDecodeError are, too
        return None
    spans = dict.fromkeys(found.marks, "") | found.spans
    return found.model_copy(update={"files": dict.fromkeys(found.files, ""), "spans": spans})


def is_built(manifest: Manifest, file: str, fact: Fact) -> bool:
    """Whether a build wrote a published fact, and no person has corrected its sources since.

    After a merge it is not known what builds cited: git joins lines of both sides.
    """
    if fact_text.fact_id(file, fact.text) not in manifest.facts:
        return False
    is_known = bool(manifest.cited) and manifest.files.get(file) != ""
    return not is_known or fact_text.cited_digest(file, fact) in manifest.cited


def is_unverified(manifest: Manifest, fact: Fact) -> bool:
    """Whether a build found that the sources of a person's fact do not support it."""
    return not {fact.text, fact_text.with_sources(fact)}.isdisjoint(manifest.unverified)


def is_built_fence(manifest: Manifest, file: str, section: Section, fence: Fence) -> bool:
    """Whether a build wrote a published fence, and no person has corrected its source since."""
    if fact_text.fence_id(file, fence.lines) not in (manifest.fences or ()):
        return False
    is_known = bool(manifest.cited_by_fences) and manifest.files.get(file) != ""
    return not is_known or fact_text.fence_key(file, section, fence) in manifest.cited_by_fences


def staged(layout: Layout, feature: str) -> list[Path]:
    """The staging folders of a feature."""
    names = names_in(layout.staging)
    return [layout.staging / name for name in names if name.startswith(f"{feature}.")]


def pending(layout: Layout, feature: str) -> bool:
    """Whether a build is running, or a killed build left drafts or its hint for the gates."""
    return bool(staged(layout, feature)) or os.path.lexists(layout.building(feature))


def unfinished(layout: Layout) -> list[str]:
    """The features that are being built, or for which a killed build left files."""
    names = set()
    for folder in (layout.staging, layout.building("x").parent):
        with suppress(OSError):
            names |= {path.name.split(".")[0] for path in folder.iterdir()}
    return sorted(name for name in names if is_feature(name))


def ready(layout: Layout, feature: str) -> list[tuple[Ready, Path]]:
    """The complete staging folders of a feature, oldest first."""
    found = []
    for folder in staged(layout, feature):
        data = plain_bytes(folder / MARK) if folder.name.endswith(READY) else None
        if data is None:
            continue
        try:
            value = Ready.model_validate_json(data)
        except ValidationError:
            continue
        known = BY_NAME.keys() >= value.manifest.files.keys() | value.before.keys()
        if known and value.manifest.feature == feature:
            found.append((value, folder))
    return sorted(found, key=lambda pair: (pair[0].order, pair[1].name))


class _Snapshot(NamedTuple):
    """One read of a dossier, which another process may have been replacing at the time."""

    published: Published | None
    is_consistent: bool  # all files exist with the manifest's digests: they are of one build
    is_stable: bool  # the manifest was not replaced meanwhile
    state: tuple[object, ...]  # equal for two reads of the same bytes


def _identity(path: Path) -> tuple[int, ...]:
    try:
        with read_errors(path):
            info = path.lstat()
    except OSError:
        return ()
    return (info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


def _snapshot(layout: Layout, feature: str) -> _Snapshot:
    """Read the dossier once. If a complete staging folder exists, its files are the dossier's."""
    latest = next(reversed(ready(layout, feature)), None)
    folder = layout.dossier(feature)
    if folder.is_symlink():
        return _Snapshot(None, True, True, ())
    before = _identity(folder / MANIFEST)
    data = plain_bytes(folder / MANIFEST) if latest is None else None
    manifest = parse_manifest(data, feature) if latest is None else latest[0].manifest
    found = _files(folder, latest)
    after = _identity(folder / MANIFEST)
    if manifest is None and not found and not after:
        return _Snapshot(None, True, True, ())
    files = manifest.files if manifest else {}
    edited = _edited(found, manifest)
    is_consistent = not edited and files.keys() == found.keys()
    whole = _published(layout, found, manifest, edited)
    state = (found, before, latest)
    return _Snapshot(whole, is_consistent, before == after, state)


def _published(
    layout: Layout,
    found: Mapping[str, bytes],
    manifest: Manifest | None,
    edited: tuple[str, ...],
) -> Published:
    """A dossier with the texts of its files; of edited ones with the paths that were taken out."""
    texts = {name: text_of(data) for name, data in found.items()}
    if manifest is None or not edited:
        return Published(manifest, texts, edited)
    lost = basenames.by_basename(manifest.spans)
    lost = {name: path for name, path in lost.items() if not (layout.root / name).exists()}
    whole = {name: lost_paths.restored(name, texts[name], manifest, lost) for name in edited}
    restored = tuple(name for name, text in whole.items() if text != texts[name])
    return Published(manifest, texts | whole, edited, restored)


def _files(folder: Path, latest: tuple[Ready, Path] | None) -> dict[str, bytes]:
    """The dossier's files by name, as they are once the latest staging folder is published."""
    removed = latest[0].remove if latest else ()
    staged_files = latest[0].manifest.files if latest else {}
    found = {}
    for row in FILES:
        # Staging first: a file moves from there into the dossier.
        data = plain_bytes(latest[1] / row.name) if latest and row.name in staged_files else None
        data = plain_bytes(folder / row.name) if data is None else data
        if data is not None and row.name not in removed and not says_nothing(data):
            found[row.name] = data
    return found


def unknown_files(layout: Layout, feature: str) -> Iterator[str]:
    """A note on files in a dossier's folder that look like parts of it and are not read."""
    names = names_in(layout.dossier(feature))
    found = [one for one in names if one.endswith(".md") and one[0] != "." and one not in BY_NAME]
    if found:
        what = f"{found[0]} is" if len(found) == 1 else f"{', '.join(found[:MAX_NAMED])} are"
        yield (
            f"{what} not read, and nothing keeps its facts true: a dossier consists of "
            f"{', '.join(BY_NAME)}. Move the facts into one of these."
        )


def in_place(layout: Layout, feature: str) -> Published:
    """The files that are in place now; requires the feature's lock."""
    folder = layout.dossier(feature)
    return of_files(layout, feature, _files(folder, None), plain_bytes(folder / MANIFEST))


def of_files(
    layout: Layout, feature: str, found: Mapping[str, bytes], manifest_data: bytes | None
) -> Published:
    """The dossier that consists of these files and this manifest."""
    manifest = parse_manifest(manifest_data, feature)
    return _published(layout, found, manifest, _edited(found, manifest))


def _edited(found: Mapping[str, bytes], manifest: Manifest | None) -> tuple[str, ...]:
    files = manifest.files if manifest else {}
    return tuple(name for name, data in found.items() if files.get(name) != digest(data))


def read(layout: Layout, feature: str) -> Published | None:
    """Read the complete dossier of one build; None when there is none. Takes no lock.

    A file that differs from the manifest was either read during a publish, so a later read will be
    consistent; or a person edited it, and two reads in a row give the same.
    """
    last = None
    for _ in range(MAX_READS):
        now = _snapshot(layout, feature)
        if now.is_consistent or (last is not None and _is_same(now, last)):
            break
        last = now
        time.sleep(PAUSE)
    return now.published


def _is_same(one: _Snapshot, other: _Snapshot) -> bool:
    return one.is_stable and other.is_stable and one.state == other.state


def is_complete(layout: Layout, feature: str) -> bool:
    """Whether a feature has a dossier, and every file that one needs."""
    found = read(layout, feature)
    return found is not None and all(found.texts.get(name, "").strip() for name in REQUIRED)


def features(layout: Layout) -> list[str]:
    """The features that have a dossier, sorted.

    This includes those whose publishing was killed before the first file was in place, and folders
    that cannot be read.
    """
    names = {name.split(".")[0] for name in names_in(layout.staging) if name.endswith(READY)}
    context = str(layout.context)
    names |= {name for name in names_in(layout.context) if _has_dossier(f"{context}/{name}")}
    return sorted(name for name in names if is_feature(name))


def _has_dossier(folder: str) -> bool:
    """Whether a folder has a dossier. Without pathlib, which is too slow for thousands of them."""
    if os.path.islink(folder):  # noqa: PTH114
        return False
    return any(_is_file(f"{folder}/{name}") for name in (MANIFEST, *BY_NAME))


def _is_file(path: str) -> bool:
    """Whether there is a file, or may be one that cannot be reached: whoever reads it will say."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116
    except OSError as error:
        return error.errno not in ABSENT


def json_bytes(value: dict[str, Any]) -> bytes:
    """Canonical JSON, one entry per line."""
    return merged_json.to_text(value).encode("utf-8", "replace")


def manifest_bytes(manifest: Manifest) -> bytes:
    """The bytes of `manifest.json`, the same for equal manifests, which git may merge."""
    text = merged_json.to_text(manifest.model_dump(mode="json"), SECTIONS)
    return text.encode("utf-8", "replace")
