"""The person's login to Claude Code: which of their settings and variables the child gets.

The child loads no settings file (`--setting-sources ""`), so nobody's hooks, plugins or permissions
reach it. A login that the program stores itself still works; one in the person's settings has to be
passed on. Only the person's own file is read for that: a project's file could name a program to
run.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from preread.builders.untrusted import mapping
from preread.errors import Unreadable
from preread.infra.reading import plain_bytes

# The settings that say who is logged in, through which helper program and which provider.
LOGIN_KEYS = (
    "apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "proxyAuthHelper",
    "forceLoginMethod", "forceLoginOrgUUID", "modelOverrides",
)  # fmt: skip
# Claude Code's own variables for login, provider and network. All its other variables describe the
# session that this process runs in.
CLAUDE_VARIABLES = re.compile(
    r"CLAUDE_(CONFIG_DIR|SECURESTORAGE_CONFIG_DIR)"
    r"|CLAUDE_CODE_("
    r"OAUTH_(TOKEN|REFRESH_TOKEN|SCOPES|CLIENT_ID)|CUSTOM_OAUTH_URL|API_BASE_URL"
    r"|API_KEY_HELPER_TTL_MS|SKIP_\w+_AUTH"
    r"|USE_(BEDROCK|VERTEX|FOUNDRY|MANTLE|ANTHROPIC_AWS|ANTHROPIC_GOOGLE_CLOUD|GATEWAY)"
    r"|CLIENT_(CERT|KEY|KEY_PASSPHRASE)|CERT_STORE|PROXY_\w+|ENABLE_PROXY_AUTH_HELPER"
    r"|DISABLE_EXPERIMENTAL_BETAS|ATTRIBUTION_HEADER|EXTRA_BODY|MAX_OUTPUT_TOKENS|MAX_RETRIES"
    r"|MANAGED_SETTINGS_PATH|GIT_BASH_PATH)"
)
# Variables in the person's settings that are passed on: the same, and those of the providers.
LOGIN_VARIABLES = re.compile(
    rf"{CLAUDE_VARIABLES.pattern}"
    r"|(ANTHROPIC|AWS|GOOGLE|GCLOUD|CLOUDSDK|CLOUD_ML|VERTEX|AZURE)_\w+"
    r"|(HTTPS?|NO|ALL)_PROXY|(https?|no|all)_proxy"
    r"|NODE_EXTRA_CA_CERTS|NODE_TLS_REJECT_UNAUTHORIZED|SSL_CERT_(FILE|DIR)|API_TIMEOUT_MS"
)
# Set by the session around this process, or by Preread.
SESSION_VARIABLES = re.compile(r"CLAUDE.*|PREREAD_.*|PWD|OLDPWD")


def home(environ: Mapping[str, str]) -> Path:
    """The person's home folder, as the child sees it."""
    return Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())


def settings_file(environ: Mapping[str, str]) -> Path:
    """The person's Claude Code settings."""
    return Path(environ.get("CLAUDE_CONFIG_DIR") or home(environ) / ".claude") / "settings.json"


def state_file(environ: Mapping[str, str]) -> Path:
    """Claude Code's state for this person: their MCP servers, the projects that they trust."""
    return Path(environ.get("CLAUDE_CONFIG_DIR") or home(environ)) / ".claude.json"


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty if it cannot be read, which is how Claude Code treats it.

    Also empty for anything but a regular file: reading a pipe would wait for a writer.
    """
    try:
        data = plain_bytes(path, follows_links=True) or b""
        found = json.loads(data.decode("utf-8-sig"))
    except (Unreadable, ValueError, RecursionError):
        return {}
    return mapping(found)


def settings(environ: Mapping[str, str]) -> dict[str, Any]:
    """The part of the person's settings that logs them in."""
    found = read_json(settings_file(environ))
    login_settings = {key: found[key] for key in LOGIN_KEYS if key in found}
    env = mapping(found.get("env"))
    variables = {name: value for name, value in env.items() if LOGIN_VARIABLES.fullmatch(name)}
    return {**login_settings, "env": variables} if variables else login_settings


def variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without the variables of the surrounding session and of Preread."""
    return {
        name: value
        for name, value in environ.items()
        if CLAUDE_VARIABLES.fullmatch(name) or not SESSION_VARIABLES.fullmatch(name)
    }
