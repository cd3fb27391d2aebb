"""Real `preread` processes: started, signalled, searched for afterwards; and a small project."""

import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from filelock import FileLock

from _loaded import Forked, read_at_start
from _trees import write
from conftest import Ran, child_environ, loaded, make_repository
from preread.dossier import published
from preread.layout import MANIFEST, REQUIRED, Layout

Process = subprocess.Popen[bytes] | Forked
PATIENCE = 30.0  # seconds for what takes one or two; the machine may be busy
LOGIN = '''"""Log in, log out, forget a password."""

ATTEMPTS = 5
LOCKED_FOR_S = 900.0


class LoginError(Exception):
    """What a person sees."""


def login(name: str, password: str) -> str:
    """A token for who knows the password."""
    if not name:
        raise LoginError("no name was given")
    # NOTE: compare before counting, or a right password locks the account
    if password != "secret":
        raise LoginError("the password is wrong")
    return f"token-{name}"


def logout(token: str) -> bool:
    """Whether the token was one of ours."""
    return token.startswith("token-")


def login_again(token: str) -> str:
    """A new token for a standing login."""
    return login(token.removeprefix("token-"), "secret")


def login_reset(mail: str) -> str:
    """Where the login's new password is chosen."""
    if "@" not in mail:
        raise LoginError("this is no address")
    return f"/reset/{mail}"
'''
TESTS = """import pytest

from login import LoginError, login, logout


def test_login_gives_a_token():
    assert login("ada", "secret") == "token-ada"


def test_login_with_a_wrong_password_is_refused():
    with pytest.raises(LoginError):
        login("ada", "guess")


def test_logout_knows_its_tokens():
    assert logout(login("ada", "secret"))
"""
UNRELATED = """def paint(colour):
    return colour * 2
"""
KNOWLEDGE = """# Knowledge

## Ways
- a login ends in a token: `token-` (login.py:18)
"""
TICKETS = {
    "SHOP-1": "# SHOP-1: Lock the login\n\n## Acceptance criteria\n- after five wrong passwords "
    "the login is locked\n",
    "SHOP-2": "# SHOP-2: Reset\n\n## Acceptance criteria\n- a login is reset by mail\n- the mail "
    "says where\n",
}
REPORT = """<testsuite name="login" tests="1" failures="1">
<testcase classname="tests.test_login" name="test_login_gives_a_token">
<failure message="{why}"/></testcase>
</testsuite>
"""
SMALL = {
    "login.py": LOGIN,
    "tests/test_login.py": TESTS,
    "paint.py": UNRELATED,
    ".project/knowledge.md": KNOWLEDGE,
    "reports/junit.xml": REPORT.format(why="no token"),
    **{f".project/tickets/{name}.md": text for name, text in TICKETS.items()},
}
LONG, SHORT = (
    {"PREREAD_MAX_FACTS": "60"},
    {"PREREAD_MAX_FACTS": "5"},
)  # two dossiers that differ in every required file


def small(folder: Path, files: Mapping[str, str] | None = None) -> Path:
    """A git repository of a few files; returns its real path."""
    write(folder, {**SMALL, **(files or {})})
    make_repository(folder)
    return folder.resolve()


def start(
    project: Path,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    stderr: int = subprocess.PIPE,
) -> Process:
    """A `preread` process with these arguments in a project; it may be forked (_loaded)."""
    environ = child_environ(env)
    if stderr == subprocess.PIPE and read_at_start(environ) == loaded().environ:
        return loaded().start(arguments, project, environ)
    return subprocess.Popen(
        [sys.executable, "-m", "preread", *arguments],
        cwd=project, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr,
    )  # fmt: skip


def ended(process: Process) -> Ran:
    """A process's exit status; for a signal it did not catch, the one that a shell reports."""
    out, err = process.communicate(timeout=PATIENCE)
    status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    return Ran(status, out.decode("utf-8", "replace"), (err or b"").decode("utf-8", "replace"))


def until(holds: Callable[[], Any], what: str) -> Any:
    """Wait until a condition is true; returns its value."""
    end = time.monotonic() + PATIENCE
    while not (value := holds()):
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.005)
    return value


def processes_in(project: Path) -> list[str]:
    """The processes that run in a project, but for this one."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            inside = (
                Path(process.cwd()).is_relative_to(project)
                and process.status() != psutil.STATUS_ZOMBIE
            )
            if inside and process.pid != os.getpid():
                found.append(" ".join(process.cmdline()))
    return found


def left_behind(project: Path) -> list[str]:
    """What builds left behind: drafts, partial files, gate hints, held locks, processes."""
    layout = Layout(project)
    found = [path.relative_to(project).as_posix() for path in layout.project.rglob("*.part")]
    for folder in (layout.staging, layout.building("x").parent):
        found += [path.relative_to(project).as_posix() for path in folder.glob("*")]
    for path in layout.lock("x").parent.glob("*.lock"):
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
            lock.release()
        except TimeoutError:
            found.append(f"held: {path.name}")
    return found + processes_in(project)


def bytes_of(project: Path, feature: str = "login") -> dict[str, bytes]:
    """Every file of a dossier."""
    folder = Layout(project).dossier(feature)
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


class LoggingGit:
    """A `git` that notes for whom it is called, and with what: who builds asks for the log."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "calls"
        script = folder / "bin" / "git"
        script.parent.mkdir(parents=True)
        script.write_text(
            f'#!/bin/sh\necho "$PPID $*" >> \'{self._log}\'\nexec {shutil.which("git")} "$@"\n'
        )
        script.chmod(0o755)
        self.env = {"PATH": f"{script.parent}{os.pathsep}{os.environ['PATH']}"}

    @property
    def calls(self) -> list[str]:
        return self._log.read_text().splitlines() if self._log.exists() else []

    @property
    def builds(self) -> list[int]:
        """The processes that asked for the log, once for each time."""
        return [int(line.split()[0]) for line in self.calls if " log " in line]


# -- readers, processes of their own: `python _processes.py package|plain PROJECT GENERATIONS`


def _seen_by_package(layout: Layout, generations: list[dict[str, str]]) -> str:
    """What is wrong with the dossier as the package reads it."""
    found = published.read(layout, "login")
    if found is None or found.manifest is None:
        return "no dossier"
    if found.edited or found.texts.keys() != found.manifest.files.keys():
        return f"not whole: {found.edited} {sorted(found.texts)}"
    whole = {**found.texts, MANIFEST: published.manifest_bytes(found.manifest).decode()}
    return "" if whole in generations else "a mix of generations"


def _seen_by_path(layout: Layout, generations: list[dict[str, str]]) -> str:
    """What is wrong with the required files as any program reads them."""
    for name in (*REQUIRED, MANIFEST):
        try:
            text = (layout.dossier("login") / name).read_text()
        except FileNotFoundError:
            return f"{name} is missing"
        if not any(text == generation[name] for generation in generations):
            return f"{name} is torn: {text[-40:]!r}"
    return ""


def _watch(how: str, project: str, generations: str) -> None:
    """Read until standard input ends; each read is a byte on standard error, what is wrong a line."""
    look = {"package": _seen_by_package, "plain": _seen_by_path}[how]
    layout, known = Layout(Path(project)), json.loads(Path(generations).read_text())
    wrong = []
    while not select.select([sys.stdin], [], [], 0)[0]:
        if (problem := look(layout, known)) and len(wrong) < 10:
            wrong.append(problem)
        os.write(sys.stderr.fileno(), b".")
        time.sleep(0.001)
    sys.stdout.write(json.dumps(wrong))


class Readers:
    """Both readers at work: how often the slower one has read, and at the end what was wrong."""

    def __init__(self, folder: Path) -> None:
        self.wrong: dict[str, list[str]] = {}
        self._counts = [folder / f"{how}.reads" for how in ("package", "plain")]

    @property
    def reads(self) -> int:
        return min(count.stat().st_size for count in self._counts)


@contextmanager
def watched(project: Path, generations: list[dict[str, bytes]], folder: Path) -> Iterator[Readers]:
    """Both readers at work until the block ends; their notes are in a folder."""
    notes = folder / "generations.json"
    notes.write_text(
        json.dumps([{name: data.decode() for name, data in each.items()} for each in generations])
    )
    readers, processes = Readers(folder), {}
    program = [sys.executable, str(Path(__file__).resolve())]
    for how in ("package", "plain"):
        with (folder / f"{how}.reads").open("wb") as reads:
            processes[how] = subprocess.Popen(
                [*program, how, str(project), str(notes)],
                env=child_environ(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=reads,
                cwd=folder,
            )  # fmt: skip
    try:
        yield readers
        for how, process in processes.items():
            readers.wrong[how] = json.loads(process.communicate(timeout=PATIENCE)[0])
    finally:
        for process in processes.values():
            if process.poll() is None:
                process.kill()
                process.communicate()


if __name__ == "__main__":
    _watch(*sys.argv[1:])
