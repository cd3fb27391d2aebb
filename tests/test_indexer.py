"""The evidence index: a changed file costs that file, and the rest is as a fresh index has it."""

import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from _evidence_project import PAST, commit, evidence, services, write
from _index import FILES, content, fresh, more, update, worker
from _processes import processes_in, until
from conftest import git
from preread.errors import Cancelled
from preread.index import commits, indexer, workers
from preread.index.serialization import pack, unpack
from preread.infra import db
from preread.syntax import Outline, outline

WORDS = ("order", "refund", "parcel", "label", "price", "stock", "tax", "invoice")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path / "project", FILES)


def test_every_listed_file_is_looked_into_once(root: Path) -> None:
    assert update(root) == len(FILES)
    assert content(root).keys() == FILES.keys()
    assert update(root) == 0


def test_one_changed_file_costs_that_file(root: Path) -> None:
    update(root)
    write(root, {"src/m1.py": "def cancel_order():\n    return 1\n"})
    assert update(root) == 1
    assert "cancel_order" in str(content(root)["src/m1.py"])
    assert "place_order_1" not in str(content(root)["src/m1.py"])
    assert content(root) == fresh(root)


def test_a_file_that_was_only_touched_keeps_its_outline(root: Path) -> None:
    update(root)
    before = content(root)
    when = next(PAST)
    os.utime(root / "src/m1.py", (when, when))
    assert update(root) == 1
    assert content(root) == before
    assert update(root) == 0


def test_a_file_written_within_a_moment_of_its_indexing_is_looked_at_again(root: Path) -> None:
    soon = (
        time.time_ns() + 60_000_000_000
    )  # so that a slow machine, too, indexes it within the moment
    for text in ("def one(): ...\n", "def two(): ...\n"):
        (root / "src/m1.py").write_text(text)
        os.utime(root / "src/m1.py", ns=(soon, soon))  # a change within the clock's grain
        update(root)
    assert "two" in str(content(root)["src/m1.py"])


def test_deleted_and_renamed_files_leave_nothing_behind(root: Path) -> None:
    update(root)
    (root / "src/m1.py").unlink()
    (root / "src/m2.py").rename(root / "src/renamed.py")
    assert update(root) == 1
    found = content(root)
    assert found.keys() == FILES.keys() - {"src/m1.py", "src/m2.py"} | {"src/renamed.py"}
    assert found == fresh(root)


def test_after_a_branch_switch_the_index_is_as_a_fresh_one(tmp_path: Path) -> None:
    root = tmp_path / "project"
    commit(root, {**FILES, ".gitignore": ".project/\n"}, "begin")
    git(root, "checkout", "-q", "-b", "other")
    (root / "src/m3.py").unlink()
    commit(
        root,
        {"src/m1.py": "def other(): ...\n", "src/new/m9.ts": "export const nine = 9;\n"},
        "other",
    )
    for branch in ("main", "other", "main"):
        git(root, "checkout", "-q", branch)
        update(root)
        found = content(root)
        assert found == fresh(root)
        assert ("src/m3.py" in found) == (branch == "main")


def history(root: Path) -> list[tuple[str, tuple[str, ...]]]:
    """The indexed commits, newest first, each with its files' current names."""
    found = db.use(services(root).layout, commits.commits).values()
    return [(one.sha, one.paths) for one in found]


def test_the_way_to_a_commit_does_not_change_its_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the index was brought along from other branches and earlier commits, and a new one
    reads the whole log.
    """
    warm, cold = tmp_path / "warm", tmp_path / "cold"
    rng = random.Random("the way to a commit")
    revisions = [commit(warm, {**FILES, ".gitignore": ".project/\n"}, "begin")]
    for n in range(30):
        git(warm, "checkout", "-q", "--detach", rng.choice(revisions[-3:]))
        said = " ".join(rng.choices(WORDS, k=rng.randrange(2, 7)))
        changed = rng.sample(range(9), k=rng.randrange(4))
        texts = {
            f"src/m{k}.py": f"def {rng.choice(WORDS)}_{k}():\n    return {n}\n" for k in changed
        }
        if rng.random() < 0.3:
            git(warm, "merge", "-q", "-s", "ours", "-m", "both", rng.choice(revisions[-5:]))
        if rng.random() < 0.3:
            path = rng.choice(git(warm, "ls-files", "src").split())
            git(warm, "mv", path, f"src/renamed_{n}.py")
        revisions.append(commit(warm, texts, said))
    subprocess.run(["git", "clone", "-q", str(warm), str(cold)], check=True)
    git(cold, "fetch", "-q", "origin", *revisions)
    for revision in rng.sample(revisions, k=8):
        for root in (warm, cold):
            git(root, "checkout", "-q", "--detach", revision)
        shutil.rmtree(cold / ".project", ignore_errors=True)
        for feature in ("refund", "parcel-label"):
            found = evidence(warm, feature)
            with monkeypatch.context() as patch:
                patch.setattr(commits, "MAX_NAMED", 0)
                assert evidence(cold, feature) == found
        assert history(warm) == history(cold)


def test_a_commit_that_changed_nothing_is_one_of_the_history(tmp_path: Path) -> None:
    """As where the whole log is read, because an index has no commits yet."""
    root = tmp_path / "project"
    expected = [commit(root, FILES, "begin"), commit(root, {}, "run again"), commit(root, {}, "so")]
    evidence(root, "order")
    found = db.use(services(root).layout, commits.commits)
    assert [one.sha for one in found.values()] == expected[::-1]


def test_a_file_that_becomes_excluded_is_forgotten_and_comes_back(root: Path) -> None:
    update(root)
    indexer.update(services(root, exclude=["src/*"]))
    assert content(root).keys() == {"t/test_m.py", "README.md"}
    assert update(root) == 6
    assert content(root).keys() == FILES.keys()


def test_a_file_that_turns_binary_or_empty_keeps_only_its_name(root: Path) -> None:
    update(root)
    (root / "src/m1.py").write_bytes(b"\0\1\2")
    write(root, {"src/m2.py": ""})
    update(root)
    for path in ("src/m1.py", "src/m2.py"):
        assert "place_order" not in str(content(root)[path])
        assert content(root)[path][-1] == ""
    assert content(root) == fresh(root)


def test_outlines_are_kept_whole(root: Path) -> None:
    for path, text in FILES.items():
        found = outline(path, text)
        assert unpack(Outline, pack(found)) == found


def test_data_and_generated_files_are_known_by_their_path_alone(tmp_path: Path) -> None:
    write(tmp_path, {"package-lock.json": '{"needle": 1}\n', "src/a.py": "needle = 1\n"})
    update(tmp_path)
    found = content(tmp_path)
    assert "needle" in found["src/a.py"][-1]
    assert "needle" not in str(found["package-lock.json"])


@pytest.mark.parametrize("enough", [workers.MIN_BYTES, 0], ids=["one process", "two processes"])
def test_an_index_that_was_killed_while_it_was_made_is_finished_by_the_next(
    root: Path, enough: int
) -> None:
    total = more(root, 3 * indexer.BATCH)
    killed = worker(root, enough)
    assert killed.stdin is not None
    assert killed.stdout is not None
    killed.stdin.write("go\n")
    killed.stdin.flush()
    while (
        int(killed.stdout.readline().partition("files: ")[2].partition(" of")[0] or 0)
        < 2 * indexer.BATCH
    ):
        assert killed.poll() is None
    killed.kill()
    killed.communicate()
    until(lambda: not processes_in(root), "nothing of it runs")
    assert 0 < update(root) < total, "what was done stays done"
    assert content(root) == fresh(root)


def test_an_index_that_is_stopped_while_it_is_made_ends_at_once_and_is_finished_by_the_next(
    root: Path,
) -> None:
    write(root, {"a/vendor/left_out.py": "needle = 1\n"})
    update(root)
    total = more(root, 3 * indexer.BATCH) + 1
    said: list[str] = []
    asked = services(
        root, lambda message, _done, _total: said.append(message), include=["vendored"]
    )

    def stops_at_the_second(message: str, _done: float, _total: float) -> None:
        said.append(message)
        if message.endswith(f": {indexer.BATCH} of {total}"):
            asked.progress.stop()

    asked.progress.report = stops_at_the_second
    with pytest.raises(Cancelled):
        indexer.update(asked)
    assert said[-1].endswith(f": {indexer.BATCH} of {total}")
    assert update(root) == total - 1, "all but a file that it knew and did not come to"
    assert content(root) == fresh(root)


def test_what_is_not_committed_counts_as_it_stands(tmp_path: Path) -> None:
    root = tmp_path / "project"
    commit(root, {**FILES, ".gitignore": ".project/\n"}, "begin")
    update(root)
    write(root, {"src/m1.py": "def added(): ...\n", "src/new.py": "def untracked(): ...\n"})
    git(root, "add", "src/m1.py")
    write(root, {"src/m1.py": "def unstaged(): ...\n"})
    git(root, "mv", "src/m2.py", "src/moved.py")
    (root / "src/m3.py").unlink()
    assert update(root) == 3
    assert [name for name in ("added", "unstaged", "untracked") if name in str(content(root))] == [
        "unstaged",
        "untracked",
    ]
    assert content(root) == fresh(root)
    git(root, "reset", "-q", "--hard")
    update(root)
    assert content(root) == fresh(root)


def test_two_processes_at_once_make_one_index(root: Path) -> None:
    more(root, 200)
    workers = [worker(root) for _ in range(2)]
    for each in workers:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in workers:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    ended = [(*each.communicate(timeout=60), each.returncode) for each in workers]
    assert [(out.split("\n")[-2], errors, status) for out, errors, status in ended] == [
        ("done", "", 0)
    ] * 2
    assert update(root) == 0
    assert len(content(root)) == len(FILES) + 200
