"""MCP servers that the headless child may search: those that the settings name, and of their tools those named.

A server of `.mcp.json` is a command. Naming it in the settings is enough where the person wrote that file. One that
came with a clone, whose settings name it, too, runs when the person approved it, in Claude Code or by PREREAD_MCP.
"""

import difflib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from preread.builders import login, loose
from preread.services import Services

APPROVE = "name it in the environment variable PREREAD_MCP"
# A word that runs Preread: its own server would make the child build the dossier that it is to draft.
OURS = re.compile(
    r"(?:^|[\s/\\\"'=@;&|(])preread(?:\.exe|\.cmd|\.py)?(?:$|[\s\"'=@:;&|)\[])", re.IGNORECASE
)
IDENT = re.compile(
    r"\$Id\b[^$]*\$"
)  # git writes it into checked out files where an attribute says so


@dataclass
class Servers:
    """What the child gets: configurations, permission rules of tools, and what is left out and why."""

    config: dict[str, dict[str, Any]] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Known:
    """Where servers are defined, and what the person said about those of the project."""

    project: Mapping[str, dict[str, Any]]
    own: Mapping[str, dict[str, Any]]
    approved: frozenset[str]
    rejected: frozenset[str]

    def spec(self, name: str) -> dict[str, Any] | None:
        """A server of the project takes the name of one of the person's only if it was approved."""
        places = (self.project, self.own) if name in self.approved else (self.own, self.project)
        return places[0].get(name) or places[1].get(name)


def chosen(services: Services) -> Servers:
    """The servers of the settings, looked up where Claude Code keeps them."""
    found = Servers()
    settings = services.settings
    if settings.mcp:
        known = _known(services)
        for name in dict.fromkeys(settings.mcp):
            spec = known.spec(name)
            if why := _refused(services, name, spec, known):
                found.warnings.append(f"The MCP server `{_shown(name)}` is left out: {why}.")
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


def _refused(services: Services, name: str, spec: Mapping[str, Any] | None, known: _Known) -> str:
    """Why a server is not for the child; empty when it is."""
    if spec is None:
        near = difflib.get_close_matches(name, [*known.project, *known.own], n=3, cutoff=0.5)
        guess = (
            f"; did you mean {' or '.join(f'`{_shown(other)}`' for other in near)}?" if near else ""
        )
        return f"neither .mcp.json nor Claude Code knows it{guess}"
    if is_ours(name, spec):
        return "it is Preread's own, and the builder must not call itself"
    if name in known.own or name in known.approved:
        return ""
    if name in known.rejected:
        return f"you rejected it in Claude Code; run `claude mcp reset-project-choices` there, or {APPROVE}"
    if _came_with_a_clone(services, name, spec):
        return (
            "its definition came with this clone (git tracks it in .mcp.json, and there is a remote), and you have not "
            f"approved it; run `claude` in the project once, which asks, or {APPROVE}"
        )
    return ""


def _came_with_a_clone(services: Services, name: str, spec: Mapping[str, Any]) -> bool:
    """Whether a repository with a remote tracks this very definition. One that git cannot be asked about may be."""
    git, root = services.tree.git, services.layout.root
    remotes = git("remote")
    if remotes.status != 0:
        return any((folder / ".git").exists() for folder in (root, *root.parents))
    if not remotes.out.strip():
        return False
    # In any case: a file system that does not tell them apart opens `.MCP.json`, too.
    listed = git("--no-literal-pathspecs", "ls-files", "--stage", "-z", "--", ":(icase).mcp.json")
    blobs = [row.split()[1].decode() for row in listed.out.split(b"\0") if row]
    return listed.status != 0 or any(
        _defines(git("cat-file", "blob", blob).out, name, spec) for blob in blobs
    )


def _defines(tracked: bytes, name: str, spec: Mapping[str, Any]) -> bool:
    """Whether what git tracks gives this server; what is no JSON there (a link, an encoded file) may have become it."""

    def plain(key: str, value: object) -> str:
        return IDENT.sub("", json.dumps([key, value], sort_keys=True))

    found = loose.record(tracked)
    return found is None or plain(name, spec) in {
        plain(key, value) for key, value in _specs(found).items()
    }


def _known(services: Services) -> _Known:
    environ, root = services.environ, services.layout.root
    shared = _specs(login.read(root / ".mcp.json"))
    state = login.read(login.state_file(environ))
    here = login.part(login.part(state, "projects"), str(root))
    places = [here, login.read(login.settings_file(environ))]
    if here.get("hasTrustDialogAccepted") is True:
        places.append(login.read(root / ".claude" / "settings.local.json"))
    approved = {name for place in places for name in _names(place, "enabledMcpjsonServers")}
    if any(place.get("enableAllProjectMcpServers") is True for place in places):
        approved |= set(shared)
    rejected = {name for place in places for name in _names(place, "disabledMcpjsonServers")}
    approved = (approved - rejected) | set(environ.get("PREREAD_MCP", "").split(os.pathsep))
    return _Known(
        shared, {**_specs(state), **_specs(here)}, frozenset(approved), frozenset(rejected)
    )


def _names(place: Mapping[str, Any], key: str) -> set[str]:
    value = place.get(key)
    return {name for name in value if isinstance(name, str)} if isinstance(value, list) else set()


def _specs(found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: spec
        for name, spec in login.part(found, "mcpServers").items()
        if isinstance(spec, dict)
    }


def _allow(found: Servers, servers: list[str], tools: list[str]) -> None:
    """One rule a tool; a tool of no configured server is warned about, and so is a server without one."""
    used = set()
    for entry in tools:
        server = max(
            (name for name in servers if entry.startswith(f"{name}.")), key=len, default=None
        )
        tool = entry[len(server) + 1 :] if server else ""
        if server is None or not tool or "*" in tool:
            found.warnings.append(
                f"`mcp_tools` has `{_shown(entry)}`, which is no `server.tool` of a server in `mcp`."
            )
        elif server in found.config:
            used.add(server)
            found.rules.append(f"mcp__{_word(server)}__{_word(tool)}")
    for name in found.config.keys() - used:
        found.warnings.append(
            f"No tool of the MCP server `{_shown(name)}` may be called: `mcp_tools` names none."
        )


def _shown(name: str) -> str:
    """A name as a warning carries it: settings come with a repository, and the warning goes to a model."""
    return loose.clean(name, 60).replace("`", "'")


def _word(name: str) -> str:
    """A server's or tool's name as Claude Code writes it into its own tool names."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)
