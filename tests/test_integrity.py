"""Checks of what is stored, repairs, and backups that bring it back."""

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from filelock import FileLock

from _faces import FACES, answer, face
from _processes import ended, start
from conftest import Cli, git, run_cli
from preread.layout import Layout
from test_shared_state import shop_with_dossier  # noqa: F401 - a fixture

pytestmark = pytest.mark.anyio
MINE = "a person put this here\n"


def paths_of(reply: dict) -> set[str]:
    return {(one["path"], one["code"]) for one in reply["problems"]}


def everything(root: Path) -> dict[str, bytes]:
    """The files of `.project/` that are no part of the cache or the log."""
    project = root / ".project"
    return {
        path.relative_to(project).as_posix(): path.read_bytes()
        for path in sorted(project.rglob("*"))
        if path.is_file() and ".cache" not in path.parts and path.name != "audit.jsonl"
    }


def break_everything(layout: Layout) -> set[tuple[str, str]]:
    """Damage of every kind; returns where it is to be found, and as what."""
    dossier = layout.dossier("checkout")
    (dossier / "manifest.json").write_text("<<<<<<< HEAD\n{}\n")
    layout.run_record("checkout").write_text("{")
    layout.run_record("gone").write_text("{}")
    layout.wrong.write_text("[")
    layout.stale("gone").parent.mkdir(parents=True, exist_ok=True)
    layout.stale("gone").write_text("because\n")
    layout.stale("cart").write_text("because\n")
    (layout.staging / "cart.abc").mkdir(parents=True)
    (layout.backup_sets / ".half.part").mkdir(parents=True)
    with sqlite3.connect(layout.db) as index:
        index.execute("DELETE FROM facts WHERE path LIKE '%cart/codebase.md'")
    return {
        (".project/context/checkout/manifest.json", "E_MANIFEST"),
        (".project/.state/runs/checkout.json", "E_RECORD"),
        (".project/.state/runs/gone.json", "E_RECORD"),
        (".project/.state/wrong.json", "E_RECORD"),
        (".project/.cache/stale/gone", "E_HINT"),
        (".project/.cache/staging/cart.abc", "E_LEFTOVER"),
        (".project/.state/backups/_sets/.half.part", "E_LEFTOVER"),
        (".project/.cache/index.db", "E_INDEX"),
    }


@pytest.fixture(scope="module")
def shop_with_two(shop_with_dossier: Path) -> Path:  # noqa: F811
    done = run_cli("load", "cart", cwd=shop_with_dossier, env={"PREREAD_CLAUDE": "off"})
    assert done.status == 0
    return shop_with_dossier


@pytest.fixture
def two(shop_with_two: Path, tmp_path: Path) -> Path:
    """The example project with dossiers of `checkout` and `cart`."""
    return Path(shutil.copytree(shop_with_two, tmp_path / "shop"))


def test_a_sound_project_has_no_problems_and_nothing_to_repair(cli: Cli, two: Path) -> None:
    done = cli("check", "--all", "--json", cwd=two)
    assert (done.status, done.json["ok"], done.json["problems"]) == (0, True, [])
    assert done.json["facts"] > 20
    before = everything(two)
    assert "Nothing was wrong." in cli("repair", cwd=two).out
    assert everything(two) == before
    assert cli("check", cwd=two).status == cli("check", "cart", "--all", cwd=two).status == 2


def test_a_dossier_that_became_stale_is_no_damage(cli: Cli, two: Path) -> None:
    code = two / "api" / "shop" / "checkout.py"
    code.write_text(f"{code.read_text()}\n\ndef checkout_again() -> None: ...\n")
    done = cli("check", "--all", "--json", cwd=two)
    assert (done.status, done.json["problems"]) == (0, [])
    assert cli("load", "checkout", "--json", cwd=two).json["state"] == "refreshed"


def test_every_damage_is_found_and_repaired_and_what_people_wrote_stays(
    cli: Cli, two: Path
) -> None:
    layout = Layout(two)
    mine = layout.dossier("cart") / "patterns.md"
    mine.write_text(mine.read_text() + "\n## Mine\n- my own fact (README.md:1)\n")
    layout.knowledge.write_text("# Knowledge\n\nprose that nobody may touch\n")
    good = (layout.dossier("checkout") / "patterns.md").read_bytes()
    damaged = break_everything(layout)
    before = everything(two)
    done = cli("check", "--all", "--json", cwd=two)
    assert (done.status, damaged - paths_of(done.json)) == (1, set())
    assert all(one["fix"] for one in done.json["problems"] if one["code"] != "E_FACT_SOURCE")

    tried = cli("call", "repair", "--dry-run", cwd=two)
    assert "E_" not in tried.err
    assert "moved to the backups" in tried.out
    assert everything(two) == before

    repaired = cli("repair", "--json", cwd=two)
    assert (repaired.status, repaired.json["left"]) == (0, [])
    found = {(one["path"], one["code"]) for one in repaired.json["repaired"]}
    assert damaged - found == set()
    assert cli("check", "--all", cwd=two).status == 0
    assert cli("facts", "cart", "--feature", "cart", "--json", cwd=two).json["facts"]
    after = everything(two)
    for name in ("context/cart/patterns.md", "knowledge.md", "context/checkout/patterns.md"):
        assert after[name] == before[name]
    copies = b"".join(
        data for name, data in after.items() if name.startswith(".state/backups/_sets/")
    )
    assert b"<<<<<<< HEAD" in copies
    assert cli("load", "checkout", cwd=two).status == 0
    # The facts of the knowledge are gone with it, which leaves room for others.
    now = (layout.dossier("checkout") / "patterns.md").read_bytes().split(b"\n")
    new = [line for line in now if line not in good.split(b"\n")]
    assert [line for line in now if line not in new] == good.split(b"\n")
    assert all(line.startswith(b"- ") for line in new)


def with_damaged_messages(layout: Layout) -> None:
    """Zero a page of the full-text index of commits: only ranking reads it, not an update."""
    with closing(sqlite3.connect(layout.db)) as index:
        index.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        sql = "SELECT rootpage FROM sqlite_master WHERE name = 'messages_data'"
        [page] = index.execute(sql).fetchone()
    with layout.db.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(bytes(4096))


def test_a_damaged_index_does_not_cost_a_refresh_any_facts(cli: Cli, two: Path) -> None:
    code = two / "web" / "src" / "pages" / "CheckoutPage.tsx"
    code.write_text("// a comment\n" + code.read_text())
    other = Path(shutil.copytree(two, two.with_name("other")))
    assert cli("load", "checkout", cwd=other).status == 0
    with_damaged_messages(Layout(two))
    assert cli("load", "checkout", "--json", cwd=two).json["state"] == "refreshed"
    for path in Layout(two).dossier("checkout").glob("*.md"):
        assert path.read_text() == (Layout(other).dossier("checkout") / path.name).read_text()


def test_damage_in_a_full_text_index_is_found_and_repaired(cli: Cli, two: Path) -> None:
    with sqlite3.connect(Layout(two).db) as index:  # the pages are valid, their content is not
        index.execute("DELETE FROM words_data WHERE id > 10")
    [found] = cli("check", "--all", "--json", cwd=two).json["problems"]
    assert (found["path"], found["code"]) == (".project/.cache/index.db", "E_INDEX")
    assert cli("repair", cwd=two).status == 0
    assert cli("check", "--all", cwd=two).status == 0


def folder(path: Path) -> None:
    path.mkdir()
    (path / "mine.txt").write_text(MINE)


@pytest.mark.parametrize("make", [folder, os.mkfifo])
@pytest.mark.parametrize(
    ("name", "code"),
    [
        (".cache/index.db", "E_INDEX"),
        ("context/cart/manifest.json", "E_MANIFEST"),
        ("context/cart/codebase.md", "E_FILE_MISSING"),
    ],
)
def test_what_is_in_the_place_of_a_file_is_moved_away_and_the_file_is_made_again(
    cli: Cli, two: Path, make: Callable[[Path], None], name: str, code: str
) -> None:
    before = everything(two)
    place = two / ".project" / name
    place.unlink()
    make(place)
    if code == "E_INDEX":
        assert "`preread repair` moves it away" in cli("gc", cwd=two).err
    found = cli("check", "--all", "--json", cwd=two).json["problems"]
    assert (str(place.relative_to(two)), code) in paths_of({"problems": found})
    repaired = cli("repair", "--json", cwd=two)
    assert repaired.json["left"] == []
    assert cli("load", "cart", "--json", cwd=two).json["status"] == "ok"
    assert place.is_file()
    kept = Layout(two).backup_sets.glob(f"*/{name}/mine.txt")
    assert [path.read_text() for path in kept] == [MINE] * (make is folder)
    after = everything(two)
    for path in ("context/cart/codebase.md", "context/cart/patterns.md"):
        assert after[path] == before[path]


def test_a_file_that_is_gone_is_put_back_from_git_or_left_to_a_load(cli: Cli, two: Path) -> None:
    dossier = Layout(two).dossier("checkout")
    optional = next(
        name for name in ("existing-tests.md", "anti-patterns.md") if (dossier / name).exists()
    )
    committed = (dossier / "codebase.md").read_bytes(), (dossier / "manifest.json").read_bytes()
    git(two, "add", "-f", ".project/context/checkout/codebase.md")
    git(two, "add", "-f", ".project/context/checkout/manifest.json")
    git(two, "commit", "-qm", "share")
    for path in Layout(two).cache.glob("index.db*"):  # it has copies
        path.unlink()
    (dossier / "codebase.md").write_text("")
    (dossier / optional).unlink()
    (dossier / "summary.md").unlink()
    (dossier / "manifest.json").write_bytes(b"\0" * 100)
    done = cli("repair", "--json", cwd=two)
    assert (dossier / "codebase.md").read_bytes() == committed[0]
    left = json.loads((dossier / "manifest.json").read_text())
    assert left["files"].keys() == json.loads(committed[1])["files"].keys()
    assert (done.status, [one["fix"] for one in done.json["left"]]) == (1, ["", ""])
    assert {Path(one["path"]).name for one in done.json["left"]} == {optional, "summary.md"}
    assert all("preread load checkout" in one["message"] for one in done.json["left"])
    assert cli("load", "checkout", cwd=two).status == 0
    assert {optional, "summary.md"} <= {path.name for path in dossier.iterdir()}
    assert cli("check", "--all", cwd=two).status == 0


def test_a_manifest_of_a_later_version_is_left_alone(cli: Cli, two: Path) -> None:
    path = Layout(two).dossier("checkout") / "manifest.json"
    later = json.dumps({**json.loads(path.read_text()), "schema_version": 99})
    path.write_text(later)
    assert cli("repair", cwd=two).status == 0
    assert path.read_text() == later


@pytest.mark.parametrize(
    "arguments", [("remove", "chekout"), ("call", "remove", '{"feature": "chekout"}', "--dry-run")]
)
def test_removing_a_dossier_that_is_not_there_says_what_lists_them(
    cli: Cli, two: Path, arguments: tuple[str, ...]
) -> None:
    done = cli(*arguments, cwd=two)
    assert done.status == 1
    said = done.err + done.out
    assert "There is no dossier of chekout. The most similar is checkout." in said
    assert "List the dossiers: `preread status`" in said
    assert "load chekout" not in said


def test_what_was_removed_is_restored_byte_for_byte(cli: Cli, two: Path) -> None:
    before = everything(two)
    removed = cli("remove", "checkout", "--json", cwd=two).json
    assert cli("facts", "--feature", "checkout", "quote", cwd=two).status == 1
    [latest, *_] = cli("backups", "checkout", "--json", cwd=two).json["backups"]
    assert latest["id"] == removed["backup"]
    assert ".project/context/checkout/manifest.json" in latest["files"]
    restored = cli("restore", latest["id"], "--json", cwd=two)
    assert (restored.status, restored.json["backup"]) == (0, "")
    kept = {name: data for name, data in everything(two).items() if ".state/backups" not in name}
    history = ".state/history/checkout.jsonl"
    assert kept.pop(history).startswith(before.pop(history)), "it only grows"
    assert kept == before
    assert cli("load", "checkout", "--json", cwd=two).json["state"] == "cached"
    assert cli("facts", "--feature", "checkout", "quote", "--json", cwd=two).json["facts"]
    assert "Nothing changed" in cli("restore", latest["id"], cwd=two).out
    assert cli("restore", "../../etc", cwd=two).err.startswith("error: E_NOT_FOUND")


def test_a_restored_file_can_be_taken_back(cli: Cli, two: Path) -> None:
    path = Layout(two).dossier("cart") / "patterns.md"
    edited = path.read_text() + "\n## Mine\n- mine (README.md:1)\n"
    path.write_text(edited)
    removed = cli("remove", "cart", "--json", cwd=two).json["backup"]
    assert cli("load", "cart", cwd=two).status == 0
    built = path.read_text()
    tried = cli("call", "restore", json.dumps({"id": removed}), "--dry-run", cwd=two)
    assert "+- mine (README.md:1)" in json.dumps(tried.json)
    assert path.read_text() == built
    restored = cli("restore", removed, "--json", cwd=two).json
    assert path.read_text() == edited
    assert cli("restore", restored["backup"], cwd=two).status == 0
    assert path.read_text() == built


def test_gc_removes_what_is_old_and_what_was_left_over(cli: Cli, two: Path) -> None:
    layout = Layout(two)
    old = cli("remove", "cart", "--json", cwd=two).json["backup"]
    cli("load", "cart", cwd=two)
    new = cli("remove", "cart", "--json", cwd=two).json["backup"]
    os.utime(layout.backup_sets / old, (0, 0))
    (layout.staging / "checkout.dead").mkdir(parents=True)
    tried = cli("call", "gc", "--dry-run", cwd=two)
    assert (old in tried.out, new in tried.out, "checkout.dead" in tried.out) == (True, False, True)
    done = cli("gc", "--json", cwd=two).json
    assert done["backups"] == [old]
    assert done["leftovers"] == [".project/.cache/staging/checkout.dead"]
    assert done["cached"]
    assert [one["id"] for one in cli("backups", "--json", cwd=two).json["backups"]] == [new]
    assert not (layout.staging / "checkout.dead").exists()
    assert cli("load", "checkout", "--json", cwd=two).json["state"] == "cached"


@pytest.mark.parametrize("name", FACES)
async def test_every_face_checks_and_repairs(two: Path, name: str) -> None:
    layout = Layout(two)
    layout.stale("gone").parent.mkdir(parents=True, exist_ok=True)
    layout.stale("gone").write_text("because\n")
    async with face(name, two) as call:
        checked = await call({"method": "check_graph_integrity"})
        assert [one["code"] for one in checked["result"]["problems"]] == ["E_HINT"]
        repaired = await call({"method": "repair_graph"})
        assert repaired["result"]["ok"]
        listed = await call({"method": "list_backups"})
        assert listed["result"]["backups"] == []


@pytest.mark.parametrize(("method", "params"), [("restore", {"id": "x"}), ("gc", {})])
async def test_agents_do_not_restore_or_collect(two: Path, method: str, params: dict) -> None:
    done = await answer(two, {"method": method, "params": params}, by="mcp:x")
    assert done["error"]["code"] == "E_NOT_ALLOWED"


async def test_a_dossier_that_is_being_built_is_not_checked(two: Path) -> None:
    layout = Layout(two)
    (layout.staging / "cart.abc").mkdir(parents=True)
    with FileLock(layout.lock("cart")):
        done = await answer(two, {"method": "integrity.check"})
        assert (done["result"]["busy"], done["result"]["problems"]) == (["cart"], [])


def removed_and_damaged(cli: Cli, root: Path) -> tuple[str, Path]:
    """A backup of `cart` that lacks a file and has half of another; its id and folder."""
    id_ = cli("remove", "cart", "--json", cwd=root).json["backup"]
    folder = Layout(root).backup_sets / id_ / "context" / "cart"
    (folder / "existing-tests.md").unlink()
    os.truncate(folder / "codebase.md", 100)
    return id_, folder


def test_a_damaged_backup_is_not_restored_as_if_it_were_whole(cli: Cli, two: Path) -> None:
    dossier = Layout(two).dossier("cart")
    before = {path.name: path.read_bytes() for path in dossier.iterdir()}
    id_, _ = removed_and_damaged(cli, two)
    done = cli("check", "--all", "--json", cwd=two)
    [problem] = done.json["problems"]
    assert (done.status, problem["code"], problem["fix"]) == (1, "E_BACKUP", "")
    assert problem["path"] == f".project/.state/backups/_sets/{id_}"
    assert ".project/context/cart/existing-tests.md is missing" in problem["message"]
    assert ".project/context/cart/codebase.md is damaged" in problem["message"]
    assert "codebase.md is damaged" in cli("repair", cwd=two).out

    refused = cli("restore", id_, cwd=two)
    assert (refused.status, refused.err[:15]) == (1, "error: E_BACKUP")
    assert "codebase.md is damaged" in refused.err
    assert f"preread restore {id_} --partly" in refused.err
    assert not dossier.exists()

    partly = cli("restore", id_, "--partly", "--json", cwd=two)
    lost = {"codebase.md", "existing-tests.md"}
    assert (partly.status, {Path(one).name for one in partly.json["damaged"]}) == (0, lost)
    now = {path.name: path.read_bytes() for path in dossier.iterdir()}
    assert now == {name: data for name, data in before.items() if name not in lost}
    assert cli("load", "cart", cwd=two).status == 0
    assert {path.name for path in dossier.iterdir()} == before.keys()


def test_a_backup_whose_list_of_contents_is_damaged_or_missing(cli: Cli, two: Path) -> None:
    id_ = cli("remove", "cart", "--json", cwd=two).json["backup"]
    contents = Layout(two).backup_sets / id_ / ".contents.json"
    data = contents.read_text()
    contents.write_text(data[:-5])
    assert "E_BACKUP" in cli("restore", id_, cwd=two).err
    contents.write_text('{"/etc/passwd": "", "../../x": ""}')
    assert "E_BACKUP" in cli("restore", id_, cwd=two).err
    contents.unlink()
    assert cli("check", "--all", cwd=two).status == 0
    assert cli("restore", id_, cwd=two).status == 0, "it is older than these lists"


def test_the_second_of_two_removals_finds_nothing_to_remove(cli: Cli, two: Path) -> None:
    lock = FileLock(Layout(two).lock("cart"))
    with lock:
        calls = [start(two, "remove", "cart") for _ in range(2)]
        for call in calls:
            with pytest.raises(subprocess.TimeoutExpired):
                call.wait(3)
    done = sorted((ended(call) for call in calls), key=lambda one: one.status)
    assert [one.status for one in done] == [0, 1]
    assert done[1].err.startswith("error: E_NOT_FOUND")
