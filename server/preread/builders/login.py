"""How the person is logged in to Claude Code: what the headless child is handed of their settings and environment.

The child loads no settings file (`--setting-sources ""`), so that no hook, plugin or permission of anybody reaches it.
A login kept by the program itself still counts; one that stands in the person's settings has to be handed on. Only
the person's own file is read for that: a project's could name a program to run.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# Of the person's settings: who is logged in, by which program, over which provider.
KEYS = (
    "apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "proxyAuthHelper",
    "forceLoginMethod", "forceLoginOrgUUID", "modelOverrides",
)  # fmt: skip
# Of the program's own variables, those of login, provider and network; all others tell of the session around us.
OWN = re.compile(
    r"CLAUDE_(CONFIG_DIR|SECURESTORAGE_CONFIG_DIR)"
    r"|CLAUDE_CODE_("
    r"OAUTH_(TOKEN|REFRESH_TOKEN|SCOPES|CLIENT_ID)|CUSTOM_OAUTH_URL|API_BASE_URL|API_KEY_HELPER_TTL_MS"
    r"|USE_(BEDROCK|VERTEX|FOUNDRY|MANTLE|ANTHROPIC_AWS|ANTHROPIC_GOOGLE_CLOUD|GATEWAY)|SKIP_\w+_AUTH"
    r"|CLIENT_(CERT|KEY|KEY_PASSPHRASE)|CERT_STORE|PROXY_\w+|ENABLE_PROXY_AUTH_HELPER"
    r"|DISABLE_EXPERIMENTAL_BETAS|ATTRIBUTION_HEADER|EXTRA_BODY|MAX_OUTPUT_TOKENS|MAX_RETRIES"
    r"|MANAGED_SETTINGS_PATH|GIT_BASH_PATH)"
)
# Of the variables that the person's settings set: the same, and those of the providers.
LOGIN = re.compile(
    rf"{OWN.pattern}|(ANTHROPIC|AWS|GOOGLE|GCLOUD|CLOUDSDK|CLOUD_ML|VERTEX|AZURE)_\w+|(HTTPS?|NO|ALL)_PROXY|(https?|no|all)_proxy"
    r"|NODE_EXTRA_CA_CERTS|NODE_TLS_REJECT_UNAUTHORIZED|SSL_CERT_(FILE|DIR)|API_TIMEOUT_MS"
)


def home(environ: Mapping[str, str]) -> Path:
    """The person's home folder, as the child sees it."""
    return Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())


def settings_file(environ: Mapping[str, str]) -> Path:
    """The person's settings of Claude Code."""
    return Path(environ.get("CLAUDE_CONFIG_DIR") or home(environ) / ".claude") / "settings.json"


def state_file(environ: Mapping[str, str]) -> Path:
    """What Claude Code keeps about the person: servers of theirs, projects that they trust."""
    return Path(environ.get("CLAUDE_CONFIG_DIR") or home(environ)) / ".claude.json"


def read(path: Path) -> dict[str, Any]:
    """A JSON object from a file; nothing where there is none, as Claude Code has it."""
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def part(found: Mapping[str, Any], key: str) -> dict[str, Any]:
    """An object inside one; empty where something else stands."""
    value = found.get(key)
    return value if isinstance(value, dict) else {}


def settings(environ: Mapping[str, str]) -> dict[str, Any]:
    """What of the person's settings logs them in."""
    found = read(settings_file(environ))
    kept = {key: found[key] for key in KEYS if key in found}
    variables = {name: value for name, value in part(found, "env").items() if LOGIN.fullmatch(name)}
    return {**kept, "env": variables} if variables else kept


def variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without what tells of the session that we run in, and without settings of ours."""
    ours = re.compile(r"CLAUDE.*|PREREAD_.*|PWD|OLDPWD")
    return {
        name: value
        for name, value in environ.items()
        if OWN.fullmatch(name) or not ours.fullmatch(name)
    }
