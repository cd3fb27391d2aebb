"""The operation that looks whether everything Preread needs is there, and says how to mend what is not."""

import importlib.util
import platform
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from preread import __version__, published, resolve, settings
from preread.builders import command, locate, mcp_servers
from preread.errors import PrereadError
from preread.infra import db
from preread.layout import Layout
from preread.models import Model
from preread.operations import doctor_hooks
from preread.operations.look import Look, fail, ok, warn
from preread.operations.registry import Asked, Context, Operation, in_thread
from preread.project.packages import packages
from preread.services import Services
from preread.settings import Settings
from preread.syntax.languages import LANGUAGES

PROGRAM_SECONDS = 10.0
PACKAGES = (
    "anyio", "click", "defusedxml", "filelock", "jinja2", "mcp", "pathspec", "pydantic", "rich", "tree-sitter"
)  # fmt: skip


class DoctorRequest(Asked):
    """Nothing to choose."""


class DoctorReply(Model):
    """Everything that was looked at; `ok` is false when something fails."""

    ok: bool
    looks: tuple[Look, ...]


async def doctor(context: Context, request: DoctorRequest) -> DoctorReply:  # noqa: ARG001 - one shape for all
    # Settings that cannot be read are a finding here, so this starts without them.
    personal = Settings(claude=context.environ.get("PREREAD_CLAUDE", ""))
    bare = Services(Layout(context.start.absolute()), personal, context.environ)
    looks = await in_thread(context, bare, _all)
    return DoctorReply(ok=all(look.state != "fail" for look in looks), looks=looks)


def _all(services: Services) -> tuple[Look, ...]:
    return (*_machine(services), *_project(services))


# -- the machine


def _machine(services: Services) -> Iterator[Look]:
    yield ok("preread", f"{__version__} in {Path(__file__).parents[1]}")
    yield ok("python", f"{platform.python_version()} on {platform.platform(terse=True)}")
    yield _packages()
    yield _git(services)
    yield _sqlite()
    yield _grammars()
    yield _claude(services)


def _packages() -> Look:
    there, missing = [], []
    for name in PACKAGES:
        try:
            there.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        return fail(
            "packages", f"missing: {', '.join(missing)}", "Run: pip install --upgrade preread"
        )
    return ok("packages", ", ".join(there))


def _version(services: Services, program: str, *arguments: str) -> str:
    """The first line that a program prints; raises PrereadError with the reason when it cannot be run."""
    folder = services.layout.root if services.layout.root.is_dir() else Path.cwd()
    done = services.run(
        [program, *arguments],
        cwd=folder,
        timeout=PROGRAM_SECONDS,
        environ=services.environ,
        check=services.progress.check,
    )
    if done.timed_out or done.status:
        why = (
            "did not answer"
            if done.timed_out
            else done.err.decode("utf-8", "replace").strip() or "failed"
        )
        raise PrereadError("E_NOT_FOUND", f"{program}: {why}")
    return done.out.decode("utf-8", "replace").strip().partition("\n")[0]


def _git(services: Services) -> Look:
    try:
        return ok("git", _version(services, "git", "--version"))
    except PrereadError as error:
        return warn(
            "git", error.message, "Install git: without it dossiers lack the project's history."
        )


def _sqlite() -> Look:
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(
                "CREATE VIRTUAL TABLE words USING fts5 (body, tokenize = 'porter unicode61')"
            )
    except sqlite3.Error as error:
        hint = "Use a Python whose sqlite3 is built with FTS5, such as one from python.org."
        return fail("sqlite", f"{sqlite3.sqlite_version}: {error}", hint)
    return ok("sqlite", f"{sqlite3.sqlite_version} with full-text search")


def _grammars() -> Look:
    wanted = {lang.name: lang.grammar[0] for lang in LANGUAGES if lang.grammar is not None}
    missing = [name for name, module in wanted.items() if importlib.util.find_spec(module) is None]
    if missing:
        hint = "Run: pip install --upgrade preread. Until then these are read by plainer rules."
        return warn("grammars", f"missing: {', '.join(missing)}", hint)
    return ok("grammars", ", ".join(wanted))


def _claude(services: Services) -> Look:
    try:
        found = command.find(services)
    except locate.ClaudeUnavailable as error:
        look = (
            ok if services.settings.claude == "off" or not locate.is_installed(services) else warn
        )
        return look(
            "claude",
            f"{error.fault.reason}; the static builder serves every level",
            error.fault.hint,
        )
    return ok("claude", f"Claude Code {found.text} at {found.path}")


# -- the project


def _project(services: Services) -> Iterator[Look]:
    start = services.layout.root
    try:
        layout = resolve.open_layout(start)
    except PrereadError as error:
        yield fail("project", error.message, error.hint)
        return
    yield ok("project", f"{layout.root}: {_why(layout, start)}")
    yield _writable(layout)
    try:
        chosen = settings.load(layout, services.environ)
    except PrereadError as error:
        yield fail("settings", error.message, error.hint)
    else:
        yield ok("settings", _origins(layout, chosen, services))
        own = replace(services, layout=layout, settings=chosen)
        yield _would_run(own)
        yield _servers(own)
        yield from _monorepo(own)
    yield from doctor_hooks.looks(replace(services, layout=layout))
    names = published.features(layout)
    shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    yield ok(
        "dossiers",
        f"{len(names)}: {shown}" if names else "none yet; preread load FEATURE makes one",
    )
    yield _database(layout)


def _monorepo(services: Services) -> Iterator[Look]:
    """The packages that `--scope` takes, where there are any."""
    found = packages(services.tree)
    if found:
        shown = ", ".join(f"{package.name} ({package.path})" for package in found[:8])
        more = ", …" if len(found) > 8 else ""
        workspaces = sorted({package.workspace for package in found} - {""})
        listed = f"; listed in {', '.join(workspaces)}" if workspaces else ""
        yield ok(
            "monorepo",
            f"{len(found)} packages: {shown}{more}{listed}; --scope NAME takes one alone",
        )


def _why(layout: Layout, start: Path) -> str:
    where = "here" if layout.root == start.resolve() else "the nearest folder above that has it"
    for name, found in (
        (".project", layout.project.is_dir()),
        (".git", (layout.root / ".git").exists()),
    ):
        if found:
            return f"it holds {name} ({where})"
    return "no folder above holds .project or .git, so it is the one you are in"


def _writable(layout: Layout) -> Look:
    place = layout.project if layout.project.is_dir() else layout.root
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        return fail("writable", f"{place}: {error.strerror}", f"Make {place} yours to write.")
    note = (
        ""
        if place == layout.project
        else "; .project will be made by the first load or by preread init"
    )
    return ok("writable", f"{place}{note}")


def _origins(layout: Layout, chosen: Settings, services: Services) -> str:
    """Each setting that is not left to its default, with its origin."""
    in_file = settings.load(layout, {}).model_fields_set
    rows = []
    for key in chosen.model_fields_set:
        by_environment = f"PREREAD_{key.upper()}" in services.environ
        origin = f"PREREAD_{key.upper()}" if by_environment else layout.relative(layout.config)
        hides = " over the file's" if by_environment and key in in_file else ""
        rows.append(f"{key} = {getattr(chosen, key)} (from {origin}{hides})")
    return "; ".join([*sorted(rows), "all others by default"] if rows else ["all by default"])


def _would_run(services: Services) -> Look:
    chosen = services.settings
    headless = locate.is_installed(services)
    level = resolve.resolved_level(chosen.level, headless=headless, ticket=False)
    text = (
        f"load would use the {'static' if level == 'light' else 'claude'} builder at level {level}"
    )
    text += f", at most {chosen.limit(level):g} s"
    if level == "light" or headless:
        return ok(
            "builder",
            text if level == "light" else f"{text} and ${chosen.max_usd:g}, model {chosen.model}",
        )
    return warn(
        "builder", text, f'Level {level} needs Claude Code; install it, or set level = "auto".'
    )


def _servers(services: Services) -> Look:
    """Whether each configured MCP server is known, and has tools that may be called."""
    chosen = services.settings
    if not chosen.mcp:
        return ok("servers", "none configured; dossiers come from the repository alone")
    found = mcp_servers.select(services)
    if found.warnings:
        return warn(
            "servers",
            " ".join(found.warnings),
            "Mend `mcp` and `mcp_tools` in .project/config.toml.",
        )
    return ok("servers", ", ".join(f"{name} ({len(found.rules)} tools)" for name in found.config))


def _database(layout: Layout) -> Look:
    if not layout.db.exists():
        return ok("database", "not there yet; it is derived from the files")
    try:
        with closing(
            sqlite3.connect(f"{layout.db.as_uri()}?mode=ro", uri=True, timeout=5)
        ) as connection:
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            version = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.Error as error:
        verdict, version = str(error), db.VERSION
    if verdict == "ok" and version == db.VERSION:
        return ok("database", f"healthy, {layout.db.stat().st_size // 1024} KB")
    found = verdict if verdict != "ok" else f"made by another version ({version})"
    return warn("database", found, "Nothing to do: the next load makes it anew from the files.")


DOCTOR = Operation(
    name="config.doctor",
    request=DoctorRequest,
    reply=DoctorReply,
    effect="read",
    doc="Look whether everything that Preread needs is there, and say how to mend what is not.",
    example="preread doctor",
    run=doctor,
    command="doctor",
)
OPERATIONS = (DOCTOR,)
