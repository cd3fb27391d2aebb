"""The table of tests/data/gates: what the gates decide of one call, and what they say, row by row.

Each row is run against the hooks as processes with an empty environment, and the reference.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import _gate_reference as reference
from _gate_rows import KEYS, Said, Scene, agrees, data_of, event_of, hook_of, rows, run_hook

ROWS = rows()


def name_of(row: Mapping[str, Any]) -> str:
    return f"{row['file']}: {row['is']}"


def test_the_table_is_large_and_its_rows_are_well_formed() -> None:
    assert len(ROWS) >= 170
    assert len({name_of(row) for row in ROWS}) == len(ROWS)
    assert {row["want"] for row in ROWS} == set(reference.SEVERITY)
    for row in ROWS:
        assert row.keys() - {"file"} <= KEYS, name_of(row)


def expect(row: Mapping[str, Any], said: Said) -> None:
    """The row's own words, not the reference's."""
    assert said.kind == row["want"]
    text = row.get("text", [])
    if isinstance(text, str):
        assert said.text == text
    else:
        for part in text:
            assert part in said.text
    for part in row.get("not", []):
        assert part not in said.text
    for part in row.get("person", []):
        assert part in said.person
    for part in row.get("not_person", []):
        assert part not in said.person
    if said.kind == "block":
        assert "preread gates off --for 2h" in said.person
        assert "PREREAD_GATES" not in said.text
        assert "mode off" not in said.text
    if said.kind == "failure":
        assert said.person.startswith("preread: ")
        assert said.person.endswith("; nothing was blocked")


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_hook_and_reference_decide_each_row_as_expected(
    row: Mapping[str, Any], tmp_path: Path
) -> None:
    scene = Scene(tmp_path)
    if row.get("gates", False) is not False:
        scene.write(".project/gates", data_of(row["gates"]))
    scene.grow(row.get("tree", []))
    hook, data, env = hook_of(row), event_of(row, scene), scene.filled_in(row.get("env", {}))
    asked = set[tuple[str, str]]()
    for _ in range(2 if row.get("twice") else 1):
        meant = reference.decide(hook, data, env, asked)
        said = run_hook(hook, data, env, scene.project if len(row["is"]) % 2 else "/")
    expect(row, Said(meant.kind, meant.text, "".join(meant.person)))
    expect(row, said)
    assert agrees(said, meant), f"{said}\n{meant}"
    assert not list(tmp_path.rglob("pwned*")), "something in the event was run, or named a file"
