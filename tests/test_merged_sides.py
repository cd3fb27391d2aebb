"""What one side of a merge took out of a dossier stays out, though git's union brings it back."""

import re
from pathlib import Path

import pytest

from _processes import LOGIN
from conftest import Cli, git
from preread.dossier import markdown
from test_hand_edits import facts_by_author, file_of, project, share  # noqa: F401 - a fixture

MINE = (
    "- Ann: `ATTEMPTS = 5` is a limit (login.py:3)\n"
    "- Ann: to be deleted (login.py:4)\n"
    "- Ann: see `login` login.py:11, `login_again` :26\n"
)


def edit(path: Path, *changes: tuple[str, str]) -> None:
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path.write_text(text)


def load_and_commit(project: Path, cli: Cli, message: str) -> None:  # noqa: F811
    cli("load", "login", cwd=project)
    git(project, "commit", "-qam", message)


def shared_on_a_branch(project: Path) -> Path:  # noqa: F811
    share(project)
    git(project, "checkout", "-q", "-b", "alice")
    return file_of(project)


def branches(project: Path, cli: Cli) -> Path:  # noqa: F811
    """A shared dossier with a person's facts; the branch `alice` changes them, `bob` moves code."""
    path = file_of(project)
    path.write_text(f"{path.read_text()}\n## Mine\n{MINE}")
    cli("load", "login", cwd=project)
    shared_on_a_branch(project)
    edit(
        path,
        ("is a limit", "is the limit"),
        ("- Ann: to be deleted (login.py:4)\n", ""),
        ("- Ann: see `login`", "- Ann: look at `login`"),
    )
    load_and_commit(project, cli, "alice")
    git(project, "checkout", "-q", "-b", "bob", "HEAD~1")
    (project / "login.py").write_text("#\n" + LOGIN)
    load_and_commit(project, cli, "bob")
    return path


@pytest.mark.parametrize(
    "command",
    [
        ("merge", "-q", "-m", "merge", "alice"),
        ("merge", "-q", "--no-commit", "alice"),
        ("rebase", "-q", "alice"),
        ("pull", "-q", "--rebase", ".", "alice"),
    ],
    ids=["merge", "not committed", "rebase", "pull --rebase"],
)
def test_what_a_person_reworded_or_deleted_on_one_side(
    project: Path,  # noqa: F811
    cli: Cli,
    command: tuple[str, ...],
) -> None:
    path = branches(project, cli)
    git(project, *command)
    assert path.read_text().count("- Ann: ") > 3, "the union merge brought back what Alice changed"
    for _ in range(2):
        reply = cli("load", "login", "--json", cwd=project).json
        assert reply["warnings"] == []
        assert [one for one in path.read_text().split("\n") if "Ann: " in one] == [
            "- Ann: `ATTEMPTS = 5` is the limit (login.py:4)",
            "- Ann: look at `login` login.py:12, `login_again` :27",
        ]
    assert reply["state"] == "cached"
    assert cli("check", "--all", cwd=project).status == 0


def test_two_merges_before_a_load(project: Path, cli: Cli) -> None:  # noqa: F811
    path = branches(project, cli)
    git(project, "merge", "-q", "-m", "merge", "alice")
    git(project, "checkout", "-q", "alice")
    edit(path, ("is the limit", "is our limit"))
    load_and_commit(project, cli, "once more")
    git(project, "checkout", "-q", "bob")
    git(project, "merge", "-q", "-m", "merge", "alice")
    cli("load", "login", cwd=project)
    found = [one.partition(" (")[0] for one in path.read_text().split("\n") if "Ann: " in one]
    assert "- Ann: `ATTEMPTS = 5` is our limit" in found
    assert len(found) == 2


@pytest.mark.parametrize("loaded", [True, False])
def test_a_fact_that_a_person_adds_again_after_the_merge_stays(
    project: Path,  # noqa: F811
    cli: Cli,
    loaded: bool,
) -> None:
    path = branches(project, cli)
    git(project, "merge", "-q", "-m", "merge", "alice")
    if loaded:
        cli("load", "login", cwd=project)
    again = "- Ann: to be deleted (login.py:5)\n"
    kept = [one for one in path.read_text().split("\n") if "to be deleted" not in one]
    path.write_text("\n".join(kept))
    if not loaded:
        git(project, "commit", "-q", "--amend", "-a", "--no-edit")
    path.write_text(f"{path.read_text()}\n## Again\n{again}")
    cli("load", "login", cwd=project)
    assert path.read_text().count(again) == 1


def test_a_builds_fact_of_one_side_that_moved_on_the_other_is_nobodys(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    path = shared_on_a_branch(project)
    edit(path, ("## login.py\n", "## login.py\n- Alice: `login` starts here (:11)\n"))
    load_and_commit(project, cli, "alice")
    git(project, "checkout", "-q", "-b", "bob", "HEAD~1")
    (project / "login.py").write_text(
        "#\n" + LOGIN.replace('LoginError("this is no address")', 'ValueError("no address")')
    )
    load_and_commit(project, cli, "bob")
    git(project, "merge", "-q", "-m", "merge", "alice")
    assert path.read_text().count("- class `LoginError`") == 2
    reply = cli("load", "login", "--json", cwd=project).json
    assert reply["warnings"] == []
    assert facts_by_author(cli, project)["person"] == {"Alice: `login` starts here"}
    assert cli("check", "--all", cwd=project).status == 0


def test_a_builds_facts_of_a_file_that_one_side_renamed_are_nobodys(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    path = shared_on_a_branch(project)
    git(project, "mv", "login.py", "entry.py")
    (project / "entry.py").write_text("#\n" + LOGIN)
    load_and_commit(project, cli, "alice")
    git(project, "checkout", "-q", "-b", "bob", "HEAD~1")
    edit(path, ("## login.py\n", "## login.py\n- Bob: `login` starts here (:11)\n"))
    git(project, "commit", "-qam", "bob")
    git(project, "merge", "-q", "-m", "merge", "alice")
    cli("load", "login", "--json", cwd=project)
    assert facts_by_author(cli, project)["person"] == {"Bob: `login` starts here"}


@pytest.mark.parametrize("loaded", [True, False])
@pytest.mark.parametrize("moved", [True, False])
def test_sources_that_a_person_corrected_on_one_side(
    project: Path,  # noqa: F811
    cli: Cli,
    loaded: bool,
    moved: bool,
) -> None:
    path = shared_on_a_branch(project)
    edit(path, ("(:26-28)", "(:26-27)"), ("## login.py\n", "## login.py\n- Alice: a start (:11)\n"))
    if loaded:
        load_and_commit(project, cli, "alice")
    else:
        git(project, "commit", "-qam", "alice")
    git(project, "checkout", "-q", "-b", "bob", "HEAD~1")
    edit(path, ("## login.py\n", "## login.py\n- Bob: a start (:12)\n"))
    (project / "login.py").write_text(f"#\n{LOGIN}" if moved else f"{LOGIN}#\n")
    load_and_commit(project, cli, "bob")
    git(project, "merge", "-q", "-m", "merge", "alice")
    by = int(moved)
    for _ in range(2):
        reply = cli("load", "login", "--json", cwd=project).json
        assert reply["warnings"] == []
        found = [one for one in path.read_text().split("\n") if "`login_again` (token)" in one]
        assert found == [f"- `login_again` (token) → `login` :{28 + by} (:{26 + by}-{27 + by})"]
        assert facts_by_author(cli, project)["person"] == {
            "Alice: a start", "Bob: a start", f"`login_again` (token) → `login` :{28 + by}",
        }  # fmt: skip
    assert cli("check", "--all", cwd=project).status == 0


def test_equal_words_about_other_lines_stay_after_a_merge(project: Path, cli: Cli) -> None:  # noqa: F811
    path = file_of(project)
    mine = "- on purpose (login.py:3)\n- on purpose (login.py:18)\n"
    path.write_text(f"{path.read_text()}\n## Mine\n{mine}")
    cli("load", "login", cwd=project)
    shared_on_a_branch(project)
    edit(path, ("## login.py\n", "## login.py\n- Alice: a start (:11)\n"))
    (project / "login.py").write_text(f"{LOGIN}#\n")
    load_and_commit(project, cli, "alice")
    git(project, "checkout", "-q", "-b", "bob", "HEAD~1")
    edit(path, ("## login.py\n", "## login.py\n- Bob: a start (:12)\n"))
    (project / "login.py").write_text(f"#\n{LOGIN}")
    load_and_commit(project, cli, "bob")
    git(project, "merge", "-q", "-m", "merge", "alice")
    for _ in range(2):
        assert cli("load", "login", "--json", cwd=project).json["warnings"] == []
        assert mine.replace(":3)", ":4)").replace(":18", ":19") in path.read_text()
        assert path.read_text().count("on purpose") == 2


@pytest.mark.parametrize("is_committed", [True, False], ids=["committed", "not committed"])
@pytest.mark.parametrize(("first", "second"), [("alice", "bob"), ("bob", "alice")])
@pytest.mark.parametrize(
    "fact",
    [
        "- Ann: both are limits (login.py:3, login.py:4)\n",
        "- Ann: see `ATTEMPTS` login.py:3, `LOCKED_FOR_S` :4\n",
        "- Ann: around it (login.py:1, login.py:3, login.py:4, login.py:7)\n",
    ],
)
def test_a_fact_about_neighbouring_lines_that_one_side_rewords_while_the_other_moves_them(
    project: Path,  # noqa: F811
    cli: Cli,
    fact: str,
    first: str,
    second: str,
    is_committed: bool,
) -> None:
    path = file_of(project)
    path.write_text(f"{path.read_text()}\n## Mine\n{fact}")
    cli("load", "login", cwd=project)
    share(project)
    git(project, "branch", "begin")
    for branch in (first, second):
        git(project, "checkout", "-q", "-b", branch, "begin")
        if branch == "alice":
            edit(path, ("- Ann: ", "- Alice: "))
        else:
            (project / "login.py").write_text("#\n" + LOGIN)
        load_and_commit(project, cli, branch)
    git(project, "merge", "-q", *(("-m", "merge") if is_committed else ("--no-commit",)), first)
    for _ in range(2):
        assert cli("load", "login", "--json", cwd=project).json["warnings"] == []
        [found] = [one for one in path.read_text().split("\n") if "- Alice: " in one]
        lines = [int(one) for one in re.findall(r":(\d+)", fact)]
        assert [int(one) for one in re.findall(r":(\d+)", found)] == [one + 1 for one in lines]


def test_a_fact_about_neighbouring_lines_with_a_new_line_between_them(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    path = file_of(project)
    path.write_text(f"{path.read_text()}\n## Mine\n- Ann: both (login.py:3, login.py:4)\n")
    cli("load", "login", cwd=project)
    share(project)
    git(project, "checkout", "-q", "-b", "alice")
    (project / "login.py").write_text(LOGIN.replace("LOCKED", "MORE = 1\nLOCKED", 1))
    load_and_commit(project, cli, "alice")
    git(project, "checkout", "-q", "-b", "bob", "HEAD~1")
    edit(path, ("- Ann: both", "- Bob: both"))
    cli("load", "login", cwd=project)
    (project / "login.py").write_text("#\n" + LOGIN)
    load_and_commit(project, cli, "bob")
    git(project, "merge", "-q", "-m", "merge", "alice")
    assert cli("load", "login", "--json", cwd=project).json["warnings"] == []
    found = [one for one in path.read_text().split("\n") if ": both (" in one]
    assert found == ["- Bob: both (login.py:4, login.py:6)"]


def test_a_fact_that_git_puts_below_the_heading_of_another_file(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    (project / "other.py").write_text('"""Log in by mail."""\n\n\ndef login_by_mail():\n    pass\n')
    git(project, "add", "other.py")
    git(project, "commit", "-qm", "other")
    cli("load", "login", "--force", cwd=project)
    path, other = file_of(project), "## other.py\n"
    equal = "- same words (:1)\n"
    names = "- see `login` :11 first (:12)\n"
    edit(path, ("## login.py\n", f"## login.py\n- headers need no body (:13-14)\n{equal}{names}"))
    edit(path, (other, f"{other}- same words (:4-5)\n"))
    cli("load", "login", cwd=project)
    shared_on_a_branch(project)
    edit(
        path, ("- headers need no body", "- headers need no body, said Bob"), ("first", "at first")
    )
    (project / "other.py").write_text("#\n" + (project / "other.py").read_text())
    load_and_commit(project, cli, "bob")
    git(project, "checkout", "-q", "-b", "ann", "HEAD~1")
    (project / "login.py").write_text("#\n" + LOGIN)
    edit(path, (other, f"{other}- Ann adds (:4)\n"))
    load_and_commit(project, cli, "ann")
    git(project, "merge", "-q", "-m", "merge", "alice")
    cli("load", "login", cwd=project)
    people = facts_by_author(cli, project)["person"]
    facts = markdown.parse("codebase.md", "login", path.read_text())[0].facts
    cited = {(one.text, *one.sources) for one in facts if one.text in people}
    assert cited == {
        ("headers need no body, said Bob", "login.py:14-15"),
        ("same words", "login.py:2"),
        ("same words", "other.py:5-6"),
        ("Ann adds", "other.py:5"),
        ("see `login` :12 at first", "login.py:13", "login.py:12"),
    }


@pytest.mark.parametrize(
    ("command", "in_clone"),
    [
        (("merge", "-q", "-m", "merge", "alice"), False),
        (("merge", "-q", "-m", "merge", "alice"), True),
        (("merge", "-q", "--squash", "alice"), False),
        (("rebase", "-q", "alice"), False),
    ],
    ids=["merge", "merge in a clone", "squash", "rebase"],
)
def test_the_reply_after_a_merge_counts_facts_and_not_the_lines_that_git_kept_of_both(
    project: Path,  # noqa: F811
    cli: Cli,
    tmp_path: Path,
    command: tuple[str, ...],
    in_clone: bool,
) -> None:
    path = shared_on_a_branch(project)
    code = LOGIN.replace("def login_again(token: str)", "def login_again(token: str, more: bool)")
    (project / "login.py").write_text(f"#\n#\n{code}")
    load_and_commit(project, cli, "alice")
    assert "- `login_again` (token, more)" in path.read_text()
    git(project, "checkout", "-q", "-b", "bob", "HEAD~1")
    edit(path, ("- class `LoginError`", "- Bob: `login` starts here (:11)\n- class `LoginError`"))
    load_and_commit(project, cli, "bob")
    git(project, *command)
    assert path.read_text().count("- `login_again` (token") == 2
    if in_clone:
        git(tmp_path, "clone", "-q", "-b", "bob", str(project), str(tmp_path / "clone"))
        project = tmp_path / "clone"
    reply = cli("load", "login", "--json", cwd=project).json["refresh"]
    differences = cli("diff", "login", "--json", cwd=project).json["changes"]
    kinds = [one["kind"] for one in differences]
    # The lines of what `knowledge.md` says have moved, and nobody has told it.
    assert reply["gone"] == ["requirements.md: a login ends in a token: `token-`"]
    assert reply["changed"] == ["codebase.md: `login_again` (token) → `login` :28"]
    assert (reply["added"], kinds.count("added"), kinds.count("removed")) == (0, 0, 1)
    assert reply["moved"] == kinds.count("moved") > 5


@pytest.mark.parametrize("source", ["", " (login.py:17)"])
def test_a_fact_that_one_side_found_to_be_unverified_stays_so_after_a_merge(
    project: Path,  # noqa: F811
    cli: Cli,
    source: str,
) -> None:
    path = shared_on_a_branch(project)
    edit(path, ("## login.py\n", f"## login.py\n- Alice knows why{source}\n"))
    load_and_commit(project, cli, "alice writes")
    (project / "login.py").write_text(LOGIN.replace("is wrong", "was wrong"))
    load_and_commit(project, cli, "alice changes the code")
    git(project, "checkout", "-q", "-b", "bob", "HEAD~2")
    edit(path, ("## Values\n", "## Values\n- Bob: `LOCKED_FOR_S` login.py:4\n"))
    load_and_commit(project, cli, "bob")
    git(project, "merge", "-q", "-m", "merge", "alice")
    for _ in range(2):
        [warning] = cli("load", "login", "--json", cwd=project).json["warnings"]
        assert "its sources do not say it: Alice knows why" in warning
    edit(project / "login.py", ("was wrong", "is wrong"))
    assert cli("load", "login", "--json", cwd=project).json["warnings"] == []


@pytest.mark.parametrize("deletes", [False, True])
def test_only_what_a_person_deleted_on_a_side_is_named_when_it_is_back_after_a_merge(
    project: Path,  # noqa: F811
    cli: Cli,
    deletes: bool,
) -> None:
    config = project / ".project" / "config.toml"
    config.write_text("max_facts = 18\n")
    cli("load", "login", "--force", cwd=project)
    cut = "- `ATTEMPTS` :3, `LOCKED_FOR_S` :4, `logout` :21\n"
    path = shared_on_a_branch(project)
    if deletes:
        edit(path, (cut, ""))
        git(project, "commit", "-qam", "alice")
    else:
        path.write_text(f"{path.read_text()}\n## Mine\n- Alice: `ATTEMPTS = 5` (login.py:3)\n")
        load_and_commit(project, cli, "alice")
        assert cut not in path.read_text(), "her fact takes its room"
    git(project, "checkout", "-q", "-b", "bob", "HEAD~1")
    (project / "login.py").write_text(LOGIN.replace("900.0", "800.0"))
    config.write_text("max_facts = 30\n")
    load_and_commit(project, cli, "bob")
    git(project, "merge", "-q", "-m", "merge", "alice")
    assert cut not in path.read_text()
    warnings = cli("load", "login", "--json", cwd=project).json["warnings"]
    assert cut in path.read_text()
    assert ["1 fact is back whose lines were deleted" in one for one in warnings] == [
        True
    ] * deletes
