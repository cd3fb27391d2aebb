"""Edits of shared dossiers that no load has seen before git joined them with others."""

import re
from pathlib import Path

import pytest

from _processes import LOGIN
from conftest import Cli, git
from test_hand_edits import facts_by_author, file_of, project, share  # noqa: F401 - a fixture
from test_merged_sides import edit, load_and_commit

FIRST = "## login.py\n"


def lines_with(path: Path, words: str) -> list[str]:
    return [one for one in path.read_text().split("\n") if words in one]


@pytest.mark.parametrize(
    "join",
    [
        [("stash", "-q"), ("checkout", "-q", "ann"), ("stash", "pop", "-q")],
        [("commit", "-qam", "bob"), ("checkout", "-q", "ann"), ("cherry-pick", "bob")],
        [("commit", "-qam", "bob"), ("checkout", "-q", "ann"), ("merge", "-q", "--squash", "bob")],
    ],
    ids=["stash pop", "cherry-pick", "squash"],
)
def test_old_versions_of_builds_facts_do_not_become_a_persons(
    project: Path,  # noqa: F811
    cli: Cli,
    join: list[tuple[str, ...]],
) -> None:
    share(project)
    path = file_of(project)
    git(project, "checkout", "-q", "-b", "ann")
    (project / "login.py").write_text("#\n" + LOGIN)
    load_and_commit(project, cli, "ann")
    git(project, "checkout", "-q", "-b", "bob", "HEAD~1")
    edit(
        path,
        ("- `login_again`", "- Bob: the quote is `ATTEMPTS = 5` (login.py:3)\n- `login_again`"),
    )
    for command in join:
        git(project, *command)
    assert len(lines_with(path, "- class `LoginError`")) == 2, "git's union has both versions"
    for _ in range(2):
        assert cli("load", "login", "--json", cwd=project).json["warnings"] == []
        assert facts_by_author(cli, project)["person"] == {"Bob: the quote is `ATTEMPTS = 5`"}
        assert len(lines_with(path, "- class `LoginError`")) == 1
        assert lines_with(path, "- Bob:") == ["- Bob: the quote is `ATTEMPTS = 5` (:4)"]
    assert cli("check", "--all", cwd=project).status == 0


def test_a_range_whose_end_is_before_its_start_is_unverified_and_stops_no_refresh(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    share(project)
    edit(file_of(project), (FIRST, f"{FIRST}- Ann: a typo (login.py:8-7)\n"))
    load_and_commit(project, cli, "ann")
    (project / "login.py").write_text("#\n" + LOGIN)
    for _ in range(2):
        reply = cli("load", "login", "--json", cwd=project)
        assert reply.status == 0
        assert [one for one in reply.json["warnings"] if "Ann: a typo" in one]
        assert lines_with(file_of(project), "- Ann:") == ["- Ann: a typo (login.py:8-7)"]
    assert lines_with(file_of(project), "- `ATTEMPTS` :4, ")


@pytest.mark.parametrize("how", ["not committed", "one commit", "two commits"])
def test_a_fact_in_a_fresh_clone_means_the_lines_as_they_are(
    project: Path,  # noqa: F811
    cli: Cli,
    tmp_path: Path,
    how: str,
) -> None:
    share(project)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(project), str(clone))
    path = file_of(clone)
    assert "login.py:7-8" in (file_of(clone, "manifest.json")).read_text()
    (clone / "login.py").write_text("#\n#\n#\n#\n" + LOGIN)
    if how == "two commits":
        git(clone, "commit", "-qam", "code")
    mine = "- Bob: two values (login.py:7-8)\n"
    edit(path, (FIRST, FIRST + mine))
    if how != "not committed":
        git(clone, "commit", "-qam", "both")
    for _ in range(2):
        assert cli("load", "login", "--json", cwd=clone).json["warnings"] == []
        assert lines_with(path, "- Bob:") == ["- Bob: two values (:7-8)"] or (
            lines_with(path, "- Bob:") == [mine[:-1]]
        )


def test_what_a_rebase_writes_again_is_about_the_code_before_it(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    share(project)
    path = file_of(project)
    git(project, "checkout", "-q", "-b", "bob")
    (project / "login.py").write_text("#\n#\n#\n#\n#\n" + LOGIN)
    git(project, "commit", "-qam", "bob")
    git(project, "checkout", "-q", "-b", "ann", "HEAD~1")
    block = "\n## Ann's\nSource: login.py:11-18\n```python\n    if not name:\n```\n"
    path.write_text(f"{path.read_text()}{block}")
    edit(path, (FIRST, FIRST + "- Ann: a class (:7-8)\n"))
    git(project, "commit", "-qam", "ann")
    git(project, "pull", "-q", "--rebase", ".", "bob")
    for _ in range(2):
        assert cli("load", "login", "--json", cwd=project).json["warnings"] == []
        assert lines_with(path, "- Ann:") == ["- Ann: a class (:12-13)"]
        assert lines_with(path, "Source:") == ["Source: login.py:16-23"]
    assert cli("check", "--all", cwd=project).status == 0


def test_part_of_a_range_that_was_committed_without_a_load_follows(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    share(project)
    path = file_of(project)
    block = "\n## Ann's\nSource: login.py:11-18\n```python\n    if not name:\n```\n"
    path.write_text(f"{path.read_text()}{block}")
    git(project, "commit", "-qam", "ann")
    (project / "login.py").write_text("#\n" + LOGIN)
    for _ in range(2):
        assert cli("load", "login", "--json", cwd=project).json["warnings"] == []
        assert lines_with(path, "Source:") == ["Source: login.py:12-19"]


def test_a_load_names_files_with_marks_of_a_conflict(project: Path, cli: Cli) -> None:  # noqa: F811
    path = file_of(project)
    edit(path, (FIRST, f"<<<<<<< HEAD\n{FIRST}- Ann: a class (:7-8)\n=======\n>>>>>>> bob\n"))
    for _ in range(2):
        [warning] = cli("load", "login", "--json", cwd=project).json["warnings"]
        assert warning == "Git left marks of a conflict in codebase.md; resolve it there."


KINDS = """

class LoginBy{}:
    def login_now(self):
        pass

    def login_later(self):
        pass
"""


def test_a_reworded_fact_about_equal_lines_follows_with_all_its_numbers(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    code, text = project / "login.py", LOGIN + KINDS.format("Mail") + KINDS.format("Key")
    code.write_text(text)
    cli("load", "login", "--force", cwd=project)
    path = file_of(project)
    edit(path, ("- `LoginByMail` :", "- Bob: `LoginByMail` :"))
    [mine] = lines_with(path, "- Bob: ")
    assert mine.count(" :") == 6
    code.write_text(f"#\n{text}")
    assert cli("load", "login", "--json", cwd=project).json["warnings"] == []
    later = re.sub(r" :(\d+)", lambda one: f" :{int(one[1]) + 1}", mine)
    assert lines_with(path, "`LoginByMail` :") == [later]


def test_lines_that_one_side_corrected_and_the_other_moved(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    path = file_of(project)
    edit(path, (FIRST, FIRST + "- Ann: a guard (:13)\n"))
    cli("load", "login", cwd=project)
    share(project)
    git(project, "checkout", "-q", "-b", "bob")
    edit(path, ("a guard (:13)", "a guard (:14)"))
    git(project, "commit", "-qam", "bob")
    git(project, "checkout", "-q", "-b", "ann", "HEAD~1")
    (project / "login.py").write_text("#\n#\n" + LOGIN)
    load_and_commit(project, cli, "ann")
    git(project, "merge", "-q", "-m", "merge", "bob")
    assert len(lines_with(path, "a guard")) == 2, "git's union has both"
    for _ in range(2):
        assert cli("load", "login", "--json", cwd=project).json["warnings"] == []
        assert lines_with(path, "a guard") == ["- Ann: a guard (:16)"]


def test_a_fact_reworded_beside_another_while_its_code_moved(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    path = file_of(project)
    edit(path, (FIRST, f"{FIRST}- Ann: a class (:7-8)\n- Bob: `token-` first (:18)\n"))
    cli("load", "login", cwd=project)
    share(project)
    git(project, "checkout", "-q", "-b", "bob")
    edit(path, ("`token-` first", "`token-` second"))
    (project / "login.py").write_text("#\n#\n#\n" + LOGIN)
    git(project, "commit", "-qam", "bob")
    git(project, "checkout", "-q", "-b", "ann", "HEAD~1")
    edit(path, ("Ann: a class", "Ann: an exception"))
    git(project, "commit", "-qam", "ann")
    git(project, "merge", "-q", "-m", "merge", "bob")
    assert len(lines_with(path, "- Bob:")) == 2, "git's union has both"
    for _ in range(2):
        assert cli("load", "login", "--json", cwd=project).json["warnings"] == []
        assert lines_with(path, "- Bob:") == ["- Bob: `token-` second (:21)"]
        assert lines_with(path, "- Ann:") == ["- Ann: an exception (:10-11)"]


def test_sources_that_an_earlier_build_had_are_a_persons_correction(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    share(project)
    path, code = file_of(project), project / "login.py"
    code.write_text("#\n" + LOGIN)
    load_and_commit(project, cli, "moved")
    [class_] = lines_with(path, "- class `LoginError`")
    edit(path, (class_, class_.replace("(:8-9)", "(:7-8)")))
    for _ in range(2):
        cli("load", "login", cwd=project)
        assert lines_with(path, "- class `LoginError`") == [class_.replace("(:8-9)", "(:7-8)")]
