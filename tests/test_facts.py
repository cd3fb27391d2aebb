"""The index of facts: made of files, so that it can always be made again."""

import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from _evidence_project import services, write
from conftest import child_environ
from preread import check, facts
from preread.dossier import fact_text
from preread.errors import Cancelled, PrereadError
from preread.facts import FoundFact, searching
from preread.infra import db, sqlite

PAGE = 4096  # bytes, of SQLite
FILES = {
    "src/a.py": "alpha = 1\nbeta = 2\n",
    ".project/context/login/patterns.md": (
        "# Patterns: login\n\n## Waiting\n- wait for the address: `alpha = 1` (src/a.py:1)\n"
        "- never sleep before the token is refreshed (src/a.py:2)\n"
        "- gone since: `gamma` (src/a.py:1)\n"
    ),
    ".project/context/cart/codebase.md": (
        "# Codebase: cart\n\n## a.py\n- `beta` counts the items (src/a.py:2)\n"
    ),
    ".project/knowledge.md": "# Knowledge\n\n## Money\n- whole cents in `alpha` (src/a.py:1)\n",
}
INDEX = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from _evidence_project import services
from preread import check, facts
print("ready", flush=True)
sys.stdin.readline()
for _ in range(5):
    facts.index(services(Path(sys.argv[1])), check.check_unbudgeted)
print(len(facts.search(services(Path(sys.argv[1])), "", facts.Wanted(), 1000)))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path, FILES)


def index(root: Path) -> None:
    facts.index(services(root), check.check_unbudgeted)


def search(root: Path, query: str = "", limit: int = 20, **wanted: object) -> list[FoundFact]:
    return facts.search(services(root), query, facts.Wanted(**wanted), limit)  # type: ignore[arg-type]


def texts(root: Path, query: str = "", **options: object) -> list[str]:
    return [fact.text for fact in search(root, query, **options)]


def rows(root: Path) -> list[tuple[object, ...]]:
    return sorted(tuple(fact.model_dump().values()) for fact in search(root, limit=1000))


def test_an_index_that_turns_out_to_be_damaged_is_made_anew_before_it_is_searched(
    root: Path,
) -> None:
    def found() -> list[FoundFact]:
        given = services(root)
        return facts.search(given, "alpha", facts.Wanted(), check=check.check_unbudgeted)

    expected, path = found(), services(root).layout.db
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        tables = "SELECT rootpage FROM sqlite_master WHERE name LIKE 'fact%' AND rootpage"
        pages = [page for (page,) in connection.execute(tables)]
    intact = path.read_bytes()
    for start in ((page - 1) * PAGE for page in pages):
        path.write_bytes(intact[:start] + bytes(PAGE) + intact[start + PAGE :])
        assert found() == expected, start


def test_an_empty_query_lists_every_fact_in_the_order_of_the_files(root: Path) -> None:
    index(root)
    assert [(fact.path, fact.line) for fact in search(root)] == [
        (".project/context/cart/codebase.md", 4),
        (".project/context/login/patterns.md", 4),
        (".project/context/login/patterns.md", 5),
        (".project/context/login/patterns.md", 6),
        (".project/knowledge.md", 4),
    ]


def test_a_fact_is_found_with_all_its_fields(root: Path) -> None:
    index(root)
    [found] = search(root, "address")
    assert found.model_dump(exclude={"confidence"}) == {
        "id": fact_text.fact_id("patterns.md", found.text),
        "feature": "login",
        "text": "wait for the address: `alpha = 1`",
        "sources": ("src/a.py:1",),
        "kind": "pattern",
        "section": "Waiting",
        "state": "quoted",
        "path": ".project/context/login/patterns.md",
        "line": 4,
    }
    assert 0.5 < found.confidence < 1


def test_a_fact_with_invalid_sources_has_the_state_failed(root: Path) -> None:
    index(root)
    states = {fact.text.split()[0]: (fact.state, fact.confidence) for fact in search(root)}
    assert states["gone"] == ("failed", 0.0)
    assert states["never"][0] == "located"


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("sleep token", "never sleep"),
        ("TOKENS refreshing", "never sleep"),
        ("beta items", "`beta` counts"),
        ("cart", "`beta` counts"),
        ("money", "whole cents"),
        ("cents nowhere-else", "whole cents"),
    ],
)
def test_facts_are_found_by_their_words_and_those_of_their_section_and_feature(
    root: Path, query: str, first: str
) -> None:
    index(root)
    assert texts(root, query)[0].startswith(first)


def test_facts_with_all_words_leave_out_those_with_some(root: Path) -> None:
    index(root)
    assert texts(root, "wait address") == ["wait for the address: `alpha = 1`"]
    assert len(texts(root, "address sleep")) == 2


def test_one_feature_or_the_knowledge_can_be_searched_alone(root: Path) -> None:
    index(root)
    assert {fact.feature for fact in search(root, "alpha", feature="login")} == {"login"}
    assert texts(root, "", feature="") == ["whole cents in `alpha`"]
    assert texts(root, "alpha", feature="nowhere") == []
    assert len(texts(root, "", limit=2)) == 2


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "'; DROP TABLE facts; --",
        "a AND NOT",
        "NEAR(",
        "text : x",
        "_",
        "*",
        "é ü",
        "\0",
        "(" * 500,
    ],
)
def test_no_query_is_more_than_words(root: Path, query: str) -> None:
    index(root)
    assert isinstance(search(root, query), list)
    assert len(search(root)) == 5


def test_a_very_long_query_is_answered(root: Path) -> None:
    index(root)
    assert texts(root, "address " + " ".join(f"word{n}" for n in range(5000)))[0].startswith(
        "wait for the address"
    )


def test_a_file_changed_by_hand_is_seen_and_a_deleted_one_forgotten(root: Path) -> None:
    index(root)
    write(
        root,
        {
            ".project/knowledge.md": "# Knowledge\n\n## Money\n"
            "- round once in `alpha` (src/a.py:1)\n"
        },
    )
    (root / ".project/context/cart/codebase.md").unlink()
    index(root)
    assert "round once in `alpha`" in texts(root)
    assert not any("whole cents" in text or "beta" in text for text in texts(root))
    assert len(texts(root)) == 4


def test_an_unchanged_file_is_not_checked_again(root: Path) -> None:
    index(root)
    judged = []

    def judge(asked, feature, drafts):
        judged.append((feature, [draft.name for draft in drafts]))
        return check.check_unbudgeted(asked, feature, drafts)

    facts.index(services(root), judge)
    assert judged == []
    write(root, {".project/knowledge.md": "# Knowledge\n\n## Money\n- x in `alpha` (src/a.py:1)\n"})
    facts.index(services(root), judge)
    assert judged == [("", ["knowledge.md"])]


def test_a_deleted_index_is_rebuilt_with_the_same_facts(root: Path) -> None:
    index(root)
    before = rows(root)
    services(root).layout.db.unlink()
    index(root)
    assert rows(root) == before


@pytest.mark.parametrize("damage", ["empty", "cut", "head", "noise", "all", "no database"])
def test_a_damaged_index_is_rebuilt_with_the_same_facts(root: Path, damage: str) -> None:
    index(root)
    before = rows(root)
    path = services(root).layout.db
    data = bytearray(path.read_bytes())
    chance = random.Random(7)
    if damage == "empty":
        data.clear()
    elif damage == "cut":
        del data[len(data) // 2 :]
    elif damage == "head":
        data[:100] = b"\0" * 100
    elif damage == "noise":
        for start in range(4096, len(data), 4096):
            data[start : start + 200] = chance.randbytes(200)
    elif damage == "all":
        data[:] = chance.randbytes(len(data))
    else:
        data[:] = b"not a database, but a text\n" * 100
    path.write_bytes(data)
    index(root)
    index(root)
    assert rows(root) == before


def test_an_index_of_another_schema_is_replaced(root: Path) -> None:
    index(root)
    before = rows(root)
    db.use(services(root).layout, lambda connection: connection.execute("PRAGMA user_version = 1"))
    index(root)
    assert rows(root) == before


def test_an_index_in_the_way_of_a_folder_is_an_expected_failure(root: Path) -> None:
    services(root).layout.db.mkdir(parents=True)
    with pytest.raises(PrereadError) as caught:
        index(root)
    assert caught.value.code == "E_WRITE"


def test_two_processes_that_index_at_once_agree(root: Path) -> None:
    dossiers = {
        f".project/context/f{n}/patterns.md": f"# Patterns: f{n}\n\n## A\n"
        + "".join(f"- fact {n}-{i} `alpha` (src/a.py:1)\n" for i in range(10))
        for n in range(10)
    }
    write(root, dossiers)
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", INDEX, str(root), str(Path(__file__).parent)],
            env=child_environ(),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    # No time limit: each waits for the other for a bounded time, however slow the machine is.
    ended = [(*worker.communicate(), worker.returncode) for worker in workers]
    assert ended == [("105\n", "", 0), ("105\n", "", 0)]
    assert len(rows(root)) == 105


@pytest.fixture
def many(root: Path) -> Path:
    """A project with so many facts that a search takes a while."""
    index(root)
    words = " ".join(f"word{n}" for n in range(10))

    def fill(connection: sqlite3.Connection) -> None:
        with sqlite.transaction(connection):
            rows = [(f"{words} {n}", "", "") for n in range(5_000)]
            sql = "INSERT INTO fact_words (text, section, feature) VALUES (?, ?, ?)"
            connection.executemany(sql, rows)
            connection.execute(
                "INSERT INTO facts (rowid, id, feature, path, line, kind, section, text, sources,"
                " state, confidence) SELECT rowid, rowid, '', 'a.md', rowid, 'trap', '', text,"
                " '[]', 'located', 0.5 FROM fact_words WHERE rowid NOT IN (SELECT rowid FROM facts)"
            )

    db.use(services(root).layout, fill)
    return root


def test_a_search_ends_after_its_time(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(texts(many, "word1 word2", limit=50)) == 50
    monkeypatch.setattr(searching, "SEARCH_SECONDS", 0.0)
    with pytest.raises(PrereadError) as caught:
        search(many, "word1 word2")
    assert caught.value.code == "E_TIMEOUT"


def test_a_search_ends_when_its_caller_cancels_it(many: Path) -> None:
    work = services(many)
    calls = []

    def cancel_in_the_query() -> None:
        calls.append(1)
        work.progress.stop()
        raise Cancelled

    object.__setattr__(work.progress, "check", cancel_in_the_query)
    with pytest.raises(Cancelled):
        facts.search(work, "word1 word2", facts.Wanted())
    assert calls == [1]
    assert len(texts(many, "word1", limit=5)) == 5  # the next search is not affected


HOSTILE = (
    '"', "'; DROP TABLE facts; --", "NEAR(a b, 9)", "text:alpha", "a OR", "AND NOT", "*", "^a",
    "\0", "\ud800", "{a b}: c", "-a", "a" * 100_000, " ".join(f"w{n}" for n in range(100_000)),
    "alpha " * 100_000, "(" * 50_000,
)  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_no_query_is_an_error_or_takes_long(root: Path, query: str) -> None:
    index(root)
    begun = time.monotonic()
    search(root, query)
    assert time.monotonic() - begun < 5
