"""Whole workflows in one call: the real Claude Code with a scripted model, git, real test runs."""

import json
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest

from _faces import answer
from _headless import headless
from _messages_api import PATIENCE, Answer, Hang, MessagesAPI, Request, text, tool
from _processes import left_behind, processes_in, start, until
from _trees import write
from conftest import git

pytestmark = pytest.mark.anyio
AGENTS = {
    "You plan the tests": "test-planner",
    "You write the tests": "test-generator",
    "You make drafted tests pass": "test-healer",
    "You find the cause": "failure-classifier",
    "You turn what": "pattern-learner",
    "You make one change": "codegen",
    "You paint": "painter",
}
OWN = """doc = "Paint, and see that it is dry."
[[stages]]
name = "paint"
done = ["log WRITE"]
next = "Paint {feature}, and say so in {log}."
agents = ["painter"]
[[stages]]
name = "dry"
done = ["last run passed"]
next = "Wait for {feature}."
agents = ["test-healer"]
heals = "test-healer"
explains = "failure-classifier"
"""
CHECK = """import pathlib, sys
pathlib.Path("junk.txt").write_text("left by the tests")
sys.exit("FAILED wall.py::wet - it is wet" if "wet" in pathlib.Path("wall.py").read_text() else 0)
"""
FILES = {
    "wall.py": "WALL = 'wet'\n", "check.py": CHECK, ".gitignore": "__pycache__/\n",
    ".project/workflows/painting.toml": OWN,
    ".claude/agents/painter.md": "---\nname: painter\n---\nYou paint.\n",
}  # fmt: skip
PAINT = {"workflow": "painting", "feature": "wall"}


@pytest.fixture
def environ(claude: Path, api: MessagesAPI, tmp_path: Path) -> dict[str, str]:
    found = headless(claude, api, tmp_path, level="light", max_usd=5)
    return {**found, "PREREAD_TEST_COMMAND": f"{sys.executable} check.py"}


async def run(root: Path, environ: dict[str, str], by: str = "person", said=None, **params: object):
    async def report(message: str, done: float, total: float) -> None:
        if said is not None:
            said.append((message, done, total))

    given = {"method": "workflow.execute", "params": params}
    done = await answer(root, given, by=by, environ=environ, report=report, within=20 * PATIENCE)
    return done["error"] if "error" in done else done["result"]


class Crew:
    """A model for all agents: what each writes, where it is, and how often it was asked."""

    def __init__(self, api: MessagesAPI) -> None:
        self.runs: list[tuple[str, str]] = []  # agent, prompt
        self.writes: dict[str, list[dict[str, str]]] = {}  # for each run of an agent, its files
        self.before: dict[str, Any] = {}
        api.play(self.script)

    @property
    def asked(self) -> list[str]:
        return [agent for agent, _ in self.runs]

    def prompt(self, agent: str) -> str:
        return [text for name, text in self.runs if name == agent][-1]

    def script(self, request: Request) -> Answer:
        agent = next(agent for words, agent in AGENTS.items() if words in request.prompt)
        if request.turn == 0:
            self.runs.append((agent, request.prompt))
            if (own := self.before.get(agent)) and (answer := own(request)) is not None:
                return answer
            return [tool("Read", file_path=str(p)) for p in self._paths(request, agent)] or [
                text("Nothing to do.")
            ]
        if request.turn == 1:
            files = self._files(agent)
            return [
                tool("Write", file_path=str(request.folder / path),
                     content=self._whole(request.folder / path, content))
                for path, content in files.items()
            ]  # fmt: skip
        return [text(f"{agent} is done.")]

    def _files(self, agent: str) -> dict[str, str]:
        turns = self.writes.get(agent, [{}])
        return turns[min(self.asked.count(agent), len(turns)) - 1]

    def _paths(self, request: Request, agent: str) -> list[Path]:
        return [request.folder / path for path in self._files(agent)]

    def _whole(self, path: Path, content: str) -> str:
        """The text with what the file has before it, for a `+` at its beginning."""
        if content.startswith("+"):
            return path.read_text() + content[1:]
        return content


def left(root: Path) -> list[str]:
    """Worktrees, and what still runs or holds a lock."""
    listed = [line.split()[0] for line in git(root, "worktree", "list").strip().split("\n")[1:]]
    locks = [path.name for path in (root / ".git").rglob("*.lock")]
    return sorted(Path(path).name for path in listed) + locks + left_behind(root)


TEST = """import pytest

from shop.errors import CouponError


def test_an_unknown_code_is_refused(cart, coupons):
    cart.add("rug-grey")
    with pytest.raises(%s):
        coupons.redeem("NO-SUCH-CODE", cart.lines())
"""
LOG = ".project/runs/coupons.md"
NEW = "api/tests/test_coupons_unknown.py"


async def test_feature_test_in_one_call_heals_what_fails_once_and_merges_nothing(
    project: Path, api: MessagesAPI, environ: dict[str, str]
) -> None:
    crew = Crew(api)
    plan = "+\n## PLAN\n- an unknown code is refused (api/shop/coupons.py:1)\n"
    fact = "an unknown coupon raises `CouponError` (api/shop/errors.py:1)"
    fact = "unknown codes are refused, not ignored (api/shop/errors.py)"
    knowledge = (project / ".project/knowledge.md").read_text()
    crew.writes = {
        "test-planner": [{LOG: plan, "api/shop/cart.py": "DAMAGE = 1\n"}],
        "test-generator": [{LOG: f"+\n## WRITE\n- {NEW}\n", NEW: TEST % "KeyError"}],
        "test-healer": [{NEW: TEST % "CouponError"}],
        "pattern-learner": [
            {LOG: f"+\n## LEARN\n- {fact}\n", ".project/knowledge.md": f"{knowledge}\n- {fact}\n"}
        ],
    }
    environ["PREREAD_TEST_COMMAND"] = f"{sys.executable} -m pytest -q api/tests -k unknown"
    head, said = git(project, "rev-parse", "HEAD").strip(), []
    params = {"workflow": "feature-test", "feature": "coupons", "task": "Test unknown codes"}
    done = await run(project, environ, said=said, **params)
    assert done["status"] == "done", done
    stages = {one["name"]: one for one in done["stages"]}
    assert {name: [one["agent"] for one in stage["runs"]] for name, stage in stages.items()} == {
        "context": [], "plan": ["test-planner"], "generate": ["test-generator"],
        "heal": ["tests", "test-healer", "tests"], "learn": ["pattern-learner"],
    }  # fmt: skip
    assert all(stage["done"] and stage["left"] == [] for stage in stages.values())
    assert "1 failed" in stages["heal"]["runs"][0]["text"]
    assert "+    with pytest.raises(CouponError)" in stages["heal"]["diff"]
    assert 0 < stages["plan"]["cost_usd"] < done["cost_usd"]
    # The planner may write nothing but the run log; the dossier and records are not committed.
    files = [".project/knowledge.md", LOG, NEW]
    assert [one["path"] for one in done["files"]] == files
    # What the healer was told.
    prompt = crew.prompt("test-healer")
    for known in (
        "1 failed",
        "Test unknown codes",
        "an unknown code is refused",
        "You have no shell",
    ):
        assert known in prompt
    log = (project / ".worktrees/feature-test-coupons" / LOG).read_text()
    assert "- workflow: feature-test" in log
    assert "## FIX\n- test-healer: test-healer is done." in log
    assert ("plan begins", 1, 5) in said
    assert any(one[0].startswith("heal: test-healer: ") for one in said)
    # Nothing has reached the person's branch; once more costs nothing, and a merge brings it.
    assert (git(project, "rev-parse", "HEAD").strip(), git(project, "status", "--porcelain")) == (
        head,
        "",
    )
    asked = len(api.requests)
    again = await run(project, environ, **params)
    assert (again["status"], again["cost_usd"]) == ("done", done["cost_usd"])
    assert len(api.requests) == asked
    other = await run(project, environ, **{**params, "task": "Something else"})
    assert (other["code"], "another task" in other["message"]) == ("E_USAGE", True)
    merge = {"method": "worktree.merge", "params": {"name": done["worktree"]}}
    assert "error" not in await answer(project, merge, environ=environ)
    assert git(project, "diff", "--name-only", head, "HEAD").split() == files
    assert left(project) == ["feature-test-coupons"]


async def test_tests_that_never_pass_are_bounded_named_and_kept_and_gone_on_with(
    shop: Path, api: MessagesAPI, environ: dict[str, str]
) -> None:
    crew = Crew(api)
    log = ".project/runs/wall.md"
    painted = "+\n## PLAN\n- paint (wall.py:1)\n\n## WRITE\n- wall.py\n"
    crew.writes = {
        "painter": [{log: painted}],
        "test-healer": [{"wall.py": "WALL = 'wet 1'\n"}, {}],
    }
    failed = await run(shop, environ, **PAINT, rounds=1)
    assert (failed["code"], failed["jsonrpc"]) == ("E_AGENT", -32000), failed
    assert "The stage dry of painting is not done: `last run passed`" in failed["message"]
    assert "after 1 round of fixes" in failed["message"]
    assert "it is wet" in failed["message"]
    details = failed["details"]
    assert (details["left"], details["worktree"]) == (["dry"], "painting-wall")
    assert [one["agent"] for one in details["stages"][1]["runs"]] == [
        "tests", "test-healer", "tests", "failure-classifier",
    ]  # fmt: skip
    assert '"method": "workflow.execute"' in failed["hint"]
    # A healer that changes no file is asked once; no money is an error of its own.
    failed = await run(shop, environ, **PAINT)
    assert "test-healer changed no file" in failed["message"]
    poor = {**environ, "PREREAD_MAX_USD": "0.000001"}
    poor = await run(shop, poor, **PAINT)
    assert poor["code"] == "E_MONEY", poor
    assert poor["details"]["left"] == ["dry"]
    asked = crew.asked.count("painter")
    # A person repairs it in the worktree: the next call sees it, and pays nobody.
    (shop / ".worktrees/painting-wall/wall.py").write_text("WALL = 'dry'\n")
    before = len(api.requests)
    done = await run(shop, environ, **PAINT)
    assert (done["status"], len(api.requests)) == ("done", before), done
    assert asked == crew.asked.count("painter") == 1
    assert (shop / "wall.py").read_text() == "WALL = 'wet'\n"
    assert left(shop) == ["painting-wall"]


async def test_a_bug_is_investigated_fixed_by_codegen_and_verified(
    shop: Path, api: MessagesAPI, environ: dict[str, str]
) -> None:
    crew = Crew(api)
    log = ".project/runs/wall.md"
    crew.writes = {
        "failure-classifier": [{log: "+\n## RESEARCH\n- dossier: .project/context/wall/\n"}],
        "codegen": [
            {log: "+\n## PLAN\n- it is dry (wall.py:1)\n\n## WRITE\n- wall.py\n",
             "wall.py": "WALL = 'dry'\n"}
        ],
        "pattern-learner": [{log: "+\n## LEARN\n- nothing learned: it was easy\n"}],
    }  # fmt: skip
    done = await run(shop, environ, workflow="bug-fix", feature="wall", task="The wall is wet")
    assert done["status"] == "done", done
    assert crew.asked == ["failure-classifier", "codegen", "pattern-learner"]
    assert [one["path"] for one in done["files"]] == [log, "wall.py"]
    text = (shop / ".worktrees/bug-fix-wall" / log).read_text()
    assert "## FIX\n- none" in text
    # Where the log has to be valid, its problems are named.
    stage = 'name = "all"\ndone = ["log LEARN", "log valid"]\nnext = "Write {log}."\n'
    strict = f'doc = "Paint."\n[[stages]]\n{stage}agents = ["painter"]\n'
    write(shop, {".project/workflows/strict.toml": strict})
    crew.writes["painter"] = [{log: "+\n## WRITE\n- nothing.py\n"}]
    failed = await run(shop, environ, workflow="strict", feature="wall")
    assert "PLAN is missing before WRITE" in failed["message"]


async def test_a_call_that_is_cancelled_late_or_killed_is_gone_on_with(
    shop: Path, api: MessagesAPI, environ: dict[str, str]
) -> None:
    crew, hung = Crew(api), threading.Event()
    log = ".project/runs/wall.md"
    crew.writes["painter"] = [{log: "+\n## WRITE\n- wall.py\n", "wall.py": "WALL = 'dry'\n"}]

    def hang(request: Request) -> Answer:
        written = request.folder / log  # as if it had done all that the condition asks for
        written.write_text(f"{written.read_text()}\n## WRITE\n- wall.py\n")
        hung.set()
        return Hang([text("Thinking")])

    crew.before["painter"] = hang
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: run(shop, environ, **PAINT))
        assert await anyio.to_thread.run_sync(hung.wait, 4 * PATIENCE)
        tasks.cancel_scope.cancel()
    until(lambda: not processes_in(shop), "every process of a cancelled call has ended")
    assert left(shop) == ["painting-wall"]
    late = await run(shop, environ, **PAINT, timeout_seconds=4)
    assert (late["code"], late["jsonrpc"]) == ("E_TIMEOUT", -32020)
    assert late["details"]["stage"] == "paint"
    hung.clear()
    process = start(shop, "run", "painting", "wall", "--json", env=environ)
    assert hung.wait(4 * PATIENCE)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    until(lambda: not processes_in(shop), "every process of a killed call has ended")
    crew.before.clear()
    crew.runs.clear()
    replies = []

    async def call() -> None:
        replies.append(await run(shop, environ, **PAINT))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        tasks.start_soon(call)
    assert [one["status"] for one in replies] == ["done", "done"], replies
    assert sorted(one["joined"] for one in replies) == [False, True]
    assert crew.asked == ["painter"]  # the log had come to WRITE, but its writer was cut off
    assert "An earlier try was cut off" in crew.prompt("painter")
    assert left(shop) == ["painting-wall"]


async def test_what_is_wrong_is_said_before_anything_is_made_or_paid(
    shop: Path, tmp_path: Path
) -> None:
    off = {"PREREAD_CLAUDE": "off", "PREREAD_LEVEL": "light", "PREREAD_TEST_COMMAND": "true"}
    on = {**off, "PREREAD_ALLOW": "read:write:execute"}
    assert (await run(shop, off, by="a client", **PAINT))["code"] == "E_NOT_ALLOWED"
    given = await run(shop, on, by="a client", **PAINT, test_command="true")
    assert given["code"] == "E_NOT_ALLOWED"
    assert (await run(shop, on, by="a client", **PAINT))["details"]["because"] == "E_CLI"
    assert (await run(shop, off, workflow="none", feature="wall"))["code"] == "E_NOT_FOUND"
    alone = {
        "method": "agent.execute",
        "params": {"kind": "painter", "task": "x", "feature": "wall"},
    }
    refused = (await answer(shop, alone, by="a client", environ=on))["error"]
    assert refused["code"] == "E_NOT_ALLOWED"
    assert json.dumps({"method": "workflow.execute", "params": PAINT}) in refused["hint"]
    plan = {"method": "workflow.execute", "params": PAINT, "options": {"dry_run": True}}
    notes = " ".join((await answer(shop, plan, environ=off))["result"]["notes"])
    for told in ("paint (painter)", "`true` would be run", ".worktrees/painting-wall"):
        assert told in notes
    (shop / ".claude/agents/painter.md").unlink()
    missing = await run(shop, off, **PAINT)
    assert (missing["code"], "no agent painter" in missing["message"]) == ("E_NOT_FOUND", True)
    assert left(shop) == []


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('heals = "test-healer"', 'heals = "nurse"', "`heals` names nurse"),
        ('done = ["last run passed"]', 'done = ["dossier"]', "`heals` needs a condition"),
        ('heals = "test-healer"', "", "`explains` needs `heals`"),
        ('agents = ["painter"]', 'agents = ["coordinator"]', "a coordinator has its own agents and cannot be in a stage"),
        ('agents = ["painter"]', 'agents = ["../x"]', "`stages.0.agents.0`"),
        ('doc =', 'agents = ["painter"]\ndoc =', "test-healer is in a stage, but not in"),
    ],
)  # fmt: skip
async def test_stages_that_cannot_be_run_are_said_when_the_file_is_read(
    shop: Path, old: str, new: str, why: str
) -> None:
    write(shop, {".project/workflows/painting.toml": OWN.replace(old, new)})
    done = await answer(shop, {"method": "workflow.state"})
    assert done["error"]["code"] == "E_SETTINGS"
    assert why in done["error"]["message"]
