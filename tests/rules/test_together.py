"""Files that change with the feature's are counted over small commits."""

from pathlib import Path

from _evidence_project import commit, found
from preread.evidence import quoting


def change(root: Path, number: int, *names: str) -> str:
    files = dict.fromkeys(names, f"# login {number}\n")
    return commit(root, files, f"Step {number}", date=f"2025-01-{number:02}")


def told(root: Path) -> list[str]:
    return [finding.text for finding in found(root, "together", "login")]


def test_companions_are_counted_and_the_latest_shared_commit_is_cited(tmp_path: Path) -> None:
    for number in range(1, 5):
        latest = change(tmp_path, number, "login.py", "session.py", "tests/test_login.py")
    change(tmp_path, 5, "login.py")
    finding = found(tmp_path, "together", "login")[0]
    assert finding.text == (
        "of the last 5 small commits to login.py, 4 also changed session.py, 4 test_login.py"
    )
    assert finding.sources == (f"commit:{latest[:9]}",)


def test_two_shared_commits_are_too_few(tmp_path: Path) -> None:
    for number in range(1, 7):
        change(tmp_path, number, "login.py", *(["session.py"] if number < 3 else []))
    assert told(tmp_path) == []


def test_less_than_a_third_is_chance(tmp_path: Path) -> None:
    for number in range(1, 13):
        change(tmp_path, number, "login.py", *(["paint.py"] if number < 4 else []))
    assert not any("paint.py 3" in text for text in told(tmp_path))


def test_large_commits_and_files_that_are_gone_do_not_count(tmp_path: Path) -> None:
    many = [f"part_{n}.py" for n in range(12)]
    for number in range(1, 5):
        change(tmp_path, number, "login.py", "old.py")
        change(tmp_path, number + 10, "login.py", *many)
    (tmp_path / "old.py").unlink()
    commit(tmp_path, {}, "Old goes", date="2025-02-01")
    assert told(tmp_path) == []


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for number in range(1, 6):
        change(tmp_path, number, "a/login.py", "b/login.py")
    assert told(tmp_path) in (
        ["of the last 5 small commits to a/login.py, 5 also changed b/login.py"],
        ["of the last 5 small commits to b/login.py, 5 also changed a/login.py"],
    )


def test_a_file_has_as_many_folders_as_tell_it_from_others() -> None:
    others = ["a/src/index.ts", "b/src/index.ts", "lib/cart.ts"]
    assert quoting.shortest_path("a/src/index.ts", others) == "a/src/index.ts"
    assert quoting.shortest_path("deep/a/src/index.ts", others[1:]) == "a/src/index.ts"
    assert quoting.shortest_path("lib/cart.ts", others) == "cart.ts"
