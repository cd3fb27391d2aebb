"""Put what is no file where a file belongs, and no folder where a folder does; run commands.

    _odd_places.py PROJECT [EVERY [FIRST]]    PROJECT has a dossier of `login`; it forks

Prints one JSON object: `runs`, and in `wrong` each command that hung, crashed or had a bug.
"""

import json
import os
import shlex
import shutil
import signal
import socket
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

from _loaded import load
from preread import __main__

FILES = (
    ".project/config.toml", ".project/gates", ".project/knowledge.md", ".project/.gitignore",
    ".project/tickets/SHOP-1.md", ".project/runs/login.md", ".project/workflows/own.toml",
    ".project/prompts/context-builder.md.j2", ".project/context/login/manifest.json",
    ".project/context/login/patterns.md", ".project/context/login/summary.md",
    ".project/.state/runs/login.json", ".project/.state/wrong.json",
    ".project/.state/spending.jsonl", ".project/.state/audit.jsonl",
    ".project/.state/results.jsonl", ".project/.state/test-history.db",
    ".project/.state/knowledge.md", ".project/.state/gates-off", ".project/.cache/index.db",
    ".project/.cache/stale/login", ".project/.cache/building/login",
    ".project/.cache/locks/login.lock", ".project/.cache/locks/_index.lock",
    ".project/.cache/locks/_db.lock", ".project/.cache/locks/_knowledge.lock",
    ".gitignore", ".gitattributes", ".prereadignore", ".env", ".mcp.json", "package.json",
    "pyproject.toml", "Makefile", "Cargo.toml", "login.py", "reports/junit.xml", ".git/HEAD",
    ".git/index", ".git/config", ".git/commondir", ".git/packed-refs", "README.md", "pnpm-workspace.yaml", "go.mod", "pom.xml",
)  # fmt: skip
FOLDERS = (
    ".project/context", ".project/context/login", ".project/.state", ".project/.cache",
    ".project/.state/runs", ".project/.state/sessions", ".project/.cache/locks",
    ".project/.cache/staging", ".project/.cache/building", ".project/.cache/stale",
    ".project/tickets", ".project/runs", ".project/workflows", ".project/prompts", "reports",
    "tests", ".project/.state/backups",
)  # fmt: skip
COMMANDS = (
    "load login --ticket SHOP-1", "load login --force", "status", "facts token", "check login",
    "evidence login", "failures", "recall token", "remember 'it is so'", "workflow", "ready",
    "doctor", "settings", "init", "show login", "log", "gates explain tests/test_login.py",
)  # fmt: skip
SECONDS = 60  # for what takes one or two; the machine may be busy


def fifo(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def file(path: Path) -> None:
    path.write_bytes(b"\xff\0 not this\n")


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        here = Path.cwd()
        os.chdir(path.parent)  # an address is short
        one.bind(path.name)
        os.chdir(here)


CASES: tuple[tuple[str, Callable[[Path], None]], ...] = (
    *product(FILES, (fifo, folder, loop, endless, a_socket)),
    *product(FOLDERS, (fifo, file, loop)),
)


def ran(place: Path, words: str) -> tuple[int, str]:
    """Run a command in a fork; its exit status, negative for a signal, and its output."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number in (1, 2):
            os.dup2(writer, number)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        os.chdir(place)
        sys.argv = ["preread", *shlex.split(words), "--json"]
        try:
            status = __main__.main()
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode("utf-8", "replace")
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


def tried(project: Path, every: int, first: int) -> dict[str, object]:
    runs, wrong = 0, []
    for number, ((name, make), words) in enumerate(product(CASES, COMMANDS)):
        if number % every != first % every:
            continue
        place = project.with_name(f"{project.name}-odd")
        shutil.copytree(project, place, symlinks=True)
        path = place / name
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path)
        status, said = ran(place, words)
        runs += 1
        if status not in (0, 1, 2) or "Traceback" in said or "E_INTERNAL" in said:
            wrong.append(f"{words}, {make.__name__} {name}: {status} {said[-600:]}")
        shutil.rmtree(place)
    return {"runs": runs, "wrong": wrong}


if __name__ == "__main__":
    given, *numbers = sys.argv[1:]
    load()
    found = tried(Path(given).resolve(), *map(int, (*numbers, "1", "0")[:2]))
    sys.stdout.write(json.dumps(found, indent=1))
