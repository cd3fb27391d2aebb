"""How far a feature is, what comes next, and whether the work is ready: by what is on disk."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from _evidence_project import write
from conftest import Cli, git, make_repository
from preread.agents.kinds import POLICIES

LOG = "# Run log: cart\n\n## ANALYZE\n- asked for: tests of the cart\n"
PROJECT = {
    "shop/cart.py": "class Cart:\n    def add(self, item):\n        return item\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\n\ndef test_cart_adds():\n    assert Cart().add(1) == 1\n",
}
RUN = {"id": "20260105T120000-aaaaaa", "at": 1_767_614_400, "features": ["cart"]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = write(tmp_path / "app", PROJECT)
    make_repository(folder)
    return folder


def add_log(root: Path, text: str) -> None:
    write(root, {".project/runs/cart.md": text})


def add_run(root: Path, outcome: str, **more: Any) -> None:
    path = root / ".project" / ".state" / "results.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps({**RUN, "outcome": outcome, **more}) + "\n")


def stage(cli: Cli, root: Path) -> tuple[str, list[str]]:
    [found] = cli("workflow", "cart", "--json", cwd=root).json["features"]
    assert found["next"]
    return found["stage"], found["left"]


def called(cli: Cli, root: Path, method: str, **params: object) -> dict[str, Any]:
    done: dict[str, Any] = cli("call", method, json.dumps(params), cwd=root).json
    assert "error" not in done, done
    result: dict[str, Any] = done["result"]
    return result


def test_a_feature_goes_from_stage_to_stage_as_its_files_appear(cli: Cli, root: Path) -> None:
    assert "No feature has been started yet" in cli("workflow", cwd=root).out
    assert stage(cli, root) == ("context", ["dossier"])
    assert cli("load", "cart", cwd=root).status == 0
    assert stage(cli, root) == ("plan", ["log PLAN"])
    research = LOG + "\n## RESEARCH\n- dossier: .project/context/cart/\n"
    plan = research + "\n## PLAN\n- adding returns the item (shop/cart.py:2-3)\n"
    add_log(root, plan)
    assert stage(cli, root) == ("generate", ["log WRITE"])
    written = plan + "\n## WRITE\n- tests/test_cart.py\n"
    add_log(root, written)
    assert stage(cli, root) == ("heal", ["log RUN", "last run passed"])
    add_run(root, "failed")
    ran = written + f"\n## RUN\n- run:{RUN['id']} failed\n"
    add_log(root, ran)
    assert stage(cli, root) == ("heal", ["last run passed"])
    add_run(root, "passed", id="20260105T120100-bbbbbb", at=RUN["at"] + 60)
    ran += "- run:20260105T120100-bbbbbb passed\n"
    add_log(root, ran)
    assert stage(cli, root) == ("learn", ["log LEARN"])
    add_log(root, ran + "\n## FIX\n- none\n\n## LEARN\n- nothing learned: it was easy\n")
    assert stage(cli, root) == ("finished", [])
    shown = cli("workflow", cwd=root).out
    assert "cart: finished (feature-test, its tests passed)" in shown


def test_a_run_log_names_its_workflow_and_a_project_has_its_own(cli: Cli, root: Path) -> None:
    own = (
        'doc = "Two steps."\nwords = ["paint"]\n[[stages]]\nname = "one"\ndone = ["log ANALYZE"]\n'
        'next = "Begin {feature} in {log}; {braces} stay."\n'
        '[[stages]]\nname = "two"\ndone = ["log LEARN"]\nnext = "End."\n'
    )
    write(root, {".project/workflows/painting.toml": own})
    add_log(root, LOG.replace("- asked", "- workflow: painting\n- asked"))
    assert stage(cli, root) == ("two", ["log LEARN"])
    assert called(cli, root, "workflow.state")["workflows"]["painting"] == "Two steps."
    found = called(cli, root, "suggest_workflow", task="Paint the shed, please")
    assert [one["workflow"] for one in found["suggestions"]] == ["painting"]
    add_log(root, "# Run log: cart\n")
    [state] = called(cli, root, "workflow.state", feature="cart")["features"]
    assert state["workflow"] == "feature-test"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("doc = ", "is not TOML"),
        ('doc = "x"\nstages = []', "`stages`"),
        (
            'doc = "x"\n[[stages]]\nname = "a"\ndone = ["moon"]\nnext = "x"',
            "`moon` is not a condition",
        ),
        ('doc = "x"\nrun = "rm"\n[[stages]]\nname = "a"\ndone = ["dossier"]\nnext = "x"', "`run`"),
    ],
)
def test_a_file_that_is_no_workflow_is_named_with_what_is_wrong(
    cli: Cli, root: Path, text: str, why: str
) -> None:
    write(root, {".project/workflows/mine.toml": text})
    done = cli("workflow", cwd=root)
    assert (done.status, ".project/workflows/mine.toml" in done.err) == (1, True)
    assert why in done.err


def test_a_suggestion_has_confidence_and_reasons(cli: Cli, root: Path) -> None:
    task = "The login crashes with an error: fix the bug, add a test"
    found = called(cli, root, "workflow.suggest", task=task)
    first, second = found["suggestions"]
    assert (first["workflow"], second["workflow"]) == ("bug-fix", "feature-test")
    assert 0 < second["confidence"] < first["confidence"] <= 1
    assert "the task says `bug`" in first["reasons"]
    assert found["next"].startswith("Begin bug-fix, in Claude Code by /preread:load")
    training = called(cli, root, "workflow.suggest", task=task, training_mode=True)
    assert [one["start"] for one in training["suggestions"]] == ["", ""]
    assert "bug-fix would fit" in training["next"]
    none = called(cli, root, "workflow.suggest", task="water the flowers")
    assert none["suggestions"] == []
    assert "preread load" in none["next"]


def test_a_feature_that_was_begun_goes_on_where_it_is(cli: Cli, root: Path) -> None:
    assert cli("load", "cart", cwd=root).status == 0
    found = called(cli, root, "workflow.suggest", feature="cart", task="fix the bug")
    assert (found["suggestions"][0]["workflow"], found["stage"]) == ("feature-test", "plan")
    assert found["suggestions"][0]["confidence"] == 1
    assert "Plan the tests of cart" in found["next"]


def test_agents_of_a_workflow_are_not_offered_one_by_one(cli: Cli, root: Path) -> None:
    write(root, {".claude/agents/gardener.md": "---\nname: gardener\ndescription: Waters.\n---\n"})
    found = called(cli, root, "workflow.agents")
    offered = {agent["name"]: agent["description"] for agent in found["agents"]}
    assert set(offered) == {*POLICIES, "gardener"}
    assert offered["gardener"] == "Waters."
    assert {one["workflow"]: one["agents"] for one in found["workflows"]}["feature-test"] == 5


# -- readiness


def ready(cli: Cli, root: Path, *arguments: str) -> dict[str, Any]:
    done = cli("ready", *arguments, "--json", cwd=root)
    found: dict[str, Any] = done.json
    assert done.status == (0 if found["ready"] else 1)
    return found


def test_work_is_ready_when_nothing_stands_in_its_way(cli: Cli, root: Path) -> None:
    found = ready(cli, root)
    assert (found["ready"], found["blockers"]) == (True, [])
    assert found["metrics"]["lines_added"] == 0
    assert "coverage" not in found["metrics"]
    assert "\nok" in cli("ready", cwd=root).out


def test_every_kind_of_blocker_is_named_with_what_to_do(cli: Cli, root: Path) -> None:
    assert cli("load", "cart", cwd=root).status == 0
    (root / "shop" / "cart.py").write_text(
        "class Basket:\n    def put(self, item):\n"
        + "        # TODO: all of it\n" * 11
        + "        return item\n"
    )
    add_log(root, LOG)
    add_run(root, "failed", at=time.time(), failed=["tests/test_cart.py::test_cart_adds"])
    found = ready(cli, root)
    kinds = {one["code"]: one for one in found["blockers"]}
    assert set(kinds) == {"failing", "stale", "run-log", "debt"}
    assert "tests/test_cart.py::test_cart_adds" in kinds["failing"]["message"]
    assert kinds["stale"]["next"] == "`preread load cart`"
    assert "it ends at ANALYZE" in kinds["run-log"]["message"]
    assert "11 marks of debt; 10 are allowed" in kinds["debt"]["message"]
    counted = found["metrics"]
    assert (counted["failing"], counted["stale"], counted["unfinished"]) == (1, 1, 1)
    assert (counted["lines_added"], counted["lines_removed"], counted["debt"]) == (13, 2, 11)
    assert ready(cli, root, "cart")["ready"] is False
    assert "not ready" in cli("ready", cwd=root).out


def test_a_feature_that_was_never_begun_is_not_called_ready(cli: Cli, root: Path) -> None:
    assert cli("load", "cart", cwd=root).status == 0
    done = cli("ready", "crat", "--json", cwd=root)
    assert (done.status, done.json["code"]) == (1, "E_NOT_FOUND")
    assert "cart" in done.json["message"]  # the one that was meant
    assert ready(cli, root, "_project")["ready"] is True


def test_changes_are_counted_from_where_the_branch_began(cli: Cli, root: Path) -> None:
    git(root, "checkout", "-q", "-b", "topic")
    write(root, {"shop/tax.py": "RATE = 19\n"})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Tax")
    assert ready(cli, root)["metrics"]["lines_added"] == 1
    assert ready(cli, root, "--base", "HEAD")["metrics"]["lines_added"] == 0
    for base in ("nosuch", "-x", "--output=/tmp/x", "a b"):
        assert cli("ready", f"--base={base}", cwd=root).status == 1


def test_counting_changes_runs_no_filter_of_the_repository(cli: Cli, root: Path) -> None:
    write(root, {".gitattributes": "*.py filter=evil diff=evil\n"})
    for key in (
        "filter.evil.clean",
        "filter.evil.process",
        "diff.evil.textconv",
        "diff.evil.command",
    ):
        git(root, "config", key, "touch ran; cat")
    path = root / "shop" / "cart.py"
    path.write_text(path.read_text() + "\n\nMORE = 1\n")
    assert ready(cli, root)["metrics"]["lines_added"] == 3
    assert not (root / "ran").exists()


@pytest.mark.parametrize(
    ("path", "text", "share"),
    [
        ("coverage.xml", '<?xml version="1.0"?><coverage line-rate="0.8125"/>', 81.2),
        ("coverage/lcov.info", "SF:a.js\nLF:10\nLH:9\nend_of_record\nLF:10\nLH:6\n", 75.0),
        ("coverage.json", '{"totals": {"percent_covered": 90.04}}', 90.0),
        ("coverage/coverage-summary.json", '{"total": {"lines": {"pct": 66.6}}}', 66.6),
        ("coverage.xml", "<coverage", None),
        ("coverage.xml", '<!DOCTYPE x [<!ENTITY a "b">]><coverage line-rate="1"/>', None),
        ("coverage.json", '{"totals": []}', None),
        ("lcov.info", "LF:0\n", None),
    ],
)
def test_coverage_is_what_a_report_says(
    cli: Cli, root: Path, path: str, text: str, share: float | None
) -> None:
    write(root, {path: text})
    assert ready(cli, root)["metrics"].get("coverage") == share
