"""The project's own tests, which decide whether an agent's change is merged."""

import re
import shlex
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from preread import roles
from preread.agents import programs
from preread.agents.programs import ProgramResult
from preread.builders import login
from preread.errors import PrereadError
from preread.project.runners import Command, Target, command_for
from preread.services import Services

MAX_FILES = 50  # test files that are examined to find the command for all
# Variables that tests do not need and that code written by a model must not see.
PRIVATE = re.compile(f"{login.LOGIN_VARIABLES.pattern}|{login.SESSION_VARIABLES.pattern}")
# What runners print when they found no tests and still exit with status 0.
NONE_RAN = re.compile(
    r"(?i)\b(?:Ran 0 tests|collected 0 items|no tests ran|No tests found)\b|# tests 0\b"
)


class Suite(NamedTuple):
    """The command that runs all tests, and its folder."""

    words: tuple[str, ...]
    folder: str = ""  # relative to the root

    @property
    def shown(self) -> str:
        return shlex.join(self.words) + (f" (in {self.folder})" if self.folder else "")


def parsed(text: str, folder: str = "") -> Suite:
    """Split a command into arguments; there is no shell. Raises E_USAGE if it is malformed."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise PrereadError("E_USAGE", f"{text[:80]!a} is not a command: {error}.", "") from error
    if not words or "\0" in text:
        raise PrereadError("E_USAGE", f"{text[:80]!a} is not a command.", "")
    return Suite(words, folder)


def detected(services: Services) -> tuple[Suite, Command] | None:
    """The project's own command for all of its tests."""
    tree = services.tree
    tests = [path for path in tree.files if roles.role_of(path) == "test"][:MAX_FILES]
    found: Counter[tuple[str, str]] = Counter()
    commands: dict[tuple[str, str], Command] = {}
    for path in tests:
        command = command_for(Target(tree, path))
        if command is not None and (command.files or command.is_general):
            key = (command.start, command.folder)
            found[key] += 1
            commands.setdefault(key, command)
    if not found:
        return None
    best = commands[found.most_common(1)[0][0]]
    return parsed(best.start, best.folder), best


def run(services: Services, suite: Suite, root: Path, seconds: float) -> ProgramResult:
    """Run the tests in a work tree. Running no test is a failure. Raises Cancelled."""
    environ = {
        name: value for name, value in services.environ.items() if not PRIVATE.fullmatch(name)
    }
    ran = programs.run(
        services, suite.words, cwd=root / suite.folder, environ=environ, seconds=seconds
    )
    if not ran.failure and NONE_RAN.search(ran.output):
        ran = ran._replace(failure="it ran no test")
    if ran.failure:
        return ran._replace(failure=f"`{suite.shown}`: {ran.failure}\n{ran.output}".strip())
    return ran
