"""Aliases of `.project/gates`: which dossier serves a name, in every operation."""

import os
from pathlib import Path

import pytest

from _processes import small
from conftest import Cli
from preread import aliases
from preread.errors import PrereadError
from preread.gates import rules
from preread.layout import Layout


def gates(root: Path, data: bytes | str) -> Layout:
    (root / ".project").mkdir(exist_ok=True)
    (root / ".project" / "gates").write_bytes(data if isinstance(data, bytes) else data.encode())
    return Layout(root.resolve())


GOOD: dict[str, dict[str, str]] = {
    "alias log-in login": {"log-in": "login"},
    "\ufeffalias log-in login": {"log-in": "login"},
    "  alias\tlog-in \t login\t# the old name\r\n": {"log-in": "login"},
    "mode warn\nagent reviewer\n!agent test-planner\n**/{feature}.spec.ts\nalias a b\nalias b c": {
        "a": "b",
        "b": "c",
    },
    "alias a b\nalias a c": {"a": "b"},
    "alias all _project": {"all": "_project"},
    "aliases a\n./alias a\n!alias a\nmodel x": {},
    "# alias a b\n\n \t\n": {},
    "": {},
}
BROKEN = {
    "alias a": "line 1",
    "# one\nalias a b c": "line 2",
    "alias": "line 1",
    "alias Log login": "line 1",
    "alias _project login": "line 1",
    f"alias {'a' * 65} b": "line 1",
    "alias a b\nmode blok": "line 2",
    "mode": "line 1",
    "alias a b#c": "line 1",
    "alias log-in con": "line 1",  # a reserved name
    "agent": "line 1",
    "agent a b": "line 1",
    "!agent": "line 1",
    "alias a b\n\0": "NUL",
    b"alias a b\n\xff": "UTF-8",
    b"#" * (1 << 20) + b"#": "1 MiB",
}


@pytest.mark.parametrize(("text", "expected"), GOOD.items())
def test_alias_lines_are_read(tmp_path: Path, text: str, expected: dict[str, str]) -> None:
    assert aliases.read(gates(tmp_path, text)) == expected


@pytest.mark.parametrize(("text", "why"), BROKEN.items(), ids=range(len(BROKEN)))
def test_a_broken_file_has_no_aliases_and_a_warning_names_the_line(
    tmp_path: Path, text: bytes | str, why: str
) -> None:
    layout = gates(tmp_path, text)
    with pytest.raises(rules.Broken, match=why):
        aliases.read(layout)
    served = aliases.resolve(layout, "a")
    assert served.feature == "a"
    assert why in served.warnings[0]


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), os.mkfifo], ids=["folder", "pipe"])
def test_a_gates_file_that_is_not_a_regular_file_is_not_waited_for(tmp_path: Path, make) -> None:
    (tmp_path / ".project").mkdir()
    make(tmp_path / ".project" / "gates")
    assert "not used" in aliases.resolve(Layout(tmp_path.resolve()), "login").warnings[0]


def test_without_a_gates_file_a_name_serves_itself(tmp_path: Path) -> None:
    assert aliases.resolve(Layout(tmp_path), "login") == ("login", ())


def test_an_alias_of_the_slug_is_followed_and_not_chained(tmp_path: Path) -> None:
    layout = gates(tmp_path, "alias log-in login\nalias login checkout\n")
    assert aliases.resolve(layout, "Log In").feature == "login"
    assert "log-in is an alias of login" in aliases.resolve(layout, "log-in").warnings[0]


def test_an_invalid_name_is_an_error(tmp_path: Path) -> None:
    layout = gates(tmp_path, "alias log-in login\n")
    with pytest.raises(PrereadError) as caught:
        aliases.resolve(layout, "../login")
    assert caught.value.code == "E_FEATURE_NAME"


def test_every_operation_follows_an_alias(cli: Cli, tmp_path: Path) -> None:
    project = small(tmp_path / "p", {".project/gates": "alias sign-in login\n"})
    built = cli("load", "sign-in", "--json", cwd=project).json
    assert (built["state"], built["path"]) == ("built", ".project/context/login/")
    said = "sign-in is an alias of login in .project/gates: this is the dossier of login."
    assert built["warnings"][0] == said
    assert [path.name for path in (project / ".project" / "context").iterdir()] == ["login"]
    cached = cli("load", "sign-in", "--json", cwd=project).json
    assert (cached["state"], cached["warnings"][0]) == ("cached", said)
    assert cli("load", "login", "--json", cwd=project).json["warnings"] == []
    for words in (("show",), ("check",), ("status",)):
        reply = cli(*words, "sign-in", "--json", cwd=project).json
        assert reply["warnings"] == [said], words
        assert (reply if words != ("status",) else reply["dossiers"][0])["feature"] == "login"
        assert f"note: {said}" in cli(*words, "sign-in", cwd=project).out
    evidence = cli("evidence", "sign-in", "--json", cwd=project).json
    assert (evidence["feature"], evidence["notes"][0]) == ("login", said)
    assert (
        cli("facts", "token", "--feature", "sign-in", "--json", cwd=project).json["facts"][0][
            "feature"
        ]
        == "login"
    )
    extended = cli("extend", "sign-in", "no-such-file", cwd=project)
    assert "is not a file of a dossier" in extended.err
    fact = cli("show", "login", "--ids", "--json", cwd=project).json["facts"][0]["id"]
    assert (
        cli("wrong", fact, "--feature", "sign-in", "--json", cwd=project).json["dropped"][0][
            "feature"
        ]
        == "login"
    )


def test_a_load_succeeds_despite_a_broken_gates_file_and_warns(cli: Cli, tmp_path: Path) -> None:
    project = small(tmp_path / "p", {".project/gates": "alias login-errors\n"})
    for _ in range(2):
        reply = cli("load", "login-errors", "--json", cwd=project)
        assert reply.status == 0
        assert reply.json["path"] == ".project/context/login-errors/"
        assert reply.json["warnings"][0] == (
            "The aliases of .project/gates are not used: line 1 is not a valid alias: "
            "write `alias NAME FEATURE` with two feature names."
        )
