"""A project, and runs of Claude Code that are prepared for it."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from _claude import STAGING
from preread import settings_loading
from preread.builders import command
from preread.builders.claude import message
from preread.layout import Layout
from preread.services import Services

PATIENCE = 60.0


def services(project: Path, environ: Mapping[str, str]) -> Services:
    layout = Layout(project.resolve())
    return Services(layout, settings_loading.load(layout, environ), environ=environ)


@contextmanager
def preparing(
    project: Path, environ: Mapping[str, str], version: str = "2.1.329"
) -> Iterator[command.Prepared]:
    """A run with a program of some version; its private files are there inside."""
    program = command.Program(Path("/opt/claude"), tuple(map(int, version.split("."))), version)
    with command.prepare(services(project, environ), program, project / STAGING, "run-1") as run:
        yield run


def prepared(
    project: Path, environ: Mapping[str, str], version: str = "2.1.329"
) -> command.Prepared:
    with preparing(project, environ, version) as run:
        return run


def after(run: command.Prepared, flag: str) -> str:
    """The argument that follows a flag."""
    return run.argv[run.argv.index(flag) + 1]


def private(run: command.Prepared, flag: str) -> Any:
    """The private file that a flag names."""
    return json.loads(Path(after(run, flag)).read_text())


def run_prepared(project: Path, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """The program in a prepared run that says "Go."; the events it printed."""
    found = services(project, environ)
    with command.prepare(found, command.find(found), project / STAGING, "run-1") as run:
        done = subprocess.run(
            run.argv,
            cwd=project,
            env=run.environ,
            input=message("Go."),
            capture_output=True,
            timeout=PATIENCE,
        )
    return [json.loads(line) for line in done.stdout.splitlines()]
