"""The derived database heals itself, serves many processes, and says when it cannot."""

import sqlite3
import subprocess
import threading
from contextlib import closing

import pytest

from _files_project import disk, fill, make_read_only, program, program_environ, services
from preread.errors import PrereadError
from preread.infra import db, sqlite
from preread.infra.persistent_db import PersistentDatabase
from preread.records import sessions
from preread.reports import store


@pytest.fixture
def layout(tmp_path):
    return services(tmp_path).layout


def keep(layout, key, signature="s"):
    db.use(
        layout,
        lambda connection: connection.execute(
            "INSERT INTO passed_checks VALUES (?, ?)", (key, signature)
        ),
    )


def kept(layout):
    return db.use(
        layout,
        lambda c: [row[0] for row in c.execute("SELECT key FROM passed_checks ORDER BY key")],
    )


def test_what_is_stored_is_there_for_the_next_connection(layout):
    keep(layout, "a")
    keep(layout, "b")
    assert kept(layout) == ["a", "b"]


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "header"])
def test_a_damaged_file_is_replaced_by_an_empty_database(layout, damage):
    keep(layout, "old")
    data = layout.db.read_bytes()
    broken = {"empty": b"", "text": b"no database" * 99, "cut": data[: len(data) // 2]}
    layout.db.write_bytes(broken.get(damage, b"x" * 99 + data[99:]))
    assert kept(layout) == []
    keep(layout, "again")
    assert kept(layout) == ["again"]


def test_a_shared_connection_serves_many_uses_and_heals_like_any_other(layout, monkeypatch):
    keep(layout, "old")
    opened = []
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **b: opened.append(a) or connect(*a, **b))
    with db.shared(layout):
        begun = len(opened)
        keep(layout, "new")
        assert kept(layout) == ["new", "old"]
        assert len(opened) == begun
        layout.db.write_bytes(b"no database" * 99)
        for journal in layout.db.parent.glob("index.db-*"):
            journal.unlink()
        keep(layout, "again")
        assert "again" in kept(layout)
    keep(layout, "later")
    assert "later" in kept(layout)


def test_a_database_of_another_schema_is_replaced(layout):
    keep(layout, "old")
    with closing(sqlite3.connect(layout.db)) as connection:
        connection.execute("PRAGMA user_version = 7")
    assert kept(layout) == []


@pytest.mark.parametrize("name", [b"kex", b"ke\xf9"], ids=["another name", "no text"])
def test_a_flipped_bit_in_the_name_of_a_column_is_damage(layout, name):
    keep(layout, "old")
    with closing(sqlite3.connect(layout.db)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = layout.db.read_bytes()
    assert data.count(b"passed_checks (key TEXT") == 1
    layout.db.write_bytes(
        data.replace(b"passed_checks (key TEXT", b"passed_checks (%b TEXT" % name)
    )
    assert kept(layout) == []


def test_the_leftovers_of_a_killed_process_do_no_harm(layout):
    layout.cache.mkdir(parents=True)
    for suffix in ("", "-wal", "-shm", "-journal"):
        (layout.cache / f"index.db.new{suffix}").write_bytes(b"half")
    keep(layout, "a")
    assert kept(layout) == ["a"]


def test_a_block_that_fails_leaves_nothing(layout):
    def work(connection):
        with sqlite.transaction(connection):
            connection.execute("INSERT INTO passed_checks VALUES ('a', 's')")
            raise KeyError("a")

    with pytest.raises(KeyError):
        db.use(layout, work)
    assert kept(layout) == []


def test_a_block_that_sqlite_took_back_already_fails_with_its_own_error(layout):
    """As on a full disk."""

    def work(connection):
        with sqlite.transaction(connection):
            connection.execute("ROLLBACK")
            raise KeyError("a")

    with pytest.raises(KeyError):
        db.use(layout, work)


def test_an_error_in_sql_is_not_reported_as_a_disk_error(layout):
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        db.use(layout, lambda connection: connection.execute("SELECT * FROM absent"))


def test_a_broken_constraint_does_not_cost_the_database(layout):
    keep(layout, "a")
    with pytest.raises(sqlite3.IntegrityError):
        keep(layout, "a")
    assert kept(layout) == ["a"]


def test_on_a_read_only_disk_the_database_is_elsewhere(tmp_path, monkeypatch):
    with disk(tmp_path / "disk", "2m") as root:
        layout = services(root).layout
        keep(layout, "a")
        make_read_only(root)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
        keep(layout, "b")
        assert kept(layout) == ["b"]
        monkeypatch.setenv("XDG_CACHE_HOME", str(root / "caches"))
        with pytest.raises(PrereadError) as caught:
            keep(layout, "c")
        assert caught.value.code == "E_WRITE"


def test_a_full_disk_is_reported_and_no_data_is_lost(tmp_path):
    with disk(tmp_path / "disk", "2m") as root:
        layout = services(root).layout
        keep(layout, "a")
        filler = fill(root)

        def work(connection):
            with sqlite.transaction(connection):
                rows = ((str(n), "s" * 999) for n in range(999))
                connection.executemany("INSERT INTO passed_checks VALUES (?, ?)", rows)

        with pytest.raises(PrereadError) as caught:
            db.use(layout, work)
        assert caught.value.code == "E_WRITE"
        filler.unlink()
        assert kept(layout) == ["a"]


WRITER = """
import sys
from pathlib import Path
from preread.infra import db, sqlite
from preread.infra.persistent_db import PersistentDatabase
from preread.records import sessions
from preread.reports import store
from preread.layout import Layout

layout = Layout(Path(sys.argv[1]))
print("ready", flush=True)
for line in sys.stdin:
    key = line.strip()

    def work(connection):
        with sqlite.transaction(connection):
            connection.execute("INSERT INTO passed_checks VALUES (?, 's')", (key,))

    db.use(layout, work)
    print("done", flush=True)
"""


@pytest.fixture
def writers(layout):
    """Four processes that keep what they are told to, all at the same moment."""
    processes = [
        subprocess.Popen(
            program("-c", WRITER, layout.root),
            env=program_environ(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * 4
    yield processes
    for process in processes:
        _, errors = process.communicate()
        assert (process.returncode, errors) == (0, "")


def tell(processes, word):
    for n, process in enumerate(processes):
        process.stdin.write(f"{word}{n}\n")
        process.stdin.flush()
    return [process.stdout.readline() for process in processes]


def test_many_that_come_first_at_the_same_moment_all_get_through(layout, writers):
    for attempt in range(15):
        for suffix in ("", "-wal", "-shm"):
            layout.db.with_name(layout.db.name + suffix).unlink(missing_ok=True)
        assert tell(writers, f"{attempt}-") == ["done\n"] * 4
        assert kept(layout) == [f"{attempt}-{n}" for n in range(4)]


def test_many_that_meet_a_damaged_file_at_the_same_moment_all_get_through(layout, writers):
    for attempt in range(15):
        layout.cache.mkdir(parents=True, exist_ok=True)
        layout.db.write_bytes(b"no database")
        assert tell(writers, f"{attempt}-") == ["done\n"] * 4
        assert kept(layout) == [f"{attempt}-{n}" for n in range(4)]


def test_where_it_is_does_not_depend_on_who_just_opens_or_closes_it(layout):
    # SQLite adds and removes its journals as the first connection comes and the last one goes.
    keep(layout, "first")
    at_once = [
        threading.Thread(target=lambda n=n: [keep(layout, f"{n}-{m}") for m in range(40)])
        for n in range(2)
    ]
    for thread in at_once:
        thread.start()
    found = set()
    while any(thread.is_alive() for thread in at_once):
        found.add(db.place(layout).db)
    assert found == {layout.db}
    assert len(kept(layout)) == 81


@pytest.mark.parametrize(("module", "version"), [(sessions, 1201854844), (store, 943265613)])
def test_a_persistent_database_of_an_earlier_release_is_still_used(tmp_path, module, version):
    # The version is a digest of the schema's text: even another blank sets the database aside.
    database = PersistentDatabase(tmp_path / "a.db", tmp_path / "a.lock", module.SCHEMA, "")
    assert database.version == version
