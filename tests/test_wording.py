"""Hints are in the words of the face that gets them."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from _faces import FACES, face
from conftest import ROOT
from preread.operations import COMMANDS, REGISTRY
from preread.operations.wording import Face, in_words_of, parsed, reply_for

pytestmark = pytest.mark.anyio

PACKAGE = ROOT / "server" / "preread"
# Texts of one face only: hooks and tools speak to a model, `cli` and `token` to a terminal.
OF_ONE_FACE = ("gates/", "mcp/", "cli/", "operations/wording.py", "settings.py")
NOT_SAID = {"example", "help", "description", "doc"}  # arguments whose texts are documentation
WORDS = "|".join(words.split()[0] for words in COMMANDS)
COMMAND = re.compile(rf"(?<![\w./-])preread (?:{WORDS})\b")
QUOTED = re.compile(r"`preread [^`]+`")
TERMINAL = " in a terminal"
OPERATION = re.compile(rf"\b(?:{'|'.join(map(re.escape, REGISTRY))})\b")
TOOL = re.compile(r"load_context|context_operation")
PERSON = [name for name in REGISTRY if REGISTRY[name].people_only]


def texts_of(path: Path) -> Iterator[str]:
    """What a module says: its literal texts with `x` in the place of values; no documentation."""
    tree = ast.parse(path.read_text())
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(node.value)
        if isinstance(node, ast.keyword) and node.arg in NOT_SAID:
            skipped.update(ast.walk(node.value))
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            skipped.update(ast.walk(node))
            yield "".join(str(p.value) if isinstance(p, ast.Constant) else "x" for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """Every text that a module or a workflow may say on every face, and where it is."""
    modules = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    texts = {
        text: name
        for name, path in sorted(modules.items())
        if not name.startswith(OF_ONE_FACE)
        for text in texts_of(path)
    }
    return texts | {
        text: path.name
        for path in sorted((ROOT / "workflows").glob("*.toml"))
        for text in re.findall(r'"(.*?)"', path.read_text())
    }


@pytest.fixture(scope="module")
def naming(said: dict[str, str]) -> dict[str, str]:
    """The texts that name a command."""
    return {text: where for text, where in said.items() if COMMAND.search(text)}


def test_what_every_face_may_say_names_calls_as_commands_in_backticks(
    said: dict[str, str], naming: dict[str, str]
) -> None:
    assert len(naming) > 40
    bare = {where: text for text, where in naming.items() if COMMAND.search(QUOTED.sub("", text))}
    assert bare == {}
    of_tools = {where: t for t, where in said.items() if TOOL.search(t) and " " in t}
    assert of_tools == {}


def test_only_the_command_line_is_told_of_its_options(said: dict[str, str]) -> None:
    told = [text for text in said if "--project" in text and " " in text]
    assert len(told) >= 4
    for text in told:
        assert "--project" not in in_words_of("tools", text), text
        assert "(`--project DIR`)" in in_words_of("commands", text)


def test_no_hint_of_one_face_names_the_call_of_another(naming: dict[str, str]) -> None:
    for text in naming:
        to = {face: in_words_of(face, text.replace("{feature}", "x")) for face in get_args(Face)}
        assert not TOOL.search(to["commands"]), text
        assert not OPERATION.search(re.sub(r"preread call \S+", "", to["commands"])), text
        for of_face in ("tools", "states"):
            others = re.sub(f"{QUOTED.pattern}{TERMINAL}", "", to[of_face])
            assert not COMMAND.search(others), to[of_face]
        assert not TOOL.search(to["states"]), text
        for command in QUOTED.findall(text):
            # A command that nothing replaces is one that only a terminal has.
            kept = f"{command}{TERMINAL}" in to["tools"]
            is_meant = f"{command}{TERMINAL}" in text
            assert is_meant or kept == (parsed(command[9:-1]) is None), command


@pytest.mark.parametrize("name", [name for name in REGISTRY if REGISTRY[name].command])
def test_the_example_of_every_command_becomes_a_call_that_its_operation_accepts(name: str) -> None:
    line = REGISTRY[name].example.removeprefix("preread ")
    call = parsed(line)
    if name in PERSON and name != "config.call":
        assert call is None
        assert in_words_of("tools", f"`preread {line}`") == f"`preread {line}`{TERMINAL}"
        return
    assert call is not None
    assert call.method == ("knowledge.search" if name == "config.call" else name)
    REGISTRY[call.method].request.model_validate_json(json.dumps(call.params))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("load x --force", '`load_context with {"feature": "x", "force": true}`'),
        ("load 'x", "`preread load 'x` in a terminal"),
        ("load x --colour", "`preread load x --colour` in a terminal"),
        ("load x y", "`preread load x y` in a terminal"),
        ("call a.b '{'", "`preread call a.b '{'` in a terminal"),
        ("serve status", "`preread serve status` in a terminal"),
        (
            "call x.y '{}'",
            '`context_operation with {"method": "x.y", "params": {}}`',
        ),
    ],
)
def test_a_command_that_only_a_terminal_has_stays_one(line: str, told: str) -> None:
    assert in_words_of("tools", f"`preread {line}`") == told


def test_what_a_caller_gave_is_returned_as_it_was() -> None:
    given = {"params": {"hint": "`preread load x`"}, "error": {"hint": "`preread load x`"}}
    told = reply_for("states", given)
    assert told["params"] == given["params"]
    assert told["error"]["hint"] == '`{"method": "context.load", "params": {"feature": "x"}}`'


@pytest.mark.parametrize("name", FACES)
async def test_each_face_is_told_its_own_call(name: str, project: Path) -> None:
    told = {
        "command line": "`preread load nosuch`",
        "legacy": '`load_context with {"feature": "nosuch"}`',
        "2026-07-28": '`load_context with {"feature": "nosuch"}`',
    }
    state = '`{"method": "context.load", "params": {"feature": "nosuch"}}`'
    show = {"method": "context.show", "params": {"feature": "nosuch"}}
    async with face(name, project) as call:
        one, both = await call(show), await call({"batch": [show]})
    assert one["error"]["hint"] == f"Build it: {told.get(name, state)}"
    assert both["batch"][0]["error"]["hint"] == one["error"]["hint"]
