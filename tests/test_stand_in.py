"""The stand-in for Claude Code that bench/ uses: somebody plays the model through files."""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _headless import PATTERNS, STANDARD
from _processes import small
from conftest import ROOT, run_cli

STAND_IN = ROOT / "bench" / "stand_in.py"
PATIENCE = 120.0
BAD = PATTERNS + "- the file is invented: `token-` (src/nowhere.py:3)\n"


def eventually(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_whoever_plays_the_model_gets_the_prompt_and_what_failed(tmp_path: Path) -> None:
    project, top = small(tmp_path / "p"), tmp_path / "round"
    program = tmp_path / "claude"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} "$@"\n')
    program.chmod(0o755)
    env = {"PREREAD_CLAUDE": str(program), "STAND_IN": str(top), "PREREAD_TIMEOUT": "300"}
    reply: dict[str, Any] = {}

    def load() -> None:
        done = run_cli("load", "login", "--json", "--level", "standard", cwd=project, env=env)
        reply.update(done.json)

    caller = threading.Thread(target=load)
    caller.start()
    eventually((top / "1" / "message-1.md").exists)
    told = (top / "1" / "message-1.md").read_text()
    assert "About 192 seconds" in told
    found = re.search(r"^Output directory: (.+)$", told, re.MULTILINE)
    assert found is not None
    for name, text in (STANDARD | {"patterns.md": BAD}).items():
        Path(found[1], name).write_text(text)
    (top / "1" / "done-1").touch()
    eventually((top / "1" / "message-2.md").exists)
    assert "E_SOURCE_FILE `src/nowhere.py`" in (top / "1" / "message-2.md").read_text()
    Path(found[1], "patterns.md").write_text(PATTERNS)
    (top / "1" / "done-2").touch()
    caller.join(PATIENCE)
    assert (reply["status"], reply["builder"], reply["stats"]["dropped"]) == ("ok", "claude", 0)
    report = [sys.executable, str(STAND_IN), "--report", str(top), str(project), "login"]
    said = subprocess.run(report, capture_output=True, text=True, check=True).stdout
    assert "round 1: 7 facts" in said
    assert "round 2: 6 facts" in said
    assert "patterns.md:6: E_SOURCE_FILE" in said
