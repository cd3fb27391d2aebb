"""Resolving a request: levels, and descriptions that are too long."""

from pathlib import Path

import pytest

from _evidence_project import services
from preread import resolve
from preread.resolve import MAX_DESCRIPTION


def description_of(root: Path, text: str | None) -> str:
    return resolve.resolve(services(root), feature="login", description=text).description


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
    assert description_of(tmp_path, text).split() == (text or "").split()
    assert resolve.warnings(text) == ()


def test_white_space_does_not_count_towards_the_limit(tmp_path: Path) -> None:
    text = "word   " * (MAX_DESCRIPTION // 5)
    assert description_of(tmp_path, text) == text.replace("   ", " ").strip()
    assert resolve.warnings(text) == ()


def test_a_longer_description_is_cut_at_a_word_with_a_warning(tmp_path: Path) -> None:
    text = "seven77 " * 3000
    used = description_of(tmp_path, text)
    assert used == ("seven77 " * 2500).strip()
    assert resolve.warnings(text) == (
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
    assert len(resolve.warnings(text)) == 1


def test_the_lines_of_a_description_stay_apart_because_the_first_may_be_a_title(
    tmp_path: Path,
) -> None:
    text = "Log  in\r\n\n  with a password\n\n"
    assert description_of(tmp_path, text) == "Log in\nwith a password"
