"""MCP servers that the headless child may search: those that the settings name, and of their tools those named.

A server of `.mcp.json` is a command that a repository chose. It runs when the person approved it, in Claude Code or by
naming it in PREREAD_MCP: a clone with a settings file of its own must not start programs.
"""

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from preread.builders import login
from preread.services import Services

# A word that runs Preread: its own server would make the child build the dossier that it is to draft.
OURS = re.compile(r"(?:^|[\s/\\\"'=@;&|(])preread(?:\.exe|\.cmd|\.py)?(?:$|[\s\"'=@:;&|)\[])", re.IGNORECASE)


@dataclass
class Servers:
    """What the child gets: configurations, permission rules of tools, and what is left out and why."""

    config: dict[str, dict[str, Any]] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def chosen(services: Services) -> Servers:
    """The servers of the settings, looked up where Claude Code keeps them."""
    found = Servers()
    settings = services.settings
    if settings.mcp:
        project, own, approved = _known(services)
        for name in dict.fromkeys(settings.mcp):
            spec = project.get(name) or own.get(name)
            why = _refused(name, spec, [*project, *own], approved=name in own or name in approved)
            if why:
                found.warnings.append(f"The MCP server `{name}` is left out: {why}.")
            elif spec:
                found.config[name] = spec
    _allow(found, settings.mcp, settings.mcp_tools)
    return found


def is_ours(name: str, spec: Mapping[str, Any]) -> bool:
    """Whether a server is Preread's own, under whatever name."""
    arguments = spec.get("args")
    words = [spec.get("command"), *(arguments if isinstance(arguments, list) else ())]
    return bool(re.fullmatch(r"(plugin[:_]preread[:_])?preread", name, re.IGNORECASE)) or any(
        OURS.search(word) for word in words if isinstance(word, str)
    )


def _refused(name: str, spec: Mapping[str, Any] | None, known: Iterable[str], *, approved: bool) -> str:
    """Why a server is not for the child; empty when it is."""
    if spec is None:
        near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
        return "it is unknown" + (f"; did you mean {' or '.join(f'`{other}`' for other in near)}?" if near else "")
    if is_ours(name, spec):
        return "it is Preread's own, and the builder must not call itself"
    if not approved:
        return "the project's .mcp.json brings it; approve it in Claude Code, or name it in PREREAD_MCP"
    return ""


def _known(services: Services) -> tuple[dict[str, Any], dict[str, Any], set[str]]:
    """Servers of the project, servers of the person, and which of the project's the person approved."""
    environ, root = services.environ, services.layout.root
    shared = _specs(login.read(root / ".mcp.json"))
    state = login.read(login.state_file(environ))
    here = login.part(login.part(state, "projects"), str(root))
    own = {**_specs(state), **_specs(here)}
    places = [here, login.read(login.settings_file(environ))]
    if here.get("hasTrustDialogAccepted") is True:
        places.append(login.read(root / ".claude" / "settings.local.json"))
    approved = {name for place in places for name in _names(place, "enabledMcpjsonServers")}
    if any(place.get("enableAllProjectMcpServers") is True for place in places):
        approved |= set(shared)
    approved -= {name for place in places for name in _names(place, "disabledMcpjsonServers")}
    approved |= set(environ.get("PREREAD_MCP", "").split(os.pathsep))
    return {name: spec for name, spec in shared.items() if name in approved or name not in own}, own, approved


def _names(place: Mapping[str, Any], key: str) -> set[str]:
    value = place.get(key)
    return {name for name in value if isinstance(name, str)} if isinstance(value, list) else set()


def _specs(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: spec for name, spec in login.part(found, "mcpServers").items() if isinstance(spec, dict)}


def _allow(found: Servers, servers: list[str], tools: list[str]) -> None:
    """One rule a tool; a tool of no configured server is warned about, and so is a server without one."""
    used = set()
    for entry in tools:
        server = max((name for name in servers if entry.startswith(f"{name}.")), key=len, default=None)
        tool = entry[len(server) + 1 :] if server else ""
        if server is None or not tool or "*" in tool:
            found.warnings.append(f"`mcp_tools` has `{entry}`, which is no `server.tool` of a server in `mcp`.")
        elif server in found.config:
            used.add(server)
            found.rules.append(f"mcp__{_word(server)}__{_word(tool)}")
    for name in found.config.keys() - used:
        found.warnings.append(f"No tool of the MCP server `{name}` may be called: `mcp_tools` names none.")


def _word(name: str) -> str:
    """A server's or tool's name as Claude Code writes it into its own tool names."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)
