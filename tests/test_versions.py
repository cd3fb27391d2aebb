"""A switch to another branch and back gives the same bytes: real git, real `preread`."""

from pathlib import Path

import pytest

from _processes import LOGIN, TESTS, small
from conftest import Cli, commit, git

FEATURE = ".project/context/login"


@pytest.fixture
def project(tmp_path: Path, cli: Cli) -> Path:
    root = small(tmp_path / "small")
    (root / ".gitignore").write_text(".project/\n")
    git(root, "rm", "-rq", "--cached", ".project")
    git(root, "add", ".gitignore")
    git(root, "commit", "-qm", "ignore")
    assert load(cli, root) == "built"
    return root


def load(cli: Cli, root: Path, *more: str) -> str:
    done = cli("load", "login", "--json", *more, cwd=root)
    assert done.status == 0, done
    return str(done.json["state"])


def texts(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((root / FEATURE).iterdir())}


def other_branch(root: Path, commits: int = 1) -> None:
    git(root, "checkout", "-qb", "other")
    for number in range(commits):
        commit(root, "login.py", f"# {number}\n" * (number + 1) + LOGIN, f"fix login {number}")
    commit(root, "tests/test_more.py", TESTS.replace("def test_", "def test_other_"))


def test_a_switch_and_back_gives_the_same_bytes_also_after_many_commits(
    project: Path, cli: Cli
) -> None:
    before = texts(project)
    other_branch(project, 12)
    assert load(cli, project) == "refreshed"
    other = texts(project)
    assert other != before
    for branch, expected in (("main", before), ("other", other), ("main", before)):
        git(project, "checkout", "-q", branch)
        assert load(cli, project) == "refreshed"
        assert texts(project) == expected
        assert load(cli, project) == "cached"
    assert cli("check", "--all", cwd=project).status == 0


def test_a_persons_fact_is_as_it_was(project: Path, cli: Cli) -> None:
    path = project / FEATURE / "patterns.md"
    mine = '- raised first: `raise LoginError("no name was given")` (login.py:14)'
    path.write_text(f"{path.read_text()}\n## Ours\n{mine}\n")
    load(cli, project)
    before = texts(project)
    assert mine in before["patterns.md"].decode()
    git(project, "checkout", "-qb", "other")
    commit(project, "login.py", LOGIN.replace("no name was given", "name?"))
    load(cli, project)
    assert mine in texts(project)["patterns.md"].decode(), "a person's fact is never dropped"
    git(project, "checkout", "-q", "main")
    load(cli, project)
    assert texts(project) == before


def test_what_a_person_wrote_on_the_other_branch_is_not_lost(project: Path, cli: Cli) -> None:
    other_branch(project)
    load(cli, project)
    path = project / FEATURE / "patterns.md"
    mine = "- ask Ann first (login.py:3)"
    path.write_text(f"{path.read_text()}\n## Ours\n{mine}\n")
    load(cli, project)
    git(project, "checkout", "-q", "main")
    load(cli, project)
    assert "- ask Ann first" in path.read_text()
    git(project, "checkout", "-q", "other")
    load(cli, project)
    assert mine in path.read_text()


def test_what_was_marked_wrong_on_the_other_branch_does_not_come_back(
    project: Path, cli: Cli
) -> None:
    other_branch(project)
    load(cli, project)
    shown = cli("show", "login", "--ids", "--json", cwd=project).json["facts"]
    fact = next(one for one in shown if "`ATTEMPTS = 5`" in one["text"])
    assert cli("wrong", fact["id"], cwd=project).status == 0
    git(project, "checkout", "-q", "main")
    load(cli, project)
    assert fact["text"].encode() not in b"".join(texts(project).values())


@pytest.mark.parametrize("how", ["remove", "cache", "force"])
def test_generations_are_only_a_cache(project: Path, cli: Cli, how: str) -> None:
    other_branch(project)
    load(cli, project)
    if how == "cache":
        for path in (project / ".project" / ".cache").glob("index.db*"):
            path.unlink()
    elif how == "force":
        load(cli, project, "--force")
    else:
        assert cli(how, *(["login"] if how == "remove" else []), cwd=project).status == 0
    git(project, "checkout", "-q", "main")
    expected = {"remove": "built"}.get(how, "refreshed")
    assert load(cli, project) == expected
    assert load(cli, project) == "cached"
    assert cli("check", "--all", cwd=project).status == 0
