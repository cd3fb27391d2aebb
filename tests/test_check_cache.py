"""A status looks at a dossier again only if something changed that the last look depended on."""

import json
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from _processes import PATIENCE, small
from conftest import Cli, git

PLANTED = 999_999  # facts: no look finds so many
CITED = "login.py"


@pytest.fixture
def project(cli: Cli, tmp_path: Path) -> Path:
    """A project with a dossier, and with a tracked link."""
    project = small(tmp_path / "p")
    (project / "other.py").write_text((project / CITED).read_text())
    (project / "link.py").symlink_to(CITED)
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "A link")
    assert cli("load", "login", "--ticket", "SHOP-1", cwd=project).status == 0
    return project


def facts(cli: Cli, project: Path) -> int:
    (found,) = cli("status", "--json", cwd=project).json["dossiers"]
    assert found["fresh"], found
    return int(found["facts"])


def plant(project: Path) -> bool:
    """Change what is kept of the last look at the dossier, if anything is."""
    with closing(sqlite3.connect(project / ".project/.cache/index.db", isolation_level=None)) as db:
        row = db.execute("SELECT found FROM cached_checks WHERE feature = 'login'").fetchone()
        if row is not None:
            found = json.dumps(json.loads(row[0]) | {"facts": PLANTED})
            db.execute("UPDATE cached_checks SET found = ? WHERE feature = 'login'", (found,))
    return row is not None


def until_kept(cli: Cli, project: Path) -> int:
    """Its facts, after something else is kept of a look: at first files have just changed."""
    end, known = time.monotonic() + PATIENCE, facts(cli, project)
    while not (plant(project) and facts(cli, project) == PLANTED):
        assert time.monotonic() < end
        facts(cli, project)
    return known


def same_size_and_time(path: Path, old: str, new: str) -> None:
    info = path.stat()
    text = path.read_text()
    assert (old in text, len(old)) == (True, len(new))
    path.write_text(text.replace(old, new))
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def replaced(path: Path) -> None:
    """By another file of the same size and time, under the same name."""
    fresh = path.with_name("fresh")
    fresh.write_text(path.read_text().replace("ATTEMPTS = 5", "ATTEMPTS = 7"))
    os.utime(fresh, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    fresh.replace(path)


def led_elsewhere(project: Path) -> None:
    (project / "link.py").unlink()
    (project / "link.py").symlink_to("other.py")


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


def commit(project: Path) -> None:
    git(project, "commit", "-q", "--allow-empty", "-m", "Nothing")


CHANGES: dict[str, Callable[[Path], object]] = {
    "a cited file, with its size and time":
        lambda root: same_size_and_time(root / CITED, "ATTEMPTS = 5", "ATTEMPTS = 6"),
    "a cited file, replaced": lambda root: replaced(root / CITED),
    "a file that is not cited":
        lambda root: same_size_and_time(root / "paint.py", "* 2", "* 3"),
    "a new file": lambda root: (root / "login_more.py").write_text("LOGIN = 1\n"),
    "the target of a link": led_elsewhere,
    "HEAD": commit,
    "a file of the dossier, with its size and time":
        lambda root: same_size_and_time(root / ".project/context/login/summary.md", "# W", "# w"),
    "the manifest": lambda root: os.utime(root / ".project/context/login/manifest.json"),
    "the ticket": lambda root: append(root / ".project/tickets/SHOP-1.md", "- more\n"),
    "knowledge.md": lambda root: append(root / ".project/knowledge.md", "- a login\n"),
    "the hint that it is stale":
        lambda root: (root / ".project/.cache/stale/login").write_text("why\n"),
    "the settings": lambda root: (root / ".project/config.toml").write_text("max_facts = 7\n"),
}  # fmt: skip


def test_a_dossier_is_checked_again_after_any_change_and_only_then(cli: Cli, project: Path) -> None:
    until_kept(cli, project)
    for what, change in CHANGES.items():
        change(project)
        found = cli("status", "--json", cwd=project).json["dossiers"]
        assert [one["facts"] for one in found if one["facts"] == PLANTED] == [], what
        assert cli("load", "login", "--ticket", "SHOP-1", cwd=project).status == 0
        until_kept(cli, project)


def test_a_damaged_cached_check_is_ignored(cli: Cli, project: Path) -> None:
    known = until_kept(cli, project)
    for damage in ("found = '{'", "found = x'ff'", "found = '{\"facts\": {}}'", "level = 'x'",
                   "ticket = '../..'", "ticket = x'ff'", "mark = x'ff'"):  # fmt: skip
        with closing(sqlite3.connect(project / ".project/.cache/index.db")) as db, db:
            db.execute(f"UPDATE cached_checks SET {damage}")
        assert facts(cli, project) == known, damage
        until_kept(cli, project)
