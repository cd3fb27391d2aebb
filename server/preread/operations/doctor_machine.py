"""The doctor's checks of the machine: packages, git, sqlite, grammars, Claude Code."""

import importlib.util
import platform
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from importlib import metadata
from pathlib import Path

from preread import __version__
from preread.builders import command, locate
from preread.builders.failure_table import NOT_LOGGED_IN
from preread.errors import PrereadError
from preread.languages import LANGUAGES
from preread.operations.health import HealthCheck, fail, ok, warn
from preread.services import Services

PROGRAM_SECONDS = 10.0
UNTIL_THEN = "Until then the static builder serves every level."
UPGRADE = "Run: pip install --upgrade preread"
PACKAGES = (
    "anyio", "click", "defusedxml", "filelock", "httpx2", "jinja2", "mcp", "pydantic", "psutil",
    "pyjwt", "pystemmer", "rich", "starlette", "tomlkit", "tree-sitter", "uvicorn", "watchfiles",
    "websockets",
)  # fmt: skip


def checks(services: Services) -> Iterator[HealthCheck]:
    yield ok("preread", f"{__version__} in {Path(__file__).parents[1]}")
    yield ok("python", f"{platform.python_version()} on {platform.platform(terse=True)}")
    yield _packages()
    yield _git(services)
    yield _sqlite()
    yield _grammars()
    yield _claude(services)


def _packages() -> HealthCheck:
    found, missing = [], []
    for name in PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        return fail("packages", f"missing: {', '.join(missing)}", UPGRADE)
    return ok("packages", ", ".join(found))


def _version(services: Services, program: str, *arguments: str) -> str:
    """The first line that a program prints. Raises PrereadError when it cannot be run."""
    folder = services.layout.root if services.layout.root.is_dir() else Path.cwd()
    done = services.run(
        [program, *arguments],
        cwd=folder,
        timeout=PROGRAM_SECONDS,
        environ=services.program_environ,
        check=services.progress.check,
    )
    if done.timed_out:
        raise PrereadError("E_NOT_FOUND", f"{program}: did not answer")
    if done.status:
        why = done.err.decode("utf-8", "replace").strip() or "failed"
        raise PrereadError("E_NOT_FOUND", f"{program}: {why}")
    return done.out.decode("utf-8", "replace").strip().partition("\n")[0]


def _git(services: Services) -> HealthCheck:
    try:
        return ok("git", _version(services, "git", "--version"))
    except PrereadError as error:
        hint = "Install git: without it, dossiers lack the project's history."
        return warn("git", error.message, hint)


def _sqlite() -> HealthCheck:
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(
                "CREATE VIRTUAL TABLE words USING fts5 (body, tokenize = 'porter unicode61')"
            )
    except sqlite3.Error as error:
        hint = "Use a Python whose sqlite3 is built with FTS5, such as one from python.org."
        return fail("sqlite", f"{sqlite3.sqlite_version}: {error}", hint)
    return ok("sqlite", f"{sqlite3.sqlite_version} with full-text search")


def _grammars() -> HealthCheck:
    wanted = {lang.name: lang.grammar[0] for lang in LANGUAGES if lang.grammar is not None}
    missing = [name for name, module in wanted.items() if importlib.util.find_spec(module) is None]
    if missing:
        hint = f"{UPGRADE}. Until then, simpler rules read these languages."
        return warn("grammars", f"missing: {', '.join(missing)}", hint)
    return ok("grammars", ", ".join(wanted))


def _claude(services: Services) -> HealthCheck:
    try:
        program = command.find(services)
    except locate.ClaudeUnavailable as error:
        found = f"{error.fault.reason}; the static builder serves every level"
        if services.settings.claude not in {"", "off"}:
            return fail("claude", found, error.fault.hint)
        expected = services.settings.claude == "off" or not locate.is_installed(services)
        return (ok if expected else warn)("claude", found, error.fault.hint)
    where = f"Claude Code {program.text} at {program.path}"
    if command.is_logged_in(services, program) is False:
        return warn("claude", f"{where} is not logged in", f"{NOT_LOGGED_IN.hint} {UNTIL_THEN}")
    return ok("claude", where)
