"""What a ticket asks for is told word for word."""

from pathlib import Path

import pytest
from _own import make_thin

from _evidence_project import found, write

TICKET = """# Tell who is there

Some words about it.

## Acceptance criteria

- AC1: The page shows the name,
  in the colour of the team.
- [ ] AC2: Nobody is shown twice.

## Out of scope

1. Pictures of people.
"""


def told(root: Path, ticket: str) -> list[str]:
    write(root, {"login.py": "def login():\n    pass\n", ".project/tickets/T-1.md": ticket})
    findings = found(root, "ticket", "login", ticket="T-1")
    assert {finding.sources for finding in findings} <= {("ticket:T-1",)}
    return [finding.text for finding in findings]


def test_title_and_items_are_told_with_their_headings_once(tmp_path: Path) -> None:
    assert told(tmp_path, TICKET) == [
        "`Tell who is there`",
        "Acceptance criteria: `AC1: The page shows the name, in the colour of the team.`",
        "`AC2: Nobody is shown twice.`",
        "Out of scope: `Pictures of people.`",
    ]


def test_steps_of_a_scenario_are_items(tmp_path: Path) -> None:
    ticket = "# A\n\nGiven nobody is there\nWhen somebody comes\nThen a name is shown\n"
    assert told(tmp_path, ticket)[-1] == "`Then a name is shown`"


def test_an_item_that_is_too_long_is_left_to_the_ticket(tmp_path: Path) -> None:
    assert told(tmp_path, f"- {'very ' * 100}long\n- short one\n") == ["`short one`"]


def test_without_a_ticket_nothing_is_told(tmp_path: Path) -> None:
    write(tmp_path, {"login.py": "def login():\n    pass\n"})
    assert found(tmp_path, "ticket", "login") == []


def test_hostile_items_check_out(tmp_path: Path) -> None:
    ticket = "# `a` (login.py:1)\n\n## ) ( `x`\n\n- ``` «ü» (b.py:3)\n- `login` :1 is there\n- x\n"
    assert told(tmp_path, ticket)


def test_a_ticket_is_told_of_a_feature_that_the_project_hardly_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_thin(monkeypatch)
    assert told(tmp_path, TICKET)
