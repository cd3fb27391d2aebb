"""The MCP servers and tools that the headless child may use: those that the settings name.

A server in `.mcp.json` is a command that may have come with the repository, like the settings that
name it. So the person decides: a server runs if they added it for this project, approved it or
trusted the folder in Claude Code, or named it in PREREAD_MCP.
"""

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from preread.builders import login, untrusted
from preread.services import Services

ASK = "run `claude` in the project once, which asks"
APPROVE = "name it in the environment variable PREREAD_MCP"
# A word of a command line that runs Preread. Through Preread's own server, the child could request
# the very dossier that it has to draft.
PREREAD = re.compile(
    r"(?:^|[\s/\\\"'=@;&|(])preread(?:\.exe|\.cmd|\.py)?(?:$|[\s\"'=@:;&|)\[])", re.IGNORECASE
)


@dataclass
class Servers:
    """What the child gets: server configurations, permission rules for tools, and warnings."""

    config: dict[str, dict[str, Any]] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Known:
    """The defined servers, and what the person decided about them."""

    local: Mapping[str, dict[str, Any]]  # the person added these for this project alone
    project: Mapping[str, dict[str, Any]]  # .mcp.json
    user: Mapping[str, dict[str, Any]]  # the person's servers for all projects
    approved: frozenset[str]  # of .mcp.json, in Claude Code
    rejected: frozenset[str]
    named: frozenset[str]  # in PREREAD_MCP
    is_trusted: bool  # the folder, in Claude Code

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.local, *self.project, *self.user)

    def spec(self, name: str) -> dict[str, Any] | None:
        """The definition that Claude Code would use.

        The project's counts only if it is approved or the only one. A name in PREREAD_MCP does not
        say whose server is meant: the person's own comes first.
        """
        approved = self.project if name in self.approved else {}
        for place in (self.local, approved, self.user, self.project):
            if name in place:
                return place[name]
        return None

    def is_allowed(self, name: str) -> bool:
        return (
            name in self.named
            or name in self.local
            or (name in self.approved and name in self.project)
            or (name in self.user and self.is_trusted)
        )


def select(services: Services) -> Servers:
    """The servers that the settings name, looked up where Claude Code keeps them."""
    servers = Servers()
    settings = services.settings
    if settings.mcp:
        known = _known(services)
        for name in dict.fromkeys(settings.mcp):
            spec = known.spec(name)
            if why := _reason_to_skip(name, spec, known):
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


def _reason_to_skip(name: str, spec: Mapping[str, Any] | None, known: _Known) -> str:
    """Why the child must not have a server; empty when it may."""
    if spec is None:
        near = difflib.get_close_matches(name, known.names, n=3, cutoff=0.5)
        names = " or ".join(f"`{_shown(other)}`" for other in near)
        guess = f"; did you mean {names}?" if near else ""
        return f"it is defined neither in .mcp.json nor in Claude Code{guess}"
    if is_preread(name, spec):
        return "it is Preread's own, and the builder must not call itself"
    if known.is_allowed(name):
        return ""
    if name in known.rejected:
        return (
            "you rejected it in Claude Code; run `claude mcp reset-project-choices` there, "
            f"or {APPROVE}"
        )
    if name in known.user:
        return (
            "it is yours, but this project's settings name it, and you have not trusted this "
            f"folder in Claude Code; {ASK}, or {APPROVE}"
        )
    return f"this project's .mcp.json defines it, and you have not approved it; {ASK}, or {APPROVE}"


def _known(services: Services) -> _Known:
    environ, root = services.environ, services.layout.root
    project = _specs(login.read_json(root / ".mcp.json"))
    state = login.read_json(login.state_file(environ))
    here = untrusted.mapping(untrusted.mapping(state.get("projects")).get(str(root)))
    is_trusted = here.get("hasTrustDialogAccepted") is True
    places = [here, login.read_json(login.settings_file(environ))]
    if is_trusted:  # that file, too, can come with a repository
        places.append(login.read_json(root / ".claude" / "settings.local.json"))
    approved = {name for place in places for name in _names(place, "enabledMcpjsonServers")}
    if any(place.get("enableAllProjectMcpServers") is True for place in places):
        approved |= set(project)
    rejected = {name for place in places for name in _names(place, "disabledMcpjsonServers")}
    return _Known(
        local=_specs(here),
        project=project,
        user=_specs(state),
        approved=frozenset(approved - rejected),
        rejected=frozenset(rejected),
        named=frozenset(environ.get("PREREAD_MCP", "").split(os.pathsep)),
        is_trusted=is_trusted,
    )


def _names(place: Mapping[str, Any], key: str) -> set[str]:
    return {name for name in untrusted.items(place.get(key)) if isinstance(name, str)}


def _specs(found: Mapping[str, Any]) -> dict[str, Any]:
    specs = untrusted.mapping(found.get("mcpServers"))
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
    """A server's or tool's name as part of the tool names that Claude Code makes."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)
