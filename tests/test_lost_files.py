"""A dossier's file is gone, empty, damaged or cut off: it comes back, and never without a word."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from _processes import small
from conftest import Cli, child_environ, commit
from preread.layout import Layout

MINE = "- raised first: `no name was given` (login.py:14)"
FACT = MINE.removeprefix("- ")
NAME = "patterns.md"


@pytest.fixture
def project(tmp_path: Path, cli: Cli) -> Path:
    """A project with a dossier of `login`, in which a person has written a fact."""
    root = small(tmp_path / "small")
    assert cli("load", "login", cwd=root).status == 0
    write(root, path_of(root).read_text() + f"\n## Ours\n{MINE}\n")
    assert FACT in load(cli, root)["dossier"]
    return root


def path_of(root: Path, name: str = NAME) -> Path:
    return Layout(root).dossier("login") / name


def write(root: Path, text: str) -> None:
    path_of(root).write_text(text)


def load(cli: Cli, root: Path, *more: str) -> dict[str, Any]:
    done = cli("load", "login", "--json", *more, cwd=root)
    assert done.status == 0, done
    return dict(done.json)


def problems(cli: Cli, root: Path) -> list[str]:
    return [one["code"] for one in cli("check", "--all", "--json", cwd=root).json["problems"]]


def forget_copies(root: Path) -> None:
    """Without the database, without backups and git: no copy of a file is known."""
    for path in Layout(root).cache.glob("index.db*"):
        path.unlink()
    shutil.rmtree(Layout(root).all_backups, ignore_errors=True)


def gone(path: Path) -> None:
    path.unlink()


def dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to("/nonexistent/notes.md")


def link_to_notes(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parents[3] / "paint.py")


def empty(path: Path) -> None:
    path.write_text("")


def zeroed(path: Path) -> None:
    path.write_bytes(b"\0" * path.stat().st_size)


def half_zeroed(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:100] + b"\0" * (len(data) - 100))


def cut(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"\n- ") + 8])


LOSSES = {
    gone: "was missing",
    dangling: "was a link, to /nonexistent/notes.md",
    link_to_notes: "was a link, to ",
    empty: "was empty",
    zeroed: "was damaged, with NUL bytes in it",
    half_zeroed: "was damaged, with NUL bytes in it",
    cut: "was cut off in the middle of a line",
}


@pytest.mark.parametrize("lose", LOSSES, ids=lambda lose: lose.__name__)
def test_a_load_puts_a_lost_file_back_and_says_so(
    project: Path, cli: Cli, lose: Callable[[Path], None]
) -> None:
    before = path_of(project).read_bytes()
    lose(path_of(project))
    left = path_of(project).read_bytes() if path_of(project).is_file() else b""
    assert problems(cli, project).count("E_FILE_MISSING") >= 1
    reply = load(cli, project)
    assert path_of(project).read_bytes() == before
    [warning] = [one for one in reply["warnings"] if one.startswith(NAME)]
    assert LOSSES[lose] in warning
    assert reply["state"] == "cached"
    assert FACT in reply["dossier"]
    if left.strip() and lose is not link_to_notes:
        assert "preread backups login" in warning
        copies = Layout(project).backups("login").iterdir()
        assert left in {copy.read_bytes() for copy in copies}
    elif not left:
        assert f"delete its line, not the file: {FACT}" in warning
    assert not path_of(project).is_symlink()
    assert (problems(cli, project), load(cli, project)["warnings"]) == ([], [])


@pytest.mark.parametrize("lose", LOSSES, ids=lambda lose: lose.__name__)
def test_a_repair_puts_a_lost_file_back(
    project: Path, cli: Cli, lose: Callable[[Path], None]
) -> None:
    before = path_of(project).read_bytes()
    lose(path_of(project))
    done = cli("repair", "--json", cwd=project)
    assert (done.status, done.json["left"]) == (0, [])
    assert path_of(project).read_bytes() == before
    assert load(cli, project)["warnings"] == []


@pytest.mark.parametrize("lose", [gone, zeroed], ids=lambda lose: lose.__name__)
def test_without_a_copy_a_build_writes_the_file_again_and_peoples_facts_are_named(
    project: Path, cli: Cli, lose: Callable[[Path], None]
) -> None:
    before = path_of(project).read_text()
    forget_copies(project)
    lose(path_of(project))
    damaged = path_of(project).read_bytes() if lose is zeroed else None
    found = cli("repair", "--json", cwd=project)
    [left] = [one for one in found.json["left"] if one["code"] == "E_FILE_MISSING"]
    assert FACT in left["message"]
    assert "preread load login" in left["message"]
    forget_copies(project)
    reply = load(cli, project)
    [warning] = [one for one in reply["warnings"] if one.startswith(NAME)]
    assert f"What people wrote there is gone: {FACT}" in warning
    assert "`preread diff login` prints it" in warning
    assert path_of(project).read_text() in before
    if damaged is not None:
        assert "`preread backups login` lists what was left of it" in warning
        copies = Layout(project).backups("login").iterdir()
        assert damaged in {copy.read_bytes() for copy in copies}
    assert FACT.partition(" (")[0] in cli("diff", "login", cwd=project).out
    assert problems(cli, project) == []


def test_an_optional_file_that_is_lost_makes_a_dossier_stale(project: Path, cli: Cli) -> None:
    path = path_of(project, "existing-tests.md")
    before = path.read_text()
    path.unlink()
    forget_copies(project)
    [row] = cli("status", "--json", cwd=project).json["dossiers"]
    assert (row["fresh"], row["why"]) == (False, "existing-tests.md is missing or damaged")
    assert not path.exists(), "only a load can say what people wrote in it"
    assert load(cli, project)["state"] == "refreshed"
    assert path.read_text() == before


def test_a_file_that_a_person_ends_without_a_line_end_is_an_edit(project: Path, cli: Cli) -> None:
    lines = path_of(project).read_text().rstrip("\n").split("\n")
    write(project, "\n".join([*lines[:-2], MINE.replace("first", "at once")]))
    assert load(cli, project)["warnings"] == []
    assert "raised at once" in path_of(project).read_text()
    assert problems(cli, project) == []


def test_what_may_be_damage_or_an_edit_is_left_to_a_person(project: Path, cli: Cli) -> None:
    data = path_of(project, "codebase.md").read_bytes()
    forget_copies(project)
    path_of(project, "codebase.md").write_bytes(data[: len(data) // 2].rstrip(b"\n"))
    path_of(project).write_bytes(path_of(project).read_bytes() + b"- caf\xe9\n")
    done = cli("repair", "--json", cwd=project)
    left = {Path(one["path"]).name: one for one in done.json["left"]}
    assert (done.status, {one["code"] for one in left.values()}) == (1, {"E_FILE_TEXT"})
    assert "it is not UTF-8 (byte " in left[NAME]["message"]
    assert "ends in the middle of a line, and " in left["codebase.md"]["message"]
    assert "preread load login" in left["codebase.md"]["message"]
    assert "left .project/context/login/codebase.md: it ends" in cli("repair", cwd=project).out
    assert load(cli, project)["state"] == "refreshed"
    assert data.splitlines()[-1] in path_of(project, "codebase.md").read_bytes()


def test_a_stale_dossier_gets_its_lost_file_back_first(project: Path, cli: Cli) -> None:
    link_to_notes(path_of(project))
    commit(project, "login.py", "\n" + (project / "login.py").read_text())
    reply = load(cli, project)
    assert reply["state"] == "refreshed"
    assert any("was a link" in one for one in reply["warnings"])
    assert FACT.replace(":14", ":15") in path_of(project).read_text()


def test_dropping_a_fact_does_not_drop_what_a_lost_file_said(project: Path, cli: Cli) -> None:
    shown = cli("show", "login", "--ids", "--json", cwd=project).json["facts"]
    other = next(one for one in shown if one["file"] == "codebase.md")
    path_of(project).unlink()
    done = cli("wrong", other["id"], "--json", cwd=project)
    assert done.status == 0
    assert any("patterns.md was missing" in one for one in done.json["warnings"])
    assert FACT in path_of(project).read_text()


@pytest.mark.parametrize("how", ["wrong", "description", "restore"])
def test_there_is_a_copy_whatever_changed_a_dossier_last(project: Path, cli: Cli, how: str) -> None:
    path = path_of(project)
    if how == "wrong":
        shown = cli("show", "login", "--ids", "--json", cwd=project).json["facts"]
        fact = next(one for one in shown if one["file"] == NAME and one["by"] == "build")
        assert cli("wrong", fact["id"], cwd=project).status == 0
    elif how == "description":
        load(cli, project, "--description", "paint the login in a colour")
    else:
        removed = cli("remove", "login", "--json", cwd=project).json["backup"]
        assert cli("restore", removed, cwd=project).status == 0
        shutil.rmtree(Layout(project).backup_sets)
    before = path.read_bytes()
    assert FACT.encode() in before
    path.unlink()
    load(cli, project)
    assert path.read_bytes() == before


def test_a_folder_that_cannot_be_read_is_not_taken_for_a_missing_dossier(project: Path) -> None:
    folder, record = Layout(project).dossier("login"), Layout(project).run_record("login")
    as_person: list[str] = []
    if os.geteuid() == 0:
        without = "-dac_override,-dac_read_search"
        as_person = ["setpriv", "--bounding-set", without, "--"]
    folder.chmod(0)
    try:
        for command in (["check", "--all"], ["status"], ["repair"]):
            done = subprocess.run(
                [*as_person, sys.executable, "-m", "preread", *command],
                cwd=project, env=child_environ({}), capture_output=True, text=True, timeout=60,
            )  # fmt: skip
            assert (done.returncode, done.stderr[:13]) == (1, "error: E_READ"), command
            assert str(folder) in done.stderr
    finally:
        folder.chmod(0o755)
    assert record.exists()
    assert json.loads(record.read_text())["status"] == "ok"
