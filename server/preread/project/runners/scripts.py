"""The last resort: a target with a name like `test` of a Makefile or a justfile; Automake."""

import re

from preread.project.runners.model import Command, Proof, Target, line_with, nearest

AUTOMAKE = re.compile(r"TESTS\s*\+?=")
TARGET = re.compile(r"(tests?|check|unit-?tests?)(?:\s+[\w-]+)*\s*:(?!=)")
FILES = {"Makefile": "make", "GNUmakefile": "make", "justfile": "just", "Justfile": "just"}


def wrapper(target: Target) -> Command | None:
    for folder, path in nearest(target, "Makefile.am"):
        if proof := line_with(target.tree, path, AUTOMAKE):
            return Command("make", "make check", proof, folder, is_general=True)
    for folder, path in nearest(target, *FILES):
        lines = target.tree.lines(path) or ()
        targets = [
            (n, found[1]) for n, line in enumerate(lines, 1) if (found := TARGET.match(line))
        ]
        if targets:
            # If there is a `test`, then `tests` mostly builds the programs that it runs.
            number, name = min(targets, key=lambda one: one[1] != "test")
            tool = FILES[path.rpartition("/")[2]]
            proof = Proof(path, number, number)
            return Command(tool, f"{tool} {name}", proof, folder, is_general=True)
    return None
