"""Names in the texts of a plugin that name nothing: tools, commands, options, agents, skills, files, settings."""

import re
from collections.abc import Iterator
from pathlib import Path

import click

from preread import layout, settings
from preread.cli import commands

# Variables of the environment that are no settings, and where each of them is read.
VARIABLES = {"GATES": "hooks", "CHILD": "hooks", "EVENT": "hooks", "PYTHON": "bin"}
PLACES = frozenset(
    {
        "config.toml",
        "gates",
        "knowledge.md",
        "tickets",
        "context",
        "runs",
        "prompts",
        ".state",
        ".cache",
        ".gitignore",
    }
)
DOCUMENTS = frozenset(
    {*layout.BY_NAME, "knowledge.md", "SKILL.md", "CLAUDE.md", "README.md", "AGENTS.md"}
)
STAGES = frozenset("ANALYZE RESEARCH PLAN WRITE RUN FIX LEARN".split())
FOLDERS = "bin|hooks|skills|agents|prompts"  # that come with the plugin
PLACEHOLDER = re.compile(r"[A-Z][A-Z ]*|<.*|\[.*|….*|\{.*")


def words(plugin: Path, text: str, tools: frozenset[str], *, code: bool) -> Iterator[str]:
    """What a text names in vain. In `code` only what cannot be anything else is looked at."""
    for name in re.findall(r"\bmcp__\w+", text):
        if name not in tools and not (code and name in {"mcp__", "mcp__plugin_"}):
            yield f"there is no tool {name}"
    known = {field.upper() for field in settings.Settings.model_fields} | VARIABLES.keys()
    for name in re.findall(r"\bPREREAD_([A-Z][A-Z_]*)", text):
        if name not in known:
            yield f"there is no setting PREREAD_{name}"
    if code:
        return
    for piece in re.findall(r"`([^`\n]+)`", text):
        yield from _command(piece) if piece.startswith("preread ") else _name(plugin, piece)
    for name in re.findall(r"\bskill `([^`]+)`", text):
        if not (plugin / "skills" / name).is_dir():
            yield f"there is no skill {name}"


def _command(piece: str) -> Iterator[str]:
    """`preread gates explain PATH`: the command is there, and so are its options and choices."""
    given = piece.split()[1:]
    if PLACEHOLDER.fullmatch(given[0]):
        given = ["", *given[1:]]
    group = commands.Commands("preread")
    command = group.get_command(click.Context(group), given[0])
    if given[0] and command is None:
        yield f"there is no command `preread {given[0]}`"
        return
    options = {
        "--help",
        *(flag for parameter in (command.params if command else ()) for flag in parameter.opts),
    }
    for word in given[1:]:
        if word.startswith("--") and word.partition("=")[0] not in options:
            yield f"`preread {given[0]}` has no option {word}"
    first = next(
        (p for p in (command.params if command else ()) if isinstance(p, click.Argument)), None
    )
    plain = [word for word in given[1:] if not word.startswith("-")]
    if (
        first
        and isinstance(first.type, click.Choice)
        and plain
        and not PLACEHOLDER.fullmatch(plain[0])
    ):
        for choice in plain[0].split("|"):
            if choice not in first.type.choices:
                yield f"`preread {given[0]}` knows no {choice}"


def _name(plugin: Path, piece: str) -> Iterator[str]:
    member = re.match(r"(/?)preread:([\w-]+)", piece)
    if member:
        skill = (plugin / "skills" / member[2]).is_dir()
        if not skill and (member[1] or not (plugin / "agents" / f"{member[2]}.md").is_file()):
            yield f"there is no {'skill' if member[1] else 'agent or skill'} {member[2]}"
    elif piece.startswith(".project/"):
        place = piece.split("/")[1]
        if place and not PLACEHOLDER.fullmatch(place) and place not in PLACES:
            yield f"there is no {piece} in a project"
        if (
            re.search(r"context/[^/]+/[\w-]+\.md", piece)
            and piece.rpartition("/")[2] not in layout.BY_NAME
        ):
            yield f"no dossier holds {piece.rpartition('/')[2]}"
    elif re.fullmatch(r"[\w-]+\.md", piece) and piece not in DOCUMENTS:
        yield f"there is no file {piece}"
    elif piece.startswith("## ") and piece[3:].isupper() and piece[3:] not in STAGES:
        yield f"no run log has the stage {piece[3:]}"
    elif re.fullmatch(r"\$\{?CLAUDE_PLUGIN_ROOT\}?/[\w./-]+", piece):
        if not (plugin / piece.partition("/")[2]).exists():
            yield f"{piece} is not there"
    elif (
        re.fullmatch(rf"({FOLDERS})/[\w/-]+\.(py|md|json|sh)", piece)
        and not (plugin / piece).exists()
    ):
        yield f"{piece} is not there"
