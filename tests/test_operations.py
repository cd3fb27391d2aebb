"""The operations through the command line: show, status, evidence, facts, check, wrong."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest
from filelock import FileLock
from pydantic import ValidationError

from _mcp_process import shop
from _processes import small
from conftest import Cli, child_environ, git, run_cli
from preread.builds.jobs import Caller, Jobs
from preread.errors import PrereadError
from preread.layout import FILES, REQUIRED, Layout
from preread.models import Model
from preread.operations import ALIASES, REGISTRY, ROWS
from preread.operations.registry import Context

OPERATIONS = tuple(REGISTRY.values())
BY_NAME = {operation.name: operation for operation in OPERATIONS}


async def unheard(message: str, done: float, total: float) -> None:
    """Progress that nobody listens to."""


def call(name: str, start: Path, **values: object) -> Model:
    """One operation in this process, as a face calls it."""

    async def run() -> Model:
        operation = BY_NAME[name]
        async with Jobs(1) as jobs:
            context = Context(start, dict(os.environ), jobs, Caller(None, unheard))
            try:
                return await operation.run(context, operation.request.model_validate(values))
            except PrereadError as error:
                failure = error
        raise failure

    reply: Model = anyio.run(run)
    return reply


@pytest.fixture(scope="module")
def shop_with_dossier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = shop(tmp_path_factory.mktemp("loaded") / "shop")
    assert run_cli("load", "checkout", cwd=root, env={"PREREAD_CLAUDE": "off"}).status == 0
    return root


@pytest.fixture
def loaded(shop_with_dossier: Path, tmp_path: Path) -> Path:
    """The example project with a dossier of checkout."""
    return Path(shutil.copytree(shop_with_dossier, tmp_path / "shop"))


@pytest.fixture
def built_here(project: Path) -> Path:
    """The same, but the dossier was built in this folder and not copied into it."""
    call("context.load", project, feature="checkout")
    return project


def dossier(project: Path, feature: str = "checkout") -> Path:
    return project / ".project" / "context" / feature


# -- the registry


def test_names_commands_and_effects_are_unambiguous() -> None:
    commands = [operation.command for operation in OPERATIONS if operation.command]
    assert len(BY_NAME) == len(OPERATIONS)
    assert len(commands) == len(set(commands))
    assert [(row.name, row.command) for row in ROWS] == [(o.name, o.command) for o in OPERATIONS]
    assert set(ALIASES.values()) <= set(BY_NAME)
    assert not set(ALIASES) & set(BY_NAME)
    for operation in OPERATIONS:
        category, _, word = operation.name.partition(".")
        assert category.isidentifier()
        assert word.isidentifier()
        called = operation.command or f"call {operation.name}"
        assert operation.example.startswith(f"preread {called}")
        assert set(operation.positional) <= set(operation.request.model_fields)


def test_requests_and_replies_have_schemas_in_which_every_request_field_is_described() -> None:
    for operation in OPERATIONS:
        assert operation.reply.model_json_schema()["type"] == "object"
        for about in operation.request.model_json_schema().get("properties", {}).values():
            assert about["description"]


def test_a_request_refuses_what_it_does_not_know() -> None:
    for operation in OPERATIONS:
        with pytest.raises(ValidationError):
            operation.request.model_validate(
                {"feature": "a", "query": "a", "fact": "a", "nonsense": 1}
            )


@pytest.mark.parametrize("name", ["a\0b", "a\nb", "../a", "a" * 300])
def test_a_name_that_a_command_line_cannot_carry_is_refused_too(project: Path, name: str) -> None:
    for operation in (
        "context.load",
        "context.show",
        "context.status",
        "context.evidence",
        "context.check",
    ):
        with pytest.raises(PrereadError) as caught:
            call(operation, project, feature=name)
        assert caught.value.code == "E_FEATURE_NAME"
    assert not (project / ".project" / "context").exists()


# -- show


def test_show_gives_the_files_the_manifest_and_the_text(loaded: Path) -> None:
    reply = call("context.show", loaded, feature="checkout").model_dump()
    there = {path.name for path in dossier(loaded).glob("*.md")}
    assert set(reply["files"]) == there >= set(REQUIRED)
    assert (reply["builder"], reply["level"], reply["status"]) == ("static", "light", "ok")
    assert reply["edited"] == ()
    for name in there:
        assert (dossier(loaded) / name).read_text().strip() in reply["text"]


def without_folders(text: str) -> str:
    """The text with the last part of each path alone, as later mentions in a file have it."""
    return re.sub(r"(?:[\w.-]+/)+(?=[\w.-]+:\d)", "", text)


def test_show_with_cited_lists_what_each_source_says_now(loaded: Path) -> None:
    def cited() -> dict[str, dict]:
        reply = call("context.show", loaded, feature="checkout", file="codebase.md", cited=True)
        facts = reply.model_dump(mode="json")["cited"]
        return {source["source"]: source for fact in facts for source in fact["sources"]}

    before = cited()
    path = "api/shop/errors.py"
    name = next(one for one in before if one.startswith(f"{path}:"))
    assert before[name]["freshness"] == "fresh"
    lines = (loaded / path).read_text().split("\n")
    first = before[name]["start"] - 1
    assert before[name]["lines"] == lines[first : first + before[name]["total"]]
    lines[first] += "  # PASSWORD = 'hunter2hunter2hunter2'"
    (loaded / path).write_text("\n".join(lines))
    assert cited()[name]["freshness"] in {"changed", "gone"}
    assert "hunter2" not in str(cited())
    (loaded / path).unlink()
    assert cited()[name] == {
        "source": name,
        "freshness": "gone",
        "start": 0,
        "lines": [],
        "total": 0,
    }


def test_show_with_ids_lists_each_fact_with_its_place(loaded: Path) -> None:
    reply = call("context.show", loaded, feature="checkout", ids=True).model_dump()
    assert len(reply["facts"]) > 10
    for fact in reply["facts"]:
        line = (dossier(loaded) / fact["file"]).read_text().split("\n")[fact["line"] - 1]
        assert without_folders(line).startswith(f"- {without_folders(fact['text'])}")


def test_show_without_a_dossier_names_the_most_similar_and_how_to_build_it(loaded: Path) -> None:
    with pytest.raises(PrereadError) as caught:
        call("context.show", loaded, feature="chekout")
    assert caught.value.code == "E_NOT_FOUND"
    assert "The most similar is checkout." in caught.value.message
    assert "preread load chekout" in caught.value.hint
    assert caught.value.details == {"features": ["checkout"]}


def test_show_of_a_missing_file_lists_the_existing_ones(loaded: Path) -> None:
    for name in ("nope.md", "../../config.toml", "manifest.json"):
        with pytest.raises(PrereadError) as caught:
            call("context.show", loaded, feature="checkout", file=name)
        assert caught.value.code == "E_NOT_FOUND"
        assert set(REQUIRED) <= set(caught.value.details["files"])


# -- status


def test_status_says_fresh_until_a_cited_line_of_a_tracked_dossier_changes(
    built_here: Path,
) -> None:
    git(built_here, "add", "-Af", ".project/context")
    (before,) = call("context.status", built_here).model_dump()["dossiers"]
    assert (before["feature"], before["fresh"], before["why"]) == ("checkout", True, "")
    assert before["facts"] > 10
    assert before["tokens"] > 100
    assert 0 <= before["age"] < 300
    assert before["run"]["status"] == "ok"
    path = built_here / "api" / "shop" / "checkout.py"
    path.write_text(path.read_text().replace("class Checkout", "class Till"))
    (after,) = call("context.status", built_here, feature="checkout").model_dump()["dossiers"]
    assert after["fresh"] is False
    assert "api/shop/checkout.py" in after["why"]


def test_status_names_files_that_a_person_edited(loaded: Path) -> None:
    path = dossier(loaded) / "patterns.md"
    path.write_text(path.read_text() + "- `class Cart` holds the goods (api/shop/cart.py:1)\n")
    (found,) = call("context.status", loaded).model_dump()["dossiers"]
    assert found["edited"] == ("patterns.md",)


def test_status_of_a_project_without_dossiers_is_empty_and_of_a_missing_one_an_error(
    project: Path,
) -> None:
    assert call("context.status", project).model_dump()["dossiers"] == ()
    with pytest.raises(PrereadError) as caught:
        call("context.status", project, feature="login")
    assert caught.value.code == "E_NOT_FOUND"


def test_status_of_a_dossier_that_came_with_the_repository_has_no_age(built_here: Path) -> None:
    for record in (built_here / ".project" / ".state").rglob("*.json"):
        record.unlink()
    (found,) = call("context.status", built_here).model_dump()["dossiers"]
    assert found["age"] is None
    assert found["fresh"] is True


# -- evidence


def test_evidence_ranks_sources_and_tests_apart_and_keeps_the_limit(
    cli: Cli, project: Path
) -> None:
    told = cli("evidence", "checkout", "--limit", "3", "--json", cwd=project).json
    assert told["feature"] == "checkout"
    assert "checkout" in told["words"]
    for name in ("files", "tests"):
        scores = [one["score"] for one in told[name]]
        assert 0 < len(scores) <= 3
        assert scores == sorted(scores, reverse=True)
        for one in told[name]:
            assert (project / one["path"]).is_file()
            assert one["reasons"]
            assert all(start <= end for start, end in one["lines"])
    assert {one["path"] for one in told["files"]}.isdisjoint(one["path"] for one in told["tests"])
    assert len(told["findings"]) <= 3


def test_evidence_publishes_nothing(cli: Cli, project: Path) -> None:
    assert cli("evidence", "checkout", cwd=project).status == 0
    assert not (project / ".project" / "context").exists()
    assert git(project, "status", "--porcelain") == ""


# -- facts


def test_facts_are_found_in_dossiers_and_in_the_knowledge(loaded: Path) -> None:
    reply = call("knowledge.search", loaded, query="coupon basket", limit=50).model_dump()
    places = {fact["path"] for fact in reply["facts"]}
    assert ".project/knowledge.md" in places
    assert any(place.startswith(".project/context/checkout/") for place in places)
    for fact in reply["facts"]:
        line = (loaded / fact["path"]).read_text().split("\n")[fact["line"] - 1]
        assert without_folders(fact["text"]) in without_folders(line)
        assert fact["sources"]
        assert 0 < fact["confidence"] <= 1


def test_facts_keep_the_limit_and_the_feature(loaded: Path) -> None:
    assert (
        len(call("knowledge.search", loaded, query="checkout", limit=2).model_dump()["facts"]) == 2
    )
    only = call("knowledge.search", loaded, query="coupon", feature="checkout").model_dump()[
        "facts"
    ]
    assert {fact["feature"] for fact in only} == {"checkout"}
    assert call("knowledge.search", loaded, query="zebra crossing").model_dump()["facts"] == ()


@pytest.mark.parametrize(
    "query", ['"', "a AND", "NEAR(", "*", "checkout:", "-x", "(", "%", "' OR 1=1", ""]
)
def test_a_query_is_words_not_a_language(loaded: Path, query: str) -> None:
    assert isinstance(call("knowledge.search", loaded, query=query).model_dump()["facts"], tuple)


# -- check


def test_check_of_what_was_just_built_finds_nothing(cli: Cli, loaded: Path) -> None:
    done = cli("check", "checkout", cwd=loaded)
    assert done.status == 0
    assert done.out.endswith("0 problems\n")


def test_check_finds_what_a_person_broke_and_exits_1(cli: Cli, loaded: Path) -> None:
    path = dossier(loaded) / "patterns.md"
    count = len(path.read_text().split("\n"))
    path.write_text(
        path.read_text()
        + "## By hand\nSome prose.\n- no source at all\n- `not in that file` (api/shop/cart.py:1)\n- gone "
        "(api/shop/gone.py:1)\n"
    )
    done = cli("check", "checkout", cwd=loaded)
    assert done.status == 1
    problems = {
        line.split(": ")[0]: line.split(": ")[1].split(" ")[0]
        for line in done.out.splitlines()[:-1]
    }
    place = ".project/context/checkout/patterns.md"
    assert problems[f"{place}:{count + 1}"] == "E_PROSE"
    assert problems[f"{place}:{count + 2}"] == "E_FACT_SOURCE"
    assert f"{place}:{count + 3}" in problems
    assert f"{place}:{count + 4}" in problems
    told = cli("check", "checkout", "--json", cwd=loaded)
    assert told.status == 1
    assert told.json["ok"] is False
    assert len(told.json["problems"]) == len(done.out.splitlines()) - 1


def test_check_of_a_dossier_without_a_required_file_says_so(cli: Cli, loaded: Path) -> None:
    (dossier(loaded) / "codebase.md").unlink()
    done = cli("check", "checkout", cwd=loaded)
    assert done.status == 1
    assert ".project/context/checkout/codebase.md:1: E_FILE_MISSING" in done.out


def test_a_handwritten_dossier_can_be_checked_without_a_manifest(cli: Cli, project: Path) -> None:
    folder = dossier(project, "cart")
    folder.mkdir(parents=True)
    lines = (project / "api" / "shop" / "cart.py").read_text().count("\n")
    fact = f"- `class Cart` (api/shop/cart.py:1-{lines})"
    for row in FILES:
        if row.required:
            (folder / row.name).write_text(f"# {row.title}: cart\n\n## Where\n{fact}\n")
    done = cli("check", "cart", cwd=project)
    assert (done.status, done.out) == (0, "cart: 3 facts check out, 0 problems\n")


def test_check_without_a_dossier_is_not_found(cli: Cli, project: Path) -> None:
    done = cli("check", "login", "--json", cwd=project)
    assert (done.status, done.json["code"]) == (1, "E_NOT_FOUND")


# -- wrong


def a_fact(project: Path, file: str = "patterns.md") -> dict[str, str]:
    facts = call("context.show", project, feature="checkout", ids=True).model_dump()["facts"]
    return next(fact for fact in facts if fact["file"] == file)


@pytest.mark.parametrize("by", ["id", "text"])
def test_wrong_drops_the_fact_for_good_and_leaves_the_rest_in_order(loaded: Path, by: str) -> None:
    fact = a_fact(loaded)
    reply = call("context.wrong", loaded, fact=fact[by]).model_dump()
    assert fact["id"] in {dropped["id"] for dropped in reply["dropped"]}
    shown = call("context.show", loaded, feature="checkout", ids=True).model_dump()
    assert fact["text"] not in {one["text"] for one in shown["facts"]}
    assert shown["edited"] == ()
    assert call("context.check", loaded, feature="checkout").model_dump()["problems"] == ()
    (status,) = call("context.status", loaded).model_dump()["dossiers"]
    assert status["fresh"] is True
    manifest = json.loads((dossier(loaded) / "manifest.json").read_text())
    assert fact["id"] not in manifest["facts"]
    call("context.load", loaded, feature="checkout", force=True)
    again = call("context.show", loaded, feature="checkout", ids=True).model_dump()
    assert fact["text"] not in {one["text"] for one in again["facts"]}
    found = call("knowledge.search", loaded, query=fact["text"], limit=100).model_dump()["facts"]
    assert fact["text"] not in {one["text"] for one in found}


def test_wrong_for_a_line_that_a_person_wrote_leaves_their_other_words(loaded: Path) -> None:
    path = dossier(loaded) / "patterns.md"
    mine = ("", "## Mine", "", "A remark that is not a fact.")
    mine += (
        "- `class Cart` is mine (api/shop/cart.py:1-40)",
        "- `class Cart` is yours (cart.py:1-40)",
        "",
    )
    path.write_text(path.read_text() + "\n".join(mine))
    call("context.wrong", loaded, fact="`class Cart` is mine")
    text = path.read_text()
    assert "is mine" not in text
    assert "`class Cart` is yours (api/shop/cart.py:1-40)" in text  # its path is written whole now
    call("context.wrong", loaded, fact="`class Cart`  IS yours")
    assert "is yours" not in path.read_text()
    assert "A remark that is not a fact." in path.read_text()


def test_what_a_person_wrote_is_in_a_backup_when_it_was_wrong(cli: Cli, loaded: Path) -> None:
    path = dossier(loaded) / "patterns.md"
    before = path.read_bytes()
    path.write_bytes(before + b"\n## Mine\n- `class Cart` is mine (api/shop/cart.py:1-40)\n")
    edited = path.read_bytes()
    assert cli("wrong", "`class Cart` is mine", cwd=loaded).status == 0
    assert b"is mine" not in path.read_bytes()
    assert "preread backups" in cli("wrong", "`class Cart` is mine", "--undo", cwd=loaded).out
    [backup] = cli("backups", "--json", cwd=loaded).json["backups"]
    assert cli("restore", backup["id"], cwd=loaded).status == 0
    assert path.read_bytes() == edited


def test_wrong_for_a_fact_that_nobody_published_changes_nothing(loaded: Path) -> None:
    before = {path.name: path.read_bytes() for path in dossier(loaded).iterdir()}
    for fact in ("00000000", "no such words", "", "*"):
        with pytest.raises(PrereadError) as caught:
            call("context.wrong", loaded, fact=fact)
        assert caught.value.code == "E_NOT_FOUND"
        assert "preread facts" in caught.value.hint
    assert {path.name: path.read_bytes() for path in dossier(loaded).iterdir()} == before
    assert not (loaded / ".project" / ".state" / "wrong.json").exists()


def test_wrong_a_second_time_says_that_it_was_dropped_before(loaded: Path) -> None:
    fact = a_fact(loaded)
    call("context.wrong", loaded, fact=fact["id"])
    with pytest.raises(PrereadError) as caught:
        call("context.wrong", loaded, fact=fact["id"])
    assert "was dropped before" in caught.value.message
    assert f"`preread wrong {fact['id']} --undo`" in caught.value.hint


@pytest.mark.parametrize("by", ["id", "text"])
def test_a_fact_that_was_marked_as_wrong_by_mistake_comes_back(loaded: Path, by: str) -> None:
    fact = a_fact(loaded)
    with pytest.raises(PrereadError, match="is marked as wrong"):
        call("context.wrong", loaded, fact=fact[by], undo=True)
    call("context.wrong", loaded, fact=fact["id"])
    with pytest.raises(PrereadError, match="is marked as wrong"):
        call("context.wrong", loaded, fact=fact[by], feature="another", undo=True)
    reply = call("context.wrong", loaded, fact=fact[by], undo=True).model_dump()
    assert fact["id"] in {one["id"] for one in reply["unmarked"]}
    call("context.load", loaded, feature="checkout", force=True)
    again = call("context.show", loaded, feature="checkout", ids=True).model_dump()
    assert fact["text"] in {one["text"] for one in again["facts"]}


def test_wrong_waits_for_a_build_of_the_same_feature(cli: Cli, loaded: Path) -> None:
    fact = a_fact(loaded)
    lock = FileLock(loaded / ".project" / ".cache" / "locks" / "checkout.lock")

    with lock:
        process = subprocess.Popen(
            [sys.executable, "-m", "preread", "wrong", fact["id"]],
            cwd=loaded, env=child_environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        end = time.monotonic() + 30
        while not (loaded / ".project" / ".state" / "wrong.json").exists():
            assert time.monotonic() < end
            time.sleep(0.02)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        assert fact["text"] in (dossier(loaded) / "patterns.md").read_text()
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    assert f"dropped {fact['id']}" in out
    assert fact["text"] not in (dossier(loaded) / "patterns.md").read_text()


# -- remove


def test_remove_keeps_copies_and_what_is_not_ours(cli: Cli, loaded: Path) -> None:
    layout = Layout(loaded)
    folder = layout.dossier("checkout")
    (folder / "notes.txt").write_text("mine\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = cli("remove", "checkout", "--json", cwd=loaded)
    assert done.status == 0
    assert {path.name for path in folder.iterdir()} == {"notes.txt"}
    assert done.json["kept"] == [".project/context/checkout/notes.txt"]
    copies = layout.backup_sets / done.json["backup"] / "context" / "checkout"
    for name in before.keys() - {"notes.txt"}:
        assert (copies / name).read_bytes() == before[name]
    assert not layout.run_record("checkout").exists()
    assert cli("show", "checkout", cwd=loaded).status == 1
    assert cli("facts", "checkout", "--json", cwd=loaded).json["facts"] == [] or all(
        fact["feature"] != "checkout"
        for fact in cli("facts", "checkout", "--json", cwd=loaded).json["facts"]
    )
    again = cli("remove", "checkout", cwd=loaded)
    assert (again.status, again.err.split(": ")[1]) == (1, "E_NOT_FOUND")
    assert cli("load", "checkout", "--json", cwd=loaded).json["state"] == "built"
    assert cli("remove", "checkout", cwd=loaded).status == 0
    assert cli("remove", "../checkout", cwd=loaded).status == 2


def test_facts_of_a_feature_without_a_dossier_are_not_found(cli: Cli, loaded: Path) -> None:
    done = cli("facts", "checkout", "--feature", "chekout", cwd=loaded)
    assert (done.status, done.err.split(": ")[1]) == (1, "E_NOT_FOUND")
    assert "The most similar is checkout" in done.err


def test_evidence_leaves_out_what_has_a_secret_and_says_so(tmp_path: Path, cli: Cli) -> None:
    secret = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
    text = (
        f'LOGIN_KEY = "{secret}"\nLOGIN_TRIES = 3\n\n\ndef login(key=LOGIN_KEY):\n    return key\n'
    )
    project = small(tmp_path / "p", {"login_keys.py": text})
    done = cli("evidence", "login", "--json", cwd=project)
    assert done.status == 0
    assert "LOGIN_TRIES" in done.out
    assert secret not in done.out
    assert any("left out: they contain secrets" in note for note in done.json["notes"])
