"""A public tool for comparison: aider's repository map, PageRank over definitions and references,
by its own worker.

It runs in an environment of its own (`pip install aider-chat`), whose interpreter is named with
`--aider PYTHON`.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

from kinds import SOURCE, TEST, kind_of
from repositories import State
from systems import DEPTH, KINDS, Ranking, Task, candidates

WORKER = Path(__file__).with_name("repomap_worker.py")


class Aider:
    """Its index is its cache of tags, in the work tree; a first question fills it."""

    def __init__(self, python: str) -> None:
        self._child = subprocess.Popen(
            [python, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": "0"},  # it walks sets
        )
        self._state: State | None = None

    def update(self, state: State) -> None:
        self._state = state
        self._ask("")

    def _ask(self, text: str) -> list[str]:
        order = {
            "root": str(self._state.root),
            "files": [f.path for f in candidates(self._state)],
            "text": text,
        }
        self._child.stdin.write(json.dumps(order) + "\n")
        self._child.stdin.flush()
        return json.loads(self._child.stdout.readline())

    def rank(self, task: Task) -> Ranking:
        paths = self._ask(task.text)
        lists = (
            [path for path in paths if kind_of(path) in KINDS[kind]][:DEPTH]
            for kind in (SOURCE, TEST)
        )
        return Ranking(*lists)

    def size(self) -> int:
        return sum(
            f.stat().st_size for cache in self._caches() for f in cache.rglob("*") if f.is_file()
        )

    def _caches(self) -> list[Path]:
        return list(self._state.root.glob(".aider.tags.cache.*"))

    def close(self) -> None:
        self._child.stdin.close()
        self._child.wait()
        for cache in self._caches() if self._state else ():
            shutil.rmtree(cache, ignore_errors=True)
