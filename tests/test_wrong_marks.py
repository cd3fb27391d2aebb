"""Facts marked as wrong: remembered across processes, and never lost."""

import json
import subprocess

import pytest

from _files_project import program, program_environ, services
from preread.dossier import wrong_marks
from preread.dossier.wrong_marks import Wrong


def mark(text, feature="login"):
    return Wrong(feature=feature, text=text)


@pytest.fixture
def work(tmp_path):
    return services(tmp_path / "project")


def test_wrong_facts_are_remembered_with_their_feature(work):
    wrong_marks.add(work.layout, "aaaa", mark("one"))
    wrong_marks.add(work.layout, "bbbb", mark("two", "cart"))
    wrong_marks.add(work.layout, "aaaa", mark("one again"))
    assert wrong_marks.ids(work.layout) == {"aaaa": "one again", "bbbb": "two"}
    assert json.loads(work.layout.wrong.read_text())["bbbb"] == {"feature": "cart", "text": "two"}


def test_a_mark_is_taken_off_and_the_others_stay(work):
    for id_ in ("aaaa", "bbbb"):
        wrong_marks.add(work.layout, id_, mark(id_))
    wrong_marks.remove(work.layout, {"aaaa", "cccc"})
    assert wrong_marks.ids(work.layout) == {"bbbb": "bbbb"}


def test_unknown_keys_of_a_mark_are_kept(work):
    work.layout.state.mkdir()
    work.layout.wrong.write_text('{"aaaa": {"feature": "login", "text": "one", "by": "Ann"}}')
    wrong_marks.add(work.layout, "bbbb", mark("two"))
    assert json.loads(work.layout.wrong.read_text())["aaaa"]["by"] == "Ann"


def test_an_unreadable_file_of_marks_is_renamed_and_not_lost(work):
    work.layout.state.mkdir()
    for n, text in enumerate(("<<<<<<< ours", "[]", '{"aaaa": 1}')):
        work.layout.wrong.write_text(text)
        assert wrong_marks.ids(work.layout) == {}
        assert work.layout.wrong.read_text() == text
        wrong_marks.add(work.layout, f"{n}", mark("two"))
        assert wrong_marks.ids(work.layout) == {f"{n}": "two"}
    aside = {path.name: path.read_text() for path in work.layout.state.glob("*.bad*")}
    assert aside == {
        "wrong.json.bad": "<<<<<<< ours",
        "wrong.json.bad.1": "[]",
        "wrong.json.bad.2": '{"aaaa": 1}',
    }


MARKER = """
import sys
from pathlib import Path
from preread.dossier import wrong_marks
from preread.layout import Layout

print("ready", flush=True)
sys.stdin.readline()
for n in range(20):
    mark = wrong_marks.Wrong(feature="login", text="text")
    wrong_marks.add(Layout(Path(sys.argv[1])), f"{sys.argv[2]}-{n}", mark)
"""


def test_processes_that_mark_at_the_same_time_lose_nothing(work):
    processes = [
        subprocess.Popen(
            program("-c", MARKER, work.layout.root, n),
            env=program_environ(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(3)
    ]
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * 3
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate()[1] for process in processes] == [""] * 3
    assert set(wrong_marks.ids(work.layout)) == {f"{k}-{n}" for k in range(3) for n in range(20)}
