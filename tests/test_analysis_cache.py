"""What is kept between builds saves work and changes no finding, whatever becomes of it."""

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from _evidence_project import commit, evidence, services, write
from conftest import git
from preread import syntax
from preread.index import analysis
from preread.index.analysis import AnalysisCache
from preread.index.serialization import pack, unpack
from preread.infra import db, subprocesses
from preread.infra.subprocesses import Done
from preread.models import Evidence

CART = """LIMIT_CART = 30


def cart_total(items, rounding):
    # never round each line of the cart: the total was wrong by a cent
    if not items:
        raise ValueError("a cart without items has no total")
    return sum(items)
"""
FILES = {
    "src/cart.py": CART,
    "src/shop.py": (
        "from src.cart import cart_total\n\n\ndef checkout(cart):\n    return cart_total(cart, 2)\n"
    ),
    "tests/test_cart.py": (
        "from src.cart import cart_total\n\n\n"
        "def test_cart():\n    assert cart_total([1], 2) == 1\n"
    ),
    ".gitignore": ".project/\n",
}
FORMS = ("--format=%s", "--", ".")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    commit(tmp_path / "project", FILES, "The shop")
    return commit_cart(tmp_path / "project", 31)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The files whose details were worked out, in their order."""
    paths: list[str] = []
    details = syntax.details

    def noted(path: str, text: str) -> syntax.Details:
        paths.append(path)
        return details(path, text)

    monkeypatch.setattr(syntax, "details", noted)
    return paths


def commit_cart(root: Path, limit: int) -> Path:
    commit(root, {"src/cart.py": CART.replace("30", str(limit))}, f"fix the cart's limit: {limit}")
    return root.resolve()


def found(root: Path) -> Evidence:
    return evidence(root, "cart")


def change(root: Path, sql: str, *values: object) -> int:
    return db.use(
        services(root).layout, lambda connection: connection.execute(sql, values).rowcount
    )


def rows(root: Path, sql: str) -> list[tuple[object, ...]]:
    return db.use(services(root).layout, lambda connection: connection.execute(sql).fetchall())


def log(root: Path, *arguments: str) -> tuple[str, bool]:
    """What git's log says as a build is told, and whether git was asked for it."""
    asked = []

    def run(argv: list[str], **options: object) -> Done:
        asked.append("log" in argv)
        return subprocesses.run(argv, **options)

    def work(connection: sqlite3.Connection) -> bytes:
        known = AnalysisCache(replace(services(root), run=run).tree, connection)
        output = known.log(*arguments)
        known.store()
        return output

    return db.use(services(root).layout, work).decode(), any(asked)


# -- outlines


def outline_of(root: Path, path: str) -> syntax.Outline:
    """As a rule is told that has not chosen the file itself."""
    asked = services(root)

    def work(connection: sqlite3.Connection) -> syntax.Outline:
        return AnalysisCache(asked.tree, connection).outline(path)

    return db.use(asked.layout, work)


def test_an_outline_is_parsed_once_and_a_damaged_one_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found(root)
    expected = syntax.outline("src/shop.py", FILES["src/shop.py"])
    with monkeypatch.context() as patched:
        patched.setattr(syntax, "outline", None)
        assert outline_of(root, "src/shop.py") == expected
    db.use(
        services(root).layout,
        lambda connection: connection.execute("UPDATE files SET outline = x'00ff'"),
    )
    assert outline_of(root, "src/shop.py") == expected


@pytest.mark.parametrize("path", ["src/shop.py", "src/new.py"])
def test_a_file_that_changed_since_it_was_indexed_is_read_itself(root: Path, path: str) -> None:
    found(root)
    text = "def purchase():\n    return 1\n"
    write(root, {path: text})
    assert outline_of(root, path) == syntax.outline(path, text)


# -- details


def test_a_second_build_reads_no_file_call_by_call(root: Path, read: list[str]) -> None:
    first = found(root)
    assert sorted(read) == ["src/cart.py", "src/shop.py", "tests/test_cart.py"]
    read.clear()
    assert found(root) == first
    assert read == []


def test_a_changed_file_gets_new_details_and_only_it(root: Path, read: list[str]) -> None:
    assert not any("a cart has limits" in f.text for f in found(root).findings)
    read.clear()
    write(
        root,
        {"src/cart.py": CART.replace("a cart without items has no total", "a cart has limits too")},
    )
    assert any("a cart has limits" in f.text for f in found(root).findings)
    assert read == ["src/cart.py"]
    read.clear()
    found(root)
    assert read == []


def test_details_belong_to_a_path_because_a_test_is_read_otherwise(
    root: Path, read: list[str]
) -> None:
    found(root)
    read.clear()
    (root / "src/cart.py").rename(root / "src/cart_test.py")
    found(root)
    text = (root / "src/cart_test.py").read_text()
    db.use(
        services(root).layout,
        lambda connection: AnalysisCache(services(root).tree, connection).details(
            "src/cart_test.py", text
        ),
    )
    assert "src/cart_test.py" in read


def test_a_text_other_than_the_indexed_one_has_its_own_details(root: Path) -> None:
    found(root)

    def work(connection: sqlite3.Connection) -> syntax.Details:
        known = AnalysisCache(services(root).tree, connection)
        details = known.details("src/cart.py", "def other():\n    call()\n")
        known.store()
        return details

    assert [call.callee for call in db.use(services(root).layout, work).calls] == ["call"]
    [(packed,)] = rows(root, "SELECT details FROM files WHERE path = 'src/cart.py'")
    assert isinstance(packed, bytes)
    held = unpack(syntax.Details, zlib.decompress(packed).decode())
    assert held == syntax.details("src/cart.py", (root / "src/cart.py").read_text())


GARBAGE = {
    "empty": b"",
    "text": "1:text",
    "not packed": b"1:" + b"garbage" * 9,
    "cut": b"1:" + zlib.compress(pack(syntax.details("a.py", CART)).encode())[:-9],
    "no JSON": b"1:" + zlib.compress(b"{garbage"),
    "no UTF-8": b"1:" + zlib.compress(b"[[\xff\xfe]]"),
    "another shape": b"1:" + zlib.compress(b'{"calls": 7}'),
    "records too short": b"1:" + zlib.compress(b'[[["a"]],[],[],[],[],[],[]]'),
    "records that are none": b"1:" + zlib.compress(b"[[7],[7],[],[],[],[],[]]"),
    "another analysis": b"0:" + zlib.compress(b"[[],[],[],[],[],[],[]]"),
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_read_again_and_replaced(
    root: Path, read: list[str], garbage: bytes | str
) -> None:
    first = found(root)
    assert change(root, "UPDATE files SET details = ?", garbage) == len(FILES)
    change(root, "UPDATE logs SET output = ?", garbage)
    read.clear()
    assert found(root) == first
    assert len(read) == 3
    read.clear()
    assert found(root) == first
    assert read == []


def test_details_of_the_same_text_keep_no_more_than_a_row_a_file(root: Path) -> None:
    found(root)
    for n in range(3):
        write(root, {"src/cart.py": CART.replace("30", str(n)), f"src/cart_{n}.py": CART})
        found(root)
        (root / f"src/cart_{n}.py").unlink()
    found(root)
    assert rows(root, "SELECT path FROM files WHERE details IS NOT NULL ORDER BY path") == [
        ("src/cart.py",), ("src/shop.py",), ("tests/test_cart.py",),
    ]  # fmt: skip
    assert rows(root, "SELECT count(*) FROM files") == [(len(FILES),)]


def test_a_database_that_somebody_writes_to_costs_a_moment_and_no_finding(
    root: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysis, "BUSY_TIMEOUT", 50)
    first = found(root)
    change(root, "UPDATE files SET details = NULL")
    change(root, "DELETE FROM logs")
    with closing(sqlite3.connect(services(root).layout.db, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert found(root) == first
        other.execute("ROLLBACK")
    assert rows(root, "SELECT count(*) FROM logs") == [(0,)]
    read.clear()
    assert found(root) == first
    assert len(read) == 3


@pytest.mark.parametrize("missing", ["ALTER TABLE files DROP COLUMN details", "DROP TABLE logs"])
def test_a_database_without_a_place_for_them_costs_no_finding(root: Path, missing: str) -> None:
    first = found(root)
    change(root, missing)
    assert found(root) == first


# -- git's log


def test_a_log_is_asked_of_git_once(root: Path) -> None:
    first, asked = log(root, *FORMS)
    assert asked
    assert "31" in first
    assert log(root, *FORMS) == (first, False)
    assert log(root, "-n1", *FORMS)[1]


def test_an_empty_log_is_kept_too(root: Path) -> None:
    assert log(root, "--format=%s", "--", "absent.py") == ("", True)
    assert log(root, "--format=%s", "--", "absent.py") == ("", False)


def test_where_there_is_no_commit_there_is_no_log(tmp_path: Path) -> None:
    assert log(write(tmp_path / "plain", FILES), *FORMS) == ("", False)
    git(write(tmp_path / "begun", FILES), "init", "-q")
    assert log(tmp_path / "begun", *FORMS) == ("", False)


def test_commits_that_come_and_go_are_seen(root: Path) -> None:
    log(root, *FORMS)
    commit_cart(root, 32)
    assert log(root, *FORMS)[0].split("\n")[0].endswith("32")
    git(root, "commit", "-q", "--amend", "-m", "amended")
    assert log(root, *FORMS)[0].split("\n")[0] == "amended"
    git(root, "reset", "-q", "--hard", "HEAD~1")
    assert log(root, *FORMS)[0].split("\n")[0].endswith("31")


def test_a_branch_has_its_own_log(root: Path) -> None:
    git(root, "checkout", "-q", "-b", "other")
    commit_cart(root, 99)
    for branch, limit in {"other": "99", "main": "31"}.items():
        git(root, "checkout", "-q", branch)
        assert log(root, *FORMS)[0].split("\n")[0].endswith(limit)


def test_a_shallow_clone_that_is_deepened_has_a_longer_log(root: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "1", root.as_uri(), "clone")
    clone = (tmp_path / "clone").resolve()
    assert len(log(clone, *FORMS)[0].split()) == len(["fix", "the", "cart's", "limit:", "31"])
    git(clone, "fetch", "-q", "--unshallow")
    assert "The shop" in log(clone, *FORMS)[0]


def test_a_graft_is_seen(root: Path) -> None:
    assert "The shop" in log(root, *FORMS)[0]
    (root / ".git/info/grafts").write_text(git(root, "rev-parse", "HEAD"))
    assert "The shop" not in log(root, *FORMS)[0]


def test_a_project_that_moves_in_its_repository_has_the_log_of_its_new_place(root: Path) -> None:
    write(root / "deep", {"a.py": "a = 1\n"})
    commit(root, {"deep/a.py": "a = 2\n"}, "deep")
    assert "deep" in log(root / "deep", *FORMS)[0]
    (root / "deep").rename(root / "moved")
    assert log(root / "moved", *FORMS) == ("", True)


@pytest.mark.parametrize("setting", [("log.date", "raw"), ("diff.noprefix", "true")])
def test_a_setting_of_git_is_seen(root: Path, setting: tuple[str, str]) -> None:
    forms = ("--format=%ad", "--patch", "--", "src/cart.py")
    before = log(root, *forms)[0]
    git(root, "config", *setting)
    after = log(root, *forms)[0]
    assert before != after
    git(root, "config", "--unset", setting[0])
    assert log(root, *forms)[0] == before


def test_a_log_that_failed_is_not_kept(root: Path) -> None:
    assert log(root, "--no-such-option", *FORMS) == ("", True)
    assert log(root, "--no-such-option", *FORMS) == ("", True)


def test_logs_of_other_commits_go_and_only_so_many_stay(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysis, "MAX_LOGS", 3)
    for n in range(1, 6):
        log(root, f"-n{n}", *FORMS)
    assert rows(root, "SELECT count(*) FROM logs") == [(3,)]
    assert not log(root, "-n5", *FORMS)[1]
    assert log(root, "-n1", *FORMS)[1]
    commit_cart(root, 32)
    log(root, *FORMS)
    assert rows(root, "SELECT head FROM logs") == [(git(root, "rev-parse", "HEAD").strip(),)]
