"""How to run the feature's tests: a command for each runner, by the project's settings."""

from collections.abc import Iterator

from preread.dossier import code
from preread.evidence import quoting
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View
from preread.project.runners import Command, Note, Proof, Target, command_for
from preread.sources import Ref

MAX_COMMANDS = 3
MAX_FILES = 8  # test files whose runner is looked for
MAX_NOTES = 3
MAX_NAMES = 2


def find(view: View) -> Iterator[Found]:
    """The command for the best test file of each runner and folder, the best file first."""
    seen: set[tuple[str, str]] = set()
    for path in _files(view):
        command = command_for(_target(view, path))
        if command is None or not _is_sound(command) or (command.tool, command.folder) in seen:
            continue
        notes = [note for note in command.notes if _is_sound_note(note)][:MAX_NOTES]
        sources = dict.fromkeys(
            _source(proof) for proof in (command.proof, *(n.proof for n in notes))
        )
        yield Found(_told(command, notes), tuple(sources), 1 / (1 + len(seen)))
        seen.add((command.tool, command.folder))
        if len(seen) == MAX_COMMANDS:
            return


def _files(view: View) -> list[str]:
    """The feature's test files, best first; for a thin one, the ranked ones."""
    best = () if view.thin else (file.path for file in view.test_files)
    ranked = (file.path for file in view.tests if file.role == "test")
    return list(dict.fromkeys((*best, *ranked)))[:MAX_FILES]


def _target(view: View, path: str) -> Target:
    own = [one for one in view.cases if one.file.path == path]
    names = tuple(dict.fromkeys(one.case.name for one in own[:MAX_NAMES]))
    group = own[0].case.group if own else ""
    return Target(view.services.tree, path, () if view.thin else names, group)


def _is_sound(command: Command) -> bool:
    """Whether a command can be shown in double quotes without being taken for code."""
    return "`" not in f"{command.run}{command.folder}" and '"' not in command.run


def _is_sound_note(note: Note) -> bool:
    return quoting.is_provable(note.text)


def _told(command: Command, notes: list[Note]) -> str:
    where = f" in {command.folder}/" if command.folder else ""
    told = [f"{note.words}, {code(note.text)}" if note.words else code(note.text) for note in notes]
    return "; ".join((f'"{command.run}"{where}', *told))


def _source(proof: Proof) -> str:
    return str(Ref("lines", proof.path, proof.start, proof.end))


RULE = Rule(
    name="run",
    file="patterns.md",
    heading="Run",
    weight=0.08,
    find=find,
    example='"python -m pytest tests/test_a.py"; warnings are errors, `filterwarnings`',
)
