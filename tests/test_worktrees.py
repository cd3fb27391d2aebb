"""Worktrees over real git: created whole or not at all, merged in one step, removed without loss."""

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import _worktree_sequences
from _faces import answer
from _files_project import disk, fill, make_read_only
from _trees import write
from _whole import sized
from conftest import Cli, git, make_repository
from preread.infra import subprocesses
from preread.layout import Layout
from preread.services import Services
from preread.settings import Settings
from preread.worktrees import records, removal, undo
from preread.worktrees.repository import Repository, open_repository

pytestmark = pytest.mark.anyio
FILES = {"shop.py": "PRICE = 42\n", ".gitignore": "node_modules/\n.env\n", ".env": "KEY=12345678\n"}


async def call(root: Path, method: str, by: str = "person", dry_run: bool = False, **params):
    given = {"method": f"worktree.{method}", "params": params, "options": {"dry_run": dry_run}}
    done = await answer(root, given, by=by)
    return done["error"] if "error" in done else done["result"]


def commit(at: Path, **files: str) -> str:
    write(at, {name.replace("_", "."): text for name, text in files.items()})
    git(at, "add", "-A")
    git(at, "commit", "-q", "-m", "Work")
    return git(at, "rev-parse", "HEAD").strip()


async def test_a_worktree_is_a_project_of_its_own_with_the_settings_but_no_secrets(shop: Path):
    write(shop / ".project", {"gates": "mode warn\n", "config.toml": "max_facts = 7\n"})
    (shop / "node_modules").mkdir()
    made = await call(shop, "create", issue=270, link_in=["node_modules"])
    at = Path(made["path"])
    assert (made["name"], made["branch"], at.parent) == (
        "issue-270", "preread/issue-270", shop / ".worktrees",
    )  # fmt: skip
    assert (at / ".project/gates").read_text() == "mode warn\n"
    assert (at / "node_modules").resolve() == shop / "node_modules"
    assert not (at / ".env").exists()
    assert "the stash" in made["shared"]
    assert git(at, "status", "--porcelain") == ""
    load = {"method": "context.load", "params": {"feature": "shop", "level": "light"}}
    assert (await answer(at, load, environ={"PREREAD_CLAUDE": "off"}))["result"]["state"] == "built"
    assert not (shop / ".project/context").exists()
    assert (await call(shop, "list"))["worktrees"][0]["dossier"] == "shop"
    again = await call(at, "create", issue=270)  # from inside the other one
    assert again["path"] == str(shop / ".worktrees/issue-270-2")


async def test_settings_that_git_lacks_among_others_are_named(shop: Path) -> None:
    write(shop / ".project", {"knowledge.md": "# Knowledge\n"})
    commit(shop)
    write(shop / ".project", {"gates": "mode warn\n"})
    made = await call(shop, "create", name="one")
    assert "not gates: commit them" in made["notes"][0]
    assert git(Path(made["path"]), "status", "--porcelain") == ""


async def test_an_env_file_comes_only_with_a_person_who_names_it(shop: Path) -> None:
    refused = await call(shop, "create", by="a client", name="one", copy_in=[".env"])
    assert refused["code"] == "E_NOT_ALLOWED"
    made = await call(shop, "create", name="one", copy_in=[".env"])
    assert (Path(made["path"]) / ".env").read_text() == FILES[".env"]


@pytest.mark.parametrize(
    "params",
    [
        {"name": "../out"}, {"name": "/tmp/out"}, {"name": "-f"}, {"name": "a/b"}, {"name": "."},
        {"name": "con"}, {"name": "x" * 65}, {"name": "a\nb"}, {"name": "$(touch pwned)"},
        {"name": "ok", "branch": "--force"}, {"name": "ok", "branch": "a..b"},
        {"name": "ok", "branch": "main"}, {"name": "ok", "branch": "@{-1}"},
        {"name": "ok", "base": "--all"}, {"name": "ok", "base": "nope"},
        {"name": "ok", "copy_in": ["../x"]}, {"name": "ok", "copy_in": ["/etc/passwd"]},
        {"name": "ok", "copy_in": ["nope"]}, {"name": "ok", "link_in": ["shop.py"]},
        {"name": "ok", "issue": 0}, {"name": "ok", "issue": -1}, {},
    ],
    ids=str,
)  # fmt: skip
async def test_hostile_names_create_nothing(shop: Path, params: dict) -> None:
    failed = await call(shop, "create", **params)
    expected = {"E_WORKTREE": -32001, "E_OUTSIDE": -32004, "E_ISSUE": -32010, "E_USAGE": -32602}
    assert failed["jsonrpc"] == expected[failed["code"]]
    if "issue" in params:
        assert failed["code"] == "E_ISSUE"
    assert git(shop, "worktree", "list").count("\n") == 1
    assert git(shop, "branch").split() == ["*", "main"]
    assert not list((shop / ".worktrees").glob("*/"))
    assert not records.all_records(_worktree_sequences.Layout(shop))


async def test_a_link_in_place_of_the_folder_is_not_followed(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (shop / ".worktrees").symlink_to(tmp_path / "elsewhere")
    assert (await call(shop, "create", name="one"))["code"] == "E_OUTSIDE"
    assert not list((tmp_path / "elsewhere").iterdir())


async def test_a_dry_run_touches_nothing(shop: Path) -> None:
    notes = (await call(shop, "create", dry_run=True, name="one"))["notes"]
    assert "would be created" in notes[0]
    assert not (shop / ".worktrees").exists()
    at = Path((await call(shop, "create", name="one"))["path"])
    commit(at, shop_py="PRICE = 1\n")
    assert "without conflicts" in (await call(shop, "merge", dry_run=True, name="one"))["notes"][0]
    assert (await call(shop, "remove", dry_run=True, name="one"))["code"] == "E_WORKTREE"
    kept = await call(shop, "remove", dry_run=True, name="one", force=True)
    assert "would keep its work" in kept["notes"][1]
    assert git(at, "branch", "--show-current").strip() == "preread/one"
    assert git(shop, "show", "main:shop.py") == FILES["shop.py"]


async def test_it_is_merged_and_removed_and_its_base_has_the_files(shop: Path) -> None:
    at = Path((await call(shop, "create", name="one"))["path"])
    tip = commit(at, shop_py="PRICE = 43\n")
    (row, main) = (await call(shop, "list"))["worktrees"]
    assert (row["name"], row["ahead"], row["behind"], row["dirty"]) == ("one", 1, 0, [])
    assert (main["name"], main["branch"]) == ("", "main")
    compared = await call(shop, "diff", name="one")
    assert compared["files"] == [{"path": "shop.py", "added": 1, "removed": 1}]
    assert "+PRICE = 43" in compared["diff"]
    assert (await call(shop, "remove", name="one"))["details"]["unmerged"] == 1
    merged = await call(shop, "merge", name="one", how="ff")
    assert (merged["status"], merged["commit"]) == ("merged", tip)
    assert (shop / "shop.py").read_text() == "PRICE = 43\n"
    assert (await call(shop, "merge", name="one"))["status"] == "up_to_date"
    assert (await call(shop, "remove", name="one"))["kept"] == ""
    assert git(shop, "branch").split() == ["*", "main"]
    assert (await call(shop, "remove", name="one"))["details"]["reason"] == "missing"


@pytest.mark.parametrize("how", ["merge", "rebase"])
async def test_conflicts_are_data_and_are_continued_or_aborted(shop: Path, how: str) -> None:
    at = Path((await call(shop, "create", name="one"))["path"])
    ours = commit(at, shop_py="PRICE = 1\n", new_py="x = 1\n")
    base = commit(shop, shop_py="PRICE = 2\n")
    assert (await call(shop, "merge", name="one", how="ff"))["details"]["reason"] == "diverged"
    done = await call(shop, "merge", name="one", how=how)
    assert done["status"] == "conflicts"
    assert done["conflicts"] == [{"path": "shop.py", "kind": "both changed it"}]
    assert git(shop, "rev-parse", "main").strip() == base
    assert git(shop, "status", "--porcelain") == ""
    assert (await call(shop, "list"))["worktrees"][0]["under_way"] == how
    assert (await call(shop, "merge", name="one"))["details"]["reason"] == "under way"
    again = await call(shop, "merge", name="one", how=how, action="continue")
    assert again["conflicts"] == [{"path": "shop.py", "kind": "both changed it"}]
    assert (await call(shop, "merge", name="one", action="abort"))["status"] == "aborted"
    assert git(at, "rev-parse", "HEAD").strip() == ours
    await call(shop, "merge", name="one", how=how)
    (at / "shop.py").write_text("PRICE = 3\n")
    done = await call(shop, "merge", name="one", how=how, action="continue")
    assert done["status"] == "merged"
    assert (shop / "shop.py").read_text() == "PRICE = 3\n"
    assert (shop / "new.py").exists()
    assert (await call(shop, "remove", name="one"))["kept"] == ""  # whatever git still notes of it
    await call(shop, "create", name="one")
    assert (await call(shop, "merge", name="one", action="abort"))["details"]["reason"] == "nothing"


async def test_changed_files_of_the_base_are_never_overwritten(shop: Path) -> None:
    at = Path((await call(shop, "create", name="one"))["path"])
    commit(at, shop_py="PRICE = 1\n")
    (shop / "shop.py").write_text("PRICE = 999\n")
    failed = await call(shop, "merge", name="one")
    assert (failed["jsonrpc"], failed["details"]["files"]) == (-32001, ["shop.py"])
    assert (shop / "shop.py").read_text() == "PRICE = 999\n"
    git(shop, "checkout", "-q", "shop.py")
    assert (await call(shop, "merge", name="one"))["status"] == "merged"


async def test_forced_removal_keeps_all_of_it_under_a_ref(shop: Path) -> None:
    at = Path((await call(shop, "create", name="one"))["path"])
    commit(at, shop_py="PRICE = 1\n")
    write(at, {"staged.py": "s\n"})
    git(at, "add", "-A")
    write(at, {"staged.py": "later\n", "new.py": "n\n"})
    removed = await call(shop, "remove", name="one", force=True)
    kept = removed["kept"]
    assert git(shop, "show", f"{kept}:new.py") == "n\n"
    assert git(shop, "show", f"{kept}:staged.py") == "later\n"
    assert git(shop, "show", f"{kept}^2:staged.py") == "s\n"
    back = await call(shop, "create", name="one", base=kept)
    assert (Path(back["path"]) / "new.py").exists()


@pytest.mark.parametrize("folder", ["", "deep"])
def test_a_worktree_is_not_removed_from_inside(cli: Cli, shop: Path, folder: str) -> None:
    cli("worktree", "create", "one", cwd=shop)
    cli("worktree", "create", "two", cwd=shop)
    at = shop / ".worktrees/one"
    (at / "deep").mkdir()
    for more in ((), ("--force",)):
        done = cli("worktree", "remove", "one", *more, "--json", cwd=at / folder)
        assert (done.status, done.json["details"]["reason"]) == (1, "inside")
        assert str(shop) in done.json["hint"]
    assert (at / "shop.py").exists()
    assert cli("worktree", "remove", "two", cwd=at / folder).status == 0
    done = cli("worktree", "remove", "one", cwd=shop)
    assert (done.status, done.err) == (0, "")


async def test_removal_keeps_marks_and_personal_notes_in_a_backup(shop: Path) -> None:
    at = Path((await call(shop, "create", name="one"))["path"])
    state, own = at / ".project" / ".state", shop / ".project" / ".state"
    note = {"content": "the till is slow", "personal": True}
    kept = await answer(at, {"method": "memory.remember", "params": note})
    assert kept["result"]["path"] == ".project/.state/knowledge.md"
    (state / "wrong.json").write_text('{"0123abcd": {"feature": "till", "text": "x"}}\n')
    files = {name: (state / name).read_bytes() for name in ("knowledge.md", "wrong.json")}
    told = await call(shop, "remove", name="one", dry_run=True)
    assert "A backup would keep its marks" in told["notes"][-1]
    assert not (own / "backups").exists()
    done = await call(shop, "remove", name="one")
    assert done["kept"] == ""
    assert done["backup"].endswith("-worktree-one")
    assert done["backup"] in done["next"]
    restored = await answer(
        shop, {"method": "integrity.restore", "params": {"id": done["backup"]}}, by="person"
    )
    assert set(restored["result"]["restored"]) == {f".project/.state/{name}" for name in files}
    assert {name: (own / name).read_bytes() for name in files} == files
    at = Path((await call(shop, "create", name="one"))["path"])
    await answer(at, {"method": "memory.remember", "params": note})
    for name, data in files.items():  # the project has the same
        (state / name).write_bytes(data)
    assert (await call(shop, "remove", name="one"))["backup"] == ""


async def test_removal_copies_nothing_that_a_link_in_the_worktree_leads_to(shop: Path) -> None:
    at = Path((await call(shop, "create", name="one"))["path"])
    elsewhere = shop / "elsewhere"
    write(elsewhere, {"knowledge.md": "# Knowledge\n", "wrong.json": "{}\n"})
    (at / ".project").mkdir(exist_ok=True)
    (at / ".project" / ".state").symlink_to(elsewhere)
    assert (await call(shop, "remove", name="one", force=True))["backup"] == ""
    assert (elsewhere / "knowledge.md").exists()


async def test_forced_removal_keeps_what_was_staged_among_conflicts(shop: Path) -> None:
    at = Path((await call(shop, "create", name="one"))["path"])
    commit(at, shop_py="PRICE = 1\n")
    commit(shop, shop_py="PRICE = 2\n")
    assert (await call(shop, "merge", name="one"))["status"] == "conflicts"
    write(at, {"staged.py": "s\n"})
    git(at, "add", "staged.py")
    write(at, {"staged.py": "later\n"})
    kept = (await call(shop, "remove", name="one", force=True))["kept"]
    assert git(shop, "show", f"{kept}:staged.py") == "later\n"
    assert git(shop, "show", f"{kept}^2:staged.py") == "s\n"
    assert "<<<<<<<" in git(shop, "show", f"{kept}:shop.py")


def killed_before(step: int, root: Path, act: Callable[[Repository], object]) -> bool:
    """Act in a process that is killed before its git command of this number; whether it was."""
    left = step

    def run(*arguments: Any, **options: Any) -> subprocesses.Done:
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return subprocesses.run(*arguments, **options)

    if pid := os.fork():
        return os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    with suppress(BaseException):
        act(open_repository(Services(Layout(root), Settings(), run=run)))
    os._exit(0)


@pytest.mark.parametrize("how", ["merge", "rebase"])
async def test_conflicts_stay_unresolved_wherever_a_forced_removal_is_killed(
    shop: Path, how: str
) -> None:
    at = Path((await call(shop, "create", name="one"))["path"])
    commit(at, shop_py="PRICE = 1\n")
    commit(shop, shop_py="PRICE = 2\n")
    assert (await call(shop, "merge", name="one", how=how))["status"] == "conflicts"
    write(at, {"staged.py": "s\n"})
    git(at, "add", "staged.py")
    asked = ("ls-files", "--stage"), ("status", "--porcelain", "--branch"), ("diff",)
    before = [git(at, *words) for words in asked]
    kills = 0
    while killed_before(kills, shop, lambda held: removal.remove(held, "one", force=True)):
        if (record := records.read(Layout(shop), "one")) is None or record.stage != "ready":
            break
        assert [git(at, *words) for words in asked] == before, kills
        kills += 1
    assert kills > 10
    await call(shop, "prune")
    assert not (shop / ".worktrees/one").exists()
    assert not list((shop / ".project/.cache/worktrees").iterdir())
    (kept, *_) = git(shop, "for-each-ref", "--format=%(refname)", records.REMOVED).split()
    assert "<<<<<<<" in git(shop, "show", f"{kept}:shop.py")


async def test_a_repository_inside_is_not_removed_even_by_force(shop: Path) -> None:
    at = Path((await call(shop, "create", name="one"))["path"])
    make_repository(write(at / "inner", {"x": "x"}))
    failed = await call(shop, "remove", name="one", force=True)
    assert failed["details"]["inner"] == ["inner/"]
    assert (at / "inner/x").exists()


async def test_submodules_and_sparse_checkouts(shop: Path, tmp_path: Path) -> None:
    make_repository(write(tmp_path / "lib", {"lib.py": "x = 1\n"}))
    git(shop, "submodule", "--quiet", "add", str(tmp_path / "lib"), "lib")
    commit(shop, docs_md="d\n")
    at = Path((made := await call(shop, "create", name="one"))["path"])
    assert "submodule" in made["notes"][0]
    git(at, "submodule", "--quiet", "update", "--init")
    failed = await call(shop, "remove", name="one", force=True)
    assert failed["details"]["inner"] == ["lib"]
    write(shop, {"in/a": "a", "out/b": "b"})
    commit(shop)
    git(shop, "sparse-checkout", "set", "in")
    two = Path((await call(shop, "create", name="two"))["path"])
    assert (two / "in/a").exists()
    assert not (two / "out").exists()
    commit(two, new_py="n\n")
    assert (await call(shop, "merge", name="two"))["status"] == "merged"
    assert git(shop, "status", "--porcelain") == ""


async def test_no_repository_no_commit_and_no_files_are_clear_errors(tmp_path: Path) -> None:
    (tmp_path / "plain/.project").mkdir(parents=True)
    assert (
        "not in a git repository" in (await call(tmp_path / "plain", "create", name="a"))["message"]
    )
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "-q")
    failed = await call(tmp_path / "empty", "create", name="a")
    assert (failed["jsonrpc"], "no commit yet" in failed["message"]) == (-32001, True)
    assert (await call(tmp_path / "empty", "list"))["worktrees"][0]["head"].strip("0") == ""


def test_a_disk_that_fills_up_leaves_nothing(shop: Path, cli: Cli) -> None:
    commit(shop, big_txt="x" * 300_000)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = subprocess.run(
        [sys.executable, "-m", "preread", "worktree", "create", "one"],
        cwd=shop, capture_output=True, text=True, preexec_fn=limit,
        env={**os.environ, "PYTHONPATH": os.fspath(Path(records.__file__).parents[2])},
    )  # fmt: skip
    assert (done.returncode, "E_WORKTREE" in done.stderr) == (1, True), done.stderr
    assert git(shop, "worktree", "list").count("\n") == 1
    assert git(shop, "branch").split() == ["*", "main"]
    assert not (shop / ".worktrees/one").exists()
    assert cli("worktree", "create", "one", cwd=shop).status == 0


async def test_programs_that_a_repository_names_are_not_run(shop: Path, tmp_path: Path) -> None:
    touch = f"touch {tmp_path}/pwned; cat"
    for key in ("filter.x.smudge", "filter.x.clean", "merge.x.driver", "core.fsmonitor"):
        git(shop, "config", key, touch)
    hook = shop / ".git/hooks/post-checkout"
    hook.write_text(f"#!/bin/sh\n{touch}\n")
    hook.chmod(0o755)
    (shop / ".gitattributes").write_text("*.py filter=x merge=x\n")
    git(shop, "-c", "filter.x.clean=cat", "-c", "core.fsmonitor=", "add", ".gitattributes")
    git(shop, "-c", "filter.x.clean=cat", "-c", "core.fsmonitor=", "commit", "-qm", "attributes")
    (tmp_path / "pwned").unlink(missing_ok=True)
    at = Path((await call(shop, "create", name="one"))["path"])
    plain = ("-c", "core.fsmonitor=", "-c", "filter.x.clean=cat", "-c", "filter.x.smudge=cat")
    for place, price in ((at, 1), (shop, 2)):
        (place / "shop.py").write_text(f"PRICE = {price}\n")
        git(place, *plain, "commit", "-qam", "price")
    (tmp_path / "pwned").unlink(missing_ok=True)
    assert (await call(shop, "merge", name="one"))["status"] == "conflicts"
    assert (await call(shop, "remove", name="one", force=True))["kept"]
    assert not (tmp_path / "pwned").exists()


def test_the_command_line_lists_and_repairs(cli: Cli, shop: Path) -> None:
    assert cli("worktree", "create", "one", cwd=shop).status == 0
    assert "preread/one" in cli("worktree", "list", cwd=shop).out
    record = shop / ".project/.state/worktrees/one.json"
    record.write_text(record.read_text().replace('"ready"', '"creating"'))
    assert cli("worktree", "merge", "one", cwd=shop).status == 1
    assert "one: undo its creation" in cli("worktree", "prune", cwd=shop).out
    assert not (shop / ".worktrees/one").exists()
    assert json_of(cli, shop)["worktrees"][0]["name"] == ""


def test_a_merge_that_stops_at_conflicts_exits_1_with_its_reply(cli: Cli, shop: Path) -> None:
    cli("worktree", "create", "one", cwd=shop)
    commit(shop / ".worktrees/one", shop_py="PRICE = 1\n")
    commit(shop, shop_py="PRICE = 2\n")
    merge = ("worktree", "merge", "one")
    for more in ((), ("--action", "continue")):
        done = cli(*merge, *more, "--json", cwd=shop)
        assert (done.status, done.json["status"]) == (1, "conflicts")
        assert done.json["conflicts"] == [{"path": "shop.py", "kind": "both changed it"}]
    assert "shop.py: both changed it" in (done := cli(*merge, *more, cwd=shop)).out
    assert done.status == 1
    assert cli(*merge, "--action", "abort", cwd=shop).status == 0


def json_of(cli: Cli, root: Path) -> dict:
    found: dict = cli("worktree", "list", "--json", cwd=root).json
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds a killed git in /proc")
def test_random_work_with_kills_loses_nothing(tmp_path: Path) -> None:
    count = int(os.environ.get("PREREAD_SEQUENCES", "2"))
    for seed in range(count):
        _worktree_sequences.Sequence(tmp_path / f"s{seed}", seed).play()


async def test_what_keeps_git_from_a_list_is_repaired_in_this_repository_and_no_other(
    shop: Path,
) -> None:
    made = await call(shop, "create", name="one")
    path = shop / ".project/.state/worktrees/one.json"
    path.write_text(path.read_text().replace('"ready"', '"creating"'))
    entry = shop / ".git/worktrees/one"
    (entry / "locked").write_text("initializing")
    (entry / "commondir").write_text("")
    refused = await call(shop, "list")
    assert (refused["code"], "commondir" in refused["message"]) == ("E_WORKTREE", True)
    assert "worktree.prune" in refused["hint"]
    assert "undo its creation" in str(await call(shop, "prune"))
    assert [row["name"] for row in (await call(shop, "list"))["worktrees"]] == [""]
    assert not (shop / made["path"]).exists()
    assert git(shop, "worktree", "list").count("\n") == 1


async def deleted_in_a_rebase(shop: Path) -> tuple[str, str, str]:
    """A worktree whose folder went in the middle of a rebase: what is checked out there, where
    ORIG_HEAD and a ref of its own lead.
    """
    at = Path((await call(shop, "create", name="one"))["path"])
    for price in (1, 11):
        commit(at, shop_py=f"PRICE = {price}\n")
    commit(shop, shop_py="PRICE = 2\n")
    own = commit(at, own_py="o\n")
    git(at, "update-ref", "refs/worktree/own", own)
    git(at, "reset", "-q", "--hard", "HEAD~")
    assert (await call(shop, "merge", name="one", how="rebase"))["status"] == "conflicts"
    (at / "shop.py").write_text("PRICE = 3\n")
    again = await call(shop, "merge", name="one", how="rebase", action="continue")
    assert again["status"] == "conflicts"
    before = git(at, "commit-tree", "-m", "Left", "-p", "HEAD", "HEAD^{tree}").strip()
    git(at, "update-ref", "ORIG_HEAD", before)
    write(at, {"staged.py": "s\n"})
    git(at, "add", "staged.py")
    head = git(at, "rev-parse", "HEAD").strip()
    shutil.rmtree(at)
    return head, before, own


async def test_what_only_a_deleted_worktree_had_is_kept_before_git_forgets_it(shop: Path) -> None:
    head, before, own = await deleted_in_a_rebase(shop)
    failed = await call(shop, "remove", name="one", force=True)
    assert (failed["details"]["reason"], "prune" in failed["hint"]) == ("gone", True)
    would = await call(shop, "prune", dry_run=True)
    assert "refs keep commits that are on no branch" in would["notes"][0]
    (said,) = (await call(shop, "prune"))["repaired"]
    kept = said.rpartition("(")[2].rstrip(")").split(", ")
    listed = git(shop, "for-each-ref", "--format=%(refname)", "refs/preread/removed/one").split()
    assert sorted(kept) == sorted(listed)
    git(shop, "reflog", "expire", "--expire=now", "--all")
    git(shop, "gc", "-q", "--prune=now")
    assert git(shop, "fsck", "--no-dangling") == ""
    assert git(shop, "worktree", "list").count("\n") == 1
    reached = git(shop, "rev-list", *kept).split()
    assert {head, before, own} <= set(reached)
    staged = kept[0]
    assert git(shop, "rev-parse", f"{staged}^").strip() == head
    assert git(shop, "show", f"{staged}:staged.py") == "s\n"
    assert git(shop, "show", f"{head}:shop.py") == "PRICE = 3\n"
    assert git(shop, "show", "preread/one:shop.py") == "PRICE = 11\n"
    assert (await call(shop, "prune"))["repaired"] == []


async def test_an_object_that_git_has_deleted_meanwhile_does_not_keep_the_rest(shop: Path) -> None:
    head, before, _ = await deleted_in_a_rebase(shop)
    tree = git(shop, "hash-object", "-t", "tree", "--literally", "-w", "/dev/null").strip()
    lost = git(shop, "commit-tree", "-m", "Without its parent", "-p", before, tree).strip()
    (shop / ".git/worktrees/one/ORIG_HEAD").write_text(f"{lost}\n")
    (shop / ".git/objects" / before[:2] / before[2:]).unlink()
    (said,) = (await call(shop, "prune"))["repaired"]
    kept = said.rpartition("(")[2].rstrip(")").split(", ")
    assert head in git(shop, "rev-list", *kept).split()
    assert lost not in git(shop, "rev-list", *kept).split()
    assert git(shop, "fsck", "--connectivity-only", "--no-dangling", *kept) == ""


async def test_a_deleted_worktree_with_submodules_is_left_to_its_person(shop: Path) -> None:
    await call(shop, "create", name="one")
    make_repository(write(shop / ".git/worktrees/one/modules/lib", {"lib.py": "x = 1\n"}))
    shutil.rmtree(shop / ".worktrees/one")
    (said,) = (await call(shop, "prune"))["repaired"]
    assert "one: leave it" in said
    assert (shop / ".git/worktrees/one/modules/lib/lib.py").exists()
    assert (await call(shop, "list"))["worktrees"][0]["state"] == "missing"


async def test_commits_whose_base_is_deleted_and_those_without_a_branch_are_work(
    shop: Path,
) -> None:
    git(shop, "branch", "next")
    at = Path((await call(shop, "create", name="one", base="next"))["path"])
    commit(at, shop_py="PRICE = 1\n")
    git(shop, "branch", "-D", "next")
    assert (await call(shop, "remove", name="one"))["details"]["unmerged"] == 1
    two = Path((await call(shop, "create", name="two"))["path"])
    own = commit(two, own_py="o\n")
    git(two, "update-ref", "refs/worktree/own", own)
    git(two, "reset", "-q", "--hard", "HEAD~")
    assert "on no branch" in (await call(shop, "remove", name="two"))["message"]
    removed = await call(shop, "remove", name="two", force=True)
    assert removed["kept"]
    refs = git(shop, "for-each-ref", "--format=%(objectname)", "refs/preread/removed/two").split()
    assert own in refs


async def test_a_branch_that_moved_on_during_a_removal_stays(shop: Path) -> None:
    at = Path((await call(shop, "create", name="one"))["path"])
    layout = _worktree_sequences.Layout(shop)
    record = records.read(layout, "one")
    assert record is not None
    seen = git(at, "rev-parse", "HEAD").strip()
    records.write(layout, record.model_copy(update={"stage": "removing", "tip": seen}))  # a kill
    later = commit(at, shop_py="PRICE = 1\n")
    assert "finish removing it" in str(await call(shop, "prune"))
    assert not (shop / ".worktrees/one").exists()
    assert git(shop, "rev-parse", "preread/one").strip() == later


async def test_a_worktree_that_git_alone_knows_is_not_taken_for_a_new_one(shop: Path) -> None:
    at = shop / ".worktrees/one"
    git(shop, "worktree", "add", "-q", "--detach", str(at))
    head = commit(at, own_py="o\n")
    shutil.rmtree(at)
    failed = await call(shop, "create", name="one")
    assert (failed["details"]["reason"], "git worktree" in failed["hint"]) == ("exists", True)
    assert (shop / ".git/worktrees/one/HEAD").read_text().strip() == head


@pytest.mark.parametrize("what", ["folder", "link"])
async def test_a_deleted_worktree_is_named_by_every_call_and_its_commits_are_counted(
    shop: Path, what: str
) -> None:
    at = Path((await call(shop, "create", name="one"))["path"])
    commit(at, new_py="x = 1\n")
    if what == "folder":
        shutil.rmtree(at)
    else:
        (at / ".git").unlink()
    for method, params in (
        ("diff", {}), ("merge", {}), ("merge", {"action": "continue"}),
        ("merge", {"action": "abort"}), ("remove", {}),
    ):  # fmt: skip
        error = await call(shop, method, name="one", **params)
        assert error["details"]["reason"] == "gone"
        assert f"The folder of one is gone: {at}" in error["message"]
        assert "worktree.prune" in error["hint"]
    (row, _) = (await call(shop, "list"))["worktrees"]
    assert (row["state"], row["ahead"], row["behind"]) == ("missing", 1, 0)
    git(shop, "worktree", "prune")
    (row, _) = (await call(shop, "list"))["worktrees"]
    assert (row["state"], row["ahead"], row["behind"]) == ("missing", 1, 0)


async def test_gits_folder_of_a_worktree_is_found_by_a_relative_path_too(shop: Path) -> None:
    at = Path((await call(shop, "create", name="one"))["path"])
    entry = shop / ".git/worktrees/one"
    (entry / "gitdir").write_text("../../../.worktrees/one/.git\n")
    repository = open_repository(Services(Layout(shop), Settings(), run=subprocesses.run))
    assert undo.entry_of(repository, at) == entry


LONG = {f"long-{number}.txt": f"{number}\n" * 2000 for number in range(5)}
NEWER = {name: text.replace("\n", " new\n") for name, text in LONG.items()}


async def to_merge(root: Path) -> None:
    at = Path((await call(root, "create", name="one"))["path"])
    write(at, {**NEWER, "new.py": "n\n"})
    (at / "link").unlink()
    (at / "link").symlink_to("new.py")
    commit(at)
    commit(root, other_txt="o\n" * 1500)


async def to_resolve(root: Path) -> None:
    at = Path((await call(root, "create", name="one"))["path"])
    commit(at, shop_py="PRICE = 1\n", long_1="x\n" * 2000)
    commit(root, shop_py="PRICE = 2\n", long_2="x\n" * 2000)


async def in_conflict(root: Path) -> None:
    await to_resolve(root)
    assert (await call(root, "merge", name="one"))["status"] == "conflicts"


async def to_remove(root: Path) -> None:
    await in_conflict(root)
    at = root / ".worktrees/one"
    write(at, {"staged.py": "s\n" * 4000})
    git(at, "add", "staged.py")
    write(at, {"staged.py": "later\n"})


FILLED = {
    "merge": (to_merge, "merge", {"how": "merge"}, 22),
    "rebase": (to_merge, "merge", {"how": "rebase"}, 24),
    "conflicts": (to_resolve, "merge", {}, 12),
    "abort": (in_conflict, "merge", {"action": "abort"}, 8),
    "remove": (to_remove, "remove", {"force": True}, 10),
    "diff": (to_remove, "diff", {}, 3),
    "list": (to_remove, "list", {}, 2),
}


def looks(root: Path) -> tuple[str, ...]:
    """What a person sees: the base's checkout, and the worktree."""
    at = root / ".worktrees/one"
    there = [git(at, "status", "--porcelain"), git(at, "ls-files", "-s")] if at.exists() else []
    return git(root, "status", "--porcelain"), *there


@pytest.mark.parametrize("what", FILLED)
async def test_a_disk_that_is_full_at_any_stage_leaves_the_base_whole_and_a_later_call_works(
    tmp_path: Path, what: str
) -> None:
    prepare, method, params, most = FILLED[what]
    named = params if method == "list" else {"name": "one", **params}
    with disk(tmp_path / "disk", "8m") as full:
        root = write(full / "shop", {**FILES, **LONG, "shop.py": "PRICE = 42\n"})
        (root / "link").symlink_to("shop.py")
        make_repository(root)
        await prepare(root)
        shutil.copytree(root, tmp_path / "before", symlinks=True)
        before, base = looks(root), git(root, "rev-parse", "main")
        failures = 0
        for pages in sized(sorted({0, 1, most // 3, most * 2 // 3}), range(most)):
            shutil.rmtree(root)
            shutil.copytree(tmp_path / "before", root, symlinks=True)
            (full / "room").write_bytes(b"x" * 4096 * pages)
            filler = fill(full)
            (full / "room").unlink()
            done = await call(root, method, **named)
            filler.unlink()
            if "code" in done:
                failures += 1
                assert done["code"] in {"E_WORKTREE", "E_WRITE"}
                said = f"{done['message']} {done['hint']}"
                assert "disk" in said, said
                assert git(root, "status", "--porcelain") == before[0], pages
                assert git(root, "rev-parse", "main") == base
                if what == "remove":
                    assert looks(root) == before, pages
                done = await call(root, method, **named)
            assert "code" not in done, (pages, done)
            assert git(root, "status", "--porcelain") == before[0], pages
            assert git(root, "fsck", "--no-dangling", "--no-progress") == ""
            assert not list((root / ".git").rglob("*.lock"))
            if what in {"merge", "rebase"}:
                assert git(root, "show", "main:long-4.txt") == (root / "long-4.txt").read_text()
                assert (root / "link").readlink() == Path("new.py")
            if what == "remove":
                assert git(root, "show", f"{done['kept']}^2:staged.py") == "s\n" * 4000
        assert failures or what in {"diff", "list"}


async def test_a_read_only_disk_is_an_error_for_what_writes_only(tmp_path: Path) -> None:
    with disk(tmp_path / "disk", "8m") as place:
        root = write(place / "shop", FILES)
        make_repository(root)
        await call(root, "create", name="one")
        make_read_only(place)
        for method, params in (("merge", {}), ("remove", {"force": True}), ("create", {})):
            name = "two" if method == "create" else "one"
            done = await call(root, method, name=name, **params)
            assert done["code"] in {"E_WORKTREE", "E_WRITE"}, done
            assert "read-only" in done["message"], done
        assert [row["name"] for row in (await call(root, "list"))["worktrees"]] == ["one", ""]
        assert (await call(root, "diff", name="one"))["files"] == []
