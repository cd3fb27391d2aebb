"""How Claude Code is run: its version, its flags, and the least privilege that a builder needs.

Only this module knows the flags; tests/test_builders_permissions.py checks what they allow.
"""

import json
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from preread.builders import login, mcp_servers
from preread.builders.locate import locate, unavailable
from preread.infra import atomic
from preread.services import Services

# Reporting its version takes a fraction of a second, but many times that on a busy machine. Giving
# up too early costs the caller the model; a program that hangs only costs this time.
VERSION_SECONDS = 30.0
TEMPORARY = Path("the folder for temporary files")  # its name in errors
MIN_VERSION = (2, 1, 110)  # the oldest on which the permissions below are known to work
RESTRICTED = (2, 1, 248)  # first with --restricted: file tools stay in the working directory
PROMPTS = (2, 1, 259)  # first with --permission-prompts

# Files that contain secrets, as .gitignore patterns, in any folder and any letter case. Grep and
# Glob skip them too.
SECRETS = (
    ".env*", "*.env", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore",
    "*.kdbx", "*.ppk", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".npmrc", ".yarnrc.yml",
    ".netrc", "_netrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd", ".git-credentials",
    "credentials.json", ".credentials.json", ".mcp.json", "service-account*.json",
    "serviceaccount*.json", "local.settings.json", "secrets.json", "secrets.toml", "secrets.yml",
    "secrets.yaml", "secrets.ini", "secrets.properties", "*.tfvars", "*.tfstate*",
    "**/.git/**", "**/.ssh/**", "**/.aws/**", "**/.azure/**", "**/.gnupg/**", "**/.kube/**",
    "**/.docker/config.json", "**/.claude/settings*.json",
)  # fmt: skip
# Keep the project's and the person's own context out of the child's prompt. Some of these are
# repeated in SETTINGS below, because some versions know only one of the two.
QUIET = {
    # `@/etc/passwd` in a ticket would put that file into the prompt.
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
    "CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1",
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    # Notes of other sessions, in a folder that the child could write to.
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS": "1",
    "CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1",  # costs a request of its own
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "ENABLE_CLAUDEAI_MCP_SERVERS": "false",
    "ENABLE_TOOL_SEARCH": "false",  # offer the few tools of configured servers at once
    # Older versions would start the first turn before the servers are connected.
    "MCP_CONNECTION_NONBLOCKING": "0",
}
SETTINGS = {
    "disableAllHooks": True,
    "claudeMdExcludes": ["**/*"],
    "autoMemoryEnabled": False,
    "includeGitInstructions": False,
}
# The person's environment may override this: how long a server may take to start, in ms.
DEFAULTS = {"MCP_TIMEOUT": "15000"}


@dataclass(frozen=True)
class Program:
    """A Claude Code program that can be run.

    `path` is absolute but not resolved: version managers depend on the name of the link.
    """

    path: Path
    version: tuple[int, ...]
    text: str  # the version as text


@dataclass(frozen=True)
class Prepared:
    """How to start one run, in the project's root. `scratch` holds its private files."""

    argv: tuple[str, ...]
    environ: dict[str, str]
    scratch: Path
    servers: tuple[str, ...]
    warnings: tuple[str, ...]


def find(services: Services) -> Program:
    """The program and its version. Raises ClaudeUnavailable when it is missing or too old."""
    path = locate(services)
    done = services.run(
        [str(path), "--version"],
        cwd=services.layout.root,
        timeout=VERSION_SECONDS,
        environ=_environ(services),
        check=services.progress.check,
    )
    found = re.match(rb"\s*(\d+)\.(\d+)\.(\d+)", done.out)
    if done.status != 0 or not found:
        why = f"no answer within {VERSION_SECONDS:.0f} s"
        if not done.timed_out:
            output = (done.err or done.out).decode("utf-8", "replace").strip()
            why = output[-200:] or f"exit status {done.status}"
        raise unavailable(
            f"{path} does not report its version: {why}",
            f"Run `{path} --version` and fix what it reports.",
        )
    version = tuple(int(number) for number in found.groups())
    text = ".".join(map(str, version))
    if version < MIN_VERSION:
        oldest = ".".join(map(str, MIN_VERSION))
        raise unavailable(
            f"Claude Code {text} is too old; Preread needs {oldest} or newer",
            "Run `claude update`.",
        )
    return Program(path, version, text)


def is_logged_in(services: Services, program: Program) -> bool | None:
    """What the program says about its login, without asking the service; None if it does not say.

    It is run outside the project, whose settings could name a program to run.
    """
    done = services.run(
        [str(program.path), "auth", "status", "--json"],
        cwd=program.path.parent,
        timeout=VERSION_SECONDS,
        environ=_environ(services),
        check=services.progress.check,
    )
    try:
        found = json.loads(done.out)
    except ValueError:
        return None
    logged_in = found.get("loggedIn") if isinstance(found, dict) else None
    return logged_in if isinstance(logged_in, bool) else None


def prepare(
    services: Services, program: Program, staging: Path, run: str
) -> AbstractContextManager[Prepared]:
    """Prepare a run of one build, which may write to `staging` only."""
    folder = staging.resolve().relative_to(services.layout.root).as_posix()
    if not re.fullmatch(r"[\w./-]+", folder, re.ASCII):
        raise ValueError(
            f"a permission rule would not take this staging folder literally: {folder}"
        )
    return prepared(services, program, run, edits=(f"/{folder}/**",))


@contextmanager
def prepared(
    services: Services,
    program: Program,
    run: str,
    *,
    edits: Sequence[str],
    protected: Sequence[str] = (),
) -> Iterator[Prepared]:
    """Prepare one run; its private files are removed afterwards.

    `edits` are patterns of the files that it may write, `protected` of those that it may not.
    Raises E_WRITE if its private files cannot be written.
    """
    servers = mcp_servers.select(services)
    # Outside the project, because the child may read everything inside it.
    with atomic.write_errors(TEMPORARY):
        scratch = Path(tempfile.mkdtemp(prefix=f"preread-{run}-")).resolve()
    try:
        settings = {**login.settings(services.environ), **SETTINGS}
        with atomic.write_errors(TEMPORARY):
            files = ["--settings", _private(scratch / "settings.json", settings)]
            if servers.config:
                config = {"mcpServers": servers.config}
                files += ["--mcp-config", _private(scratch / "mcp.json", config)]
        flags = _flags(services, program, edits, protected, servers.rules, scratch)
        yield Prepared(
            argv=(str(program.path), *flags, *files),
            # So that what a killed child leaves behind is removed, too.
            environ=_environ(services) | {"CLAUDE_CODE_TMPDIR": str(scratch)},
            scratch=scratch,
            servers=tuple(servers.config),
            warnings=(*services.settings.warnings, *servers.warnings),
        )
    finally:
        atomic.remove(scratch)


def _flags(
    services: Services,
    program: Program,
    edits: Sequence[str],
    protected: Sequence[str],
    tools: Sequence[str],
    scratch: Path,
) -> list[str]:
    """Least privilege: read the project but no secrets, write what `edits` allows, call `tools`."""
    settings, root = services.settings, services.layout.root
    restricted = program.version >= RESTRICTED
    # Without --restricted, Glob lists whatever an absolute pattern matches, so it is not offered.
    offered = "Read,Grep,Glob" if restricted else "Read,Grep"
    offered += ",Write,Edit" if edits else ""
    denied = [*SECRETS, f"/{services.layout.state.relative_to(root).as_posix()}/**"]
    if scratch.is_relative_to(root):
        inside = scratch.relative_to(root).as_posix()
        denied.append(f"/{re.sub(r'[^A-Za-z0-9/._-]', '?', inside)}/**")
    flags = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    flags += ["--tools", offered, "--allowedTools", "Read(/**)"]
    flags += [*(f"Edit({pattern})" for pattern in edits), *tools]
    flags += ["--disallowedTools", *(f"Read({_any_case(pattern)})" for pattern in denied)]
    unwritable = (*protected, *denied) if protected else ()
    flags += [f"Edit({_any_case(pattern)})" for pattern in unwritable]
    flags += ["--permission-mode", "dontAsk", "--setting-sources", "", "--strict-mcp-config"]
    flags += ["--no-session-persistence", "--disable-slash-commands"]
    flags += ["--restricted"] if restricted else []
    flags += ["--permission-prompts", "none"] if program.version >= PROMPTS else []
    flags += ["--model", settings.model, "--max-turns", str(settings.max_turns)]
    flags += ["--max-budget-usd", f"{settings.max_usd:g}"]
    if settings.fallback_model not in {"", settings.model}:
        flags += ["--fallback-model", settings.fallback_model]
    return flags


def _any_case(pattern: str) -> str:
    """The pattern in any letter case: older versions match case, file systems may not."""
    return re.sub(r"[a-z]", lambda letter: f"[{letter[0]}{letter[0].upper()}]", pattern)


def _environ(services: Services) -> dict[str, str]:
    """The child's environment. The program may be a script that looks up its interpreter."""
    child_variables = {**DEFAULTS, **login.variables(services.program_environ)}
    # The first turn waits for a server as long as that may take to start; the default is only 5 s.
    return {**child_variables, "MCP_CONNECT_TIMEOUT_MS": child_variables["MCP_TIMEOUT"], **QUIET}


def _private(path: Path, data: object) -> str:
    """Write a JSON file that only this person can read; returns its path."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(data, file)
    return str(path)
