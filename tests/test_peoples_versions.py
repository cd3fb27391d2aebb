"""A person's version of a build's fact counts instead of it, however often it is reworded."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from _processes import LOGIN
from conftest import Cli, git
from preread.dossier import fact_text, markdown
from preread.layout import FILES
from test_hand_edits import file_of, project, share, without_database  # noqa: F401 - a fixture

BUILT = "- `ATTEMPTS = 5` "
LIMITS = ("- `ATTEMPTS = 5` ", "- `LOCKED_FOR_S = 900.0` ")
ANN = "- Ann says never to raise `ATTEMPTS = 5` "
SIMILAR = "- Ann says never ever to raise `ATTEMPTS = 5` "
SHORT = "- five: `ATTEMPTS = 5` "
VERSIONS = (ANN, SIMILAR, SHORT, "- what Ann and Bob agreed on in spring is `ATTEMPTS = 5` ")


def reword(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(f"\n{old}") == 1
    path.write_text(text.replace(f"\n{old}", f"\n{new}"))


def beginning(path: Path, *starts: str) -> list[str]:
    """How the lines with the limit begin."""
    lines = path.read_text().split("\n")
    known = (*starts, *LIMITS)
    return [next((one for one in known if line.startswith(one)), line) for line in lines
            if "`ATTEMPTS = 5`" in line]  # fmt: skip


def nothing(_code: Path) -> None:
    """The code stays as it is."""


def a_line_above(code: Path) -> None:
    code.write_text(f"#\n{code.read_text()}")


@pytest.fixture
def path(project: Path, cli: Cli) -> Path:  # noqa: F811
    """The file in which a person has replaced a build's fact."""
    found = file_of(project)
    reword(found, BUILT, ANN)
    cli("load", "login", cwd=project)
    assert beginning(found, ANN) == [ANN]
    return found


@pytest.mark.parametrize("arguments", [(), ("--force",)], ids=["load", "force"])
@pytest.mark.parametrize("change", [nothing, a_line_above])
def test_a_version_that_is_reworded_again_and_again_stays_the_only_one(
    project: Path,  # noqa: F811
    cli: Cli,
    path: Path,
    arguments: tuple[str, ...],
    change: Callable[[Path], None],
) -> None:
    for old, new in pairwise(VERSIONS):
        reword(path, old, new)
        change(project / "login.py")
        for _ in range(2):
            reply = cli("load", "login", "--json", *arguments, cwd=project).json
            assert reply["warnings"] == []
            assert beginning(path, new) == [new]
        change(project / "login.py")
        cli("load", "login", *arguments, cwd=project)
        assert beginning(path, new) == [new]


def test_a_deleted_version_lets_the_builds_fact_return(
    project: Path,  # noqa: F811
    cli: Cli,
    path: Path,
) -> None:
    reword(path, ANN, SHORT)
    cli("load", "login", cwd=project)
    lines = [one for one in path.read_text().split("\n") if not one.startswith(SHORT)]
    path.write_text("\n".join(lines))
    for arguments in (("--force",), ()):
        cli("load", "login", *arguments, cwd=project)
        assert beginning(path) == [BUILT]


def test_a_version_that_is_reworded_to_what_the_build_says_is_the_builds_fact(
    project: Path,  # noqa: F811
    cli: Cli,
    path: Path,
) -> None:
    reword(path, ANN, BUILT)
    for arguments in ((), ("--force",), ()):
        cli("load", "login", *arguments, cwd=project)
        assert beginning(path) == [BUILT]


def test_another_fact_that_is_written_above_a_reworded_version(
    project: Path,  # noqa: F811
    cli: Cli,
    path: Path,
) -> None:
    more = "- Bob keeps `LOCKED_FOR_S = 900.0` (login.py:4)"
    reword(path, ANN, f"{more}\n{SIMILAR}")
    cli("load", "login", cwd=project)
    assert beginning(path, SIMILAR) == [SIMILAR]
    path.write_text(path.read_text().replace(f"{more}\n", ""))
    for arguments in ((), ("--force",)):
        cli("load", "login", *arguments, cwd=project)
        assert beginning(path, SIMILAR) == [SIMILAR], "the other fact had replaced nothing"


def test_versions_of_neighbours_that_are_reworded_together(
    project: Path,  # noqa: F811
    cli: Cli,
    path: Path,
) -> None:
    names = ("- `login_again`", "- `login_reset`")
    for old, new in (("- ", "- Bob: "), ("- Bob: ", "- that is, ")):
        for name in names:
            reword(path, name.replace("- ", old), name.replace("- ", new))
        cli("load", "login", cwd=project)
    for change in (a_line_above, nothing):
        change(project / "login.py")
        cli("load", "login", "--force", cwd=project)
        lines = path.read_text().split("\n")
        assert [one[:25] for one in lines if "(token)" in one or "(mail)" in one] == [
            "- that is, `login_again` ",
            "- that is, `login_reset` ",
        ]
    kept = [one for one in lines if not one.startswith("- that is, `login_reset`")]
    path.write_text("\n".join(kept))
    cli("load", "login", "--force", cwd=project)
    lines = path.read_text().split("\n")
    assert sorted(one[:25] for one in lines if "(token)" in one or "(mail)" in one) == [
        "- `login_reset` (mail) → ",
        "- that is, `login_again` ",
    ]


def test_a_version_that_is_moved_to_another_section_in_similar_words(
    project: Path,  # noqa: F811
    cli: Cli,
    path: Path,
) -> None:
    [line] = [one for one in path.read_text().split("\n") if one.startswith(ANN)]
    moved = line.replace(ANN, SIMILAR)
    path.write_text(path.read_text().replace(f"{line}\n", "") + f"\n## Ours\n{moved}\n")
    for arguments in ((), ("--force",)):
        cli("load", "login", *arguments, cwd=project)
        assert beginning(path, SIMILAR) == [SIMILAR]


@pytest.mark.parametrize("is_seen", [True, False], ids=["loaded before", "loaded after"])
@pytest.mark.parametrize("arguments", [(), ("--force",)], ids=["load", "force"])
def test_a_version_stays_the_only_one_when_the_builds_fact_gets_other_details(
    project: Path,  # noqa: F811
    cli: Cli,
    arguments: tuple[str, ...],
    is_seen: bool,
) -> None:
    found, code = file_of(project), project / "login.py"
    reword(found, "- `login_again` (token) → `login` :28 (", "- at a kiosk, `login_again` (")
    if is_seen:
        cli("load", "login", *arguments, cwd=project)
    share(project)
    for end, call in ((29, "logout(token)"), (30, "login_reset(token)")):
        inserted = f"    {call}\n    return login("
        code.write_text(code.read_text().replace("    return login(", inserted))
        for _ in range(2):
            reply = cli("load", "login", "--json", *arguments, cwd=project).json
            lines = [one for one in found.read_text().split("\n") if "`login_again` (" in one]
            assert (lines, reply["warnings"]) == ([f"- at a kiosk, `login_again` (:26-{end})"], [])
    found.write_text(found.read_text().replace(f"{lines[0]}\n", ""))
    cli("load", "login", "--force", cwd=project)
    assert "\n- `login_again` (token) → `logout` " in found.read_text()


def test_a_version_that_was_invalid_for_a_while_counts_again_once_it_is_corrected(
    project: Path,  # noqa: F811
    cli: Cli,
    path: Path,
) -> None:
    wrong = "- Ann says six: `ATTEMPTS = 6` "
    reword(path, ANN, wrong)
    warnings = cli("load", "login", "--json", cwd=project).json["warnings"]
    assert any("do not say it" in one for one in warnings)
    assert beginning(path) == [BUILT]
    reword(path, wrong, SHORT)
    for arguments in ((), ("--force",)):
        assert cli("load", "login", "--json", *arguments, cwd=project).json["warnings"] == []
        assert beginning(path, SHORT) == [SHORT]


def test_a_version_is_reworded_in_another_clone(
    project: Path,  # noqa: F811
    cli: Cli,
    path: Path,
    tmp_path: Path,
) -> None:
    share(project)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(project), str(clone))
    theirs = file_of(clone)
    reword(theirs, ANN, VERSIONS[-1])
    git(clone, "commit", "-qam", "reworded")
    for arguments in ((), ("--force",)):
        cli("load", "login", *arguments, cwd=clone)
        assert beginning(theirs, VERSIONS[-1]) == [VERSIONS[-1]]


def test_a_builds_fact_is_reworded_in_another_clone_while_its_lines_move(
    project: Path,  # noqa: F811
    cli: Cli,
    tmp_path: Path,
) -> None:
    share(project)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(project), str(clone))
    path, mine = file_of(clone), "- it does it again: `login_again` (:27-29)"
    reword(path, "- `login_again` (token) → `login` :28 (:26-28)", mine)
    a_line_above(clone / "login.py")
    for arguments in ((), ("--force",)):
        cli("load", "login", *arguments, cwd=clone)
        assert mine in path.read_text()
        assert "- `login_again` (token)" not in path.read_text()


def test_a_version_that_one_branch_rewords_while_the_other_changes_the_code(
    project: Path,  # noqa: F811
    cli: Cli,
    path: Path,
) -> None:
    share(project)
    git(project, "checkout", "-q", "-b", "alice")
    reword(path, ANN, SHORT)
    cli("load", "login", cwd=project)
    git(project, "commit", "-qam", "alice")
    git(project, "checkout", "-q", "-b", "bob", "HEAD~1")
    a_line_above(project / "login.py")
    cli("load", "login", cwd=project)
    git(project, "commit", "-qam", "bob")
    git(project, "merge", "-q", "-m", "merge", "alice")
    for arguments in ((), ("--force",)):
        cli("load", "login", *arguments, cwd=project)
        assert beginning(path, SHORT) == [SHORT]


def test_sources_that_a_person_corrected_and_words_that_they_changed_later(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    found = file_of(project)
    reword(found, "- `login_again` (token) → `login` :28 (:26-28)", "- `login_again` (token) → `login` :28 (:26-27)")  # fmt: skip
    cli("load", "login", cwd=project)
    reword(found, "- `login_again` (token) → `login` :28", "- again: `login_again` (token) → `login` :28")  # fmt: skip
    for text in (LOGIN, f"#\n{LOGIN}"):
        (project / "login.py").write_text(text)
        for arguments in ((), ("--force",)):
            cli("load", "login", *arguments, cwd=project)
            assert found.read_text().count("`login_again` (token)") == 1


def test_a_version_is_reworded_after_the_database_was_lost(
    project: Path,  # noqa: F811
    cli: Cli,
    path: Path,
) -> None:
    without_database(project)
    reword(path, ANN, VERSIONS[-1])
    cli("load", "login", cwd=project)
    assert beginning(path, VERSIONS[-1]) == [VERSIONS[-1]]


@pytest.mark.parametrize("is_committed", [True, False])
@pytest.mark.parametrize("arguments", [(), ("--force",)], ids=["load", "force"])
def test_a_fact_that_is_reworded_while_its_lines_move_follows_them(
    project: Path,  # noqa: F811
    cli: Cli,
    arguments: tuple[str, ...],
    is_committed: bool,
) -> None:
    path = file_of(project)
    path.write_text(f"{path.read_text()}\n## Ours\n- it says which (login.py:17)\n")
    cli("load", "login", cwd=project)
    share(project)
    for number, words in enumerate(("it says which one", "one reason", "why"), 1):
        old = [one for one in path.read_text().split("\n") if one.endswith(f":{16 + number})")]
        reword(path, old[0], f"- {words} (login.py:{16 + number})")
        a_line_above(project / "login.py")
        if is_committed:
            git(project, "commit", "-qam", words)
        assert cli("load", "login", "--json", *arguments, cwd=project).json["warnings"] == []
        assert f"\n- {words} (login.py:{17 + number})\n" in path.read_text()


def test_a_fact_that_is_reworded_to_quote_what_is_at_its_lines_now_stays_there(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    path = file_of(project)
    path.write_text(f"{path.read_text()}\n## Ours\n- we say `def logout` (login.py:21)\n")
    cli("load", "login", cwd=project)
    reword(path, "- we say `def logout` (login.py:21)", "- we give `token-{name}` (login.py:21)")
    (project / "login.py").write_text(f"#\n#\n#\n{LOGIN}")
    assert cli("load", "login", "--json", cwd=project).json["warnings"] == []
    assert "\n- we give `token-{name}` (login.py:21)\n" in path.read_text()


AGAIN = "- `login_again` (token) → `login` :28 (:26-28)"
NAMES = "- `ATTEMPTS` :3, `LOCKED_FOR_S` :4, `logout` :21"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (AGAIN, "- at a kiosk, `login_again` (:26-28)", "- at a kiosk, `login_again` (:27-29)"),
        (
            AGAIN,
            "- calls `login` :28 at a kiosk (:26-28)",
            "- calls `login` :29 at a kiosk (:27-29)",
        ),
        (
            AGAIN,
            "- calls `login` :29 at a kiosk (:27-29)",
            "- calls `login` :29 at a kiosk (:27-29)",
        ),
        (NAMES, "- five: `ATTEMPTS` :3", "- five: `ATTEMPTS` :4"),
        (NAMES, "- five: `ATTEMPTS` :4", "- five: `ATTEMPTS` :4"),
        (NAMES, "- the number of guesses (:4)", "- the number of guesses (:4)"),
    ],
)
def test_a_builds_fact_that_is_reworded_with_fewer_numbers_while_its_lines_move_follows_them(
    project: Path,  # noqa: F811
    cli: Cli,
    old: str,
    new: str,
    expected: str,
) -> None:
    path = file_of(project)
    reword(path, old, new)
    a_line_above(project / "login.py")
    assert cli("load", "login", "--json", cwd=project).json["warnings"] == []
    assert f"\n{expected}\n" in path.read_text()


def test_a_fact_that_is_reworded_because_its_line_changed_means_the_new_line(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    path = file_of(project)
    path.write_text(f"{path.read_text()}\n## Ours\n- a plain token (login.py:18)\n")
    cli("load", "login", cwd=project)
    reword(path, "- a plain token (login.py:18)", "- a signed token (login.py:18)")
    code = LOGIN.replace('return f"token-{name}"', "return sign(name)")
    (project / "login.py").write_text(code)
    assert cli("load", "login", "--json", cwd=project).json["warnings"] == []
    assert "\n- a signed token (login.py:18)\n" in path.read_text()


def test_a_version_counts_although_another_fact_was_added_before_it(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    found = file_of(project)
    reword(found, "- `ATTEMPTS` :3, `LOCKED_FOR_S` :4, ", "- `ATTEMPTS` :3, `LOCKED_FOR_S` :4-5, ")
    text = found.read_text()
    found.write_text(text.replace("\n- `ATTEMPTS` :3", "\n- a note (login.py)\n- `ATTEMPTS` :3"))
    for lines in range(3):
        (project / "login.py").write_text(lines * "#\n" + LOGIN)
        cli("load", "login", cwd=project)
        found_now = [one for one in found.read_text().split("\n") if "`ATTEMPTS` :" in one]
        assert [one.partition(", `logout`")[0] for one in found_now] == [
            f"- `ATTEMPTS` :{3 + lines}, `LOCKED_FOR_S` :{4 + lines}-{5 + lines}"
        ]


def without(path: Path, start: str) -> None:
    """Deletes the line that begins like this."""
    lines = path.read_text().split("\n")
    left = [one for one in lines if not one.startswith(start)]
    assert len(left) == len(lines) - 1
    path.write_text("\n".join(left))


def is_back(cli: Cli, project: Path, path: Path, line: str) -> None:  # noqa: F811
    """Asserts that the next load says that a deleted line is back, and later ones keep it."""
    warnings = cli("load", "login", "--json", cwd=project).json["warnings"]
    assert [one[:38] for one in warnings] == ["1 fact is back whose lines were deleted"[:38]]
    cli("load", "login", "--force", cwd=project)
    assert path.read_text().count(f"\n{line}") == 1


RESET = "- `login_reset` (mail)"
AGAIN = "- `login_again` (token)"


def test_a_fact_that_is_deleted_next_to_a_reworded_one_returns(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    path = file_of(project)
    without(path, RESET)
    reword(path, AGAIN, "- again: `login_again` (token)")
    is_back(cli, project, path, RESET)
    assert path.read_text().count("`login_again` (token)") == 1


def test_a_fact_that_is_deleted_next_to_one_in_other_words_returns(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    path = file_of(project)
    without(path, AGAIN)
    [line] = [one for one in path.read_text().split("\n") if one.startswith(RESET)]
    reword(path, line, "- whoever forgot it may ask for `login_reset` (login.py:31-33)")
    is_back(cli, project, path, AGAIN)
    assert RESET not in path.read_text()


def test_a_fact_that_is_deleted_next_to_a_reworded_version_returns(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    path = file_of(project)
    reword(path, AGAIN, "- again: `login_again` (token)")
    cli("load", "login", cwd=project)
    without(path, RESET)
    reword(path, "- again: `login_again` (token)", "- once more: `login_again` (token)")
    is_back(cli, project, path, RESET)
    assert path.read_text().count("`login_again` (token)") == 1


def test_a_fact_that_is_deleted_above_what_a_person_had_added_returns(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    path = file_of(project)
    [line] = [one for one in path.read_text().split("\n") if one.startswith(RESET)]
    path.write_text(path.read_text().replace(line, f"{line}\n- ask Ann first (login.py:31)"))
    cli("load", "login", cwd=project)
    without(path, RESET)
    is_back(cli, project, path, RESET)


def test_a_fact_that_is_deleted_at_the_end_of_a_file_returns(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    texts = {one.name: one.read_text() for one in file_of(project).parent.glob("*.md")}
    names = [one.name for one in FILES if one.name in texts]
    ends = [[one for one in texts[name].split("\n") if one.startswith("- ")] for name in names]
    name, line, next_ = names[0], ends[0][-1], ends[1][0]
    without(file_of(project, name), line)
    reword(file_of(project, names[1]), next_, f"- Ann says: {next_[2:]}")
    is_back(cli, project, file_of(project, name), line)
    replaced = json.loads(file_of(project, "manifest.json").read_text())["replaced"]
    assert fact_text.fact_id(name, markdown.parse(name, "login", texts[name])[0].facts[-1].text) not in replaced  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "- both take one: `login_again` a token, `login_reset` a mail (login.py:26-33)",
        "- both come after a login (login.py:26-28, login.py:31-35)",
        "- these two come after a login (login.py:26-35)",
    ],
    ids=["quotes", "sources", "range"],
)
def test_two_facts_that_a_person_merges_into_one_line_are_both_replaced(
    project: Path,  # noqa: F811
    cli: Cli,
    line: str,
) -> None:
    path = file_of(project)
    without(path, AGAIN)
    [old] = [one for one in path.read_text().split("\n") if one.startswith(RESET)]
    reword(path, old, line)
    for change in (nothing, a_line_above):
        change(project / "login.py")
        for arguments in ((), ("--force",)):
            assert cli("load", "login", "--json", *arguments, cwd=project).json["warnings"] == []
            assert AGAIN not in path.read_text()
            assert RESET not in path.read_text()


def test_an_edit_that_does_not_check_out_and_is_undone_leaves_one_line(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    path = file_of(project)
    wrong = "- `ATTEMPTS = 6` "
    reword(path, BUILT, wrong)
    cli("load", "login", cwd=project)
    assert beginning(path) == [BUILT]
    built = path.read_text().replace(next(one for one in path.read_text().split("\n") if one.startswith(wrong)) + "\n", "")  # fmt: skip
    reword(path, wrong, BUILT)
    assert cli("check", "login", cwd=project).out.count("E_FACT_TWICE") == 1
    [found] = cli("status", "--json", cwd=project).json["dossiers"]
    assert found["why"].startswith("codebase.md says twice: `ATTEMPTS = 5`")
    assert cli("load", "login", "--json", cwd=project).json["warnings"] == []
    assert path.read_text() == built
    assert cli("check", "login", cwd=project).status == 0
    assert cli("status", "--json", cwd=project).json["dossiers"][0]["why"] == ""


def test_a_version_that_no_load_has_seen_counts_after_another_fact_was_wrong(
    project: Path,  # noqa: F811
    cli: Cli,
) -> None:
    path = file_of(project)
    facts = cli("show", "login", "--ids", "--json", cwd=project).json["facts"]
    [other] = [one for one in facts if one["text"].startswith("`login_again` (token)")]
    reword(path, BUILT, ANN)
    assert cli("wrong", other["id"], cwd=project).status == 0
    assert other["text"] not in path.read_text()
    for arguments in ((), ("--force",)):
        cli("load", "login", *arguments, cwd=project)
        assert beginning(path, *VERSIONS) == [ANN]
        assert other["text"] not in path.read_text()
