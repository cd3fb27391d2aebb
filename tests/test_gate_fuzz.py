"""Random calls: hooks and reference decide and say the same, and nothing in an event is run.

`PREREAD_SEED=x` draws other calls; `python tests/fuzz_gates.py --events 20000` runs more.
"""

import itertools
import json
import os
import random
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from _gate_commands import Commands
from _gate_compare import EVENTS_OF_A_WORLD, Ask, by_import, by_process, compare
from _gate_events import Event
from _gate_rows import Said, Scene, run_hook
from _gate_shell import actions
from _trees import write
from _whole import sized

SEED = os.environ.get("PREREAD_SEED", "1")
SHARDS = ("a", "b", "c", "d")
IMPORTED, STARTED = sized(3_200, 8_000) // len(SHARDS), sized(160, 300) // len(SHARDS)


def told(differences: list[str]) -> str:
    return "\n\n".join(differences[:5])


@pytest.mark.parametrize("shard", SHARDS)
def test_the_gates_decide_random_calls_as_the_reference_does(shard: str) -> None:
    count, differences = compare(f"{SEED} {shard}", IMPORTED, by_import)
    assert count >= IMPORTED
    assert not differences, told(differences)


@pytest.mark.parametrize("shard", SHARDS)
def test_the_hooks_decide_random_calls_as_the_reference_does(shard: str) -> None:
    count, differences = compare(f"{SEED} hooks {shard}", STARTED, by_process)
    assert count >= STARTED
    assert not differences, told(differences)


def counting(seen: Counter[tuple[str, str]]) -> Ask:
    """Counts the decisions for each tool."""

    def ask(event: Event, cwd: Path) -> Said:
        said = by_import(event, cwd)
        if (found := event.data.partition(b'"tool_name":"')[2].partition(b'"')[0]).isalpha():
            seen[found.decode(), said.kind] += 1
        return said

    return ask


def test_random_calls_reach_every_decision_of_every_tool() -> None:
    seen = Counter[tuple[str, str]]()
    assert not compare(f"{SEED} kinds", 2_000, counting(seen))[1]
    for tool in ("Write", "Edit", "Bash", "Agent"):
        for kind in ("pass", "remark", "block", "failure"):
            assert seen[tool, kind] >= 2, (tool, kind, seen)


def lying(kind: str) -> Ask:
    """A hook that says `pass` of what it should say `kind` of."""

    def ask(event: Event, cwd: Path) -> Said:
        said = by_import(event, cwd)
        return Said("pass", "", "") if said.kind == kind else said

    return ask


@pytest.mark.parametrize("kind", ["remark", "block"])
def test_a_hook_that_decides_differently_is_found(kind: str) -> None:
    assert compare(f"{SEED} lies", 2 * EVENTS_OF_A_WORLD, lying(kind))[1]


@pytest.mark.parametrize("size", [16_384, 300_000, 5_000_000])
@pytest.mark.parametrize("first", ["file_path", "content"])
def test_a_large_call_is_decided_like_a_small_one(size: int, first: str, tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.write(".project/gates", b"tests/{feature}.spec.ts\n")
    content = ('é"\\\n"file_path":"/a",' * size)[: size // 2]
    path = str(scene.project / "tests" / "login.spec.ts")
    given = (
        {"file_path": path, "content": content}
        if first == "file_path"
        else {"content": content, "file_path": path}
    )
    for name, kind in (("login.spec.ts", "block"), ("login.ts", "pass")):
        given["file_path"] = path.replace("login.spec.ts", name)
        event = {"cwd": str(scene.project), "tool_name": "Write", "tool_input": given}
        assert (
            run_hook("pre-spec-write", json.dumps(event, ensure_ascii=False).encode(), {}).kind
            == kind
        )


COMMANDS = 150
# What is not a plain write, leaves the folder, needs the network, or is slow.
LEFT_ALONE = re.compile(
    r"\$(?!\( ?\(?cat <<)|[`*~]|\[ab|\{a,b|<>|touch|eval|python|checkout|rsync"
    r"|npx|npm|curl|wget|truncate -c|xargs(?! -I)|claude|sudo|/tmp|while|until|\b(cd|pushd|popd)\b"
)
MADE = {"a.ts": "aaa", "a": "a", "in": "l\n", "f.ts": "a", "d/f.ts": "b"}


def written_by_bash(command: str, folder: Path) -> set[str]:
    """The files that change when bash runs this command in a small folder."""
    (folder / "a b").mkdir(parents=True)
    (folder / "tests").mkdir()
    write(folder, MADE)

    def found() -> dict[str, tuple[int, int, bytes]]:
        files = [path for path in folder.rglob("*") if path.is_file()]
        return {
            path.relative_to(folder).as_posix(): (
                path.stat().st_ino,
                path.stat().st_mtime_ns,
                path.read_bytes(),
            )
            for path in files
        }

    before = found()
    subprocess.run(
        ["bash", "-c", command], cwd=folder, env={"PATH": os.environ["PATH"]},
        stdin=subprocess.DEVNULL,
        capture_output=True, timeout=30,
    )  # fmt: skip
    return {name for name, state in found().items() if before.get(name) != state}


def test_what_bash_really_writes_was_predicted(tmp_path: Path) -> None:
    """A judge that is neither the reference's reader nor the hooks'."""
    commands = Commands(
        random.Random(f"{SEED} bash"),
        ["tests/login.spec.ts", "a b/x", "f.ts", "d/e", "tests", "d/f.ts"],
    )
    texts = (text for text in iter(commands.text, None) if not LEFT_ALONE.search(text))
    written = 0
    for number, text in enumerate(itertools.islice(texts, COMMANDS)):
        folder = tmp_path / str(number)
        folder.mkdir()
        told = {
            os.path.relpath(each.path, folder)
            for each in actions(text, str(folder))
            if each.what == "write"
        }
        changed = {
            name for name in written_by_bash(text, folder) if not name.endswith((".bak", ".o"))
        }
        below = {name for name in changed if any(name.startswith(f"{each}/") for each in told)}
        assert changed - below <= told, text
        written += len(changed)
    assert written >= COMMANDS / 4
