"""Files are replaced completely or not at all, whatever is in their place or fails."""

import os
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from _files_project import disk, fill, make_read_only, program, program_environ
from preread.errors import PrereadError
from preread.infra import atomic


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_whole_into_folders_that_were_not_there(tmp_path):
    atomic.write(tmp_path / "a" / "b" / "c.md", b"text", durable=True)
    assert (tmp_path / "a" / "b" / "c.md").read_bytes() == b"text"
    assert names(tmp_path / "a" / "b") == ["c.md"]


def test_a_project_that_was_renamed_is_not_created_again(tmp_path):
    (tmp_path / "shop" / ".project").mkdir(parents=True)
    (tmp_path / "shop").rename(tmp_path / "moved")
    state = tmp_path / "shop" / ".project" / ".state"
    for work in (
        lambda: atomic.make_folder(state),
        lambda: atomic.write(state / "a.json", b"{}"),
        lambda: atomic.append(state / "a.jsonl", b"{}"),
    ):
        with pytest.raises(PrereadError, match="shop is gone") as raised:
            work()
        assert raised.value.code == "E_PROJECT_DIR"
    assert names(tmp_path) == ["moved"]


def test_a_written_file_can_be_read_by_others_like_any_file(tmp_path):
    atomic.write(tmp_path / "a.md", b"text")
    assert stat.S_IMODE((tmp_path / "a.md").stat().st_mode) == 0o644


@pytest.mark.parametrize("across", [False, True])
def test_a_link_in_the_way_is_replaced_and_its_target_untouched(tmp_path, across):
    (tmp_path / "target").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    if across:
        atomic.write(tmp_path / "link", b"new")
    else:
        (tmp_path / "source").write_text("new")
        atomic.replace(tmp_path / "source", tmp_path / "link")
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "link").read_text() == "new"
    assert (tmp_path / "target").read_text() == "precious"


def test_a_file_is_replaced_by_one_of_another_disk(tmp_path):
    with disk(tmp_path / "disk") as other:
        (tmp_path / "source").write_text("new")
        (other / "target").write_text("old")
        with pytest.raises(OSError, match="cross-device"):
            (tmp_path / "source").replace(other / "target")
        atomic.replace(tmp_path / "source", other / "target")
        assert (other / "target").read_text() == "new"
        assert names(other) == ["target"]
        assert not (tmp_path / "source").exists()


def test_a_full_disk_is_reported_and_leaves_the_old_file_and_no_temporary_one(tmp_path):
    with disk(tmp_path / "disk") as full:
        atomic.write(full / "a.md", b"old")
        fill(full)
        with pytest.raises(PrereadError, match="the disk is full") as caught:
            atomic.write(full / "a.md", b"new" * 10_000)
        assert caught.value.code == "E_WRITE"
        assert (full / "a.md").read_bytes() == b"old"
        assert names(full) == ["a.md", "filler"]


def test_a_file_over_a_size_limit_leaves_the_old_file_and_no_temporary_one(tmp_path):
    """As a full disk does, where no disk can be mounted."""
    (tmp_path / "a.md").write_bytes(b"old")
    code = f"""
import resource
from pathlib import Path
from preread.infra import atomic
from preread.errors import PrereadError
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    atomic.write(Path({str(tmp_path / "a.md")!r}), b"new" * 10_000)
except PrereadError as error:
    print(error.code)
"""
    done = subprocess.run(
        program("-c", code),
        env=program_environ(),
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("E_WRITE\n", "")
    assert (tmp_path / "a.md").read_bytes() == b"old"
    assert names(tmp_path) == ["a.md"]


def test_a_read_only_disk_is_reported(tmp_path):
    with disk(tmp_path / "disk") as folder:
        atomic.write(folder / "a.md", b"old")
        make_read_only(folder)
        for change in (
            lambda: atomic.write(folder / "a.md", b"new"),
            lambda: atomic.remove(folder / "a.md"),
            lambda: atomic.make_folder(folder / "b"),
        ):
            with pytest.raises(PrereadError, match="the file system is read-only") as caught:
                change()
            assert caught.value.code == "E_WRITE"
        assert (folder / "a.md").read_bytes() == b"old"


def test_a_folder_in_place_of_a_file_is_reported_and_not_removed(tmp_path):
    (tmp_path / "a.md" / "inner").mkdir(parents=True)
    with pytest.raises(PrereadError) as caught:
        atomic.write(tmp_path / "a.md", b"new")
    assert caught.value.code == "E_WRITE"
    assert names(tmp_path) == ["a.md"]
    assert names(tmp_path / "a.md") == ["inner"]


def test_lines_are_added_one_after_the_other_in_folders_that_were_not_there(tmp_path):
    for n in range(3):
        atomic.append(tmp_path / "a" / "b.jsonl", b"%d" % n)
    assert (tmp_path / "a" / "b.jsonl").read_bytes() == b"0\n1\n2\n"


def test_a_line_that_a_killed_writer_left_open_is_ended_before_the_next(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"whole\ncut he")
    atomic.append(path, b"next")
    assert path.read_bytes() == b"whole\ncut he\nnext\n"


def test_lines_of_many_processes_are_never_mixed(tmp_path):
    code = (
        "import sys; from pathlib import Path; from preread.infra import atomic\n"
        "for n in range(300): atomic.append(Path(sys.argv[1]), sys.argv[2].encode() * 2000)"
    )
    path = tmp_path / "a.jsonl"
    children = [
        subprocess.Popen(program("-c", code, path, letter), env=program_environ())
        for letter in "abcd"
    ]
    assert [child.wait(timeout=120) for child in children] == [0] * 4
    assert path.read_bytes().endswith(b"\n")
    lines = filter(None, path.read_text().split("\n"))
    assert sorted(lines) == [letter * 2000 for letter in "abcd" for _ in range(300)]


def test_a_line_is_not_appended_through_a_link_or_to_a_pipe(tmp_path):
    (tmp_path / "target").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "folder", "pipe"):
        with pytest.raises(PrereadError) as caught:
            atomic.append(tmp_path / name, b"line")
        assert caught.value.code == "E_WRITE", name
    assert (tmp_path / "target").read_text() == "precious"


def test_a_line_cut_at_a_size_limit_is_reported(tmp_path):
    """As a full disk does, where no disk can be mounted."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"x" * 990 + b"\n")
    code = f"""
import resource, signal
from pathlib import Path
from preread.infra import atomic
from preread.errors import PrereadError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    atomic.append(Path({str(path)!r}), b"new" * 100)
except PrereadError as error:
    print(error.code, "full" in error.message)
"""
    done = subprocess.run(
        program("-c", code), env=program_environ(), capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("E_WRITE True\n", "")
    atomic.append(path, b"next")
    assert path.read_bytes().split(b"\n")[2:] == [b"next", b""]


def test_removing_never_follows_links(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    (tmp_path / "folder" / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "file").touch()
    for name in ("link", "folder", "file", "absent"):
        atomic.remove(tmp_path / name)
    assert names(tmp_path) == ["kept"]
    assert names(tmp_path / "kept") == ["file"]


def test_two_that_remove_the_same_folder_both_succeed(tmp_path):
    for n in range(20):
        folder = tmp_path / str(n)
        for k in range(40):
            (folder / str(k)).mkdir(parents=True)
            (folder / str(k) / "file").touch()
        failures = []
        start = threading.Barrier(3)

        def work(folder=folder, failures=failures, start=start):
            start.wait()
            try:
                atomic.remove(folder)
            except PrereadError as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert not folder.exists()
