"""The real Claude Code for tests: its path, its environment, fixtures. It needs no account here.

Its model is scripted (_messages_api); everything else, from its tools to its permission rules, is
real.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from _messages_api import MessagesAPI

PINNED = "2.1.329"  # README's test command installs it; a newer one may behave differently
PREFIX = Path(tempfile.gettempdir()) / "preread-claude"
INSTALL = (
    f"npm install --silent --no-audit --no-fund --prefix {PREFIX} "
    f"@anthropic-ai/claude-code@{PINNED}"
)
STAGING = ".project/.cache/staging/run-1"
KEY = "sk-ant-scripted"  # any will do: the scripted API asks for none

# As they were when the tests were loaded: the fixture `environment` takes them out for each test.
_CHOSEN = os.environ.get("PREREAD_TEST_CLAUDE")
_REQUIRED = bool(os.environ.get("CI") or os.environ.get("PREREAD_REQUIRE_CLAUDE"))
_PASSED_ON = (
    "PATH",
    "TMPDIR",
    "LANG",
    "LC_ALL",
    "TERM",
    "USER",
    "LOGNAME",
    "SHELL",
    "SYSTEMROOT",
    "COMSPEC",
)


def claude_environ(api: MessagesAPI, home: Path, key: str = KEY) -> dict[str, str]:
    """The variables, PREREAD_CLAUDE included, that make a process use the scripted Claude Code."""
    return {
        "HOME": str(home),
        "USERPROFILE": str(home),
        "ANTHROPIC_BASE_URL": api.url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_TMPDIR": str(home),
        **({"ANTHROPIC_API_KEY": key} if key else {}),
    }


def bare_environ(api: MessagesAPI, home: Path, key: str = KEY) -> dict[str, str]:
    """The environment of a Claude Code that a test starts: nothing of the person who runs it."""
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | claude_environ(
        api, home, key
    )


def installed() -> Path | None:
    """The pinned program, where there is one."""
    place = Path(_CHOSEN) if _CHOSEN else PREFIX / "node_modules" / ".bin" / "claude"
    return place.resolve() if place.is_file() else None


@pytest.fixture(scope="session")
def claude() -> Path:
    """The real program; without it the test is skipped aloud, or fails where it has to be there."""
    place = installed()
    if place is None:
        why = (
            f"Claude Code {PINNED} is not installed for tests. Run: {INSTALL}   (or set "
            f"PREREAD_TEST_CLAUDE)"
        )
        (pytest.fail if _REQUIRED else pytest.skip)(why)
    return place


@pytest.fixture
def api() -> Iterator[MessagesAPI]:
    """A scripted Messages API; a script that was asked for more than it has fails the test."""
    with MessagesAPI() as service:
        yield service
    if service.errors:
        pytest.fail("\n".join(service.errors))


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The home folder of somebody who is logged in to Claude Code."""
    home = tmp_path / "machine"
    (home / ".claude").mkdir(parents=True)
    login = {
        "accessToken": "sk-ant-oat01-planted",
        "refreshToken": "sk-ant-ort01-planted",
        "expiresAt": 4102444800000,
        "scopes": ["user:inference", "user:profile"],
        "subscriptionType": "max",
    }
    (home / ".claude" / ".credentials.json").write_text(json.dumps({"claudeAiOauth": login}))
    (home / ".claude.json").write_text(
        json.dumps({"hasCompletedOnboarding": True, "primaryApiKey": "sk-planted"})
    )
    return home


@pytest.fixture
def one_file(tmp_path: Path) -> Path:
    """A project of one file, with a staging folder."""
    project = tmp_path / "shop"
    (project / STAGING).mkdir(parents=True)
    (project / "shop.py").write_text("PRICE = 42\n")
    return project
