"""Damage a file of a project, load its dossier, again and again. Run as a program: it forks.

    _corruptions.py PROJECT TIMES [SEED]    PROJECT has a dossier of `login`

Prints one JSON object: how often each file was damaged; `locked out` lists each load that failed.
"""

import json
import os
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from preread import __main__

FILES = (
    ".cache/index.db", ".cache/index.db-wal", ".state/test-history.db", ".state/runs/login.json",
    ".state/wrong.json", ".state/spending.jsonl", ".state/results.jsonl",
    "context/login/manifest.json", "context/login/summary.md", "context/login/patterns.md",
    ".cache/stale/login", ".cache/building/login", "knowledge.md", "../reports/junit.xml",
)  # fmt: skip
DATABASES = 3  # the first ones: damaged half of the time


def flip(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data or b"\0" * 100)
    for _ in range(chance.choice((1, 3, 30, 300))):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def overwrite(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data) + 1)
    size = chance.choice((1, 16, 512, 4096))
    return data[:start] + chance.choice((b"\0", b"\xff", b"{", b"9")) * size + data[start + size :]


def cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def shuffle(data: bytes, chance: random.Random) -> bytes:
    pages = [data[at : at + 4096] for at in range(0, len(data), 4096)]
    chance.shuffle(pages)
    return b"".join(pages)


WAYS: tuple[Callable[[bytes, random.Random], bytes], ...] = (flip, overwrite, cut, shuffle)


def loaded(place: Path) -> tuple[int, str]:
    """Load the dossier in a fork; its exit status and its output."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        for number in (1, 2):
            os.dup2(writer, number)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        os.chdir(place)
        sys.argv = ["preread", "load", "login", "--json"]
        status = __main__.main()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode("utf-8", "replace")
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


def damage(project: Path, times: int, seed: int) -> dict[str, object]:
    chance, counts, wrong = random.Random(seed), Counter[str](), []
    for number in range(times):
        place = project.with_name(f"{project.name}-{number}")
        shutil.copytree(project, place, symlinks=True)
        known = FILES[:DATABASES] if chance.random() < 0.5 else FILES
        name, way = chance.choice(known), chance.choice(WAYS)
        path = place / ".project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(way(path.read_bytes() if path.exists() else b"{}\n" * 9, chance))
        counts[name] += 1
        if chance.random() < 0.5:  # half of them build anew
            (place / "login.py").write_text((place / "login.py").read_text() + "\n\nNEW = 1\n")
            (place / ".project" / "context" / "login" / "codebase.md").unlink()
        for turn in (1, 2):
            status, said = loaded(place)
            if status != 0 or "Traceback" in said:
                wrong.append(
                    f"{number}: {way.__name__} {name}, load {turn}: {status} {said[-900:]}"
                )
        shutil.rmtree(place)
    return dict(counts) | {"locked out": wrong}


if __name__ == "__main__":
    place, *numbers = sys.argv[1:]
    sys.stdout.write(
        json.dumps(damage(Path(place).resolve(), *map(int, (*numbers, "0")[:2])), indent=1)
    )
