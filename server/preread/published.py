"""Reading a published dossier whole, while others publish it; run records and `wrong` marks beside it."""

import hashlib
import json
import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, ConfigDict, Field, ValidationError

from preread.gates.feature_names import is_feature
from preread.infra import atomic
from preread.layout import BY_NAME, FILES, MANIFEST, Layout
from preread.models import Manifest, Model, Outcome, Stats

SCHEMA = 1
LOOKS = 50
PAUSE = 0.01  # seconds between two looks; more than any file system's grain of time stamps
LOCK_SECONDS = 10.0
MAX_PROBLEMS, MAX_PROBLEM = 50, 300
# A folder of this name holding this file is complete. A builder can write the file, but not in a folder of the name.
READY, MARK = ".ready", "ready.json"


class Published(NamedTuple):
    """A dossier as it stands; `edited` names the texts whose digest is not the manifest's."""

    manifest: Manifest | None
    texts: dict[str, str]
    edited: tuple[str, ...]


class Ready(Model):
    """The mark of a complete staging folder: its manifest, and the digests of the files that it replaces."""

    order: int
    manifest: Manifest
    before: dict[str, str]

    @property
    def remove(self) -> tuple[str, ...]:
        return tuple(sorted(self.before.keys() - self.manifest.files.keys()))


def _bounded(problems: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(problem[:MAX_PROBLEM] for problem in problems[:MAX_PROBLEMS])


class RunRecord(Model):
    """How the last build of a feature went; times in epoch seconds."""

    started: float = 0.0
    finished: float = 0.0
    builder: str = ""
    level: str = ""
    status: str = ""
    reason: str = ""
    stats: Stats = Stats()
    outcome: Outcome = Outcome()
    problems: Annotated[tuple[str, ...], AfterValidator(_bounded)] = ()


class Wrong(Model):
    """A fact that a person or an agent called wrong. What a later version adds to it is kept."""

    model_config = ConfigDict(extra="allow", frozen=True)

    feature: str = Field(description="The dossier that held it.")
    text: str


# No link is followed, no pipe waited for; what a platform lacks is zero there.
_PLAIN = os.O_RDONLY | sum(
    getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")
)


def digest(data: bytes) -> str:
    """SHA-256 of a file's bytes, first 16 hex digits, without CR before LF: git's autocrlf adds it."""
    return hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()[:16]


def plain_bytes(path: Path) -> bytes | None:
    """The bytes of a regular file; None for anything else: absent, a link, a folder, a pipe, unreadable."""
    try:
        if path.is_symlink():
            return None
        descriptor = os.open(path, _PLAIN)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def parse_manifest(data: bytes | None, feature: str) -> Manifest | None:
    """A manifest of this schema and feature; None for any other, and for one with conflict marks."""
    if data is None:
        return None
    try:
        manifest = Manifest.model_validate_json(data)
    except ValidationError:
        return None
    return manifest if manifest.schema_version == SCHEMA and manifest.feature == feature else None


def staged(layout: Layout, feature: str) -> list[Path]:
    """The staging folders of a feature."""
    try:
        names = os.listdir(layout.staging)  # noqa: PTH208 - part of every cached load, and mostly there is nothing
    except OSError:
        return []
    return [layout.staging / name for name in sorted(names) if name.startswith(f"{feature}.")]


def pending(layout: Layout, feature: str) -> bool:
    """Whether a build is under way, or a killed one left something: drafts, or the hint that it runs."""
    return bool(staged(layout, feature)) or os.path.lexists(layout.building(feature))


def abandoned(layout: Layout) -> list[str]:
    """The features with staging folders or hints for the gates: being built, or left by a killed build."""
    names = set()
    for folder in (layout.staging, layout.building("x").parent):
        with suppress(OSError):
            names |= {path.name.split(".")[0] for path in folder.iterdir()}
    return sorted(name for name in names if is_feature(name))


def ready(layout: Layout, feature: str) -> list[tuple[Ready, Path]]:
    """The complete staging folders of a feature in the order in which they were marked."""
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


class _Look(NamedTuple):
    published: Published | None
    whole: bool  # every file is there and has the manifest's digest: so they are of one generation
    quiet: bool  # nobody put another manifest in place during the look
    seen: tuple[object, ...]


def _identity(path: Path) -> tuple[int, ...]:
    try:
        info = path.lstat()
    except OSError:
        return ()
    return (info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


def _look(layout: Layout, feature: str) -> _Look:
    """One look. While a ready staging is there, the dossier is what that leads to, even if nobody goes on."""
    marked = ready(layout, feature)
    folder = layout.dossier(feature)
    if folder.is_symlink():
        return _Look(None, True, True, ())
    before = _identity(folder / MANIFEST)
    manifest = (
        marked[-1][0].manifest
        if marked
        else parse_manifest(plain_bytes(folder / MANIFEST), feature)
    )
    files = manifest.files if manifest else {}
    found: dict[str, bytes] = {}
    for row in FILES:
        # First staging, then the dossier: the way in which a file moves.
        data = plain_bytes(marked[-1][1] / row.name) if marked and row.name in files else None
        data = plain_bytes(folder / row.name) if data is None else data
        if data is not None and not (marked and row.name in marked[-1][0].remove):
            found[row.name] = data
    edited = tuple(name for name, data in found.items() if files.get(name) != digest(data))
    whole = not edited and files.keys() == found.keys()
    after = _identity(folder / MANIFEST)
    if manifest is None and not found and not after:
        return _Look(None, True, True, ())
    texts = {name: _text(data) for name, data in found.items()}
    seen = (found, before, marked[-1] if marked else None)
    return _Look(Published(manifest, texts, edited), whole, before == after, seen)


def read(layout: Layout, feature: str) -> Published | None:
    """The dossier of one generation, complete; None when there is none. Writes nothing, takes no lock.

    A file that is not the manifest's was met during a publish, and a later look finds it whole; or a person
    edited it, and two looks with a pause between them see the same.
    """
    last = None
    for _ in range(LOOKS):
        look = _look(layout, feature)
        if look.whole or (
            last is not None and look.quiet and last.quiet and look.seen == last.seen
        ):
            break
        last = look
        time.sleep(PAUSE)
    return look.published


def features(layout: Layout) -> list[str]:
    """The features that have a dossier, sorted; also one whose publisher was killed before its first file."""
    names = {path.name.split(".")[0] for path in layout.staging.glob(f"*{READY}")}
    if layout.context.is_dir():
        for folder in layout.context.iterdir():
            if not folder.is_symlink() and any(
                (folder / name).is_file() for name in (MANIFEST, *BY_NAME)
            ):
                names.add(folder.name)
    return sorted(name for name in names if is_feature(name))


def recorded(layout: Layout, feature: str) -> RunRecord | None:
    """How the last build went; None when there is no record or it cannot be read."""
    data = plain_bytes(layout.run_record(feature))
    try:
        return RunRecord.model_validate_json(data) if data is not None else None
    except ValidationError:
        return None


def record(layout: Layout, feature: str, run: RunRecord) -> None:
    """Keep how a build went in place of the last one. Raises E_WRITE."""
    atomic.write(layout.run_record(feature), _json(run.model_dump(mode="json")))


def _json(value: object) -> bytes:
    return (json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False) + "\n").encode(
        "utf-8", "replace"
    )


def manifest_bytes(manifest: Manifest) -> bytes:
    """The manifest as it is written: the same bytes for equal content, line by line for git to merge."""
    return _json(manifest.model_dump(mode="json"))


def _wrong(layout: Layout) -> dict[str, Wrong] | None:
    """The marks; None when the file is there and cannot be read."""
    data = plain_bytes(layout.wrong)
    if data is None:
        return None if os.path.lexists(layout.wrong) else {}
    try:
        return {name: Wrong.model_validate(mark) for name, mark in json.loads(data).items()}
    except (ValueError, AttributeError, RecursionError):  # ValidationError is a ValueError
        return None


def wrong_ids(layout: Layout) -> dict[str, str]:
    """The facts that were called wrong: id -> text."""
    return {id_: mark.text for id_, mark in (_wrong(layout) or {}).items()}


def mark_wrong(layout: Layout, id: str, feature: str, text: str) -> None:  # noqa: A002 - the word of the registry
    """Remember that a fact was wrong. A file that cannot be read is set aside, not lost. Raises E_WRITE."""
    lock = layout.lock("_wrong")
    atomic.make_folder(lock.parent)
    atomic.make_folder(layout.wrong.parent)
    from filelock import FileLock

    with atomic.write_errors(layout.wrong), FileLock(lock, timeout=LOCK_SECONDS):
        marks = _wrong(layout)
        if marks is None:
            atomic.replace(
                layout.wrong, _unused(layout.wrong.with_name(f"{layout.wrong.name}.bad"))
            )
            marks = {}
        marks[id] = Wrong(feature=feature, text=text)
        atomic.write(
            layout.wrong,
            _json({name: mark.model_dump(mode="json") for name, mark in marks.items()}),
            durable=True,
        )


def _unused(path: Path) -> Path:
    """`path`, or the first of `path.1`, `path.2`, … that is not there."""
    candidates = (path if n == 0 else path.with_name(f"{path.name}.{n}") for n in range(10_000))
    return next(candidate for candidate in candidates if not os.path.lexists(candidate))
