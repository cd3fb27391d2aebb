"""Resolving a request: levels, and descriptions that are too long."""

from pathlib import Path

import pytest

from _evidence_project import services
from _trees import write
from conftest import Cli
from preread import resolve
from preread.errors import PrereadError
from preread.resolve import MAX_DESCRIPTION

OFF = {"PREREAD_CLAUDE": "off"}


def description_of(root: Path, text: str | None) -> str:
    return resolve.resolve(services(root), feature="login", description=text).description


def warnings(root: Path, text: str | None = None, ticket: str | None = None) -> tuple[str, ...]:
    here = services(root)
    asked = resolve.resolve(here, feature="login", ticket=ticket, description=text)
    return resolve.warnings(here.layout, asked, ticket=ticket, description=text)


@pytest.mark.parametrize(
    ("asked", "headless", "ticket", "level"),
    [
        ("light", True, True, "light"),
        ("full", False, False, "full"),
        ("auto", False, True, "light"),
        ("auto", True, True, "full"),
        ("auto", True, False, "standard"),
    ],
)
def test_auto_is_the_deepest_level_that_a_model_and_a_ticket_allow(
    asked: str, headless: bool, ticket: bool, level: str
) -> None:
    assert resolve.resolved_level(asked, headless=headless, ticket=ticket) == level


@pytest.mark.parametrize("text", [None, "", "log in  with\n a password", "x" * MAX_DESCRIPTION])
def test_a_description_up_to_the_limit_is_used_whole_and_without_a_warning(
    tmp_path: Path, text: str | None
) -> None:
    assert description_of(tmp_path, text) == " ".join((text or "").split())
    assert warnings(tmp_path, text) == ()


def test_white_space_does_not_count_towards_the_limit(tmp_path: Path) -> None:
    text = "word   " * (MAX_DESCRIPTION // 5)
    assert description_of(tmp_path, text) == text.replace("   ", " ").strip()
    assert warnings(tmp_path, text) == ()


def test_a_longer_description_is_cut_at_a_word_with_a_warning(tmp_path: Path) -> None:
    text = "seven77 " * 3000
    used = description_of(tmp_path, text)
    assert used == ("seven77 " * 2500).strip()
    assert warnings(tmp_path, text) == (
        "The description has 23,999 characters; the first 20,000 are used.",
    )


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("x" * MAX_DESCRIPTION + " y", MAX_DESCRIPTION),
        ("x" * (MAX_DESCRIPTION - 1) + " yz", MAX_DESCRIPTION - 1),
        ("x" * (MAX_DESCRIPTION + 1), MAX_DESCRIPTION),
    ],
)
def test_a_word_is_only_cut_when_nothing_else_is_left(
    tmp_path: Path, text: str, length: int
) -> None:
    assert description_of(tmp_path, text) == "x" * length
    assert len(warnings(tmp_path, text)) == 1


def test_a_ticket_without_a_file_is_ignored_with_a_warning_unless_a_model_can_look_it_up(
    tmp_path: Path,
) -> None:
    warned = ("There is no .project/tickets/A-1.md, so the ticket is ignored.",)
    assert warnings(tmp_path, ticket="A-1") == warned
    here = services(tmp_path)
    for_model = resolve.resolve(here, feature="login", ticket="A-1", headless=True)
    assert (for_model.ticket, for_model.level) == ("A-1", "full")
    write(tmp_path, {".project/tickets/A-1.md": "# A-1: log in"})
    assert warnings(tmp_path, ticket="A-1") == ()
    assert resolve.resolve(services(tmp_path), feature="login", ticket="A-1").ticket == "A-1"
    with pytest.raises(PrereadError, match="ticket"):
        resolve.resolve(here, feature="login", ticket="../A-1")


def test_a_misspelt_ticket_replaces_no_dossier_and_counts_once_it_is_written(
    tmp_path: Path, cli: Cli
) -> None:
    root = write(
        tmp_path / "p", {"login.py": "def login(): ...\n", ".project/tickets/A-1.md": "# A-1: in"}
    )

    def load(ticket: str) -> tuple[str, str, list[str]]:
        reply = cli("load", "login", "--ticket", ticket, "--json", cwd=root, env=OFF).json
        return reply["state"], requirements.read_text(), reply["warnings"]

    requirements = root / ".project" / "context" / "login" / "requirements.md"
    built, text, _ = load("A-1")
    assert (built, "ticket:A-1" in text) == ("built", True)
    assert load("A-2") == (
        "cached", text, ["There is no .project/tickets/A-2.md, so the ticket is ignored."]
    )  # fmt: skip
    write(root, {".project/tickets/A-2.md": "# A-2: out"})
    built, text, warned = load("A-2")
    assert (built, "ticket:A-2" in text, warned) == ("built", True, [])
