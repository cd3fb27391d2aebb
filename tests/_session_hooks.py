"""The session hooks for tests: real processes, a bare environment, realistic events."""

import json
import os
import re
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conftest import ROOT, git

HOOKS = ROOT / "hooks"
PATH = "/usr/local/bin:/usr/bin:/bin"
SESSION = "597d140e-6480-496a-ab20-8bfc3962013a"
GATES = "!tests/legacy/**\n**/{feature}.spec.ts\ntests/**/test_{feature}.py\n"
Event = dict[str, Any]


@dataclass
class Scene:
    """A project, and the hooks of one session in it."""

    root: Path
    session: str = SESSION
    environ: dict[str, str] = field(default_factory=dict)

    def event(self, name: str, **more: Any) -> Event:
        """An event with what every one has, in the program's order of keys."""
        head = {
            "session_id": self.session,
            "transcript_path": "/home/x/t.jsonl",
            "cwd": str(self.root),
        }
        return {**head, "hook_event_name": name, **more}

    def start(
        self, hook: str, event: Event | bytes, cwd: Path | None = None
    ) -> "subprocess.Popen[bytes]":
        """A hook as a separate process that was given its event."""
        data = (
            event if isinstance(event, bytes) else json.dumps(event, separators=(",", ":")).encode()
        )
        process = subprocess.Popen(
            ["bash", "-p", str(HOOKS / hook)], env={"PATH": PATH, **self.environ}, cwd=cwd or "/",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(data)
        process.stdin.close()
        process.stdin = None
        return process

    def answer(self, process: "subprocess.Popen[bytes]") -> Any:
        """What a hook said: one JSON object, or None; it has to end well and say nothing beside."""
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, b"")
        assert out.count(b"\n") == (1 if out else 0)
        return json.loads(out) if out else None

    def run(self, hook: str, event: Event | bytes) -> Any:
        return self.answer(self.start(hook, event))

    # -- the events

    def begin(self, source: str = "startup") -> str:
        """The context that a session is given."""
        return context_of(self.run("session-start", self.event("SessionStart", source=source)))

    def tests(self, command: str, output: str = "", status: int = 0, **more: Any) -> Any:
        """The event for a Bash command that has ended, as `post-test-run` gets it."""
        given = {"tool_name": "Bash", "tool_input": {"command": command, **more}}
        if status:
            end: Event = {"error": f"Exit code {status}\n{output}", "is_interrupt": False}
            return self.run(
                "post-test-run", self.event("PostToolUseFailure", **given, **end, duration_ms=4200)
            )
        response = {"stdout": output, "stderr": "", "interrupted": False}
        event = self.event("PostToolUse", **given, tool_response=response, duration_ms=4200)
        return self.run("post-test-run", event)

    def before(self, command: str) -> Any:
        """A command of Bash that is to run, as `pre-retry-gate` is asked."""
        return self.run(
            "pre-retry-gate",
            self.event("PreToolUse", tool_name="Bash", tool_input={"command": command}),
        )

    def stop(self, active: bool = False) -> Any:
        return self.run("stop", self.event("Stop", stop_hook_active=active))

    # -- what is on disk

    @property
    def results(self) -> list[Event]:
        path = self.root / ".project/.state/results.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def dossier(self, feature: str, **files: str) -> Path:
        """A published dossier; `summary="…"` is the text of summary.md."""
        folder = self.root / ".project/context" / feature
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("patterns", "codebase", "summary", *files):
            (folder / f"{name.replace('_', '-')}.md").write_text(
                files.get(name, f"# {name} of {feature}\n\n- a fact\n")
            )
        return folder

    def write(self, path: str, text: str = "x\n") -> Path:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return place

    def log(self, feature: str) -> str:
        return (self.root / f".project/runs/{feature}.md").read_text()


def gated(root: Path, gates: str = GATES, repository: bool = False) -> Scene:
    """A project with a gates file."""
    (root / ".project").mkdir(parents=True)
    (root / ".project/gates").write_text(gates)
    if repository:
        (root / ".project/.gitignore").write_text(".cache/\n.state/\ncontext/\n")
        git(root, "init", "-q")
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "Begin")
    return Scene(root)


def context_of(answer: Any) -> str:
    return "" if answer is None else answer["hookSpecificOutput"]["additionalContext"]


def reason_of(answer: Any) -> str:
    """Why a call was denied; empty when it was not."""
    return (answer or {}).get("hookSpecificOutput", {}).get("permissionDecisionReason", "")


def plain(text: str) -> str:
    """A text without the marks around what it quotes."""
    return re.sub(r"</?data-[0-9a-f]{12}[^>]*>", "", text)


def make_older(path: Path, seconds: float) -> None:
    """Give a file or folder the time that it had so long ago."""
    then = time.time() - seconds
    os.utime(path, (then, then))
