"""The evidence index: a changed file costs that file, and what is in it is what a fresh one would
hold.
"""

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from _evidence_project import PAST, commit, services, write
from _processes import processes_in, until
from conftest import child_environ, git
from preread.errors import Cancelled
from preread.index import indexer, workers
from preread.index.reader import Order, Read
from preread.index.serialization import pack, unpack
from preread.infra import db
from preread.services import Services
from preread.syntax import Outline, outline

FILES = {f"src/m{n}.py": f"def place_order_{n}():\n    return {n}\n" for n in range(6)} | {
    "t/test_m.py": "from src.m0 import place_order_0\n\n\ndef test_order():\n    assert place_order_0() == 0\n",
    "README.md": "# Orders\n\nHow orders are placed.\n",
}
UPDATE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from _evidence_project import services
from preread.index import indexer, workers
workers.MIN_BYTES = int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
indexer.update(services(Path(sys.argv[1]), lambda message, *_: print(message, flush=True)))
print("done")
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path / "project", FILES)


def update(root: Path) -> int:
    """Bring the index up to date; how many files were looked into."""
    totals = [0]

    def report(message: str, _done: float, _total: float) -> None:
        if found := re.search(r"changed files: [\d,]+ of ([\d,]+)", message):
            totals.append(int(found[1].replace(",", "")))

    indexer.update(services(root, report))
    return max(totals)


def content(root: Path) -> dict[str, tuple[object, ...]]:
    """Everything that the index says of each file."""
    columns = "f.path, f.digest, f.role, f.outline, w.path, w.defs, w.body"
    sql = f"SELECT {columns} FROM files f JOIN words w ON w.rowid = f.id"
    counts = "SELECT (SELECT count(*) FROM files), (SELECT count(*) FROM words)"

    def read(connection):
        files, words = connection.execute(counts).fetchone()
        assert files == words
        return {path: tuple(rest) for path, *rest in connection.execute(sql)}

    return db.use(services(root).layout, read)


def fresh(root: Path) -> dict[str, tuple[object, ...]]:
    """What an index says that is made anew from the files."""
    shutil.rmtree(root / ".project" / ".cache")
    update(root)
    return content(root)


def test_every_listed_file_is_looked_into_once(root: Path) -> None:
    assert update(root) == len(FILES)
    assert content(root).keys() == FILES.keys()
    assert update(root) == 0


def test_one_changed_file_costs_that_file(root: Path) -> None:
    update(root)
    write(root, {"src/m1.py": "def cancel_order():\n    return 1\n"})
    assert update(root) == 1
    assert "cancel_order" in str(content(root)["src/m1.py"])
    assert "place_order_1" not in str(content(root)["src/m1.py"])
    assert content(root) == fresh(root)


def test_a_file_that_was_only_touched_keeps_its_outline(root: Path) -> None:
    update(root)
    before = content(root)
    when = next(PAST)
    os.utime(root / "src/m1.py", (when, when))
    assert update(root) == 1
    assert content(root) == before
    assert update(root) == 0


def test_a_file_written_within_a_moment_of_its_indexing_is_looked_at_again(root: Path) -> None:
    soon = (
        time.time_ns() + 60_000_000_000
    )  # so that a slow machine, too, indexes it within the moment
    for text in ("def one(): ...\n", "def two(): ...\n"):
        (root / "src/m1.py").write_text(text)
        os.utime(root / "src/m1.py", ns=(soon, soon))  # a change within the clock's grain
        update(root)
    assert "two" in str(content(root)["src/m1.py"])


def test_deleted_and_renamed_files_leave_nothing_behind(root: Path) -> None:
    update(root)
    (root / "src/m1.py").unlink()
    (root / "src/m2.py").rename(root / "src/renamed.py")
    assert update(root) == 1
    found = content(root)
    assert found.keys() == FILES.keys() - {"src/m1.py", "src/m2.py"} | {"src/renamed.py"}
    assert found == fresh(root)


def test_after_a_branch_switch_the_index_is_as_a_fresh_one(tmp_path: Path) -> None:
    root = tmp_path / "project"
    commit(root, {**FILES, ".gitignore": ".project/\n"}, "begin")
    git(root, "checkout", "-q", "-b", "other")
    (root / "src/m3.py").unlink()
    commit(
        root,
        {"src/m1.py": "def other(): ...\n", "src/new/m9.ts": "export const nine = 9;\n"},
        "other",
    )
    for branch in ("main", "other", "main"):
        git(root, "checkout", "-q", branch)
        update(root)
        found = content(root)
        assert found == fresh(root)
        assert ("src/m3.py" in found) == (branch == "main")


def test_a_file_that_becomes_excluded_is_forgotten_and_comes_back(root: Path) -> None:
    update(root)
    indexer.update(services(root, exclude=["src/*"]))
    assert content(root).keys() == {"t/test_m.py", "README.md"}
    assert update(root) == 6
    assert content(root).keys() == FILES.keys()


def test_a_file_that_turns_binary_or_empty_keeps_only_its_name(root: Path) -> None:
    update(root)
    (root / "src/m1.py").write_bytes(b"\0\1\2")
    write(root, {"src/m2.py": ""})
    update(root)
    for path in ("src/m1.py", "src/m2.py"):
        assert "place_order" not in str(content(root)[path])
        assert content(root)[path][-1] == ""
    assert content(root) == fresh(root)


def test_outlines_are_kept_whole(root: Path) -> None:
    for path, text in FILES.items():
        found = outline(path, text)
        assert unpack(Outline, pack(found)) == found


def test_data_and_generated_files_are_known_by_their_path_alone(tmp_path: Path) -> None:
    write(tmp_path, {"package-lock.json": '{"needle": 1}\n', "src/a.py": "needle = 1\n"})
    update(tmp_path)
    found = content(tmp_path)
    assert "needle" in found["src/a.py"][-1]
    assert "needle" not in str(found["package-lock.json"])


def worker(root: Path, enough: int = workers.MIN_BYTES) -> "subprocess.Popen[str]":
    """A process that brings the index up to date as soon as it is told to, and says how far it is."""
    return subprocess.Popen(
        [sys.executable, "-c", UPDATE, str(root), str(Path(__file__).parent), str(enough)],
        env=child_environ(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def more(root: Path, files: int) -> int:
    """So many more files; how many there are."""
    write(root, {f"src/more/n{n}.py": f"def more_{n}(): ...\n" for n in range(files)})
    return len(FILES) + files


@pytest.mark.parametrize("enough", [workers.MIN_BYTES, 0], ids=["one process", "two processes"])
def test_an_index_that_was_killed_while_it_was_made_is_finished_by_the_next(
    root: Path, enough: int
) -> None:
    total = more(root, 3 * indexer.BATCH)
    killed = worker(root, enough)
    assert killed.stdin is not None
    assert killed.stdout is not None
    killed.stdin.write("go\n")
    killed.stdin.flush()
    while (
        int(killed.stdout.readline().partition("files: ")[2].partition(" of")[0] or 0)
        < 2 * indexer.BATCH
    ):
        assert killed.poll() is None
    killed.kill()
    killed.communicate()
    until(lambda: not processes_in(root), "nothing of it runs")
    assert 0 < update(root) < total, "what was done stays done"
    assert content(root) == fresh(root)


# -- read by two processes


@pytest.fixture
def read_here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that this process reads, where a second helps: it waits until that has answered
    once, or failed.
    """
    paths: list[str] = []
    heard, here, put = threading.Event(), workers._read_here, workers._SecondProcess._put

    def waits(asked: Services, part: list[Order]) -> list[Read]:
        assert heard.wait(60)
        paths.extend(order.path for order in part)
        return here(asked, part)

    def hears(second: workers._SecondProcess, answer: list[Read] | str) -> None:
        heard.set()
        put(second, answer)

    monkeypatch.setattr(workers, "is_worth_it", lambda _: True)
    monkeypatch.setattr(workers, "_read_here", waits)
    monkeypatch.setattr(workers._SecondProcess, "_put", hears)
    return paths


def whole(root: Path) -> list[list[tuple[object, ...]]]:
    """The tables of files, words and links, but for when the files were written."""
    words = "SELECT rowid, path, defs, body FROM words ORDER BY rowid"
    files = "SELECT id, path, size, digest, way, role, names, defines FROM files ORDER BY id"
    links = "SELECT * FROM links ORDER BY file, own DESC, whole"
    return db.use(
        services(root).layout,
        lambda c: [c.execute(sql).fetchall() for sql in (files, words, links)],
    )


def test_two_processes_read_what_one_does(
    root: Path, read_here: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, {**OUT, **IN, "src/été.py": "# \u00e9\u2028\ndef wörter(): ...\n"})
    (root / "src/old.py").write_bytes(b"name = '\xe9'\n")
    (root / "src/data.bin.py").write_bytes(b"\0\1")
    total = more(root, 300)
    update(root)
    assert 0 < len(read_here) < total
    by_two = whole(root)
    monkeypatch.setattr(workers, "is_worth_it", lambda _: False)
    fresh(root)
    assert by_two == whole(root)


def test_a_second_process_ends_with_the_work_that_is_stopped(
    root: Path, read_here: list[str]
) -> None:
    total = more(root, 300)
    asked = services(root)
    asked.progress.report = lambda message, _done, _total: (
        asked.progress.stop() if " 0 of " not in message else None
    )
    with pytest.raises(Cancelled):
        indexer.update(asked)
    assert not processes_in(root)
    assert 0 < len(content(root)) < total


@pytest.mark.parametrize(
    "program",
    [
        "import nothing_of_this_name",
        "import os; os.kill(os.getpid(), 9)",
        "print('[[1, 2]]', flush=True); input()",
    ],
    ids=["it cannot start", "it is killed", "it says something else"],
)
def test_what_a_second_process_fails_to_read_is_read_here(
    root: Path, read_here: list[str], monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    total = more(root, 60)
    monkeypatch.setattr(workers, "PROGRAM", program)
    said: list[str] = []
    indexer.update(services(root, lambda message, _done, _total: said.append(message)))
    assert len(read_here) == len(set(read_here)) == total
    assert any("has failed" in message for message in said)
    assert content(root) == fresh(root)


def test_an_index_that_is_stopped_while_it_is_made_ends_at_once_and_is_finished_by_the_next(
    root: Path,
) -> None:
    write(root, {"a/vendor/left_out.py": "needle = 1\n"})
    update(root)
    total = more(root, 3 * indexer.BATCH) + 1
    said: list[str] = []
    asked = services(
        root, lambda message, _done, _total: said.append(message), include=["vendored"]
    )

    def stops_at_the_second(message: str, _done: float, _total: float) -> None:
        said.append(message)
        if message.endswith(f": {indexer.BATCH} of {total}"):
            asked.progress.stop()

    asked.progress.report = stops_at_the_second
    with pytest.raises(Cancelled):
        indexer.update(asked)
    assert said[-1].endswith(f": {indexer.BATCH} of {total}")
    assert update(root) == total - 1, "all but a file that it knew and did not come to"
    assert content(root) == fresh(root)


def test_what_is_not_committed_counts_as_it_stands(tmp_path: Path) -> None:
    root = tmp_path / "project"
    commit(root, {**FILES, ".gitignore": ".project/\n"}, "begin")
    update(root)
    write(root, {"src/m1.py": "def added(): ...\n", "src/new.py": "def untracked(): ...\n"})
    git(root, "add", "src/m1.py")
    write(root, {"src/m1.py": "def unstaged(): ...\n"})
    git(root, "mv", "src/m2.py", "src/moved.py")
    (root / "src/m3.py").unlink()
    assert update(root) == 3
    assert [name for name in ("added", "unstaged", "untracked") if name in str(content(root))] == [
        "unstaged",
        "untracked",
    ]
    assert content(root) == fresh(root)
    git(root, "reset", "-q", "--hard")
    update(root)
    assert content(root) == fresh(root)


def test_two_processes_at_once_make_one_index(root: Path) -> None:
    more(root, 200)
    workers = [worker(root) for _ in range(2)]
    for each in workers:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in workers:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    ended = [(*each.communicate(timeout=60), each.returncode) for each in workers]
    assert [(out.split("\n")[-2], errors, status) for out, errors, status in ended] == [
        ("done", "", 0)
    ] * 2
    assert update(root) == 0
    assert len(content(root)) == len(FILES) + 200


# -- what is left out by default


OUT = {
    "src/made.go": "// Code generated by a tool. DO NOT EDIT.\npackage a\n\nvar needle = 1\n",
    "src/client.ts": "/* eslint-disable */\n// This file is auto-generated by a tool\nexport const needle = 1;\n",
    "web/api_pb2.py": "needle = 1\n",
    "vendor/lib/a.py": "needle = 1\n",
    "third_party/b/test_b.py": "def test_needle(): ...\n",
    "src/app.min.js": "needle=1\n",
    "src/packed.js": "needle=1;" * 900 + "\n",
    "yarn.lock": "needle 1\n",
}
IN = {
    "src/real.py": "# not generated; edit at will, and do not change the needle\nneedle = 1\n",
    "src/table.tsx": f"export const needle = '{'x' * 5000}';\n",
}


def roles(root: Path, *include: str) -> dict[str, str]:
    """The role of each file whose words are known, `needle` among them."""
    indexer.update(services(root, include=list(include)))
    return {path: str(row[1]) for path, row in content(root).items() if "needle" in str(row[-1])}


def test_what_nobody_writes_is_left_out_and_can_be_asked_for_by_kind_or_glob(
    tmp_path: Path,
) -> None:
    root = write(tmp_path, {**OUT, **IN})
    assert roles(root).keys() == IN.keys()
    kinds = {
        "generated": {"src/made.go", "src/client.ts", "web/api_pb2.py"},
        "vendored": {"vendor/lib/a.py", "third_party/b/test_b.py"},
        "minified": {"src/app.min.js", "src/packed.js"},
        "lock": {"yarn.lock"},
    }
    for kind, paths in kinds.items():
        assert roles(root, kind).keys() == IN.keys() | paths
    asked = roles(root, "vendor/**", "*.lock", "src/made.go")
    assert asked.keys() == IN.keys() | {"vendor/lib/a.py", "yarn.lock", "src/made.go"}
    assert asked["yarn.lock"] == "source"
    assert roles(root, "vendored")["third_party/b/test_b.py"] == "test"
    assert roles(root).keys() == IN.keys()
    assert update(root) == 0


def test_gitattributes_say_what_is_generated_and_what_is_not(tmp_path: Path) -> None:
    root = write(tmp_path, {**OUT, **IN})
    write(
        root, {".gitattributes": "src/real.py linguist-generated\nvendor/** -linguist-vendored\n"}
    )
    assert roles(root).keys() == IN.keys() - {"src/real.py"} | {"vendor/lib/a.py"}
    assert "src/real.py" in roles(root, "generated")
    (root / ".gitattributes").unlink()
    assert roles(root).keys() == IN.keys()
