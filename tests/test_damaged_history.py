"""Damage to the history of a dossier's facts is found, named to whoever asks, and repaired."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from _processes import small
from conftest import Cli
from preread.layout import Layout


@pytest.fixture
def project(tmp_path: Path, cli: Cli) -> Path:
    root = small(tmp_path / "small")
    assert cli("load", "login", cwd=root).status == 0
    path = Layout(root).dossier("login") / "patterns.md"
    path.write_text(f"{path.read_text()}\n## Ours\n- ask Ann first (login.py:3)\n")
    assert cli("load", "login", cwd=root).status == 0
    return root


def history(root: Path) -> Path:
    return Layout(root).history("login")


def problems(cli: Cli, root: Path) -> list[dict[str, Any]]:
    found = cli("check", "--all", "--json", cwd=root).json["problems"]
    return [one for one in found if Path(one["path"]) == history(root).relative_to(root)]


def cut(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def junk(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"{", b"\0", 1))


def gone(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("damage", [cut, junk, gone], ids=lambda one: one.__name__)
def test_what_is_damaged_is_named_and_repaired(
    project: Path, cli: Cli, damage: Callable[[Path], None]
) -> None:
    now = cli("show", "login", "--ids", "--json", cwd=project).json["facts"]
    damage(history(project))
    left = history(project).read_bytes() if damage is not gone else None
    fact = next(one for one in now if one["text"] == "ask Ann first")
    for command in (("diff", "login"), ("blame", fact["id"])):
        [warning] = cli(*command, "--json", cwd=project).json["warnings"]
        assert ".project/.state/history/login.jsonl, is incomplete" in warning
    assert [one["code"] for one in problems(cli, project)] == ["E_RECORD"]

    done = cli("repair", "--json", cwd=project)
    assert (done.status, done.json["left"]) == (0, [])
    assert problems(cli, project) == []
    events = [json.loads(line) for line in history(project).read_text().splitlines()]
    assert events[-1]["how"] == "its record was lost"
    if left is not None:
        sets = Layout(project).backup_sets.rglob("login.jsonl")
        assert left in [path.read_bytes() for path in sets]
    [blamed] = cli("blame", fact["id"], "--json", cwd=project).json["facts"]
    assert blamed["by"] == "person"
    if damage is gone:
        assert "at" not in blamed["origins"][0], "it is not known when"
    assert cli("diff", "login", "--json", cwd=project).json["warnings"] == []
    assert cli("check", "--all", cwd=project).status == 0


def test_lines_of_a_later_version_are_no_damage(project: Path, cli: Cli) -> None:
    with history(project).open("a") as file:
        file.write('{"kind": "of a later version"}\n\n')
    before = history(project).read_bytes()
    assert cli("repair", cwd=project).status == 0
    assert history(project).read_bytes() == before
    assert problems(cli, project) == []


def test_a_clone_without_a_history_is_sound(project: Path, cli: Cli) -> None:
    history(project).unlink()
    Layout(project).run_record("login").unlink()
    assert cli("check", "--all", cwd=project).status == 0
    assert cli("diff", "login", "--json", cwd=project).json["warnings"] == []


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
@pytest.mark.parametrize("kind", ["history", "run record"])
def test_what_is_in_the_way_of_a_record_is_moved_away(
    project: Path, cli: Cli, make: Callable[[Path], None], kind: str
) -> None:
    path = history(project) if kind == "history" else Layout(project).run_record("login")
    path.unlink()
    make(path)
    if kind == "history":
        assert "not a regular file" in cli("diff", "login", cwd=project).out
    found = cli("check", "--all", "--json", cwd=project).json["problems"]
    assert {(one["path"], one["code"]) for one in found} == {
        (path.relative_to(project).as_posix(), "E_RECORD")
    }
    done = cli("repair", "--json", cwd=project)
    assert (done.status, done.json["left"]) == (0, [])
    assert path.is_file() or not os.path.lexists(path)
    assert problems(cli, project) == []
    assert cli("diff", "login", "--json", cwd=project).json["warnings"] == []
