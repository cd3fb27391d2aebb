"""Where lines are after changes that git shows, of real repositories."""

import shlex
from pathlib import Path

import pytest

from _files_project import services
from conftest import git, make_repository
from preread.project import line_map

TEN = "".join(f"line {number}\n" for number in range(1, 11))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text(TEN)
    make_repository(folder)
    return folder


def the_map(root: Path, now: str = "a.txt") -> line_map.LineMap | None:
    return line_map.since(services(root).tree, "HEAD", "a.txt", now)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (TEN, list(range(1, 11))),
        (f"new\n{TEN}", list(range(2, 12))),
        (TEN.replace("line 5\n", ""), [1, 2, 3, 4, None, 5, 6, 7, 8, 9]),
        (TEN.replace("line 5\n", "line 5\n@@ -1 +1 @@\n"), [1, 2, 3, 4, 5, 7, 8, 9, 10, 11]),
        (TEN.replace("line 5", "line five\nmore"), [1, 2, 3, 4, None, 7, 8, 9, 10, 11]),
        (TEN.replace("line 10\n", "line 10"), [1, 2, 3, 4, 5, 6, 7, 8, 9, None]),
    ],
    ids=["equal", "above", "removed", "added", "changed", "no newline at the end"],
)
def test_each_line_is_mapped_or_changed(root: Path, text: str, places: list[int | None]) -> None:
    (root / "a.txt").write_text(text)
    found = the_map(root)
    assert found is not None
    assert [found.line(number) for number in range(1, 11)] == places
    assert found.lines(2, 4) == (places[1], places[3])
    assert not found.is_changed(1, 3)
    assert found.is_changed(1, 10) == (places not in ([*range(1, 11)], [*range(2, 12)]))


def test_removed_lines_and_new_ones(root: Path) -> None:
    (root / "a.txt").write_text(TEN.replace("line 2\nline 3\n", "").replace("line 7", "seven"))
    found = the_map(root)
    assert found is not None
    assert found.is_removed(2, 3)
    assert not any(found.is_removed(*lines) for lines in ((1, 2), (3, 4), (7, 7), (8, 8)))
    assert [number for number in range(1, 9) if found.is_new(number)] == [5]


def test_a_renamed_file_has_a_map_and_one_without_a_new_name_has_none(root: Path) -> None:
    git(root, "mv", "a.txt", "b.txt")
    (root / "b.txt").write_text(f"new\n{TEN}")
    found = the_map(root, "b.txt")
    assert found is not None
    assert found.line(3) == 4
    (root / "b.txt").write_text("all\nis\ndifferent\n")
    assert the_map(root, "b.txt") is None


def test_the_commit_of_a_line_and_none_of_one_that_is_not_committed(root: Path) -> None:
    (root / "a.txt").write_text(TEN.replace("line 5", "mine"))
    tree = services(root).tree
    assert line_map.commit_of(tree, "a.txt", 4) == git(root, "rev-parse", "HEAD").strip()
    assert line_map.commit_of(tree, "a.txt", 5) == ""
    assert line_map.commit_of(tree, "a.txt", 11) == ""
    assert line_map.commit_of(tree, "none.txt", 1) == ""


def test_the_repositorys_settings_run_no_program(root: Path, tmp_path: Path) -> None:
    (root / ".gitattributes").write_text("*.txt diff=evil\n")
    script = tmp_path / "evil"
    script.write_text(f'#!/bin/sh\ntouch {shlex.quote(str(tmp_path / "ran"))}\ncat "$1"\n')
    script.chmod(0o755)
    git(root, "config", "diff.evil.textconv", str(script))
    git(root, "config", "diff.evil.command", str(script))
    (root / "a.txt").write_text(f"new\n{TEN}")
    assert line_map.commit_of(services(root).tree, "a.txt", 2)
    assert the_map(root) is not None
    assert not (tmp_path / "ran").exists()
