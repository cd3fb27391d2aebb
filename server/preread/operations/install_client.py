"""`mcp install`: add Preread to the settings of an agent's client, or remove it from them."""

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from preread import resolve
from preread.errors import PrereadError
from preread.infra import atomic, jsonc, toml_table
from preread.infra.reading import plain_bytes
from preread.layout import Layout
from preread.models import Model
from preread.operations import previews
from preread.operations.registry import Context, Operation, Preview, RequestModel, in_thread
from preread.services import Services
from preread.settings import Settings

NAME = "preread"
BOM = "\ufeff"
PRIVATE_MODE = 0o600  # settings in a person's folder may contain keys
Client = Literal[
    "claude-code", "claude-desktop", "codex", "gemini", "opencode", "vscode", "cursor", "zed"
]


@dataclass(frozen=True)
class Row:
    """Where a client lists its servers: the file, the keys that lead there, an entry's form."""

    path: str  # in the project, unless it starts with `~`, `CONFIG` or a variable
    keys: tuple[str, ...]
    check: str  # how a person checks that the client found the server
    # `plain` has command and args; `stdio` a type too; `list` one list of words.
    form: Literal["plain", "stdio", "list"] = "plain"
    # The project, for clients that may start the server elsewhere: ROOT, or their variable.
    project: str = ""
    passed_on: tuple[str, ...] = ()  # variables that the client would not pass on by itself


CLIENTS: dict[str, Row] = {
    "claude-code": Row(".mcp.json", ("mcpServers",), "claude mcp list"),
    "claude-desktop": Row(
        "CONFIG/Claude/claude_desktop_config.json",
        ("mcpServers",),
        "Start Claude Desktop again; Settings, Developer shows the server.",
        project="ROOT",
    ),
    "codex": Row(
        "CODEX_HOME/config.toml",
        ("mcp_servers",),
        "codex mcp list",
        passed_on=("XDG_RUNTIME_DIR", "XDG_STATE_HOME"),  # where a daemon's socket is
    ),
    "gemini": Row("~/.gemini/settings.json", ("mcpServers",), "gemini mcp list"),
    "opencode": Row("CONFIG/opencode/opencode.json", ("mcp",), "opencode mcp list", "list"),
    "vscode": Row(
        ".vscode/mcp.json",
        ("servers",),
        "In VS Code: MCP: List Servers, then start it.",
        "stdio",
        project="${workspaceFolder}",
    ),
    "cursor": Row(
        ".cursor/mcp.json",
        ("mcpServers",),
        "In Cursor: Settings, MCP.",
        "stdio",
        project="${workspaceFolder}",
    ),
    "zed": Row("CONFIG/zed/settings.json", ("context_servers",), "In Zed: agent: open settings."),
}


class InstallRequest(RequestModel):
    """Which client should start Preread's server."""

    client: Client = Field(description="The client whose settings are changed.")
    undo: bool = Field(False, description="Remove the entry again.")
    dry_run: bool = Field(False, description="Change nothing, and show what would change.")


class InstallReply(Model):
    """What was changed."""

    client: str
    path: str
    state: Literal["added", "changed", "removed", "unchanged"]
    diff: str = Field("", description="What would change, after `dry_run`.")
    next: str = ""


async def install(context: Context, request: InstallRequest) -> InstallReply:
    return await in_thread(context, _services(context), _install, request)


async def preview(context: Context, request: InstallRequest) -> Preview:
    return await in_thread(context, _services(context), _preview, request)


def _services(context: Context) -> Services:
    """Without the project's settings: they do not matter here."""
    return Services(resolve.open_layout(context.start), Settings(), context.environ)


def _install(services: Services, request: InstallRequest) -> InstallReply:
    path, before, after = _texts(services, request)
    state: Literal["added", "changed", "removed", "unchanged"] = "unchanged"
    if before != after:
        had = before is not None and _has_entry(path, before, CLIENTS[request.client])
        state = "removed" if request.undo else "changed" if had else "added"
    reply = InstallReply(client=request.client, path=str(path), state=state)
    if request.dry_run:
        diff = previews.change(str(path), before, after).diff if before != after else ""
        return reply.model_copy(update={"diff": diff, "next": "Nothing was changed."})
    if before != after:
        _write(path, after, _mode(path, CLIENTS[request.client]))
    ends = f"Undo it: `preread mcp install {request.client} --undo`"
    follows = "" if request.undo else f"See it: {CLIENTS[request.client].check}\n{ends}"
    return reply.model_copy(update={"next": follows})


def _preview(services: Services, request: InstallRequest) -> Preview:
    path, before, after = _texts(services, request)
    return previews.of_file(str(path), before, after)


def _write(path: Path, text: str | None, mode: int) -> None:
    if text is None:
        atomic.remove(path)
    else:
        atomic.write(path, text.encode(), durable=True, mode=mode)


def _mode(path: Path, row: Row) -> int:
    """The file's permissions: kept; a new file outside the project is private."""
    if path.is_file():
        return path.stat().st_mode & 0o777
    return atomic.FILE_MODE if row.path.startswith(".") else PRIVATE_MODE


def _texts(services: Services, request: InstallRequest) -> tuple[Path, str | None, str | None]:
    """The client's settings file, its text, and its text afterwards; None for no file."""
    row = CLIENTS[request.client]
    path = _place(services.layout, services.environ, row)
    data = plain_bytes(path)
    try:
        before = None if data is None else data.decode("utf-8")
        if request.undo:
            return path, before, None if before is None else _without(path, before, row)
        return path, before, _with(path, before or "", row, _entry(services.layout, row))
    except ValueError as error:  # no UTF-8, no JSON, no TOML
        verb = "remove" if request.undo else "add"
        entry = previews.change(path.name, None, _with(path, "", row, _entry(services.layout, row)))
        raise PrereadError(
            "E_SETTINGS",
            f"{path} cannot be changed: {error}.",
            f"Correct the file, or {verb} this by hand:\n{entry.diff}",
        ) from error


def _place(layout: Layout, environ: Mapping[str, str], row: Row) -> Path:
    """The settings file, with links resolved. Raises E_OUTSIDE if a project's is not inside it."""
    home = Path(environ.get("HOME") or Path.home())
    first, _, rest = row.path.partition("/")
    if first == "CODEX_HOME":
        return Path(environ.get(first) or home / ".codex", rest).resolve()
    if first == "~":
        return Path(home, rest).resolve()
    if first == "CONFIG":
        return (_config(home, environ, rest) / rest).resolve()
    return layout.real(layout.inside(row.path))


def _config(home: Path, environ: Mapping[str, str], rest: str) -> Path:
    if sys.platform == "darwin" and rest.startswith("Claude"):
        return home / "Library" / "Application Support"
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config")


def _entry(layout: Layout, row: Row) -> dict[str, object]:
    project = str(layout.root) if row.project == "ROOT" else row.project
    words = [*_program(), "mcp", *(("--project", project) if project else ())]
    if row.form == "list":
        return {"type": "local", "command": words, "enabled": True}
    kind = {"type": "stdio"} if row.form == "stdio" else {}
    passed_on = {"env_vars": list(row.passed_on)} if row.passed_on else {}
    return {**kind, "command": words[0], "args": words[1:], **passed_on}


def _program() -> list[str]:
    """Preread's own command, with its full path: graphical clients do not have the shell's PATH."""
    beside = Path(sys.executable).with_name(NAME)
    if os.access(beside, os.X_OK):
        return [str(beside)]
    found = shutil.which(NAME)
    return [found] if found else [sys.executable, "-m", NAME]


def _is_toml(path: Path) -> bool:
    return path.suffix == ".toml"


def _has_entry(path: Path, text: str, row: Row) -> bool:
    if _is_toml(path):
        return toml_table.table(text.removeprefix(BOM), row.keys[0], NAME) is not None
    return jsonc.entry(text, (*row.keys, NAME)) is not None


def _with(path: Path, text: str, row: Row, entry: dict[str, object]) -> str:
    """The text with the entry; all else stays as it is, in the entry, too. Raises ValueError."""
    if not _is_toml(path):
        return _with_json(text, (*row.keys, NAME), entry)
    bare = text.removeprefix(BOM)
    known = (toml_table.table(bare, row.keys[0], NAME) or {}).get("env_vars")
    if row.passed_on and isinstance(known, list):
        more = (name for name in known if name not in row.passed_on)
        entry = {**entry, "env_vars": [*row.passed_on, *more]}
    done = toml_table.with_table(bare, row.keys[0], NAME, entry)
    return text[: len(text) - len(bare)] + done


def _with_json(text: str, keys: tuple[str, ...], entry: dict[str, object]) -> str:
    if jsonc.entry(text, keys) is None:
        done = jsonc.with_entry(text, keys, entry)
        return done if done.endswith("\n") or text else f"{done}\n"
    for key, value in entry.items():
        if jsonc.entry(text, (*keys, key)) != value:
            text = jsonc.with_entry(text, (*keys, key), value)
    return text


def _without(path: Path, text: str, row: Row) -> str | None:
    """The text without the entry; None for a file that has nothing else. Raises ValueError."""
    if not _is_toml(path):
        rest = jsonc.without_entry(text, (*row.keys, NAME))
        return None if rest != text and jsonc.is_empty(rest) else rest
    bare = text.removeprefix(BOM)
    rest = toml_table.without_table(bare, row.keys[0], NAME)
    return text[: len(text) - len(bare)] + rest if rest else None


OPERATION = Operation(
    name="config.install_client",
    request=InstallRequest,
    reply=InstallReply,
    effect="write",
    doc="Add Preread to the settings of an agent's client, or remove it.",
    example="preread mcp install codex --dry-run",
    run=install,
    preview=preview,
    command="mcp install",
    positional=("client",),
    people_only=True,
)
