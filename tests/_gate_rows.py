"""Rows of tests/data/gates as real projects and events; and the hooks, run as processes."""

import json
import os
import shutil
import subprocess
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from _gate_project import REQUIRED
from _gate_reference import Decision
from conftest import ROOT

DATA = ROOT / "tests" / "data" / "gates"
TOOLS = {"write": "Write", "edit": "Edit", "multiedit": "MultiEdit", "notebook": "NotebookEdit"}
KEYS = {
    "is", "hook", "gates", "tree", "env", "event", "raw", "twice",
    "write", "write_as", "edit", "multiedit", "notebook", "bash", "agent", "type",
    "want", "text", "not", "person", "not_person",
}  # fmt: skip
FAILURE_LENGTH = 300


class Said(NamedTuple):
    """What a hook answered: its decision, the text to the model, the text to the person."""

    kind: str
    text: str
    person: str


def rows() -> list[dict[str, Any]]:
    found = []
    for path in sorted(DATA.glob("*.toml")):
        table = tomllib.loads(path.read_text())
        default = {"gates": table["gates"]} if "gates" in table else {}
        found += [{**default, **row, "file": path.stem} for row in table["row"]]
    return found


def data_of(value: Any) -> bytes:
    """A text; or what no line could hold: many times the same, or another encoding."""
    if isinstance(value, str):
        return value.encode()
    if "latin1" in value:
        return bytes(value["latin1"].encode("latin-1"))
    times = value["times"]
    text = (
        value.get("before", "")
        + value["repeat"] * times
        + value["then"]
        + value.get("close", "") * times
    )
    return str(text + value.get("after", "")).encode()


class Scene:
    """A row's folder: the project `p` in it, and what is beside it."""

    def __init__(self, base: Path) -> None:
        self.base, self.project = base, base / "p"
        (self.project / ".git").mkdir(parents=True)

    def filled(self, text: str) -> str:
        now = int(time.time())
        named = {"@SOON": now + 3600, "@PAST": now - 60, "@P": self.project, "@B": self.base}
        for name, value in named.items():
            text = text.replace(name, str(value))
        return text

    def filled_in(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self.filled_in(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.filled_in(each) for each in value]
        return self.filled(value) if isinstance(value, str) else value

    def write(self, name: str, data: bytes) -> None:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def grow(self, lines: list[str]) -> None:
        """`dossier NAME`, `folder/`, `link -> target`, `pipe |`, `file = content`, or `file`."""
        for line in lines:
            if line.startswith("dossier "):
                for required in REQUIRED:
                    self.write(
                        f".project/context/{line.removeprefix('dossier ')}/{required}",
                        b"No facts found.\n",
                    )
            elif " -> " in line:
                name, _, target = line.partition(" -> ")
                (self.project / name).parent.mkdir(parents=True, exist_ok=True)
                (self.project / name).symlink_to(target)
            elif line.endswith(" |"):
                os.mkfifo(self.project / line.removesuffix(" |"))
            elif " =" in line:
                name, _, content = line.partition(" =")
                self.write(name, self.filled(content.removeprefix(" ")).encode())
            elif line.endswith("/"):
                (self.project / line).mkdir(parents=True, exist_ok=True)
            else:
                self.write(line, b"x\n")


def event_of(row: Mapping[str, Any], scene: Scene) -> bytes:
    """The event as the program would send it: compact JSON."""
    if "raw" in row:
        return data_of(row["raw"]).replace(b"@P", str(scene.project).encode())
    name, given = "", {}
    for key, tool in TOOLS.items():
        if key in row:
            path = "notebook_path" if key == "notebook" else "file_path"
            name, given = tool, {path: f"{scene.project}/{row[key]}", "content": "x"}
    if "write_as" in row:
        name, given = "Write", {"file_path": scene.filled(row["write_as"]), "content": "x"}
    if "bash" in row:
        name, given = "Bash", {"command": scene.filled(row["bash"]), "description": "x"}
    if "agent" in row:
        kind = row.get("type", "test-planner")
        name, given = (
            "Agent",
            {"description": "x", "prompt": scene.filled(row["agent"]), "subagent_type": kind},
        )
    event = {
        "session_id": "597d140e-6480-496a-ab20-8bfc3962013a", "cwd": str(scene.project),
        "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": name,
        "tool_input": given,
        "tool_use_id": "toolu_000001",
    }  # fmt: skip
    return json.dumps(
        {**event, **scene.filled_in(row.get("event", {}))}, separators=(",", ":")
    ).encode()


def hook_of(row: Mapping[str, Any]) -> str:
    return str(row.get("hook", "pre-task-gate" if "agent" in row else "pre-spec-write"))


def run_hook(hook: str, data: bytes, env: Mapping[str, str], cwd: Path | str = "/") -> Said:
    """The shipped hook as a process that has nothing but `env`."""
    done = subprocess.run(
        [ROOT / "hooks" / hook], input=data, env=dict(env), cwd=cwd, capture_output=True, timeout=30
    )
    assert (done.returncode, done.stderr) == (0, b""), (done.returncode, done.stderr[-2000:])
    return read_answer(done.stdout)


def read_answer(out: bytes) -> Said:
    """What the answer means; only the forms of the contract are taken."""
    if not out:
        return Said("pass", "", "")
    answer = json.loads(out)
    person = answer.pop("systemMessage", "")
    assert isinstance(person, str)
    specific = answer.pop("hookSpecificOutput", None)
    assert not answer, answer
    assert all(line.startswith("preread: ") for line in person.split("\n") if person)
    if specific is None:
        assert person
        assert "\n" not in person
        assert len(person) <= FAILURE_LENGTH
        return Said("failure", "", person)
    assert specific.pop("hookEventName") == "PreToolUse"
    if specific.keys() == {"permissionDecision", "permissionDecisionReason"}:
        assert specific["permissionDecision"] == "deny"
        assert person
        return Said("block", specific["permissionDecisionReason"], person)
    assert specific.keys() == {"additionalContext"}
    return Said("remark", specific["additionalContext"], person)


def agrees(said: Said, meant: Decision) -> bool:
    """Whether a hook said what the reference says; of the person's text the fragments count."""
    fits = said.kind == meant.kind and said.text == meant.text
    return (
        fits
        and all(part in said.person for part in meant.person)
        and (bool(said.person) == bool(meant.person))
    )


def clear(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
