"""How to run the feature's tests: a command for each runner, by the project's settings."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from preread.dossier.fact_text import code
from preread.dossier.sources import Ref
from preread.evidence import nearest, quoting
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View
from preread.project.runners import Command, Note, Proof, Target, command_for

MAX_COMMANDS = 3
MAX_FILES = 8  # test files whose runner is looked for
MAX_TOGETHER = 3  # of the feature's test files in one command
MAX_RUN = 160  # characters of such a command
MAX_NOTES = 3
OTHER = "no test of the feature was found; this runs others: "


def find(view: View) -> Iterator[Found]:
    """The commands for the feature's best test files, one for all that can be run together."""
    for rank, command in enumerate(_commands(view)):
        notes = [note for note in command.notes if _is_sound_note(note)][:MAX_NOTES]
        sources = dict.fromkeys(
            _source(proof) for proof in (command.proof, *(n.proof for n in notes))
        )
        text = f"{'' if _has_tests(view) else OTHER}{_described(command, notes)}"
        yield Found(text, tuple(sources), 1 / (1 + rank))


def _has_tests(view: View) -> bool:
    """Whether there are tests of the feature, or files that may have some of an unknown kind."""
    return not view.thin and (
        bool(view.test_files) or any(nearest.mentioned_in(view, file) for file in view.tests)
    )


def _commands(view: View) -> list[Command]:
    """The commands for the feature's test files, best first; if it has none, the ranked ones."""
    found: dict[tuple[str, str, str], Command] = {}
    own = [] if view.thin else view.test_files
    others = [file for file in view.tests if file.role == "test"]
    for command in _single(view, [file.path for file in (own or others)[:MAX_FILES]]):
        wider = (one.run for one in found.values() if one.folder == command.folder)
        if any(command.start.startswith(f"{run} ") for run in wider):
            continue  # an earlier command runs the whole package
        key = (command.tool, command.folder, command.start if command.files else "")
        earlier = found.setdefault(key, command)
        if own and earlier is not command:
            found[key] = _together(earlier, command)
    return list(found.values())[: MAX_COMMANDS if own else 1]


def _single(view: View, paths: list[str]) -> list[Command]:
    """The command for each of these files. A general one counts only if no other runs its kind."""
    found = [(PurePosixPath(path).suffix, command_for(_target(view, path))) for path in paths]
    sound = [(suffix, one) for suffix, one in found if one is not None and _is_sound(one)]
    known = {suffix for suffix, one in sound if not one.is_general}
    return [one for suffix, one in sound if not (one.is_general and suffix in known)]


def _together(earlier: Command, command: Command) -> Command:
    """One command for the files of both if that is possible and short, else the earlier one.

    pytest cannot import two files of the same name if their folders are no packages.
    """
    joined = earlier.joined(command)
    if joined is None or len(joined.files) > MAX_TOGETHER or len(joined.run) > MAX_RUN:
        return earlier
    names = {PurePosixPath(file).name for file in joined.files}
    return earlier if joined.tool == "pytest" and len(names) < len(joined.files) else joined


def _target(view: View, path: str) -> Target:
    """A test file with its functions that are, or contain, the feature's tests."""
    own = [one for one in view.main_cases if one.file.path == path]
    outer = (one.case.group.split(" > ")[0] for one in own)
    tests = {one.name for one in view.any_file(path).outline.tests if not one.group}
    named = [o if o in tests else one.case.name for o, one in zip(outer, own, strict=True)]
    names = tuple(dict.fromkeys(named))
    group = own[0].case.group if own else ""
    return Target(view.services.tree, path, () if view.thin else names, group)


def _is_sound(command: Command) -> bool:
    """Whether a command can be shown in double quotes without being taken for code."""
    return "`" not in f"{command.run}{command.folder}" and '"' not in command.run


def _is_sound_note(note: Note) -> bool:
    return quoting.is_provable(note.text)


def _described(command: Command, notes: list[Note]) -> str:
    where = f" in {command.folder}/" if command.folder else ""
    parts = [", ".join(filter(None, (note.words, code(note.text)))) for note in notes]
    return "; ".join((f'"{command.run}"{where}', *parts))


def _source(proof: Proof) -> str:
    return str(Ref("lines", proof.path, proof.start, proof.end))


RULE = Rule(
    name="run",
    file="patterns.md",
    heading="Run",
    weight=0.16,
    find=find,
    for_thin=True,
    example='"python -m pytest tests/test_a.py"; warnings are errors, `filterwarnings`',
)
