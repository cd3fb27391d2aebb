"""A process that stays looks at the files again only when something changed, and always then."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from _evidence_project import commit, services, write
from conftest import child_environ, git
from preread import check, facts, fingerprint
from preread.client import Client
from preread.errors import PrereadError
from preread.facts import indexing
from preread.graph import update as graph
from preread.infra import inotify
from preread.layout import Layout
from preread.models import Manifest
from preread.unchanged import Unchanged

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it always looks")
CONTEXT = ".project/context"
LOGIN, CART = f"{CONTEXT}/login/patterns.md", f"{CONTEXT}/cart/patterns.md"
KNOWLEDGE = ".project/knowledge.md"
TEXT = "# Patterns: login\n\n## All\n- alpha is one (src/a.py:1-2)\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    commit(tmp_path, {"src/a.py": "def one():\n    return 1\n"}, "one")
    return write(tmp_path, {LOGIN: TEXT})


class Looks:
    """How often the files were looked at: for facts, for the graph."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.facts = self.graph = 0
        index, update = facts.index_on, graph.update

        def indexed(*given: object) -> None:
            self.facts += 1
            index(*given)  # type: ignore[arg-type]

        def updated(*given: object) -> None:
            self.graph += 1
            update(*given)  # type: ignore[arg-type]

        patch.setattr(facts, "index_on", indexed)
        patch.setattr(indexing, "index_on", indexed)
        patch.setattr(graph, "update", updated)

    def during(self, work: Callable[[], object]) -> tuple[int, int]:
        before = (self.facts, self.graph)
        work()
        return (self.facts - before[0], self.graph - before[1])


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    return Looks(monkeypatch)


def settled(client: Client) -> None:
    """Have all of it up to date, and known to be."""
    for _ in range(3):
        client.knowledge.search("alpha")
        client.knowledge.query(kinds=("fact", "file", "symbol", "commit"))


def test_without_a_change_the_files_are_not_checked(root: Path, looks: Looks) -> None:
    write(root, {".project/.state/other.json": "{}"})
    with Client(root) as client:
        settled(client)
        assert looks.during(lambda: client.knowledge.search("alpha")) == (0, 0)
        assert looks.during(lambda: client.memory.recall("alpha")) == (0, 0)
        assert looks.during(lambda: client.knowledge.query(kinds=("fact",))) == (0, 0)
        write(root, {".project/.state/other.json": "[]", ".project/.cache/own": ""})
        assert looks.during(lambda: client.knowledge.search("alpha")) == (0, 0)
        write(root, {"src/b.py": "x = 1\n"})
        assert looks.during(lambda: client.knowledge.search("alpha")) == (0, 0)
        assert looks.during(lambda: client.knowledge.query(kinds=("fact",)))[1] == 1


def edited(root: Path) -> None:
    """In place, with the same length and the same times."""
    path = root / LOGIN
    info = path.stat()
    with path.open("r+") as file:
        file.write(TEXT.replace("alpha", "gamma"))
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def replaced(root: Path) -> None:
    write(root, {f"{CONTEXT}/login/new": TEXT.replace("alpha", "gamma")})
    (root / CONTEXT / "login" / "new").replace(root / LOGIN)


def added(root: Path) -> None:
    write(root, {CART: TEXT.replace("alpha", "gamma").replace("login", "cart")})
    shutil.rmtree(root / CONTEXT / "login")


def swapped(root: Path) -> None:
    """The whole folder, for another one with the same names."""
    (root / ".project").rename(root / "old")
    shutil.copytree(root / "old", root / ".project", ignore=shutil.ignore_patterns(".cache"))
    replaced(root)


def elsewhere(root: Path) -> None:
    """By another process, which also brings the index up to date."""
    replaced(root)
    command = [sys.executable, "-m", "preread", "facts", "gamma", "--json"]
    done = subprocess.run(command, cwd=root, env=child_environ(), check=True, capture_output=True)
    assert b"gamma is one" in done.stdout


def without_cache(root: Path) -> None:
    shutil.rmtree(root / ".project" / ".cache")
    replaced(root)


CHANGES = [edited, replaced, added, swapped, elsewhere, without_cache]


@pytest.mark.parametrize("change", CHANGES, ids=lambda one: one.__name__)
def test_what_changed_is_found_at_once(root: Path, change: Callable[[Path], None]) -> None:
    with Client(root) as client:
        settled(client)
        change(root)
        assert [one.text for one in client.knowledge.search("alpha gamma").facts] == [
            "gamma is one"
        ]
        names = {one.name for one in client.knowledge.query(kinds=("fact",)).nodes}
        assert names == {"gamma is one"}


def test_a_new_collection_of_knowledge_and_a_first_dossier_are_found(tmp_path: Path) -> None:
    (tmp_path / ".project").mkdir()
    with Client(tmp_path) as client:
        for _ in range(3):
            assert client.knowledge.search("gamma").facts == ()
        write(tmp_path, {KNOWLEDGE: "# Knowledge\n\n## A\n- gamma (said:ada@2026-11-01)\n"})
        assert len(client.knowledge.search("gamma").facts) == 1
        write(tmp_path, {CART: TEXT.replace("alpha", "gamma").replace("login", "cart")})
        assert len(client.knowledge.search("gamma").facts) == 2
        for _ in range(2):
            client.knowledge.search("gamma")
        write(
            tmp_path,
            {".project/.state/knowledge.md": "# K\n\n## A\n- gamma me (said:a@2026-11-01)\n"},
        )
        assert len(client.knowledge.search("gamma").facts) == 3


def test_the_graph_keeps_up_with_the_code_and_the_commits(root: Path) -> None:
    def names(client: Client, kind: str) -> set[str]:
        found = client.knowledge.query(kinds=(kind,)).nodes  # type: ignore[arg-type]
        return {one.name for one in found}

    with Client(root) as client:
        settled(client)
        assert names(client, "symbol") == {"one"}
        path = root / "src" / "a.py"
        path.write_text(path.read_text().replace("one", "two"))
        assert names(client, "symbol") == {"two"}
        for _ in range(2):
            assert names(client, "commit") == set()
        git(root, "commit", "-qam", "fix the name")
        assert names(client, "commit") == {"fix the name"}
        settled(client)
        (root / "src").rename(root / "lib")
        assert names(client, "symbol") == set()


def test_an_index_that_another_process_is_rebuilding_does_not_count_as_current(root: Path) -> None:
    with Client(root) as client:
        settled(client)
        command = [sys.executable, "-m", "preread", "call", "knowledge.index", '{"afresh": true}']
        subprocess.run(command, cwd=root, env=child_environ(), check=True, capture_output=True)
        assert {one.name for one in client.knowledge.query(kinds=("symbol",)).nodes} == {"one"}


def test_where_nothing_can_be_watched_the_files_are_checked_each_time(
    root: Path, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inotify, "is_local", lambda _: False)
    with Client(root) as client:
        settled(client)
        assert looks.during(lambda: client.knowledge.search("alpha")) == (1, 0)
    monkeypatch.undo()
    looks = Looks(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(inotify.sys, "platform", "darwin")
        with Client(root) as client:
            settled(client)
            assert looks.during(lambda: client.knowledge.search("alpha")) == (1, 0)


def test_a_queue_that_was_full_counts_as_a_change(tmp_path: Path) -> None:
    folders = inotify.Folders()
    folders.add("one", {str(tmp_path): {"wanted"}})
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for n in range(limit):  # equal events after another are one
        (tmp_path / f"{n % 2}").touch()
    assert folders.changed() == {"one"}
    assert not folders.changed()
    (tmp_path / "other").touch()
    assert not folders.changed()
    (tmp_path / "wanted").touch()
    assert folders.changed() == {"one"}


def test_askers_in_one_folder_are_told_of_what_matters_to_each(tmp_path: Path) -> None:
    folders = inotify.Folders()
    here = str(tmp_path)
    (tmp_path / "old").touch()
    folders.add("entries", {here: {"old", "new"}}, only_entries=True)
    folders.add("content", {here: {"old"}})
    folders.add("all", {here: None})
    with (tmp_path / "old").open("a") as file:
        file.write("more")
    assert folders.changed() == {"content", "all"}
    (tmp_path / "new").touch()
    assert folders.changed() == {"entries", "all"}
    (tmp_path / "old").unlink()
    assert folders.changed() == {"entries", "content", "all"}
    (tmp_path / "other").touch()
    assert folders.changed() == {"all"}


def test_a_folder_that_is_made_again_is_watched_again_and_the_old_one_is_forgotten(
    tmp_path: Path,
) -> None:
    folders = inotify.Folders()
    folder = tmp_path / "folder"
    for _ in range(3):
        folder.mkdir()
        folders.add("one", {str(folder): {"wanted"}})
        assert not folders.changed()
        (folder / "wanted").touch()
        assert folders.changed() == {"one"}
        shutil.rmtree(folder)
        assert folders.changed() == {"one"}
    assert not folders._interests


def test_knowledge_behind_a_link_is_checked_each_time(root: Path) -> None:
    said = "# Knowledge\n\n## A\n- gamma (said:ada@2026-11-01)\n"
    write(root, {"notes/knowledge.md": said})
    (root / KNOWLEDGE).symlink_to(root / "notes" / "knowledge.md")
    unchanged = Unchanged()

    def search() -> int:
        here = services(root)
        object.__setattr__(here, "unchanged", unchanged)
        found = facts.search(here, "gamma", facts.Wanted(), check=check.check_unbudgeted)
        return len(found)

    assert [search() for _ in range(3)] == [1, 1, 1]
    write(root, {"notes/knowledge.md": said.replace("gamma", "beta")})
    assert search() == 0
    assert Layout(root.resolve()).knowledge.is_symlink()


# -- the fingerprint of a look-up among more files than are looked at each time


def rewritten(path: Path) -> None:
    """In place, with the same length and the same time."""
    info = path.stat()
    with path.open("r+") as file:
        file.write("X")
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def exchanged(path: Path) -> None:
    path.with_name("new").write_text("other")
    path.with_name("new").replace(path)


AMONG_MANY: dict[str, Callable[[Path], object]] = {
    "edited": lambda root: rewritten(root / "src/a.py"),
    "replaced": lambda root: exchanged(root / "src/a.py"),
    "deleted": lambda root: (root / "src/deep/b.py").unlink(),
    "new": lambda root: (root / "src/new.py").write_text(""),
    "new in a new folder": lambda root: write(root, {"other/deep/new.py": ""}),
    "a folder renamed": lambda root: (root / "src").rename(root / "lib"),
    "there again": lambda root: (root / "src/gone.py").write_text(""),
    "through another name of it": lambda root: rewritten(root.parent / "name"),
    "behind a link": lambda root: rewritten(root.parent / "target"),
    "a link": lambda root: (root / "src/link.py").unlink(),
    "not ignored any more": lambda root: rewritten(root / "src/.gitignore"),
    "cited, edited": lambda root: rewritten(root / "src/c.py"),
    "reports": lambda root: write(root, {"test-results/junit.xml": "<testsuite/>"}),
    "knowledge": lambda root: write(root, {".project/knowledge.md": "# Knowledge\n"}),
    "committed": lambda root: git(root, "commit", "-qm", "more", "--allow-empty"),
}


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(fingerprint, "MAX_PATHS", 3)
    root = tmp_path / "many"
    files = ("src/a.py", "src/c.py", "src/deep/b.py", "src/gone.py")
    write(root, {**dict.fromkeys(files, "x = 1\n"), "src/.gitignore": "*.log\n"})
    (tmp_path / "name").write_text("one file")
    (root / "src" / "named.py").hardlink_to(tmp_path / "name")
    (tmp_path / "target").write_text("linked")
    (root / "src" / "link.py").symlink_to(tmp_path / "target")
    commit(root, {}, "one")
    (root / "src" / "gone.py").unlink()
    return write(root, {"src/own.log": "ignored\n", ".project/.state/other.json": "[]"})


def taken(root: Path, unchanged: Unchanged | None) -> fingerprint.Fingerprint | None:
    later = time.time_ns() + 3_000_000_000  # nothing is young then
    seen = replace(services(root), unchanged=unchanged)
    return fingerprint.take(seen, Manifest(feature="login", spans={"src/c.py:1": ""}), later)


@pytest.mark.parametrize("change", AMONG_MANY)
def test_among_many_files_each_change_is_seen_at_once(many: Path, change: str) -> None:
    found = taken(many, Unchanged())
    assert found is not None
    write(many, {".project/.state/other.json": "{}"})
    with (many / "src" / "own.log").open("a") as log:
        log.write("more\n")
    assert found.is_valid()
    AMONG_MANY[change](many)
    assert not found.is_valid()
    assert not found.is_valid()


@pytest.mark.parametrize("change", AMONG_MANY)
def test_without_kernel_events_each_file_is_checked(
    many: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprint, "MAX_PATHS", 100)
    monkeypatch.setattr(inotify, "is_local", lambda _: False)
    found = taken(many, Unchanged())
    assert found is not None
    assert found.is_valid()
    AMONG_MANY[change](many)
    assert not found.is_valid()


def test_each_of_two_look_ups_among_many_files_sees_a_change(many: Path) -> None:
    unchanged = Unchanged()
    before = taken(many, unchanged)
    rewritten(many / "src" / "c.py")
    after = taken(many, unchanged)
    assert before is not None
    assert after is not None
    assert after.is_valid()
    assert not before.is_valid()
    rewritten(many / "src" / "a.py")
    assert not after.is_valid()


def test_what_is_behind_a_linked_folder_is_checked_each_time(many: Path, tmp_path: Path) -> None:
    write(tmp_path, {"outside/real/deep/file": "one"})
    (many / ".git" / "linked").symlink_to(tmp_path / "outside" / "real")  # no walk comes by it
    seen = replace(services(many), unchanged=Unchanged())
    others = [many / ".git" / "linked" / "deep" / "file"]
    later = time.time_ns() + 3_000_000_000
    found = fingerprint.take(seen, Manifest(feature="login"), later, others)
    assert found is not None
    assert found.is_valid()
    (tmp_path / "outside").rename(tmp_path / "gone")
    assert not found.is_valid()


def test_many_files_have_no_fingerprint_without_kernel_events_or_just_after_a_change(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    young = fingerprint.take(
        replace(services(many), unchanged=Unchanged()), Manifest(feature="login"), 0
    )
    assert young is None
    assert taken(many, None) is None
    monkeypatch.setattr(inotify, "is_local", lambda _: False)
    assert taken(many, Unchanged()) is None


# -- the guard of Preread's own folders and files

PLACES = (
    ".project", ".project/.state", ".project/.cache/staging", ".project/context",
    ".project/config.toml", ".project/.state/audit.jsonl",
)  # fmt: skip


@pytest.fixture
def guarded(tmp_path: Path) -> Path:
    """A project, of whose places some are there and some are not."""
    root = tmp_path.resolve() / "project"
    (tmp_path / "outside").mkdir()
    return write(root, {".project/.cache/staging/x": "", ".project/config.toml": "", "lib/x": ""})


@pytest.mark.parametrize("is_local", [True, False])
@pytest.mark.parametrize("place", PLACES)
def test_a_place_that_became_a_link_is_refused_at_once(
    guarded: Path, place: str, is_local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_local:
        monkeypatch.setattr(inotify, "is_local", lambda _: False)
    unchanged = Unchanged()
    layout = unchanged.guarded(guarded)
    assert (unchanged.guarded(guarded) is layout) == is_local
    (guarded / place).parent.mkdir(parents=True, exist_ok=True)
    if (guarded / place).exists():
        (guarded / place).rename(guarded / "old")
    (guarded / place).symlink_to(guarded.parent / "outside")
    for _ in range(2):
        with pytest.raises(PrereadError) as error:
            unchanged.guarded(guarded)
        assert error.value.code == "E_OUTSIDE"
    (guarded / place).unlink()
    assert unchanged.guarded(guarded).root == guarded


def test_a_link_inside_the_project_is_followed_each_time(guarded: Path) -> None:
    (guarded / ".project" / "context").symlink_to(guarded / "lib")
    unchanged = Unchanged()
    assert unchanged.guarded(guarded) is not unchanged.guarded(guarded)
    (guarded / "lib").rename(guarded / "old")
    (guarded / "lib").symlink_to(guarded.parent / "outside")
    with pytest.raises(PrereadError, match="outside"):
        unchanged.guarded(guarded)


def test_a_file_of_preread_that_is_written_needs_no_new_guard(guarded: Path) -> None:
    unchanged = Unchanged()
    layout = unchanged.guarded(guarded)
    write(guarded, {".project/config.toml": "level = 'light'\n", ".project/.cache/other": ""})
    assert unchanged.guarded(guarded) is layout
    assert unchanged.guarded(guarded.parent / "outside") is not layout
