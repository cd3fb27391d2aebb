"""What every test gets: a clean environment, no network, real projects and the real command line."""

import compileall
import gc
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from _claude import api, claude, machine, one_file  # noqa: F401 - fixtures of every file
from _loaded import MAX_GIVEN, Loaded, read_at_start

if TYPE_CHECKING:
    from _mcp_process import SlowGit

ROOT = Path(__file__).resolve().parents[1]
MAKING = threading.Lock()
SHOP = ROOT / "examples" / "shop"
DERIVED = shutil.ignore_patterns(
    "node_modules",
    "__pycache__",
    ".pytest_cache",
    ".cache",
    ".state",
    "context",
    "dist",
    "test-results",
)
GIT_CONFIG = """[user]
name = Test Person
email = test@example.org
[init]
defaultBranch = main
[core]
autocrlf = false
[commit]
gpgSign = false
[protocol "file"]
allow = always
[maintenance]
auto = false
"""


FOREIGN = ("PREREAD_", "CLAUDE", "ANTHROPIC_", "GIT_", "XDG_")


def is_loopback(address: object) -> bool:
    """Whether a socket's address stays on this machine: a path, or a loopback host."""
    if not isinstance(address, tuple):
        return True
    return address[0] == "localhost" or address[0] == "::1" or str(address[0]).startswith("127.")


@pytest.fixture(autouse=True, scope="session")
def nothing_from_outside() -> Iterator[None]:
    """No settings of the person or the CI that runs the tests, in fixtures of whole modules too."""
    with pytest.MonkeyPatch.context() as patch:
        for name in tuple(os.environ):
            if name == "CI" or name.startswith(FOREIGN):
                patch.delenv(name)
        yield


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Iterator[None]:
    """Connections leave this machine in no test; child processes have the same rule from
    tests/guard.
    """
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def guarded(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: socket.socket, address: Any) -> Any:
            if not is_loopback(address):
                raise PermissionError(f"a test tried to reach {address}")
            return original(self, address)

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded(connect))
        patch.setattr(socket.socket, "connect_ex", guarded(connect_ex))
        yield


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Names of home folders; pytest would look through all there are to number the next one."""
    return map(tmp_path_factory.mktemp("homes").joinpath, map(str, itertools.count()))


@pytest.fixture(scope="session", autouse=True)
def git_identity(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An identity for the commits of fixtures that live longer than a test: a user without a name
    and a git configuration has none.
    """
    config = tmp_path_factory.mktemp("git") / "gitconfig"
    config.write_text(GIT_CONFIG)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", str(config))
        yield


@pytest.fixture(autouse=True)
def environment(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Nothing of the person who runs the tests: own home, own git identity, no settings from
    outside.
    """
    home = next(homes)
    home.mkdir()
    config = home / "gitconfig"
    config.write_text(GIT_CONFIG)
    own = {
        "HOME": str(home),
        "USERPROFILE": str(home),
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_DATE": "2026-01-05T12:00:00Z",
        "GIT_COMMITTER_DATE": "2026-01-05T12:00:00Z",
        # a pytest that a test starts would else clear up what earlier runs of these tests left
        "PYTEST_DEBUG_TEMPROOT": str(home),
        # whatever `claude` is on this machine's PATH; tests of the real one say so
        "PREREAD_CLAUDE": "off",
    }
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    return own


def pytest_configure() -> None:
    """Receive interrupts even in a script's background job, where they are ignored: child processes
    would inherit that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the code once: the processes that tests start write no bytecode, and each would
    compile it anew.
    """
    if not hasattr(session.config, "workerinput"):
        for folder in ("server", "hooks"):
            compileall.compile_dir(ROOT / folder, quiet=2)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected lives as long as the process: no garbage collection has to look at it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def child_environ(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child process: this one, our package, and the guard that every child
    loads.
    """
    path = os.pathsep.join((str(ROOT / "tests" / "guard"), str(ROOT / "server")))
    guard = {
        "PYTHONPATH": path,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PREREAD_TEST_WRITES": tempfile.gettempdir(),
    }
    return {**os.environ, **guard, "COLUMNS": "120", **(extra or {})}


@dataclass(frozen=True)
class Ran:
    """How a command line ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Ran]


def loaded() -> Loaded:
    with MAKING:  # threads of a test may ask at once
        return _loaded()


@cache
def _loaded() -> Loaded:
    return Loaded(child_environ())


def run_cli(
    *arguments: str,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    timeout: float = 120,
    input: str | None = None,  # noqa: A002 - as in subprocess.run
) -> Ran:
    """`preread` with these arguments as a real process; it need not load the interpreter anew
    (_loaded).
    """
    environ = child_environ(env)
    given = (input or "").encode()
    if len(given) <= MAX_GIVEN and read_at_start(environ) == loaded().environ:
        done = loaded().run(arguments, cwd, environ, timeout, given)
    else:
        done = subprocess.run(
            [sys.executable, "-m", "preread", *arguments],
            cwd=cwd, env=environ, input=given, capture_output=True, timeout=timeout,
        )  # fmt: skip
    return Ran(
        done.returncode,
        done.stdout.decode("utf-8", "replace"),
        done.stderr.decode("utf-8", "replace"),
    )


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """`cli("load", "checkout", cwd=project)`: the command line as a real process, from tmp_path by
    default.
    """

    def run(*arguments: str, cwd: Path = tmp_path, **options: Any) -> Ran:
        return run_cli(*arguments, cwd=cwd, **options)

    return run


@pytest.fixture
def at_a_desk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the tests run by themselves, `CI` would make the gates only warn."""
    monkeypatch.delenv("CI", raising=False)


def git(folder: Path, *arguments: str) -> str:
    """Run git, which has to succeed; what it printed."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


def commit(root: Path, name: str, text: str, message: str = "more") -> None:
    """Write a file and commit it."""
    (root / name).write_text(text)
    git(root, "add", name)
    git(root, "commit", "-qm", message)


@pytest.fixture
def anyio_backend() -> str:
    """What runs asynchronous tests; Preread itself uses no other."""
    return "asyncio"


@pytest.fixture
def slow_git(tmp_path: Path) -> "Iterator[SlowGit]":
    """A `git` that waits to be released, so that a build takes as long as a test wants."""
    from _mcp_process import SlowGit  # which imports this file

    git = SlowGit(tmp_path / "slow")
    yield git
    git.close()


def make_repository(folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "All of it", "--allow-empty")


@pytest.fixture
def shop(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The FILES of the test's own module, in a git repository."""
    root = tmp_path / "shop"
    for name, text in request.module.FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    make_repository(root)
    return root


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The example shop in a git repository of its own."""
    folder = tmp_path / "shop"
    shutil.copytree(SHOP, folder, ignore=DERIVED)
    make_repository(folder)
    return folder
