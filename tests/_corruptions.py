"""Damage a file of a project, then use the project, again and again. Run as a program: it forks.

    _corruptions.py PROJECT TIMES [SEED]    PROJECT is made by `prepare`

Prints one JSON object: how often each file was damaged; `wrong` lists each load that failed, and
each other command that crashed or had a bug.
"""

import json
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from _loaded import load
from _odd_places import ran

DATABASES = (
    ".project/.cache/index.db", ".project/.state/test-history.db", ".project/.state/state.db",
)  # fmt: skip
# Files that no command of `BEFORE` makes.
MORE = {
    ".project/config.toml": 'level = "light"\nreports = ["reports/*.xml"]\nmax_facts = 40\n',
    ".project/.cache/building/login": "4000000000.0\n",
    ".project/.cache/stale/login": "login.py changed\n",
    ".project/.cache/locks/login.lease": '{"pid": 1, "host": "there", "until": 4000000000.0}\n',
    ".project/.state/spending-agreed": "4000000000.0\n",
    ".project/.state/spending.jsonl": '{"at": 1.0, "usd": 0.1, "feature": "login"}\n',
    ".project/.state/results.jsonl": '{"id": "20260101T000000-0123456789", "at": 1767225600, '
    '"outcome": "failed", "command": "pytest", "failed": ["test_login"], "targets": []}\n',
}
BEFORE = (
    "init", "remember 'it is so'", "load login", "say hello", "who", "status", "load paint",
    "load login --force",
)  # fmt: skip
AFTER = (
    "status", "check login", "facts token", "show login summary.md", "failures login", "who", "hear",
    "recall token", "remember 'it is not'", "log", "doctor", "workflow login", "gates explain x.py",
    "evidence login", "settings", "repair", "backups login", "attention", "diff login",
)  # fmt: skip
EXPECTED = (0, 1)


def prepare(project: Path) -> None:
    """Give a project every kind of file that Preread keeps."""
    _write(project)
    for words in BEFORE:
        status, said = ran(project, words)
        assert status == 0, (words, said)
    facts = json.loads(ran(project, "facts token")[1])["facts"]
    own = next(fact["id"] for fact in facts if fact["feature"] == "login")
    assert ran(project, f"wrong {own}")[0] == 0
    _write(project)  # a build has removed the hints
    for name in DATABASES:
        assert (project / name).is_file(), name


def _write(project: Path) -> None:
    for name, text in MORE.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


# -- the ways: a file's bytes -> what is left of them


def flip(data: bytes, chance: random.Random) -> bytes:
    """Some bits of it."""
    changed = bytearray(data or b"\0" * 100)
    for _ in range(chance.choice((1, 3, 30, 300))):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def overwrite(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data) + 1)
    size = chance.choice((1, 16, 512, 4096))
    return data[:start] + chance.choice((b"\0", b"\xff", b"{", b"9")) * size + data[start + size :]


def zero(data: bytes, chance: random.Random) -> bytes:
    """All of it from somewhere on, as after a power cut."""
    start = chance.choice((0, chance.randrange(len(data) + 1)))
    return data[:start] + b"\0" * (len(data) - start)


def cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def shuffle(data: bytes, chance: random.Random) -> bytes:
    """The pages of it."""
    pages = [data[at : at + 4096] for at in range(0, len(data), 4096)]
    chance.shuffle(pages)
    return b"".join(pages)


WAYS: tuple[Callable[[bytes, random.Random], bytes], ...] = (flip, overwrite, zero, cut, shuffle)


def damage(place: Path, chance: random.Random) -> tuple[str, str]:
    """Damage one file; its name and how."""
    kept = sorted(path for path in (place / ".project").rglob("*") if path.is_file())
    kept.append(place / "reports" / "junit.xml")
    known = [place / name for name in DATABASES] if chance.random() < 0.4 else kept
    path, how = chance.choice(known), chance.randrange(len(WAYS) + 1)
    name = path.relative_to(place).as_posix()
    if how == len(WAYS):
        other = chance.choice([each for each in kept if each != path])
        path_had, other_had = path.read_bytes(), other.read_bytes()
        path.write_bytes(other_had)
        other.write_bytes(path_had)
        return name, f"swapped with {other.relative_to(place)}"
    path.write_bytes(WAYS[how](path.read_bytes(), chance))
    return name, WAYS[how].__name__


def campaign(project: Path, times: int, seed: int) -> dict[str, object]:
    chance, counts, wrong = random.Random(seed), Counter[str](), []
    for number in range(times):
        place = project.with_name(f"{project.name}-{seed}-{number}")
        shutil.copytree(project, place, symlinks=True)
        name, how = damage(place, chance)
        counts[name if name in DATABASES else name.split("/")[1]] += 1
        if chance.random() < 0.5:  # half of them build anew
            (place / "login.py").write_text((place / "login.py").read_text() + "\n\nNEW = 1\n")
        # A person who loads gets a dossier, at once and afterwards; nothing else ends in a bug.
        for words in ("load login", chance.choice(AFTER), "load login"):
            status, said = ran(place, words)
            allowed = EXPECTED[: 1 if words == "load login" else 2]
            if status not in allowed or "Traceback" in said or "E_INTERNAL" in said:
                wrong.append(f"{seed} {number}: {how} {name}, {words}: {status} {said[-900:]}")
        shutil.rmtree(place)
    return dict(counts) | {"wrong": wrong}


if __name__ == "__main__":
    given, *numbers = sys.argv[1:]
    root = Path(given).resolve()
    load()
    if not (root / DATABASES[2]).exists():
        prepare(root)
    done = campaign(root, *map(int, (*numbers, "0")[:2]))
    sys.stdout.write(json.dumps(done, indent=1))
