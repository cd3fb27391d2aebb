"""The last resort: a target of a Makefile or a justfile that is called like tests."""

import re

from preread.project.runners.model import Command, Proof, Target, nearest

TARGET = re.compile(r"(tests?|check|unit-?tests?)(?:\s+[\w-]+)*\s*:(?!=)")
FILES = {"Makefile": "make", "GNUmakefile": "make", "justfile": "just", "Justfile": "just"}


def wrapper(target: Target) -> Command | None:
    for folder, path in nearest(target, *FILES):
        for number, line in enumerate(target.tree.lines(path) or (), 1):
            if told := TARGET.match(line):
                tool = FILES[path.rpartition("/")[2]]
                return Command(tool, f"{tool} {told[1]}", Proof(path, number, number), folder)
    return None
