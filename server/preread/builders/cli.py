"""The Claude Code program: where it is, which one it is, and how it is run with the least that a builder needs.

The one module that knows its flags. tests/test_claude_permissions.py holds them to what they are here for.
"""

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from preread.builders import login, servers
from preread.builders.located import NoCli, fault, located
from preread.infra import atomic
from preread.services import Services

VERSION_SECONDS = 10.0
MINIMUM = (2, 1, 110)  # the oldest on which the permissions below were seen to hold
RESTRICTED = (
    2,
    1,
    248,
)  # the first with --restricted, which confines file tools to the working directory
PROMPTS = (2, 1, 259)  # the first with --permission-prompts

# Files that hold secrets, as .gitignore patterns, in any folder and in any case. Grep and Glob pass them over, too.
SECRETS = (
    ".env*", "*.env", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".npmrc", ".yarnrc.yml", ".netrc", "_netrc", ".pypirc",
    ".pgpass", ".my.cnf", ".htpasswd", ".git-credentials", "credentials.json", ".credentials.json", ".mcp.json",
    "service-account*.json", "serviceaccount*.json", "local.settings.json", "secrets.json", "secrets.toml",
    "secrets.yml", "secrets.yaml", "secrets.ini", "secrets.properties", "*.tfvars", "*.tfstate*",
    "**/.git/**", "**/.ssh/**", "**/.aws/**", "**/.azure/**", "**/.gnupg/**", "**/.kube/**", "**/.docker/config.json",
    "**/.claude/settings*.json",
)  # fmt: skip
# Nothing of the project or the person gets into the child's prompt by itself. The settings below say some of this
# again: a version that does not know one of the two knows the other.
QUIET = {
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",  # `@/etc/passwd` in a ticket would put that file into the prompt
    "CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1",
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",  # notes of other sessions, and a folder that could be written to
    "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS": "1",
    "CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1",  # a request of its own
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "ENABLE_CLAUDEAI_MCP_SERVERS": "false",
    "ENABLE_TOOL_SEARCH": "false",  # the few tools of configured servers are offered at once
    "MCP_CONNECTION_NONBLOCKING": "0",  # older versions would start the first turn without the servers
}
SETTINGS = {
    "disableAllHooks": True,
    "claudeMdExcludes": ["**/*"],
    "autoMemoryEnabled": False,
    "includeGitInstructions": False,
}
# What the person may set otherwise: how long a server may take to start.
DEFAULTS = {"MCP_TIMEOUT": "15000"}


@dataclass(frozen=True)
class Cli:
    """A program that can be run. The path is absolute and not resolved: a version manager's link goes by its name."""

    path: Path
    version: tuple[int, ...]
    text: str  # the version in words


@dataclass(frozen=True)
class Prepared:
    """How one run is started: working directory is the project's root, `scratch` holds its private files."""

    argv: tuple[str, ...]
    environ: dict[str, str]
    scratch: Path
    servers: tuple[str, ...]
    warnings: tuple[str, ...]


def find(services: Services) -> Cli:
    """The program, asked for its version; raises NoCli."""
    path = located(services)
    done = services.run(
        [str(path), "--version"],
        cwd=services.layout.root,
        timeout=VERSION_SECONDS,
        environ=_environ(services.environ),
        check=services.progress.check,
    )
    found = re.match(rb"\s*(\d+)\.(\d+)\.(\d+)", done.out)
    if done.status != 0 or not found:
        said = (done.err or done.out).decode("utf-8", "replace").strip()[-200:]
        why = (
            f"no answer within {VERSION_SECONDS:.0f} s"
            if done.timed_out
            else said or f"exit status {done.status}"
        )
        raise NoCli(
            fault(
                f"{path} does not tell its version: {why}",
                f"Run `{path} --version`, and mend what it says.",
            )
        )
    version = tuple(int(number) for number in found.groups())
    text = ".".join(map(str, version))
    if version < MINIMUM:
        least = ".".join(map(str, MINIMUM))
        raise NoCli(
            fault(
                f"Claude Code {text} is too old; {least} is the oldest that will do",
                "Run `claude update`.",
            )
        )
    return Cli(path, version, text)


@contextmanager
def prepare(services: Services, cli: Cli, staging: Path, run: str) -> Iterator[Prepared]:
    """Everything that one run needs, its private files written; they are gone afterwards."""
    mcp = servers.chosen(services)
    # Outside the project, which the child may read.
    scratch = Path(tempfile.mkdtemp(prefix=f"preread-{run}-")).resolve()
    try:
        files = [
            "--settings",
            _private(scratch / "settings.json", {**login.settings(services.environ), **SETTINGS}),
        ]
        if mcp.config:
            files += ["--mcp-config", _private(scratch / "mcp.json", {"mcpServers": mcp.config})]
        yield Prepared(
            argv=(str(cli.path), *_flags(services, cli, staging, mcp.rules, scratch), *files),
            environ=_environ(services.environ),
            scratch=scratch,
            servers=tuple(mcp.config),
            warnings=tuple(mcp.warnings),
        )
    finally:
        atomic.remove(scratch)


def _flags(
    services: Services, cli: Cli, staging: Path, tools: Sequence[str], scratch: Path
) -> list[str]:
    """Least privilege: reads in the project but no secrets, writes into the staging folder, named tools."""
    settings, root = services.settings, services.layout.root
    folder = staging.resolve().relative_to(root).as_posix()
    if not re.fullmatch(r"[\w./-]+", folder, re.ASCII):
        raise ValueError(
            f"a staging folder that a permission rule would not take literally: {folder}"
        )
    restricted = cli.version >= RESTRICTED
    # Without --restricted, Glob lists whatever an absolute pattern names; Grep can list files as well, and does not.
    offered = "Read,Grep,Glob,Write" if restricted else "Read,Grep,Write"
    denied = [*SECRETS, f"/{services.layout.state.relative_to(root).as_posix()}/**"]
    if scratch.is_relative_to(root):
        denied.append(
            f"/{re.sub(r'[^A-Za-z0-9/._-]', '?', scratch.relative_to(root).as_posix())}/**"
        )
    flags = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    flags += ["--tools", offered, "--allowedTools", "Read(/**)", f"Edit(/{folder}/**)", *tools]
    flags += ["--disallowedTools", *(f"Read({_any_case(pattern)})" for pattern in denied)]
    flags += ["--permission-mode", "dontAsk", "--setting-sources", "", "--strict-mcp-config"]
    flags += ["--no-session-persistence", "--disable-slash-commands"]
    flags += ["--restricted"] if restricted else []
    flags += ["--permission-prompts", "none"] if cli.version >= PROMPTS else []
    flags += ["--model", settings.model, "--max-turns", str(settings.max_turns)]
    flags += ["--max-budget-usd", f"{settings.max_usd:g}"]
    if settings.fallback_model not in {"", settings.model}:
        flags += ["--fallback-model", settings.fallback_model]
    return flags


def _any_case(pattern: str) -> str:
    """A pattern that matches in any case: older versions take letters as they are, and file systems may not."""
    return re.sub(r"[a-z]", lambda letter: f"[{letter[0]}{letter[0].upper()}]", pattern)


def _environ(environ: Mapping[str, str]) -> dict[str, str]:
    return {**DEFAULTS, **login.variables(environ), **QUIET}


def _private(path: Path, data: object) -> str:
    """Write a file that only this person can read; its path."""
    with os.fdopen(
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    ) as file:
        json.dump(data, file)
    return str(path)
