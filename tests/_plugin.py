"""What is wrong with a plugin's folder that `claude plugin validate` lets pass: `python tests/_plugin.py [FOLDER]`."""

import json
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from _plugin_words import words

ROOT = Path(__file__).resolve().parents[1]
TOOLS = frozenset(
    "Agent AskUserQuestion Bash BashOutput Edit EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree Glob Grep"
    " KillShell LSP ListMcpResourcesTool Monitor MultiEdit NotebookEdit PowerShell Read ReadMcpResourceTool SendMessage"
    " Skill Task TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoWrite ToolSearch WebFetch WebSearch"
    " Workflow Write".split()
)
OWN_TOOLS = ("load_context", "context_operation")
# Events, and what their matcher is matched against; None: they take no matcher.
SOURCES = frozenset({"startup", "resume", "clear", "compact", "fork"})
EVENTS: Mapping[str, frozenset[str] | str | None] = {
    **dict.fromkeys(
        (
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "PermissionRequest",
            "PermissionDenied",
        ),
        "tool",
    ),
    **dict.fromkeys(("SubagentStart", "SubagentStop"), "agent"),
    **dict.fromkeys(("PreCompact", "PostCompact"), frozenset({"manual", "auto"})),
    **dict.fromkeys(
        ("Stop", "StopFailure", "UserPromptSubmit", "TeammateIdle", "TaskCreated", "TaskCompleted"),
        None,
    ),
    **dict.fromkeys(
        ("Notification", "SessionEnd", "Setup", "ConfigChange", "InstructionsLoaded"), "anything"
    ),
    **dict.fromkeys(
        ("CwdChanged", "FileChanged", "WorktreeCreate", "WorktreeRemove", "PostToolBatch"),
        "anything",
    ),
    "SessionStart": SOURCES,
}
HOOK_FIELDS = frozenset(
    {"type", "command", "args", "timeout", "if", "once", "async", "statusMessage", "shell"}
)
AGENT_FIELDS = frozenset(
    "name description tools disallowedTools model effort maxTurns skills memory background isolation color".split()
)
SKILL_FIELDS = frozenset(
    "name description argument-hint disable-model-invocation user-invocable allowed-tools disallowed-tools model effort"
    " context agent paths when_to_use license metadata version shell".split()
)
MODELS = re.compile(r"inherit|sonnet|opus|haiku|fable|claude-[\w.-]+")
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
Problems = Iterator[str]


def problems(plugin: Path) -> list[str]:
    """Everything that is wrong, each with the file it is in."""
    found: list[str] = []
    for look in (manifests, servers, hooks, agents, skills, programs, texts):
        try:
            found += look(plugin)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            found.append(f"{look.__name__}: cannot be read: {type(error).__name__}: {error}")
    return found


def _json(plugin: Path, name: str) -> Any:
    return json.loads((plugin / name).read_text(encoding="utf-8"))


# -- manifests


def manifests(plugin: Path) -> Problems:
    own, market = (
        _json(plugin, ".claude-plugin/plugin.json"),
        _json(plugin, ".claude-plugin/marketplace.json"),
    )
    project = tomllib.loads((plugin / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    answers = _json(plugin, "bin/answers.json")
    code = (plugin / "server/preread/__init__.py").read_text(encoding="utf-8")
    versions = {
        "pyproject.toml": project["version"],
        ".claude-plugin/plugin.json": own.get("version"),
        "server/preread/__init__.py": (re.search(r'__version__ = "(.+?)"', code) or ["", None])[1],
        "bin/answers.json": answers["legacy"]["initialize"]["serverInfo"]["version"],
    }
    if len(set(versions.values())) > 1:
        yield f"versions differ: {versions}"
    for field in ("name", "description", "author", "license", "keywords"):
        if not own.get(field):
            yield f".claude-plugin/plugin.json: no {field}"
    for field in ("hooks", "agents", "skills", "commands"):
        if field in own:
            yield f".claude-plugin/plugin.json: {field} are found by their folder; named here they would count twice"
    listed = [entry for entry in market["plugins"] if entry["name"] == own["name"]]
    if own["name"] != project["name"] or len(listed) != 1:
        yield f"the plugin is {own['name']}, the package {project['name']}, the marketplace lists {len(listed)} of it"
    for entry in listed:
        if not (plugin / entry["source"] / ".claude-plugin" / "plugin.json").is_file():
            yield f".claude-plugin/marketplace.json: {entry['source']} holds no plugin"
        for field in ("version", "description", "keywords"):
            if field in entry and entry[field] != own.get(field):
                yield f".claude-plugin/marketplace.json: {field} is not that of plugin.json"


def tools_of(plugin: Path) -> tuple[str, frozenset[str]]:
    """The plugin's name, and the tools that its agents and hooks can name."""
    name = _json(plugin, ".claude-plugin/plugin.json")["name"]
    own = {
        f"mcp__plugin_{name}_{server}__{tool}"
        for server in _json(plugin, ".mcp.json")["mcpServers"]
        for tool in OWN_TOOLS
    }
    return name, TOOLS | own


def servers(plugin: Path) -> Problems:
    """The manifest's servers replace those of .mcp.json, which a project may have word for word:
    Claude Code starts only one of two servers that are the same, and that is the project's.
    """
    shared = _json(plugin, ".mcp.json")["mcpServers"]
    manifest = _json(plugin, ".claude-plugin/plugin.json")
    own = manifest.get("mcpServers", {})
    wheel = _json(plugin, ".claude-plugin/wheel.json")
    if {**manifest, "mcpServers": wheel["mcpServers"]} != wheel or own.keys() != shared.keys():
        yield ".claude-plugin/wheel.json: differs from plugin.json in more than how a server starts"
    if own.keys() != shared.keys():
        yield f".claude-plugin/plugin.json: its servers are {sorted(own)}, those of .mcp.json {sorted(shared)}"
    for name, server in own.items():
        words = " ".join([server["command"], *server.get("args", ())])
        if "${CLAUDE_PLUGIN_ROOT}/bin/preread" not in words or server == shared.get(name):
            yield f".claude-plugin/plugin.json: {name} is not the plugin's own start"
    for name, server in _json(plugin, ".mcp.json")["mcpServers"].items():
        words = " ".join([server["command"], *server.get("args", ())])
        yield from _paths(plugin, f".mcp.json: {name}", words)
        for variable in re.findall(r"\$\{(\w+)[^}]*\}", words):
            if variable == "CLAUDE_PLUGIN_ROOT":
                yield f".mcp.json: {name}: ${{{variable}}} is unset where the folder is opened as a project"


def _paths(plugin: Path, where: str, command: str) -> Problems:
    """Programs of the plugin that a command names: they are there, can be run, and stand in quotes."""
    named = list(re.finditer(r"\$\{?CLAUDE_PLUGIN_ROOT\}?/([\w./-]+)", command))
    if not named:
        yield f"{where}: names no program of the plugin"
    for match in named:
        place = plugin / match[1]
        if not place.is_file():
            yield f"{where}: {match[1]} is not there"
        elif not os.access(place, os.X_OK):
            yield f"{where}: {match[1]} cannot be executed"
        elif not place.read_bytes().startswith(b"#!"):
            yield f"{where}: {match[1]} does not say what runs it"
        if command[: match.start()].count('"') % 2 == 0:
            yield f"{where}: the path of {match[1]} is not in double quotes"


# -- hooks


def hooks(plugin: Path) -> Problems:
    data = _json(plugin, "hooks/hooks.json")
    for key in data.keys() - {"hooks", "description"}:
        yield f"hooks/hooks.json: {key} is not looked at there"
    commands = []
    for event, entries in data["hooks"].items():
        if event not in EVENTS:
            yield f"hooks/hooks.json: there is no event {event}"
        for entry in entries:
            where = f"hooks/hooks.json: {event}"
            for key in entry.keys() - {"matcher", "hooks"}:
                yield f"{where}: there is no field {key}"
            yield from (
                f"{where}: {what}" for what in _matcher(plugin, event, entry.get("matcher"))
            )
            for hook in entry["hooks"]:
                commands.append(hook.get("command", ""))
                yield from _hook(plugin, where, hook)
    for script in sorted(
        path for path in (plugin / "hooks").iterdir() if path.is_file() and not path.suffix
    ):
        if not any(
            re.search(rf"/hooks/{re.escape(script.name)}\b", command) for command in commands
        ):
            yield f"hooks/{script.name}: no event runs it"


def _matcher(plugin: Path, event: str, matcher: object) -> Problems:
    against = EVENTS.get(event, "anything")
    if matcher is None or matcher in {"", "*"}:
        return
    if against is None or not isinstance(matcher, str):
        yield f"matcher {matcher!r}: {event} takes none"
        return
    try:
        re.compile(matcher)
    except re.error as error:
        yield f"matcher {matcher!r} is no pattern: {error}"
        return
    if against == "anything":
        return
    name, tools = tools_of(plugin)
    stems = {path.stem for path in (plugin / "agents").glob("*.md")}
    known = {"tool": tools, "agent": frozenset({*stems, *(f"{name}:{stem}" for stem in stems)})}
    choices = known[against] if isinstance(against, str) else against
    # Claude Code takes plain words joined by | as names, all else as a pattern that is searched for.
    plain = re.fullmatch(r"[\w|]+", matcher) is not None
    for part in [matcher] if "(" in matcher else matcher.split("|"):
        if not (part in choices if plain else any(re.search(part, choice) for choice in choices)):
            yield f"matcher {matcher!r}: {part} matches nothing that there is"


def _hook(plugin: Path, where: str, hook: Mapping[str, Any]) -> Problems:
    for key in hook.keys() - HOOK_FIELDS:
        yield f"{where}: there is no field {key}"
    if hook.get("type") != "command" or not isinstance(hook.get("command"), str):
        yield f"{where}: is no command"
        return
    limit = hook.get("timeout", 60)
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit <= 600:
        yield f"{where}: timeout {limit!r} is no number of seconds"
    condition = hook.get("if")
    if condition is not None:
        found = (
            re.fullmatch(r"(\w+)(\([^()]+\))?", condition) if isinstance(condition, str) else None
        )
        if found is None:
            yield f"{where}: if {condition!r} is not like Bash(git *)"
        elif found[1] not in tools_of(plugin)[1]:
            yield f"{where}: if {condition!r}: there is no tool {found[1]}"
    yield from _paths(plugin, where, hook["command"])


# -- agents and skills


def front_matter(text: str) -> dict[str, str]:
    """The fields above a page: `name: value` lines, which is all that ours need. Raises ValueError."""
    head = re.match(r"---\n(.*?)\n---\n\s*\S", text, re.DOTALL)
    if head is None:
        raise ValueError("no front matter, or nothing below it")
    fields: dict[str, str] = {}
    for line in head[1].split("\n"):
        found = re.fullmatch(r"([\w-]+): (\S.*)", line)
        if found is None or found[1] in fields:
            raise ValueError(f"front matter: {line!r}")
        if (
            not re.match(r"[\"'\[]", found[2])
            and re.search(r": | #", found[2])
            and found[1] != "description"
        ):
            raise ValueError(f"front matter: {line!r} needs quotes")
        fields[found[1]] = found[2].strip("\"'")
    return fields


def _page(
    plugin: Path, path: Path, name: str, known: frozenset[str], tool_fields: tuple[str, ...]
) -> Problems:
    where = path.relative_to(plugin).as_posix()
    try:
        fields = front_matter(path.read_text(encoding="utf-8"))
    except ValueError as error:
        yield f"{where}: {error}"
        return
    for field in fields.keys() - known:
        yield f"{where}: the field {field} is not known, or ignored in a plugin"
    if fields.get("name") != name or not NAME.fullmatch(name):
        yield f"{where}: is called {fields.get('name')}, its place {name}"
    if not 20 <= len(fields.get("description", "")) <= 1024:
        yield f"{where}: the description has {len(fields.get('description', ''))} characters"
    if "model" in fields and not MODELS.fullmatch(fields["model"]):
        yield f"{where}: there is no model {fields['model']}"
    for field in tool_fields:
        for tool in filter(None, re.split(r",\s*", fields.get(field, ""))):
            if re.sub(r"\(.*\)$", "", tool) not in tools_of(plugin)[1]:
                yield f"{where}: {field}: there is no tool {tool}"


def agents(plugin: Path) -> Problems:
    for path in sorted((plugin / "agents").iterdir()):
        yield from _page(plugin, path, path.stem, AGENT_FIELDS, ("tools", "disallowedTools"))


def skills(plugin: Path) -> Problems:
    for folder in sorted((plugin / "skills").iterdir()):
        if not (folder / "SKILL.md").is_file():
            yield f"skills/{folder.name}: holds no SKILL.md"
            continue
        yield from _page(
            plugin,
            folder / "SKILL.md",
            folder.name,
            SKILL_FIELDS,
            ("allowed-tools", "disallowed-tools"),
        )


def programs(plugin: Path) -> Problems:
    """bin/ is on the PATH of a session's shell: what can be run there is meant to be."""
    found = {
        path.name
        for path in (plugin / "bin").iterdir()
        if path.is_file() and os.access(path, os.X_OK)
    }
    if found != {"preread"}:
        yield f"bin: {sorted(found)} can be run"


def texts(plugin: Path) -> Problems:
    pages = [
        *(plugin / "agents").glob("*.md"),
        *(plugin / "skills").glob("*/*.md"),
        plugin / "prompts/instructions.md",
    ]
    for path in sorted([*pages, *(plugin / "server" / "preread" / "gates").glob("*.py")]):
        text, where = path.read_text(encoding="utf-8"), path.relative_to(plugin).as_posix()
        yield from (
            f"{where}: {what}"
            for what in words(plugin, text, tools_of(plugin)[1], code=path.suffix == ".py")
        )


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
    sys.stdout.writelines(f"{line}\n" for line in wrong)
    sys.exit(bool(wrong))
