"""Builds by the real Claude Code with a scripted model that drafts about the small project."""

import json
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from _claude import claude_environ
from _messages_api import PATIENCE, Answer, MessagesAPI, Request, text, tool
from _processes import LOGIN, TESTS
from preread.layout import Layout

OUTPUT = re.compile(r"^Output directory: (.+)$", re.MULTILINE)


def line(needle: str, source: str = LOGIN) -> int:
    """The number of the first line that contains a text."""
    return next(number for number, row in enumerate(source.split("\n"), 1) if needle in row)


PATTERNS = f"""# Patterns: login

## Tokens
- a login ends in a token of this form: `token-` (login.py:{line('f"token-')})
- an error is what a person is told: `LoginError` (login.py:{line("raise LoginError")})
"""
CODEBASE = f"""# Codebase: login

## Limits
- five guesses: `ATTEMPTS = 5` (login.py:{line("ATTEMPTS")})
"""
EXISTING_TESTS = f"""# Existing tests: login

## Extend these
- the refusal is tested by `pytest.raises(LoginError)` (tests/test_login.py:{line("raises", TESTS)})

## Not covered
- no test locks an account: "ATTEMPTS" is in none (absent:tests/**/*.py~"ATTEMPTS")
"""
ANTI_PATTERNS = f"""# Anti-patterns: login

## Order
- compare first: `compare before counting` (login.py:{line("NOTE")})
"""
SUMMARY = f"""# Summary: login

## Where
- all of it is in `def login(` (login.py:{line("def login(")})
"""
STANDARD = {
    "existing-tests.md": EXISTING_TESTS, "patterns.md": PATTERNS, "codebase.md": CODEBASE,
    "summary.md": SUMMARY,
}  # fmt: skip


def output(request: Request) -> Path:
    """The folder that the prompt names."""
    found = OUTPUT.search(request.prompt)
    assert found, request.prompt[-2000:]
    return Path(found[1])


def asked_for(request: Request) -> list[str]:
    """The files that the prompt asks for, in its order."""
    return re.findall(r"^- `([a-z-]+\.md)`, `# ", request.prompt, re.MULTILINE)


def writing(files: Mapping[str, str], after: Answer | None = None) -> Callable[[Request], Answer]:
    """A model that writes these files in one turn; `after` is its next turn, by default "done"."""

    def script(request: Request) -> Answer:
        if request.turn == 0:
            folder = output(request)
            return [
                tool("Write", file_path=str(folder / name), content=content)
                for name, content in files.items()
            ]
        return after if after is not None else [text("Done.")]

    return script


class Held:
    """A model that waits until the test lets it go."""

    def __init__(self, script: Callable[[Request], Answer]) -> None:
        self._script, self._go = script, threading.Event()

    def __call__(self, request: Request) -> Answer:
        self._go.wait(PATIENCE)
        return self._script(request)

    def let_go(self) -> None:
        self._go.set()


def sessions(api: MessagesAPI) -> list[str]:
    """The runs of the program that asked the model, in the order of their coming."""
    return list(dict.fromkeys(request.session for request in api.requests))


def ledger(project: Path) -> list[dict[str, Any]]:
    """What the builds of a project cost."""
    path = Layout(project).spending
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def headless(claude: Path, api: MessagesAPI, tmp_path: Path, **settings: object) -> dict[str, str]:
    """The environment in which `preread` finds the program, and the program the scripted model."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    named = {f"PREREAD_{key.upper()}": str(value) for key, value in settings.items()}
    return {**claude_environ(api, home), "PREREAD_CLAUDE": str(claude), **named}
