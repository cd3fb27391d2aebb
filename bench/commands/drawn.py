"""The run commands for test files of a project that are drawn by a fixed seed, as JSON.

PYTHONPATH=server python bench/commands/drawn.py PROJECT COUNT
"""

import json
import os
import random
import sys
from pathlib import Path

from preread.operations.registry import services_of
from preread.project.runners import Target, command_for
from preread.roles import role_of

SEED = 13
MAX_NAMES = 2  # as in a dossier


def main(root: Path, count: int) -> None:
    tree = services_of(root, os.environ).tree
    roles = {path: role_of(path) for path in sorted(tree.files)}
    paths = [path for path, role in roles.items() if role == "test"]
    # Some projects' tests are not called like tests.
    paths = paths or [path for path, role in roles.items() if role == "support"]
    random.Random(SEED).shuffle(paths)
    found: list[tuple[str, str, str]] = []
    for path in paths:
        tests = tree.outline(path).tests
        if not tests or len(found) == count:
            continue
        names = tuple(test.name for test in tests[:MAX_NAMES])
        command = command_for(Target(tree, path, names, tests[0].group))
        run, folder = (command.run, command.folder or ".") if command else ("", ".")
        found.append((path, run, folder))
    json.dump(found, sys.stdout)


main(Path(sys.argv[1]), int(sys.argv[2]))
