"""Small real projects for the tests of files: git, dossiers, disks that are full or read-only."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from preread import publish
from preread.dossier import sources
from preread.infra import atomic, subprocesses
from preread.layout import BY_NAME, Layout
from preread.models import Manifest
from preread.services import Services
from preread.settings import Settings

ENVIRON = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
}
T = TypeVar("T")
UMOUNT_SECONDS = 20
HERE = Path(__file__).parent
SERVER = HERE.parent / "server"


def services(
    root: Path, run: subprocesses.Runner = subprocesses.run, **settings: object
) -> Services:
    """One request's view of the project at `root`; created for each request, as the faces do."""
    (root / ".project").mkdir(parents=True, exist_ok=True)
    return Services(Layout(root.resolve()), Settings(**settings), ENVIRON, run)


def git(root: Path, *arguments: str) -> str:
    return subprocess.check_output(["git", *arguments], cwd=root, env=ENVIRON, text=True).strip()


def repository(root: Path, files: dict[str, str]) -> Path:
    """A repository with one commit of `files`."""
    root.mkdir(parents=True, exist_ok=True)
    write(root, files)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "begin")
    return root.resolve()


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def text_of(name: str, mark: str, feature: str = "login") -> str:
    """A dossier file that says which generation it is of, at its start and at its end."""
    title = BY_NAME[name].title
    return f"# {title}: {feature}\n\n## Facts\n- begin {mark} (a.py:1)\n- end {mark} (a.py:1)\n"


BASIC = ("patterns.md", "codebase.md", "summary.md")


def put(
    services: Services,
    mark: str = "one",
    names: Sequence[str] = BASIC,
    feature: str = "login",
    **manifest: object,
) -> Manifest:
    """Publish a dossier of generation `mark`; the manifest as it was given."""
    staging = publish.stage(services, feature)
    for name in names:
        atomic.write(staging / name, text_of(name, mark, feature).encode())
    made = Manifest(feature=feature, **({"recipe": mark} | manifest))
    publish.publish(services, staging, made)
    return made


def spans(services: Services, *refs: str) -> dict[str, str]:
    """The digests of sources as they are now."""
    found = {}
    for text in refs:
        ref = sources.parse(text)
        assert ref is not None, text
        found[text] = sources.resolve(ref, services.tree).digest
    return found


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file below a folder with its bytes and time stamp; equal if nothing was written."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in files
    }


def fastest(work: Callable[[], T], holds: Callable[[T], bool], tries: int = 25) -> float:
    """Seconds of the fastest of several runs: the one that other processes delayed least."""
    spent = []
    for _ in range(tries):
        begun = time.perf_counter()
        result = work()
        spent.append(time.perf_counter() - begun)
        assert holds(result)
    return min(spent)


def program(*arguments: object) -> list[str]:
    return [sys.executable, "-X", "utf8", "-W", "error", *map(str, arguments)]


def program_environ() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join((str(SERVER), str(HERE)))}


@contextmanager
def disk(folder: Path, size: str = "128k", *, or_folder: bool = False) -> Iterator[Path]:
    """A separate file system mounted at `folder`; else a skip, or a plain folder."""
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        why = subprocess.run(mount, capture_output=True, text=True).stderr.strip()
    except FileNotFoundError as error:
        why = str(error)
    if not folder.is_mount() and not or_folder:
        pytest.skip(f"no file system of its own can be mounted here: {why}")
    try:
        yield folder
    finally:
        until = time.monotonic() + UMOUNT_SECONDS  # what just ended may still use it
        while folder.is_mount():
            done = subprocess.run(["umount", str(folder)], capture_output=True, text=True)
            assert done.returncode == 0 or time.monotonic() < until, done.stderr
            time.sleep(0.05 if done.returncode else 0)


def make_read_only(folder: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Leave not one block of a disk free."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return filler


def ignores_permissions(folder: Path) -> bool:
    """Whether this user may use files without their permissions, as root may in most places."""
    locked = folder / "locked"
    locked.touch(0o000)
    try:
        return os.access(locked, os.R_OK)
    finally:
        locked.unlink()
