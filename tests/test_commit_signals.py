"""The past in ranking: what is known of commits is what HEAD has, and it brings files without a
word of a request.
"""

from pathlib import Path

from _evidence_project import commit, evidence, services, write
from conftest import git
from preread.index import commits, indexer
from preread.infra import db
from preread.ranking.search import Lookup, Search
from preread.ranking.signals import commits as signals

FILLER = {f"src/filler_{n}.py": f"def unrelated_{n}():\n    return {n}\n" for n in range(8)}


def known(root: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Commit and files of all that the index has of the past, newest first."""
    given = services(root)
    indexer.update(given)
    found = db.use(given.layout, commits.commits)
    return [(commit.sha, commit.paths) for commit in found.values()]


def listed(root: Path) -> list[str]:
    return git(root, "rev-list", "--no-merges", "HEAD").split()


def test_new_commits_are_added_to_those_that_are_known(tmp_path: Path) -> None:
    commit(tmp_path, {".gitignore": ".project/\n"}, "begin")
    assert known(tmp_path) == [(listed(tmp_path)[0], (".gitignore",))]
    commit(tmp_path, {"src/b.py": "b = 1\n", "src/a.py": "a = 2\n"}, "more")
    last, first = listed(tmp_path)
    assert known(tmp_path) == [(last, ("src/a.py", "src/b.py")), (first, (".gitignore",))]


def test_only_what_leads_to_head_counts(tmp_path: Path) -> None:
    first = commit(tmp_path, FILLER | {".gitignore": ".project/\n"}, "begin")
    git(tmp_path, "checkout", "-q", "-b", "side")
    side = commit(tmp_path, {"src/filler_1.py": "x = 1\n"}, "the coupon of a side branch")
    assert [sha for sha, _ in known(tmp_path)] == [side, first]
    git(tmp_path, "checkout", "-q", "-")
    git(tmp_path, "checkout", "-q", first)
    assert [sha for sha, _ in known(tmp_path)] == [first]
    git(tmp_path, "checkout", "-q", "side")
    assert [sha for sha, _ in known(tmp_path)] == [side, first]


def test_a_moved_file_keeps_its_past(tmp_path: Path) -> None:
    commit(tmp_path, {"old/a.py": "a = 1\n" * 20}, "begin")
    git(tmp_path, "mv", "old", "src")
    commit(tmp_path, {}, "move")
    assert [paths for _, paths in known(tmp_path)] == [("src/a.py",), ("src/a.py",)]


def test_a_commit_of_many_files_says_nothing_of_each(tmp_path: Path) -> None:
    commit(
        tmp_path,
        {f"src/f{n}.py": f"f = {n}\n" for n in range(commits.MAX_FILES + 1)},
        "everything",
    )
    assert [paths for _, paths in known(tmp_path)] == [()]


def test_without_git_there_is_no_past(tmp_path: Path) -> None:
    assert known(write(tmp_path, FILLER)) == []


def test_a_past_commit_brings_a_file_without_any_word_and_says_so(tmp_path: Path) -> None:
    commit(tmp_path, FILLER | {".gitignore": ".project/\n"}, "begin")
    commit(
        tmp_path,
        {"src/filler_3.py": "def unrelated_3():\n    return 33\n"},
        "coupon: count it once",
    )
    commit(tmp_path, {"src/filler_4.py": "def unrelated_4():\n    return 44\n"}, "receipts")
    found = evidence(tmp_path, "coupon")
    assert [item.path for item in found.files] == ["src/filler_3.py"]
    assert any("past commits" in reason for reason in found.files[0].reasons)


def test_a_folders_past_speaks_for_all_its_files_and_brings_none_by_itself(tmp_path: Path) -> None:
    commit(
        tmp_path,
        FILLER
        | {"web/till.py": "till = 1\n", "web/new.py": "new = 1\n", ".gitignore": ".project/\n"},
        "begin",
    )
    commit(tmp_path, {"web/till.py": "till = 2\n"}, "coupon: count it once")
    assert [item.path for item in evidence(tmp_path, "coupon").files] == ["web/till.py"]
    said = db.use(
        services(tmp_path).layout,
        lambda it: signals.words_of_its_folders_past(
            Search(Lookup(it, {"coupon": 1.0}), ("source",))
        ),
    )
    assert said.keys() == {"web/till.py", "web/new.py"}
