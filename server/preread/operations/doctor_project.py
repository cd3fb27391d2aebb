"""The doctor's checks of the project: its folder, settings, builder, servers, gates, database."""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from preread import resolve, settings_loading
from preread.builders import locate, mcp_servers
from preread.dossier import published
from preread.errors import PrereadError
from preread.infra import db
from preread.infra.reading import obstacle
from preread.layout import Layout
from preread.operations import doctor_gates
from preread.operations.health import HealthCheck, fail, ok, warn
from preread.project.packages import packages
from preread.services import Services
from preread.settings import Settings

MAX_SHOWN = 8  # names in a list


def checks(services: Services) -> Iterator[HealthCheck]:
    start = services.layout.root
    try:
        layout = resolve.open_layout(start)
    except PrereadError as error:
        yield fail("project", error.message, error.hint)
        return
    yield ok("project", f"{layout.root}: {_why_root(layout, start)}")
    yield _writable(layout)
    try:
        chosen = settings_loading.load(layout, services.environ)
    except PrereadError as error:
        yield fail("settings", error.message, error.hint)
    else:
        yield ok("settings", _origins(layout, chosen, services))
        own = replace(services, layout=layout, settings=chosen)
        yield _builder(own)
        yield _servers(own)
        yield from _monorepo(own)
    yield from doctor_gates.checks(replace(services, layout=layout))
    names = published.features(layout)
    listed = (
        f"{len(names)}: {_list(names)}" if names else "none yet; build one: `preread load _project`"
    )
    yield ok("dossiers", listed)
    yield _database(layout)


def _list(names: list[str]) -> str:
    return ", ".join(names[:MAX_SHOWN]) + (", …" if len(names) > MAX_SHOWN else "")


def _monorepo(services: Services) -> Iterator[HealthCheck]:
    """The packages that `--scope` takes, if there are any."""
    found = packages(services.tree)
    if found:
        shown = _list([f"{package.name} ({package.path})" for package in found])
        workspaces = sorted({package.workspace for package in found} - {""})
        listed = f"; listed in {', '.join(workspaces)}" if workspaces else ""
        yield ok("monorepo", f"{len(found)} packages: {shown}{listed}; --scope NAME selects one")


def _why_root(layout: Layout, start: Path) -> str:
    where = "here" if layout.root == start.resolve() else "the nearest such folder above"
    for name, found in (
        (".project", layout.project.is_dir()),
        (".git", (layout.root / ".git").exists()),
    ):
        if found:
            return f"it contains {name} ({where})"
    return "no folder above contains .project or .git, so it is the current folder"


def _writable(layout: Layout) -> HealthCheck:
    place = layout.project if layout.project.is_dir() else layout.root
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        return fail("writable", f"{place}: {error.strerror}", f"Make {place} writable for you.")
    if place == layout.project:
        return ok("writable", f"{place}")
    return ok("writable", f"{place}; the first load or `preread init` will create .project in it")


def _origins(layout: Layout, chosen: Settings, services: Services) -> str:
    """Each setting that differs from the default by choice, with where it was set."""
    in_file = settings_loading.load(layout, {}).model_fields_set
    rows = []
    for key in chosen.model_fields_set:
        variable = f"PREREAD_{key.upper()}"
        origin = layout.relative(layout.config)
        if variable in services.environ:
            origin = f"{variable} over the file's" if key in in_file else variable
        rows.append(f"{key} = {getattr(chosen, key)} (from {origin})")
    return "; ".join([*sorted(rows), "all others by default"] if rows else ["all by default"])


def _builder(services: Services) -> HealthCheck:
    """Which builder a load would use, and at which level."""
    chosen = services.settings
    headless = locate.is_installed(services)
    level = resolve.resolved_level(chosen.level, headless=headless, ticket=False)
    name = "static" if level == "light" else "claude"
    seconds = f"{chosen.build_seconds(level):g} s"
    text = f"load would use the {name} builder at level {level}, at most {seconds}"
    if level == "light":
        return ok("builder", text)
    if headless:
        return ok("builder", f"{text} and ${chosen.max_usd:g}, model {chosen.model}")
    hint = f'Level {level} needs Claude Code; install it, or set level = "auto".'
    return warn("builder", text, hint)


def _servers(services: Services) -> HealthCheck:
    """Whether each configured MCP server is known, and has tools that may be called."""
    if not services.settings.mcp:
        return ok("servers", "none configured; dossiers come from the repository alone")
    found = mcp_servers.select(services)
    if found.warnings:
        hint = "Fix `mcp` and `mcp_tools` in .project/config.toml."
        return warn("servers", " ".join(found.warnings), hint)
    return ok("servers", ", ".join(f"{name} ({len(found.rules)} tools)" for name in found.config))


def _database(layout: Layout) -> HealthCheck:
    path = db.place(layout).db if layout.cache.is_dir() else layout.db
    if not path.exists():
        return ok("database", "not there yet; it is derived from the files")
    if kind := obstacle(path):
        hint = "`preread repair` moves it away."
        return warn("database", f"{path.name} is {kind} instead of a file", hint)
    address = f"{path.as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=5)) as connection:
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            version = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.Error as error:
        verdict, version = str(error), db.VERSION
    if verdict == "ok" and version == db.VERSION:
        return ok("database", f"healthy, {path.stat().st_size // 1024} KB")
    found = verdict if verdict != "ok" else f"made by another version ({version})"
    return warn("database", found, "Nothing to do: the next load rebuilds it from the files.")
