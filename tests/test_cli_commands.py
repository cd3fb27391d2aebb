"""The command line as a real process: what it accepts, what it refuses, with which exit status."""

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from _trees import write
from conftest import ROOT, Cli, make_repository
from preread import __version__
from preread.cli.commands import Commands, parse
from preread.errors import CODES
from preread.operations import REGISTRY

OPERATIONS = tuple(REGISTRY.values())

COMMANDS = (
    "load extend show status evidence failures builds facts graph capture remember recall decide documents read report check wrong remove "
    "repair backups restore gc diff impact blame trace workflow "
    "ready run agent worktree attention consolidate who say hear log replay init doctor settings gates ops call watch mcp serve token"
).split()


def test_every_operation_is_a_command_with_its_example(cli: Cli) -> None:
    commands = [operation for operation in OPERATIONS if operation.command]
    first_words = dict.fromkeys(operation.command.split()[0] for operation in commands)
    assert [word for word in first_words if word != "mcp"] == COMMANDS[:-4]
    for operation in commands:
        done = cli(*operation.command.split(), "--help")
        assert done.status == 0
        words = " ".join(done.out.split())
        assert operation.doc in words
        assert operation.example in done.out
        for name, field in operation.request.model_fields.items():
            assert field.description
            if name not in operation.positional:
                assert f"--{name.strip('_').replace('_', '-')}" in words
                assert field.description in words
        assert "--project DIR" in words
        assert "--json" in words


def test_help_lists_the_commands_in_the_order_of_a_days_work(cli: Cli) -> None:
    done = cli("--help")
    assert done.status == 0
    assert re.findall(r"^  (\w+)  ", done.out, re.MULTILINE) == COMMANDS


def all_commands(found: click.Command, words: str) -> Iterator[tuple[str, click.Command]]:
    yield words, found
    if isinstance(found, click.Group):
        ctx = click.Context(found)
        for name in found.list_commands(ctx):
            yield from all_commands(found.get_command(ctx, name), f"{words} {name}".strip())


@pytest.mark.parametrize("width", [80, 100])
def test_help_cuts_no_line_and_has_an_example(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    commands = dict(all_commands(Commands("preread"), ""))
    assert {"", "watch", "serve page", "token new", "builds tail", "worktree"} <= set(commands)
    for words, found in commands.items():
        assert parse([*words.split(), "--help"]) == 0
        text = capsys.readouterr().out
        usage, *lines = text.splitlines()
        assert usage.startswith("Usage: ")
        assert [line for line in lines if line.endswith("...")] == [], words
        assert ("Example:" in text) == (found.name != "preread"), words


@pytest.mark.parametrize("command", [[], ["load"], ["facts"]])
def test_h_asks_for_help(cli: Cli, command: list[str]) -> None:
    assert cli(*command, "-h") == cli(*command, "--help")
    assert cli(*command, "-h").status == 0


@pytest.mark.parametrize(
    ("shell", "line", "expected"),
    [
        ("bash", "preread show ch", ["checkout"]),
        ("bash", "preread load ", ["cart", "checkout"]),
        ("zsh", "preread facts x --feature ca", ["cart"]),
        ("fish", "preread sh", ["show"]),
    ],
)
def test_a_shell_completes_commands_and_features(
    cli: Cli, project: Path, shell: str, line: str, expected: list[str]
) -> None:
    for name in ("cart", "checkout"):
        cli("load", name, cwd=project)
    words = line.split()
    last = "" if line.endswith(" ") else words[-1]
    env = {"COMP_WORDS": line if shell != "fish" else " ".join(words[:-1]), "COMP_CWORD": last}
    if shell != "fish":
        env["COMP_CWORD"] = str(len(words) - (last != ""))
    done = cli(cwd=project, env={"_PREREAD_COMPLETE": f"{shell}_complete", **env})
    assert done.status == 0
    assert [word for word in expected if word not in done.out] == []
    assert ("cart" in done.out) == ("cart" in expected)
    assert "_PREREAD_COMPLETE" in cli(env={"_PREREAD_COMPLETE": f"{shell}_source"}).out


def test_hints_name_options_as_the_command_line_has_them(cli: Cli, tmp_path: Path) -> None:
    done = cli("load", "zeppelin", cwd=write(tmp_path, {"shop.py": "x = 1\n"}))
    assert "`--description`" in done.out
    assert "say more in `description`" not in done.out


def test_version_is_the_one_of_the_package(cli: Cli) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert __version__ == declared
    assert cli("--version").out == f"preread {declared}\n"


def test_no_command_at_all_prints_the_help_and_is_bad_usage(cli: Cli) -> None:
    done = cli()
    assert done.status == 2
    assert done.out == ""
    assert "Commands:" in done.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["load"], "Missing argument 'FEATURE'"),
        (["gates"], "Choose from: on, off, test, explain"),
        (["nope"], "No such command 'nope'"),
        (["laod", "a"], "No such command 'laod'. Did you mean 'load'?"),
        (["forget", "3f9a01bc"], "Did you mean `preread call memory.forget '{"),
        (["search", "coupon"], "No such command 'search'. Did you mean `preread facts "),
        (["get_workflow_state"], "No such command 'get_workflow_state'. Did you mean `preread "),
        (["Stauts"], "Did you mean 'status'?"),
        (["load", "a", "b"], "unexpected extra argument"),
        (["load", "a", "--forse"], "Did you mean '--force'"),
        (["load", "a", "--level", "deep"], "'light', 'standard', 'full'"),
        (["evidence", "a", "--limit", "many"], "not a valid integer"),
        (["evidence", "a", "--limit", "0"], "`limit`: Input should be greater than or equal to 1"),
    ],
)
def test_bad_usage_exits_2_and_says_what_is_wrong(
    cli: Cli, tmp_path: Path, arguments: list[str], says: str
) -> None:
    plain = cli(*arguments)
    assert plain.status == 2
    assert plain.out == ""
    assert plain.err.startswith("error: E_USAGE: ")
    assert says in plain.err
    told = cli(*arguments, "--json")
    assert told.status == 2
    assert told.err == ""
    assert (told.json["status"], told.json["code"]) == ("error", "E_USAGE")
    assert says in told.json["message"]


def test_a_description_that_is_too_long_is_cut_with_a_warning(cli: Cli, tmp_path: Path) -> None:
    source = tmp_path / "src" / "login.py"
    source.parent.mkdir()
    source.write_text("def login(name, password):\n    return name == password\n")
    warning = "The description has 24,999 characters; the first 20,000 are used."
    asked = ("login", "--description", "word " * 5000)
    for state in ("built", "cached"):
        reply = cli("load", *asked, "--level", "light", "--json").json
        assert (reply["status"], reply["state"]) == ("ok", state)
        assert reply["warnings"][0] == warning
    assert f"warning: {warning}\n" in cli("load", *asked, "--level", "light").out
    assert cli("evidence", *asked, "--json").json["notes"][0] == warning


BAD_NAMES = {
    "../etc/passwd": "etc-passwd",
    "..": "",
    "a/b": "a-b",
    "a\nb": "a-b",
    "a" * 300: "a" * 64,
    "ログイン": "",
    "lоgin": "l-gin",  # a Cyrillic о
    "x$(touch pwned)": "x-touch-pwned",
    "`touch pwned`": "touch-pwned",
    "-login": "login",
    "con": "",
    "NUL": "",
    "lpt1": "",
    "": "",
    " login ": "login",
    "a\x1b[31mb": "a-31mb",
    ".hidden": "hidden",
    "_other": "other",
    "a--b": "a-b",
}


@pytest.mark.parametrize("name", BAD_NAMES, ids=ascii)
def test_a_bad_name_is_refused_with_the_slug_that_would_do(
    cli: Cli, tmp_path: Path, name: str
) -> None:
    (tmp_path / ".project").mkdir()
    slug = BAD_NAMES[name]
    done = cli("load", name, "--json")
    assert done.status == 2
    assert done.json["code"] == "E_FEATURE_NAME"
    assert done.json["details"] == {"slug": slug}
    assert (f'name "{slug}"' in done.json["hint"]) == bool(slug)
    assert "\x1b" not in done.out
    assert [path.name for path in tmp_path.iterdir()] == [".project"]
    assert not list((tmp_path / ".project").iterdir())


@pytest.mark.parametrize("name", ["Login", "log in", "log_in", "LOG.IN"])
def test_the_same_words_in_another_spelling_are_taken(cli: Cli, tmp_path: Path, name: str) -> None:
    done = cli("show", name, "--json")
    assert done.json["code"] == "E_NOT_FOUND"
    assert "log" in done.json["message"]


def test_an_argument_that_is_not_text_is_bad_usage(cli: Cli, tmp_path: Path) -> None:
    done = cli("load", "login", "--description", "\udcff", "--json")
    assert done.status == 2
    assert done.json["code"] == "E_USAGE"


def test_a_missing_project_is_an_expected_failure(cli: Cli, tmp_path: Path) -> None:
    done = cli("load", "login", "--project", str(tmp_path / "gone"))
    assert done.status == 1
    assert done.out == ""
    where = f"{tmp_path / 'gone'} cannot be opened: no such file or directory."
    assert done.err.splitlines()[0] == f"error: E_PROJECT_DIR: {where}"
    assert "--project DIR" in done.err


def test_a_bug_exits_3_with_one_line_and_a_log_to_paste(cli: Cli, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "jinja2.py").write_text("raise ZeroDivisionError('a broken installation')\n")
    folder = tmp_path / "app"
    (folder / ".project").mkdir(parents=True)
    path = f"{broken}:{ROOT / 'server'}"
    done = cli("init", cwd=folder, env={"PYTHONPATH": path})
    assert done.status == 3
    assert done.out == ""
    lines = done.err.splitlines()
    assert lines[0] == "error: E_INTERNAL: ZeroDivisionError: a broken installation"
    assert len(lines) == 2
    log = folder / ".project" / ".cache" / "preread.log"
    assert str(log) in lines[1]
    assert "Traceback (most recent call last)" in log.read_text()
    assert f"preread {__version__}, Python" in log.read_text()
    assert "['init']" in log.read_text()


def test_a_bug_outside_of_a_project_is_logged_in_a_temporary_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "jinja2.py").write_text("raise ZeroDivisionError('a broken installation')\n")
    folder = tmp_path / "app"
    folder.mkdir()
    path = f"{tmp_path}:{ROOT / 'server'}"
    done = cli("init", "--json", cwd=folder, env={"PYTHONPATH": path, "TMPDIR": str(tmp_path)})
    assert done.status == 3
    assert done.json["code"] == "E_INTERNAL"
    log = re.search(rf"{tmp_path}/preread-\w+\.log", done.json["hint"])
    assert log
    assert "ZeroDivisionError" in Path(log[0]).read_text()
    assert not list(folder.iterdir())


def test_exit_statuses_come_from_the_table_of_codes() -> None:
    assert {code.exit for code in CODES.values()} == {1, 2, 3, 130}


def test_json_omits_absent_fields_and_keeps_other_scripts_readable(
    cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "login_ログイン.py").write_text("def login():\n    return 1\n")
    make_repository(tmp_path)
    done = cli("load", "login", "--json")
    assert done.status == 0
    assert json.loads(done.out)["status"] == "ok"
    assert "null" not in done.out
    assert "login_ログイン.py" in done.out


def test_the_mcp_command_serves_until_its_input_ends(cli: Cli, project: Path) -> None:
    done = cli("mcp", "--project", str(project))
    assert (done.status, done.out) == (0, "")
    assert "Traceback" not in done.err


def test_commands_that_texts_name_exist() -> None:
    """In hints, warnings, examples and docstrings of the whole package."""
    groups = {name.split()[0] for name in (op.command or "" for op in OPERATIONS) if " " in name}
    ours = {op.command for op in OPERATIONS if op.command} | set(COMMANDS) - groups
    ours |= {"builds tail"}  # no operation
    named = set()
    for path in (ROOT / "server/preread").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                named |= set(
                    re.findall(r"(?<![\w./-])preread ([a-z]+)(?: ([a-z_.]+))?", node.value)
                )
    calls = {second for first, second in named if first == "call" and second}
    assert calls - {op.name for op in OPERATIONS} - {"-"} == set()
    words = {f"{first} {second}".strip() if first in groups else first for first, second in named}
    assert words - ours - groups == set()
    assert len(words) > 20
    assert len(calls) > 5
