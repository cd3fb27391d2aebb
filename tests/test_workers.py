"""Two processes fill the index with what one would, and the second one's end costs nothing."""

import threading
from pathlib import Path

import pytest

from _evidence_project import services, write
from _index import FILES, IN, OUT, content, fresh, more, update, whole
from _processes import processes_in
from preread.errors import Cancelled
from preread.index import indexer, workers
from preread.index.reader import Order, Read
from preread.services import Services


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path / "project", FILES)


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
