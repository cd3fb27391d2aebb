"""Reading dossiers that people edit, link, copy and merge; and run records."""

import os
import sys
import time
from pathlib import Path

import pytest

from _files_project import (
    BASIC,
    disk,
    make_read_only,
    put,
    services,
    snapshot,
    text_of,
)
from preread.dossier import build_records, published, wrong_marks
from preread.dossier.build_records import BuildRecord
from preread.infra.reading import plain_bytes
from preread.models import Stats


@pytest.fixture
def work(tmp_path):
    return services(tmp_path / "project")


@pytest.fixture
def folder(work):
    put(work, "one", [*BASIC, "failures.md"])
    return work.layout.dossier("login")


def test_there_is_no_dossier_until_one_is_published(work):
    assert published.read(work.layout, "login") is None
    work.layout.dossier("login").mkdir(parents=True)
    assert published.read(work.layout, "login") is None
    assert published.features(work.layout) == []


def test_an_edited_file_is_returned_as_it_is_and_listed(work, folder):
    (folder / "patterns.md").write_bytes("# Patterns: login\r\n\r\n- größer".encode("latin-1"))
    found = published.read(work.layout, "login")
    assert found.edited == ("patterns.md",)
    assert found.texts["patterns.md"] == "# Patterns: login\r\n\r\n- größer"
    assert found.texts["codebase.md"] == text_of("codebase.md", "one")
    assert found.manifest.recipe == "one"


def test_an_edited_dossier_is_read_without_a_long_wait(work, folder):
    (folder / "patterns.md").write_text("edited")
    begun = time.monotonic()
    published.read(work.layout, "login")
    assert time.monotonic() - begun < 10 * published.PAUSE


def test_a_file_that_keeps_changing_is_read_until_it_settles(work, folder):
    """As while others publish: what two looks do not agree on is not taken for an edit."""
    path = folder / "patterns.md"
    texts = [text_of("patterns.md", "one"), *(f"changing {n}" for n in range(5))]

    def change_before_it_is_read(event, arguments):
        if event == "open" and texts and str(arguments[0]) == str(path) and not busy:
            busy.append(True)
            path.write_text(texts.pop())
            busy.clear()

    busy = []
    sys.addaudithook(change_before_it_is_read)
    found = published.read(work.layout, "login")
    assert texts == []
    assert found.edited == ()


def test_line_ends_that_git_changed_are_not_an_edit(work, folder):
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert published.read(work.layout, "login").edited == ()


def test_an_added_dossier_file_is_listed_and_other_files_are_not(work, folder):
    (folder / "requirements.md").write_text("my own")
    (folder / "notes.md").write_text("my own")
    found = published.read(work.layout, "login")
    assert found.edited == ("requirements.md",)
    assert set(found.texts) == {*BASIC, "failures.md", "requirements.md"}


def test_a_file_that_a_person_removed_counts_as_missing(work, folder):
    (folder / "failures.md").unlink()
    found = published.read(work.layout, "login")
    assert set(found.texts) == set(BASIC)
    assert found.edited == ()


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_only_plain_files_are_part_of_a_dossier(work, folder, kind):
    odd = folder / "failures.md"
    odd.rename(folder / "elsewhere.md")
    {
        "link": lambda: odd.symlink_to(folder / "elsewhere.md"),
        "folder": odd.mkdir,
        "pipe": lambda: os.mkfifo(odd),
    }[kind]()
    found = published.read(work.layout, "login")
    assert set(found.texts) == set(BASIC)
    assert found.manifest.recipe == "one"


def test_a_dossier_that_is_a_link_counts_as_missing(work, folder):
    work.layout.dossier("alias").symlink_to(folder)
    assert published.read(work.layout, "alias") is None
    assert published.features(work.layout) == ["login"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: "",
        lambda text: "[" * 100_000,
        lambda text: text.replace('"schema_version": 1', '"schema_version": 2'),
        lambda text: text.replace('"feature": "login"', '"feature": "cart"'),
        lambda text: text.replace('"ticket"', '"tickets"'),
        lambda text: "null",
    ],
    ids=["empty", "deep", "later schema", "another feature", "unknown key", "null"],
)
def test_an_unreadable_manifest_does_not_hide_the_texts(work, folder, spoil):
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(spoil(text))
    assert (folder / "manifest.json").read_text() != text
    found = published.read(work.layout, "login")
    assert found.manifest is None
    assert found.texts["patterns.md"] == text_of("patterns.md", "one")


def test_a_shared_dossier_is_read_in_a_fresh_clone_and_nothing_is_written(work, folder, tmp_path):
    clone = services(tmp_path / "clone")
    clone.layout.context.mkdir()
    folder.rename(clone.layout.dossier("login"))
    before = snapshot(clone.layout.root)
    assert published.read(clone.layout, "login").texts["patterns.md"] == text_of(
        "patterns.md", "one"
    )
    assert published.features(clone.layout) == ["login"]
    assert build_records.read(clone.layout, "login") is None
    assert wrong_marks.ids(clone.layout) == {}
    assert snapshot(clone.layout.root) == before
    assert not clone.layout.cache.exists()
    assert not clone.layout.state.exists()


def test_a_dossier_on_a_read_only_disk_is_read(tmp_path):
    with disk(tmp_path / "disk") as root:
        work = services(root)
        put(work, "one")
        make_read_only(root)
        assert published.read(work.layout, "login").manifest.recipe == "one"


def test_features_are_those_with_a_dossier_in_order(work, folder):
    put(work, "one", feature="cart")
    put(work, "one", feature="_project")
    for name in ("empty", "Not-A-Feature", "only-notes"):
        work.layout.dossier("login").with_name(name).mkdir()
    (work.layout.context / "only-notes" / "notes.md").touch()
    (work.layout.context / "Not-A-Feature" / "patterns.md").touch()
    (work.layout.context / "by-hand").mkdir()
    (work.layout.context / "by-hand" / "patterns.md").write_text("- by hand")
    assert published.features(work.layout) == ["_project", "by-hand", "cart", "login"]


def test_a_run_record_is_read_back(work):
    run = BuildRecord(
        started=1.5, finished=2.5, builder="claude", stats=Stats(facts=7), problems=("a", "b")
    )
    build_records.write(work.layout, "login", run)
    assert build_records.read(work.layout, "login") == run
    assert build_records.read(work.layout, "cart") is None


def test_a_run_record_has_a_limited_number_of_problems(work):
    run = BuildRecord(problems=tuple("x" * 9999 for _ in range(9999)))
    build_records.write(work.layout, "login", run)
    assert work.layout.run_record("login").stat().st_size < 20_000
    assert build_records.read(work.layout, "login") == run


@pytest.mark.parametrize("text", ["", "{", "[]", '{"started": "soon"}', '{"unknown": 1}'])
def test_an_unreadable_run_record_is_ignored(work, text):
    build_records.write(work.layout, "login", BuildRecord())
    work.layout.run_record("login").write_text(text)
    assert build_records.read(work.layout, "login") is None


def test_digests_ignore_the_line_ends_that_git_makes_and_nothing_else():
    assert published.digest(b"a\r\nb\r\n") == published.digest(b"a\nb\n")
    assert published.digest(b"a\rb\n") != published.digest(b"ab\n")
    assert published.digest(b"a\n") != published.digest(b"a")


def test_only_plain_files_have_bytes(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    got = {name: plain_bytes(tmp_path / name) for name in ("file", "link", "pipe", "absent", ".")}
    assert got == {"file": b"x", "link": None, "pipe": None, "absent": None, ".": None}
    assert plain_bytes(Path("/dev/null")) is None
