"""Faults in a refresh, in memory and in repair: old or new, complete, and the next run works."""

import json
import os
import subprocess
from pathlib import Path

from _files_project import program, program_environ

SAMPLE = os.environ.get("PREREAD_TEST_FAULTS", "2")  # points of each scene; 0: all of them


def test_no_fault_leaves_mixed_files_or_leftovers_or_stops_the_next_run(tmp_path: Path) -> None:
    command = program(Path(__file__).parent / "_refresh_faults.py", tmp_path, SAMPLE)
    done = subprocess.run(
        command, env=program_environ(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["wrong"] == [], "\n".join(found["wrong"])
    assert found["points"] >= 5 * min(int(SAMPLE), 400)
