"""Stale hints: written when a dossier no longer covers its request, removed when it does."""

import os
import time
from pathlib import Path

import pytest

from _processes import small
from conftest import Cli, git


@pytest.fixture
def loaded(cli: Cli, tmp_path: Path) -> Path:
    project = small(tmp_path / "p")
    (project / ".project" / ".gitignore").write_text(".cache/\n.state/\ncontext/\n")
    assert cli("load", "login", cwd=project).status == 0
    return project


def hint(project: Path) -> Path:
    return project / ".project" / ".cache" / "stale" / "login"


def age(project: Path) -> None:
    """Change what the dossier cites."""
    path = project / "login.py"
    path.write_text(path.read_text().replace("ATTEMPTS = 5", "ATTEMPTS = 6"))
    earlier = time.time() - 1.5  # the time of what has just been written is not trusted
    os.utime(path, (earlier, earlier))


def test_a_valid_dossier_has_no_stale_hint(cli: Cli, loaded: Path) -> None:
    for words in ("status", "check"):
        assert cli(words, *([] if words == "status" else ["login"]), cwd=loaded).status == 0
    assert not hint(loaded).exists()


@pytest.mark.parametrize("words", ["status", "load"])
def test_a_stale_dossier_gets_a_hint_that_the_next_refresh_clears(
    cli: Cli, loaded: Path, words: str
) -> None:
    age(loaded)
    cli("check", "login", cwd=loaded)
    assert "what it cites changed or moved" in hint(loaded).read_text()
    assert cli(words, "login", cwd=loaded).status == 0
    assert not hint(loaded).exists()


def test_status_refreshes_what_needs_no_model_and_is_not_tracked(cli: Cli, loaded: Path) -> None:
    age(loaded)
    (found,) = cli("status", "--json", cwd=loaded).json["dossiers"]
    assert found["fresh"]
    assert "what it cites changed or moved" in found["refreshed"]
    assert "ATTEMPTS = 6" in (loaded / ".project/context/login/codebase.md").read_text()
    git(loaded, "add", "-Af", ".project/context")
    path = loaded / "login.py"
    path.write_text(path.read_text().replace("ATTEMPTS = 6", "ATTEMPTS = 7"))
    (found,) = cli("status", "--json", cwd=loaded).json["dossiers"]
    assert (found["fresh"], found["refreshed"]) == (False, "")
    assert git(loaded, "diff", "--name-only", "--", ".project/context") == ""
    assert "what it cites changed or moved" in hint(loaded).read_text()


def test_an_outdated_hint_is_cleared_by_the_next_lookup(cli: Cli, loaded: Path) -> None:
    for words in (("load", "login"), ("status",)):
        hint(loaded).parent.mkdir(exist_ok=True)
        hint(loaded).write_text("an old reason\n")
        assert cli(*words, "--json", cwd=loaded).status == 0
        assert not hint(loaded).exists(), words


def test_a_failed_build_leaves_the_dossier_and_the_hint(cli: Cli, loaded: Path) -> None:
    age(loaded)
    folder = loaded / ".project/context/login"
    (folder / "summary.md").unlink()
    (folder / "summary.md").mkdir()
    before = (folder / "patterns.md").read_bytes()
    done = cli("load", "login", "--json", cwd=loaded)
    assert done.json["code"] == "E_WRITE", done.out
    assert (folder / "patterns.md").read_bytes() == before
    assert hint(loaded).read_text() == "summary.md is missing or empty\n"
    (folder / "summary.md").rmdir()
    assert cli("load", "login", cwd=loaded).status == 0
    assert not hint(loaded).exists()


def test_a_hint_that_cannot_be_written_stops_nothing(cli: Cli, loaded: Path) -> None:
    age(loaded)
    hint(loaded).parent.write_text("a file where the folder belongs\n")
    assert cli("check", "login", cwd=loaded).status == 1
    assert cli("load", "login", cwd=loaded).status == 0


def test_a_folder_of_hints_that_leads_out_of_the_project_is_rejected(
    cli: Cli, loaded: Path, tmp_path: Path
) -> None:
    age(loaded)
    outside = tmp_path / "outside"
    outside.mkdir()
    hint(loaded).parent.symlink_to(outside)
    assert "E_OUTSIDE" in cli("check", "login", cwd=loaded).err
    assert list(outside.iterdir()) == []
