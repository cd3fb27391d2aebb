"""The MCP servers and tools that the headless child may use: those that the settings name.

A server in `.mcp.json` is a command that somebody wrote. Naming it in the settings is enough if the
person wrote that file. One that came with a clone (whose settings may name it, too) runs only after
the person has approved it, in Claude Code or by PREREAD_MCP.
"""

import difflib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from preread.builders import login, untrusted
from preread.services import Services

APPROVE = "name it in the environment variable PREREAD_MCP"
# A word of a command line that runs Preread. With Preread's own server, the child could ask for the
# dossier that it is supposed to draft.
PREREAD = re.compile(
    r"(?:^|[\s/\\\"'=@;&|(])preread(?:\.exe|\.cmd|\.py)?(?:$|[\s\"'=@:;&|)\[])", re.IGNORECASE
)
IDENT = re.compile(r"\$Id\b[^$]*\$")  # git expands it on checkout where an attribute says so


@dataclass
class Servers:
    """What the child gets: server configurations, permission rules for tools, and warnings."""

    config: dict[str, dict[str, Any]] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Known:
    """The defined servers, and which of the project's the person approved or rejected."""

    project: Mapping[str, dict[str, Any]]
    own: Mapping[str, dict[str, Any]]
    approved: frozenset[str]
    rejected: frozenset[str]

    def spec(self, name: str) -> dict[str, Any] | None:
        """An approved server of the project shadows the person's own server of that name."""
        places = (self.project, self.own) if name in self.approved else (self.own, self.project)
        return places[0].get(name) or places[1].get(name)


def select(services: Services) -> Servers:
    """The servers that the settings name, looked up where Claude Code keeps them."""
    servers = Servers()
    settings = services.settings
    if settings.mcp:
        known = _known(services)
        for name in dict.fromkeys(settings.mcp):
            spec = known.spec(name)
            if why := _reason_to_skip(services, name, spec, known):
                servers.warnings.append(f"The MCP server `{_shown(name)}` is left out: {why}.")
            elif spec:
                servers.config[name] = spec
    _allow_tools(servers, settings.mcp, settings.mcp_tools)
    return servers


def is_preread(name: str, spec: Mapping[str, Any]) -> bool:
    """Whether a server is Preread's own, under whatever name."""
    arguments = spec.get("args")
    words = [spec.get("command"), *(arguments if isinstance(arguments, list) else ())]
    return bool(re.fullmatch(r"(plugin[:_]preread[:_])?preread", name, re.IGNORECASE)) or any(
        PREREAD.search(word) for word in words if isinstance(word, str)
    )


def _reason_to_skip(
    services: Services, name: str, spec: Mapping[str, Any] | None, known: _Known
) -> str:
    """Why the child must not have a server; empty when it may."""
    if spec is None:
        near = difflib.get_close_matches(name, [*known.project, *known.own], n=3, cutoff=0.5)
        names = " or ".join(f"`{_shown(other)}`" for other in near)
        guess = f"; did you mean {names}?" if near else ""
        return f"it is defined neither in .mcp.json nor in Claude Code{guess}"
    if is_preread(name, spec):
        return "it is Preread's own, and the builder must not call itself"
    if name in known.own or name in known.approved:
        return ""
    if name in known.rejected:
        return (
            "you rejected it in Claude Code; run `claude mcp reset-project-choices` there, "
            f"or {APPROVE}"
        )
    if _came_with_a_clone(services, name, spec):
        return (
            "its definition came with this clone (git tracks it in .mcp.json, and there is a "
            "remote), and you have not approved it; run `claude` in the project once, which asks, "
            f"or {APPROVE}"
        )
    return ""


def _came_with_a_clone(services: Services, name: str, spec: Mapping[str, Any]) -> bool:
    """Whether a repository with a remote tracks this definition.

    True as well when there is a repository and git cannot be asked.
    """
    git, root = services.tree.git, services.layout.root
    remotes = git("remote")
    if remotes.status != 0:
        return any((folder / ".git").exists() for folder in (root, *root.parents))
    if not remotes.out.strip():
        return False
    # In any letter case: a case-insensitive file system opens `.MCP.json`, too.
    listed = git("--no-literal-pathspecs", "ls-files", "--stage", "-z", "--", ":(icase).mcp.json")
    blobs = [row.split()[1].decode() for row in listed.out.split(b"\0") if row]
    return listed.status != 0 or any(
        _defines(git("cat-file", "blob", blob).out, name, spec) for blob in blobs
    )


def _defines(tracked: bytes, name: str, spec: Mapping[str, Any]) -> bool:
    """Whether the tracked file defines this server.

    True as well when it is not JSON: a link or an encoded file may have been checked out as one.
    """

    def canonical(key: str, value: object) -> str:
        return IDENT.sub("", json.dumps([key, value], sort_keys=True))

    found = untrusted.json_object(tracked)
    return found is None or canonical(name, spec) in {
        canonical(key, value) for key, value in _specs(found).items()
    }


def _known(services: Services) -> _Known:
    environ, root = services.environ, services.layout.root
    shared = _specs(login.read_json(root / ".mcp.json"))
    state = login.read_json(login.state_file(environ))
    here = login.child_object(login.child_object(state, "projects"), str(root))
    places = [here, login.read_json(login.settings_file(environ))]
    if here.get("hasTrustDialogAccepted") is True:
        places.append(login.read_json(root / ".claude" / "settings.local.json"))
    approved = {name for place in places for name in _names(place, "enabledMcpjsonServers")}
    if any(place.get("enableAllProjectMcpServers") is True for place in places):
        approved |= set(shared)
    rejected = {name for place in places for name in _names(place, "disabledMcpjsonServers")}
    approved = (approved - rejected) | set(environ.get("PREREAD_MCP", "").split(os.pathsep))
    own = {**_specs(state), **_specs(here)}
    return _Known(shared, own, frozenset(approved), frozenset(rejected))


def _names(place: Mapping[str, Any], key: str) -> set[str]:
    value = place.get(key)
    return {name for name in value if isinstance(name, str)} if isinstance(value, list) else set()


def _specs(found: Mapping[str, Any]) -> dict[str, Any]:
    specs = login.child_object(found, "mcpServers")
    return {name: spec for name, spec in specs.items() if isinstance(spec, dict)}


def _allow_tools(servers: Servers, names: list[str], tools: list[str]) -> None:
    """Add a permission rule for each tool, and warn about tools and servers that do not match."""
    used = set()
    for entry in tools:
        matching = (name for name in names if entry.startswith(f"{name}."))
        server = max(matching, key=len, default=None)
        tool = entry[len(server) + 1 :] if server else ""
        if server is None or not tool or "*" in tool:
            servers.warnings.append(
                f"`mcp_tools` has `{_shown(entry)}`, which is not `server.tool` for a server in "
                "`mcp`."
            )
        elif server in servers.config:
            used.add(server)
            servers.rules.append(f"mcp__{_tool_name_part(server)}__{_tool_name_part(tool)}")
    for name in servers.config.keys() - used:
        servers.warnings.append(
            f"No tool of the MCP server `{_shown(name)}` may be called: `mcp_tools` names none."
        )


def _shown(name: str) -> str:
    """A name in a warning, made harmless: it comes with a repository and is shown to a model."""
    return untrusted.clean(name, 60).replace("`", "'")


def _tool_name_part(name: str) -> str:
    """A server's or tool's name, spelled as Claude Code does in its own tool names."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)
