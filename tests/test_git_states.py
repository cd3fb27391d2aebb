"""Dossiers in every state that git leaves a work tree in: real git, real `preread`."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from _processes import LOGIN, TESTS, small
from conftest import Cli, commit, git, make_repository

FEATURE = ".project/context/login"
SHARED = ".cache/\n.state/\n"


@pytest.fixture
def project(tmp_path: Path, cli: Cli) -> Path:
    """A project of three commits, with a dossier that git ignores."""
    root = small(tmp_path / "small")
    (root / ".project" / ".gitignore").write_text("*\n")
    git(root, "rm", "-rq", "--cached", ".project")
    (root / "ui").mkdir()
    commit(
        root,
        "ui/login_page.py",
        "from login import login\n\n\ndef login_page():\n    return login\n",
    )
    commit(
        root,
        "login.py",
        LOGIN.replace("ATTEMPTS = 5", "ATTEMPTS = 6"),
        "fix: six attempts at a login",
    )
    commit(root, "login.py", LOGIN, "Revert six attempts at a login")
    load(cli, root)
    return root


def load(cli: Cli, root: Path, *arguments: str) -> dict[str, Any]:
    done = cli("load", "login", "--json", *arguments, cwd=root)
    assert done.status == 0, done
    return dict(done.json)


def texts(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((root / FEATURE).iterdir())}


def as_built_now(cli: Cli, root: Path) -> dict[str, bytes]:
    """The dossier that a first build makes of the same tree."""
    kept, copy = root / ".project", root.parent / "kept"
    inputs = [kept / "knowledge.md", kept / "tickets", kept / ".gitignore"]
    inputs = [path for path in inputs if path.exists()]
    kept.rename(copy)
    kept.mkdir()
    for path in inputs:
        if path.name == "tickets":
            shutil.copytree(copy / path.name, path)
        else:
            shutil.copy(copy / path.name, path)
    load(cli, root)
    found = texts(root)
    shutil.rmtree(kept)
    copy.rename(kept)
    return found


def dirty(root: Path) -> None:
    (root / "login.py").write_text("#\n" + LOGIN)
    (root / "tests" / "test_more.py").write_text(TESTS.replace("def test_", "def test_more_"))


def stash(root: Path) -> None:
    dirty(root)
    git(root, "stash", "-q", "--include-untracked")


def rebase(root: Path) -> None:
    git(root, "checkout", "-qb", "topic", "HEAD~1")
    commit(root, "tests/test_topic.py", TESTS.replace("def test_", "def test_topic_"), "topic")
    git(root, "rebase", "-q", "main")


def amend(root: Path) -> None:
    git(root, "commit", "-q", "--amend", "-m", "fix: other words of a login")


def conflict(root: Path) -> None:
    """A rebase that stopped at a conflict, with its marks in a cited file."""
    git(root, "checkout", "-qb", "topic", "HEAD~1")
    commit(root, "login.py", LOGIN.replace("ATTEMPTS = 5", "ATTEMPTS = 9"), "nine")
    with pytest.raises(Exception, match="non-zero"):
        git(root, "rebase", "-q", "main")


def sparse(root: Path) -> None:
    git(root, "sparse-checkout", "set", "--no-cone", "/*", "!/ui/")
    assert not (root / "ui").exists()


def submodule(root: Path) -> None:
    git(root, "submodule", "--quiet", "add", str(root), "vendored")
    git(root, "commit", "-qm", "a submodule")


STATES: dict[str, tuple[Callable[[Path], None], tuple[tuple[str, ...], ...]]] = {
    "dirty": (dirty, (("checkout", "-q", "."), ("clean", "-qfd", "tests"))),
    "stash": (stash, ()),
    "rebase": (rebase, (("checkout", "-q", "main"),)),
    "amend": (amend, (("reset", "-q", "--hard", "HEAD@{1}"),)),
    "conflict": (conflict, (("rebase", "--abort"), ("checkout", "-q", "main"))),
    "sparse": (sparse, (("sparse-checkout", "disable"),)),
    "submodule": (submodule, (("reset", "-q", "--hard", "HEAD~1"),)),
}


@pytest.mark.parametrize("name", STATES)
def test_a_dossier_is_as_a_first_build_makes_it_and_as_before_when_that_is_over(
    project: Path, cli: Cli, name: str
) -> None:
    change, back = STATES[name]
    before = texts(project)
    change(project)
    load(cli, project)
    assert load(cli, project)["state"] == "cached"
    files = {name: data for name, data in texts(project).items() if name != "manifest.json"}
    expected = as_built_now(cli, project)
    assert files == {name: expected[name] for name in files}
    for arguments in back:
        git(project, *arguments)
    load(cli, project)
    assert texts(project) == before
    assert load(cli, project)["state"] == "cached"


def test_a_worktree_has_a_dossier_of_its_own(project: Path, cli: Cli) -> None:
    before = texts(project)
    other = project.parent / "other"
    git(project, "worktree", "add", "-q", "-b", "other", str(other))
    commit(other, "login.py", "#\n" + LOGIN)
    load(cli, other)
    assert texts(other) != before
    commit(other, "tests/test_more.py", TESTS.replace("def test_", "def test_more_"))
    assert load(cli, other)["state"] == "refreshed"
    assert load(cli, project)["state"] == "cached"
    assert texts(project) == before


@pytest.fixture
def shared(project: Path, cli: Cli) -> Path:
    """The same with a dossier that is committed."""
    (project / ".project" / ".gitignore").write_text(SHARED)
    git(project, "add", "-A")
    git(project, "commit", "-qm", "dossier")
    load(cli, project)
    git(project, "commit", "-qam", "dossier, again", "--allow-empty")
    return project


def shallow_clone(root: Path) -> Path:
    other = root.parent / "shallow"
    git(root, "clone", "-q", "--depth", "1", f"file://{root}", str(other))
    return other


def sparse_clone(root: Path) -> Path:
    other = root.parent / "sparse"
    git(root, "clone", "-q", f"file://{root}", str(other))
    sparse(other)
    return other


@pytest.mark.parametrize("clone", [shallow_clone, sparse_clone])
def test_a_cut_tree_neither_rewrites_a_tracked_dossier_nor_hides_that_it_is_cut(
    shared: Path, cli: Cli, clone: Callable[[Path], Path]
) -> None:
    other = clone(shared)
    kind = other.name
    reply = load(cli, other)
    assert reply["state"] == "cached"
    assert f"this work tree is {kind}" in " ".join(reply["warnings"])
    assert cli("status", "--json", cwd=other).json["dossiers"][0]["why"]
    assert git(other, "status", "--porcelain") == ""
    forced = load(cli, other, "--force")
    assert forced["state"] == "built"
    [said] = [one for one in forced["warnings"] if f"this work tree is {kind}" in one]
    assert said.startswith("It was built because of `force`")
    again = load(cli, other, "--force")
    assert not [one for one in again["warnings"] if "this work tree" in one]


@pytest.mark.parametrize("clone", [shallow_clone, sparse_clone])
def test_a_dossier_of_a_cut_tree_is_refreshed_when_the_tree_is_whole(
    project: Path, cli: Cli, clone: Callable[[Path], Path]
) -> None:
    other = clone(project)
    (other / ".project").mkdir()
    for name in ("knowledge.md", "tickets"):
        path = project / ".project" / name
        (shutil.copytree if path.is_dir() else shutil.copy)(path, other / ".project" / name)
    load(cli, other)
    cut = texts(other)
    if other.name == "shallow":
        git(other, "fetch", "-q", "--unshallow")
    else:
        git(other, "sparse-checkout", "disable")
    assert load(cli, other)["state"] == "refreshed"
    assert texts(other) != cut
    mine, whole = texts(other), as_built_now(cli, other)
    assert mine == whole


def test_a_fact_that_was_marked_as_wrong_is_dropped_when_git_restores_its_line(
    shared: Path, cli: Cli
) -> None:
    fact = cli("show", "login", "--ids", "--json", cwd=shared).json["facts"][-1]
    path = shared / FEATURE / fact["file"]
    assert load(cli, shared)["state"] == "cached"
    assert cli("wrong", fact["id"], cwd=shared).status == 0
    dropped = path.read_text() if path.exists() else ""
    assert fact["text"] not in dropped
    git(shared, "checkout", "-q", ".")
    assert fact["text"] in path.read_text()
    assert "marked as wrong" in cli("status", "--json", cwd=shared).json["dossiers"][0]["why"]
    load(cli, shared)
    assert fact["text"] not in (path.read_text() if path.exists() else "")
    assert load(cli, shared)["state"] == "cached"


def test_a_fact_that_cites_a_submodule_follows_it_to_another_commit_and_back(
    project: Path, cli: Cli
) -> None:
    library = project.parent / "library"
    library.mkdir()
    (library / "limits.py").write_text("TRIES = 3\n")
    make_repository(library)
    first = git(library, "rev-parse", "HEAD").strip()
    commit(library, "limits.py", "# moved\n\nTRIES = 3\n")
    moved = git(library, "rev-parse", "HEAD").strip()
    commit(library, "limits.py", "# gone\n")
    gone = git(library, "rev-parse", "HEAD").strip()
    submodule = ["-c", "protocol.file.allow=always", "submodule", "--quiet"]
    git(project, *submodule, "add", str(library), "vendored")

    def take(commit_id: str) -> None:
        """As a person who pulls: the project names the commit, and the submodule follows."""
        git(project, "update-index", "--cacheinfo", f"160000,{commit_id},vendored")
        git(project, "commit", "-qm", "another library")
        git(project, *submodule, "update")
        assert git(project / "vendored", "rev-parse", "HEAD").strip() == commit_id

    take(first)
    patterns = project / FEATURE / "patterns.md"
    fact = "- ask Ann before more tries: `TRIES = 3` (vendored/limits.py:{})"
    patterns.write_text(f"{patterns.read_text()}\n## By hand\n{fact.format(1)}\n")
    load(cli, project)
    before = texts(project)
    assert fact.format(1) in patterns.read_text()
    take(moved)
    assert load(cli, project)["state"] == "refreshed"
    assert fact.format(3) in patterns.read_text()
    take(gone)
    warnings = load(cli, project)["warnings"]
    assert "TRIES = 3" in " ".join(warnings)
    assert fact.format(3) in patterns.read_text()
    take(first)
    assert load(cli, project)["warnings"] == []
    assert texts(project) == before


@pytest.mark.parametrize("sha", ["1f51469436e3612e8e121413df905dc9f4ffed0b", "1f51469436e3"])
def test_a_revert_of_a_commit_that_is_not_here_is_no_failure(
    project: Path, cli: Cli, sha: str
) -> None:
    """It was rebased away, or is beyond a shallow clone's edge."""
    text = LOGIN.replace("ATTEMPTS = 5", "ATTEMPTS = 7")
    commit(project, "login.py", text, f'Revert "login"\n\nThis reverts commit {sha}.')
    reply = load(cli, project)
    assert (reply["status"], reply["warnings"]) == ("ok", [])
    assert "is incomplete" not in cli("load", "login", "--force", cwd=project).out
    assert load(cli, project)["state"] == "cached"


def test_a_check_does_not_take_a_git_that_is_killed_for_a_commit_that_is_gone(
    cli: Cli, project: Path, tmp_path: Path
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    fake = programs / "git"
    fails = 'case " $* " in *" show "*) kill -9 $$;; esac'
    fake.write_text(f'#!/bin/sh\n{fails}\nexec {shutil.which("git")} "$@"\n')
    fake.chmod(0o755)
    assert cli("check", "login", cwd=project).status == 0
    assert any("commit:" in text.decode() for text in texts(project).values())
    env = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = cli("check", "login", "--json", cwd=project, env=env)
    assert (done.status, done.json["code"]) == (1, "E_READ")
    assert "git show" in done.json["message"]
    assert "git status" in done.json["hint"]


def dying_git(folder: Path, lives: int) -> dict[str, str]:
    """The environment with a `git` that is killed at each call but the first ones."""
    script, calls = folder / "bin" / "git", folder / "calls"
    script.parent.mkdir(parents=True)
    script.write_text(
        f"#!/bin/sh\necho >> '{calls}'\n"
        f"[ $(wc -l < '{calls}') -gt {lives} ] && kill -9 $$\n"
        f'exec {shutil.which("git")} "$@"\n'
    )
    script.chmod(0o755)
    return {"PATH": f"{script.parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.parametrize("lives", range(12))
def test_a_git_that_stops_answering_never_makes_an_old_dossier_look_current(
    project: Path, cli: Cli, tmp_path: Path, lives: int
) -> None:
    load(cli, project)
    before = texts(project)
    (project / "login.py").write_text("#\n" + LOGIN)
    env = dying_git(tmp_path / "dying", lives)
    reply = cli("load", "login", "--json", cwd=project, env=env).json
    is_new = texts(project) != before
    assert is_new or "git" in f"{reply['warnings']} {reply.get('message')}"
    assert load(cli, project)["state"] in {"refreshed", "cached"}
