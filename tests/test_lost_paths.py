"""Facts keep their file when a person renames, moves or removes the heading that names it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from _processes import LOGIN, small
from conftest import Cli
from test_hand_edits import file_of, people_in

SHOP = """from login import login


def buy(name):
    return login(name, "x")


def sell(name):
    return login(name, "y")
"""
MINE = "- Ann: see `no name was given` (:13-14)\n"


@pytest.fixture
def project(tmp_path: Path, cli: Cli) -> Path:
    root = small(tmp_path / "small", {"shop.py": SHOP})
    cli("load", "login", cwd=root)
    return root


def sources_of(project: Path, cli: Cli) -> dict[str, set[str]]:
    """The words of each fact of the code, and what it cites."""
    found = cli("show", "login", "--cited", "--json", cwd=project).json["cited"]
    return {
        one["text"]: {source["source"] for source in one["sources"]}
        for one in found
        if one["file"] == "codebase.md"
    }


def renamed(text: str) -> str:
    return text.replace("## login.py\n", "## Who may log in\n")


def split(text: str) -> str:
    return text.replace("- `login_again` (token)", "\n## Again\n- `login_again` (token)")


def moved(text: str) -> str:
    """One fact under a heading of its own, at the start of the file."""
    line = next(one for one in text.split("\n") if one.startswith("- `login_reset`"))
    return text.replace(f"{line}\n", "").replace(
        "## login.py\n", f"## First\n{line}\n\n## login.py\n"
    )


def without_heading(text: str) -> str:
    """The facts are then below the heading of another file."""
    head, _, rest = text.partition("## login.py\n")
    facts, _, rest = rest.partition("\n\n## shop.py\n")
    return f"{head}## shop.py\n{facts}\n{rest}"


EDITS = {"renamed": renamed, "split": split, "moved": moved}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_builds_facts_keep_the_file_of_the_heading_that_a_person_changed(
    project: Path, cli: Cli, edit: Callable[[str], str]
) -> None:
    path, before = file_of(project), sources_of(project, cli)
    path.write_text(edit(path.read_text()))
    lines = [one for one in path.read_text().split("\n") if not one.startswith("Source: ")]
    assert sources_of(project, cli) == before
    assert cli("check", "login", cwd=project).status == 0
    for arguments, state in (((), "refreshed"), ((), "cached"), (("--force",), "built")):
        reply = cli("load", "login", "--json", *arguments, cwd=project).json
        assert (reply["state"], reply["warnings"]) == (state, [])
        assert sources_of(project, cli) == before
        assert people_in(project, cli) == []
        text = path.read_text().split("\n")
        assert [one for one in text if not one.startswith("Source: ")] == lines
        assert text.count("Source: login.py") == 1
    (project / "login.py").write_text(f"#\n{LOGIN}")
    assert cli("load", "login", "--json", cwd=project).json["warnings"] == []
    assert people_in(project, cli) == []
    assert cli("check", "login", cwd=project).status == 0
    headings = [one for one in path.read_text().split("\n") if one.startswith("## ")]
    assert headings == [one for one in lines if one.startswith("## ")]


def joined(text: str) -> str:
    """The facts are then at the end of those of another file."""
    head, _, rest = text.partition("## shop.py\n")
    facts, _, rest = rest.partition("\n\n## Values\n")
    return f"{head.rstrip()}\n{facts}\n\n## Values\n{rest}"


def swapped(text: str) -> str:
    for old, new in (("login.py", "x"), ("shop.py", "login.py"), ("x", "shop.py")):
        text = text.replace(f"## {old}\n", f"## {new}\n")
    return text


WRONG = {"without heading": without_heading, "joined": joined, "swapped": swapped}


@pytest.mark.parametrize("edit", WRONG.values(), ids=WRONG)
def test_facts_that_get_below_another_files_heading_keep_their_file(
    project: Path, cli: Cli, edit: Callable[[str], str]
) -> None:
    path, before = file_of(project), sources_of(project, cli)
    text = path.read_text()
    path.write_text(edit(text))
    assert path.read_text() != text
    assert sources_of(project, cli) == before
    for code in (LOGIN, f"#\n{LOGIN}", LOGIN):
        (project / "login.py").write_text(code)
        assert cli("load", "login", "--json", cwd=project).json["warnings"] == []
        assert people_in(project, cli) == []
        assert cli("check", "login", cwd=project).status == 0
    assert sources_of(project, cli) == before
    headings = [one for one in path.read_text().split("\n") if one in ("## login.py", "## shop.py")]
    assert len(headings) == 2


def test_a_fact_between_those_of_another_file_gets_its_heading_back(
    project: Path, cli: Cli
) -> None:
    path, before = file_of(project), sources_of(project, cli)
    head, _, rest = path.read_text().partition("- `login` (name, password)")
    line = next(one for one in rest.split("\n") if one.startswith("- `buy` :4"))
    path.write_text(f"{head}{line}\n- `login` (name, password){rest.replace(line, '')}")
    for code in (LOGIN, f"#\n{LOGIN}", LOGIN):
        (project / "login.py").write_text(code)
        assert cli("load", "login", "--json", cwd=project).json["warnings"] == []
        assert cli("check", "login", cwd=project).status == 0
    assert sources_of(project, cli) == before
    assert f"## shop.py\n{line}\n\n## login.py\n- `login` (name, password)" in path.read_text()
    assert people_in(project, cli) == []


def test_a_file_with_crlf_keeps_its_line_ends(project: Path, cli: Cli) -> None:
    path = file_of(project)
    path.write_bytes(renamed(path.read_text()).replace("\n", "\r\n").encode())
    assert cli("load", "login", "--json", cwd=project).json["state"] == "refreshed"
    assert b"## Who may log in\r\nSource: login.py\r\n" in path.read_bytes()
    assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n")


@pytest.mark.parametrize("at", ["## login.py\n", "## shop.py\n"])
def test_a_heading_is_renamed_and_a_fact_added_below_it_in_one_go(
    project: Path, cli: Cli, at: str
) -> None:
    path, before = file_of(project), sources_of(project, cli)
    lines = "13-14" if "login" in at else "4-5"
    mine = f"- Ann: see `name` (:{lines})\n"
    path.write_text(path.read_text().replace(at, f"## Ours\n{mine}"))
    for above in (0, 1, 3):
        (project / "login.py").write_text("#\n" * above + LOGIN)
        assert cli("load", "login", "--json", cwd=project).json["warnings"] == []
        assert people_in(project, cli) == ["Ann: see `name`"]
        assert len(sources_of(project, cli)) == len(before) + 1
        assert cli("check", "login", cwd=project).status == 0
    assert path.read_text().count("## Ours\nSource: ") == 1


def test_a_fact_stays_where_a_person_moved_it_when_all_its_numbers_change(
    project: Path, cli: Cli
) -> None:
    path = file_of(project)
    path.write_text(moved(path.read_text()))
    cli("load", "login", cwd=project)
    (project / "login.py").write_text(f"#\n{LOGIN}")
    cli("load", "login", cwd=project)
    fact = "- `login_reset` (mail) → `LoginError` :35 (:32-36)"
    assert f"## First\nSource: login.py\n{fact}\n\n## login.py\n" in path.read_text()
    assert path.read_text().count(fact) == 1


def test_a_load_warns_at_once_of_a_fact_without_a_readable_source(project: Path, cli: Cli) -> None:
    path = file_of(project)
    path.write_text(f"{path.read_text()}\n## Mine\n- Ann: three tries (:3)\n")
    for _ in range(2):
        [warning] = cli("load", "login", "--json", cwd=project).json["warnings"]
        assert "names no source: Ann: three tries (:3)" in warning
        assert "repeat the name" in warning


def test_a_persons_fact_below_a_builds_heading_keeps_its_file_too(project: Path, cli: Cli) -> None:
    path = file_of(project)
    path.write_text(path.read_text().replace("## login.py\n", f"## login.py\n{MINE}"))
    cli("load", "login", cwd=project)
    path.write_text(renamed(path.read_text()))
    for above in (0, 1, 3):
        (project / "login.py").write_text("#\n" * above + LOGIN)
        assert cli("load", "login", "--json", cwd=project).json["warnings"] == []
        assert f"(:{13 + above}-{14 + above})" in path.read_text()
        assert people_in(project, cli) == ["Ann: see `no name was given`"]


@pytest.mark.parametrize("theirs", [1, 8])
def test_facts_of_people_without_a_source_get_one_only_below_a_builds_heading(
    project: Path, cli: Cli, theirs: int
) -> None:
    """The build has five facts there. If a person has more, its facts name their file instead."""
    path = file_of(project)
    mine = "".join(f"- Ann: ask her first ({number})\n" for number in range(theirs))
    path.write_text(path.read_text().replace("## login.py\n", f"## Who may log in\n{mine}"))
    for _ in range(2):
        warnings = cli("load", "login", "--json", cwd=project).json["warnings"]
        assert any("names no source: Ann: ask" in one for one in warnings) == (theirs > 5)
        assert ("Source: login.py" in path.read_text()) == (theirs < 5)
        assert mine in path.read_text()
        assert path.read_text().count("- `login` (name, password)") == 1


def test_the_source_that_a_person_corrects_for_a_section_counts(project: Path, cli: Cli) -> None:
    path = file_of(project)
    path.write_text(renamed(path.read_text()))
    cli("load", "login", cwd=project)
    (project / "other.py").write_text(LOGIN)
    path.write_text(path.read_text().replace("Source: login.py\n", "Source: other.py\n"))
    cli("load", "login", cwd=project)
    assert "Source: other.py\n" in path.read_text()
