"""Coordinated agents: the real Claude Code with a scripted model, real git, real test runs."""

import json
import re
import shutil
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from _daemon import shared
from _faces import answer
from _files_project import disk, fill, services
from _headless import headless
from _messages_api import PATIENCE, Answer, Hang, MessagesAPI, Request, text, tool
from _processes import left_behind, processes_in, start, until
from _trees import write
from _whole import sized
from conftest import git, make_repository
from preread.agents import project_tests
from preread.agents.budget import Budget
from preread.agents.dossiers import Dossier
from preread.agents.integrate import integrate
from preread.agents.journal import Journal
from preread.agents.order import DOSSIER, Order
from preread.cli import views
from preread.errors import PrereadError
from preread.operations.agent.shapes import ExecuteReply
from preread.worktrees import records
from preread.worktrees.repository import open_repository

pytestmark = pytest.mark.anyio
CHECK = """import pathlib, sys
pathlib.Path("junk.txt").write_text("left by the tests")
texts = [path.read_text() for path in pathlib.Path(".").glob("*.py") if path.name != "check.py"]
print("looked at", len(texts))
sys.exit("a file is broken" if any("broken" in text for text in texts) else 0)
"""
TICKET = {".project/tickets/270.md": "# A larger shop\nIt has more files.\n"}
FILES = {"shop.py": "PRICE = 42\n", "check.py": CHECK, ".gitignore": ".env\n", **TICKET}
KINDS = {
    "You split one task": "coordinator",
    "You make one change": "codegen",
    "You review one change": "review",
}
METHOD = "agents.coordinator.execute"
TASK = {"task": "Make the shop larger", "feature": "shop"}
APPROVED = '{"verdict": "approve"}'


@pytest.fixture
def environ(claude: Path, api: MessagesAPI, tmp_path: Path) -> dict[str, str]:
    found = headless(claude, api, tmp_path, level="light", max_usd=5)
    return {**found, "PREREAD_TEST_COMMAND": f"{sys.executable} check.py"}


async def run(root: Path, environ: dict[str, str], by: str = "person", said=None, **params):
    async def report(message: str, done: float, total: float) -> None:
        if said is not None:
            said.append((message, done, total))

    config = {name: params.pop(name) for name in ("concurrency", "timeout_seconds") & params.keys()}
    given = {"method": METHOD, "params": {**TASK, **params, "config": config}}
    done = await answer(root, given, by=by, environ=environ, report=report, within=20 * PATIENCE)
    return done["error"] if "error" in done else done["result"]


def kind(request: Request) -> str:
    return next(kind for words, kind in KINDS.items() if words in request.prompt)


def part(request: Request) -> str:
    """Which task of the plan an agent works on; empty for the planner."""
    found = re.search(r"Part: (\w+)", request.prompt)
    return found[1] if found else ""


def plan(**needs: list[str]) -> str:
    tasks = [{"id": name, "task": f"Part: {name}", "needs": of} for name, of in needs.items()]
    return json.dumps({"tasks": tasks})


class Team:
    """A model for all agents: what each task writes, and what is said about it."""

    def __init__(self, api: MessagesAPI, planned: str) -> None:
        self.api, self.planned = api, planned
        self.files: dict[str, dict[str, str]] = {}
        self.reviews: dict[str, str] = {}
        self.before: dict[str, Callable[[Request], Answer | None]] = {}
        self.active: set[str] = set()  # runs of the program that have not had their last answer
        self.most = 0
        api.play(self.script)

    def script(self, request: Request) -> Answer:
        self.active.add(request.session)
        self.most = max(self.most, len(self.active))
        answer = self.answer(request)
        if isinstance(answer, list) and answer[-1]["type"] == "text":
            self.active.discard(request.session)
        return answer

    def answer(self, request: Request) -> Answer:
        match kind(request):
            case "coordinator":
                return [text(self.planned)]
            case "review":
                return [text(self.reviews.get(part(request), APPROVED))]
        name = part(request)
        if request.turn == 0:
            if (own := self.before.get(name)) and (answer := own(request)) is not None:
                return answer
            files = self.files.get(name, {f"{name}.py": f"{name.upper()} = 1\n"})
            return [
                tool("Write", file_path=str(request.folder / path), content=content)
                for path, content in files.items()
            ]
        return [text(json.dumps({"summary": f"Wrote {name}", "decided": [f"{name} is a file"]}))]

    def asked(self) -> Counter[tuple[str, str]]:
        """How many runs of the program there were, by kind and task."""
        first = {request.session: request for request in self.api.requests}
        return Counter((kind(request), part(request)) for request in first.values())


def _met(barrier: threading.Barrier) -> None:
    barrier.wait(4 * PATIENCE)


def left(root: Path) -> tuple[list[str], list[str], list[str]]:
    """Worktrees that git and Preread know; locks that somebody holds, and processes."""
    listed = [line.split()[0] for line in git(root, "worktree", "list").strip().split("\n")[1:]]
    recorded = [path.stem for path in (root / ".project/.state/worktrees").glob("*.json")]
    locks = [path.name for path in (root / ".git").rglob("*.lock")]
    names = sorted(Path(path).name for path in listed)
    return names, sorted(recorded), locks + left_behind(root)


async def test_five_tasks_in_parallel_with_a_conflict_and_a_failing_test(
    shop: Path, api: MessagesAPI, environ: dict[str, str]
) -> None:
    team = Team(api, plan(a=[], b=[], c=["a", "b"], d=["a"], e=["a"], f=["c"]))
    together = {"a": threading.Barrier(2), "d": threading.Barrier(2)}
    together |= {"b": together["a"], "e": together["d"]}
    for name, barrier in together.items():  # each waits until the other one is at work, too
        team.before[name] = lambda _, barrier=barrier: _met(barrier)
    team.files |= {name: {"same.py": f"BY = '{name}'\n"} for name in ("d", "e")}
    team.files["c"] = {"c.py": "C = 'broken'\n"}
    seen: list[str] = []
    team.reviews["a"] = '{"verdict": "approve", "findings": ["a.py:1: no docstring"]}'
    team.before["c"] = lambda request: seen.extend(p.name for p in request.folder.glob("?.py"))
    first_parts = team.before["a"]

    def moving(request: Request) -> None:
        (request.folder / "shop.py").write_text("# The shop\nPRICE = 42\n")
        first_parts(request)

    team.before["a"] = moving
    planned = team.script
    api.play(lambda request: planned(request) if request.turn else [text("First a, then b.")],
             when="You split one task")  # fmt: skip
    replies, said = [], []
    issue = {"issue_number": 270, "concurrency": 2, "timeout_seconds": 3600, "task": ""}

    async def call() -> None:
        replies.append(await run(shop, environ, said=said, **issue))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        tasks.start_soon(call)
    first, second = sorted(replies, key=lambda reply: reply["joined"])
    assert (first["joined"], second["joined"]) == (False, True)
    assert second["failures"] == first["failures"]
    assert (first["status"], first["tasks_created"], first["tasks_done"]) == ("incomplete", 6, 3)
    assert first["worktrees_created"] == 5
    assert team.most == 2  # c, d and e could have run at the same time
    assert first["cost_usd"] > 0
    assert sorted(seen) == ["a.py", "b.py"]  # what it needs was there
    assert any(message.startswith("a: codegen: ") for message, _, _ in said)
    assert {total for _, _, total in said} >= {0, 6}
    assert max(done for _, done, total in said if total == 6) == 3
    assert any("is under way in another call" in message for message, _, _ in said)
    failures = {failure["task"]: failure for failure in first["failures"]}
    lost = next(name for name in ("d", "e") if name in failures)
    assert sorted(failures) == ["c", lost, "f"]
    assert (failures["c"]["stage"], failures[lost]["stage"]) == ("tests", "merge")
    assert "a file is broken" in failures["c"]["reason"]
    assert "same.py" in failures[lost]["reason"]
    assert (failures["f"]["stage"], failures["f"]["reason"]) == ("waiting", "It needs c.")
    assert {change["task"]: change["merged"] for change in first["diffs"]} == {
        "a": True, "b": True, "c": False, "d": lost == "e", "e": lost == "d",
    }  # fmt: skip
    changes = {change["task"]: change for change in first["diffs"]}
    assert "+A = 1" in changes["a"]["diff"]
    assert changes["a"]["findings"] == ["a.py:1: no docstring"]
    assert (changes["a"]["summary"], changes["c"]["tests"]) == ("Wrote a", "")
    assert "looked at" in changes["a"]["tests"]
    own = git(shop, "rev-list", "--first-parent", "main").split()
    assert {change["commit"] for change in changes.values() if change["merged"]} <= {*own}
    reviewed = next(r.prompt for r in api.requests if kind(r) == "review" and part(r) == "b")
    assert "It has more files." in reviewed  # the whole ticket
    assert "b is a file" in reviewed  # what its author decided
    prompts = {(kind(r), part(r)): r.prompt for r in api.requests if r.turn == 0}
    assert "shop.py:1" in prompts["codegen", "b"]
    assert "shop.py:2" in prompts["codegen", "c"]  # the dossier, brought up to date
    assert "older than what is merged" not in prompts["codegen", "c"]
    once = team.asked()
    assert set(once.values()) == {1}  # the plan that was prose was sent back in the same run
    assert not {("codegen", "f"), ("review", "f")} & set(once)
    assert "It has more files." in api.requests[0].prompt
    assert first["id"] == "issue-270"
    kept = sorted(failures[name]["worktree"] for name in ("c", lost))
    assert left(shop) == (kept, kept, [])
    assert (shop / "a.py").exists()
    assert not (shop / "c.py").exists()
    assert git(shop, "status", "--porcelain", "--untracked-files=no") == ""
    log = (shop / ".project/runs/shop.md").read_text()
    assert "a file is broken" in log
    assert "merged as" in log
    memory = (shop / ".project/.state/knowledge.md").read_text()
    assert "a is a file" in memory
    assert "failed in merge" in memory
    assert "failed in tests" in memory
    assert "failed in waiting" not in memory
    assert "said:agent@" in memory

    # The same call once more: what is merged is not done again, what failed is, knowing why.
    team.before.clear()
    team.files["c"] = {"c.py": "C = 1\n"}
    team.files[lost] = {"other.py": "BY = 'both'\n"}
    team.reviews["c"] = '{"verdict": "reject", "findings": ["c.py:1: no test"]}'
    again = await run(shop, environ, **issue)
    assert (again["status"], again["tasks_done"], again["joined"]) == ("incomplete", 4, False)
    assert [(one["task"], one["stage"]) for one in again["failures"]] == [
        ("c", "review"), ("f", "waiting"),
    ]  # fmt: skip
    assert "c.py:1: no test" in again["failures"][0]["reason"]
    assert team.asked() - once == Counter(
        (kind, name) for kind in ("codegen", "review") for name in ("c", lost)
    )
    again_log = (shop / ".project/runs/shop.md").read_text()
    assert again_log.count("issue-270 a: merged as") == 1
    memory = (shop / ".project/.state/knowledge.md").read_text()
    assert f"{lost} was merged after it had failed in merge" in memory
    # What is merged now needs its earlier worktree no more; a ref keeps it.
    kept = [failures["c"]["worktree"], again["failures"][0]["worktree"]]
    assert left(shop) == (kept, kept, [])
    refs = git(shop, "for-each-ref", "--format=%(refname)", "refs/preread/removed/").split()
    [ref] = [ref for ref in refs if failures[lost]["worktree"] in ref]
    assert git(shop, "show", f"{ref}:same.py") == f"BY = '{lost}'\n"
    [merged] = [change for change in again["diffs"] if change["task"] == lost]
    assert merged["kept"] == [ref]
    assert again["failures"][0]["kept"] == []
    prompts = [r.prompt for r in api.requests if (kind(r), part(r)) == ("codegen", "c")]
    assert "a file is broken" in prompts[-1]
    assert "+C = 'broken'" in prompts[-1]
    assert "a is a file" in prompts[-1]
    assert git(shop, "fsck", "--no-dangling") == ""


async def test_a_run_that_is_cancelled_or_killed_goes_on_without_paying_twice(
    shop: Path, api: MessagesAPI, environ: dict[str, str]
) -> None:
    team = Team(api, plan(a=[], b=["a"]))
    hung = threading.Event()

    def hang(_: Request) -> Answer:
        hung.set()
        return Hang([text("Thinking")])

    team.before["b"] = hang
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, shop, environ)
        assert await anyio.to_thread.run_sync(
            hung.wait, 4 * PATIENCE
        )  # three agents come before it
        tasks.cancel_scope.cancel()
    until(lambda: not processes_in(shop), "every process of a cancelled run has ended")
    assert left(shop) == ([], [], [])
    before = team.asked()
    assert before == Counter(
        {("coordinator", ""): 1, ("codegen", "a"): 1, ("review", "a"): 1, ("codegen", "b"): 1}
    )

    late = await run(shop, environ, timeout_seconds=5)
    assert (late["code"], late["jsonrpc"]) == ("E_TIMEOUT", -32020)
    assert (late["details"]["tasks_done"], late["details"]["tasks_created"]) == (1, 2)
    [stopped] = late["details"]["failures"]
    assert (stopped["task"], stopped["code"]) == ("b", "E_TIMEOUT")
    assert left(shop) == ([], [], [])

    def half(request: Request) -> Answer:
        (request.folder / "half.py").write_text("H = 1\n")  # before it was killed
        return hang(request)

    hung.clear()
    before = team.asked()
    team.before["b"] = half
    words = ("agent", "coordinator", "--task", TASK["task"], "--feature", "shop", "--json")
    process = start(shop, *words, env=environ)
    assert hung.wait(4 * PATIENCE)
    assert process.stderr is not None
    lines = iter(process.stderr.readline, b"")  # a pipe: a line for each step
    assert any(line.startswith(b"step 2 of 2: b: codegen: ") for line in lines)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    until(lambda: not processes_in(shop), "every process of a killed run has ended")
    journal = shop / ".project/.state/agents"
    [path] = journal.glob("*.jsonl")
    with path.open("ab") as file:
        file.write(b'{"at": 1, "step": "mer')  # as if it had died while it wrote

    team.before.clear()
    done = await run(shop, environ)
    assert (done["status"], done["tasks_done"], done["worktrees_created"]) == ("done", 2, 5)
    assert team.asked() - before == Counter({("codegen", "b"): 2, ("review", "b"): 1})
    assert done["cost_usd"] > 5 / 4  # those that were cut off count as what was reserved for them
    assert git(shop, "ls-files", "?.py").split() == ["a.py", "b.py"]
    assert left(shop) == ([], [], [])
    [kept] = git(shop, "for-each-ref", "--format=%(refname)", "refs/preread/removed/").split()
    assert git(shop, "show", f"{kept}:half.py") == "H = 1\n"
    log = (shop / ".project/runs/shop.md").read_text()
    # Also of a task that was merged by a call that was cancelled.
    assert [log.count(f"{done['id']} {name}: merged as") for name in ("a", "b")] == [1, 1]
    asked = len(api.requests)
    again = await run(shop, environ)
    assert (again["status"], again["joined"], len(api.requests)) == ("done", True, asked)
    # As if it had died between the last merge and its line.
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rindex(b'"step":"merged"')])
    again = await run(shop, environ)
    assert (again["status"], again["joined"], len(api.requests)) == ("done", False, asked)
    assert left(shop) == ([], [], [])
    other = await run(shop, environ, id=done["id"], task="Something else")
    assert other["code"] == "E_USAGE"


def test_a_run_reserves_before_it_starts_and_gives_back_what_is_left() -> None:
    budget = Budget(10, time.monotonic() + 60)
    shares = [budget.reserve(among) for among in (5, 4, 2)]
    assert shares == [2, 2, 3]
    budget.settle(shares[0], 0.5)
    budget.settle(shares[1], None)  # not known: all of it
    assert budget.used == 0.5 + 2 + 3
    assert budget.reserve(1) == 4.5
    with pytest.raises(PrereadError) as error:
        budget.reserve(1)
    assert error.value.code == "E_MONEY"
    with pytest.raises(PrereadError) as error:
        Budget(10, time.monotonic() + 0.5).reserve(1)
    assert error.value.code == "E_TIMEOUT"


def test_a_journal_is_read_whatever_a_kill_or_somebody_left_in_it(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    log = Journal(path)
    log.add("begun", text="All of it")
    log.add("started", kind="coordinator", worktree="plan-1", usd=0.5)
    log.add("ended", kind="coordinator", usd=0.2, text=plan(a=[], b=["a"]))
    log.add("started", task="a", kind="codegen", worktree="a-1", begun_at="1" * 40, usd=0.3)
    with path.open("ab") as file:
        file.write(b'\xff\x00\n[]\n{"at": 1, "step": "other"}\n{"at": 1, "step": "ended", "ki')
    log.add("ended", task="b", kind="review", text="not JSON")
    log.add("failed", task="nobody", kind="tests")
    for run_state in (log.run_state, Journal(path).run_state):
        assert (run_state.task, list(run_state.tasks), run_state.is_finished) == (
            "All of it",
            ["a", "b"],
            False,
        )
        assert (round(run_state.cost_usd, 6), run_state.cut_off) == (0.5, ["a-1"])
        assert (run_state.tasks["a"].tries, run_state.tasks["b"].verdict) == (1, None)
    log.add("started", task="a", kind="codegen", worktree="a-2", usd=0.3)
    log.add("ended", task="a", kind="codegen", usd=None, commit="2" * 40)
    log.add("finished")
    run_state = Journal(path).run_state
    assert (round(run_state.cost_usd, 6), round(run_state.paid_before, 6)) == (0.8, 0.8)
    assert (run_state.worktrees, run_state.cut_off) == (["a-1", "a-2"], ["a-1"])
    assert (run_state.tasks["a"].worktree, run_state.tasks["a"].earlier) == ("a-2", ["a-1"])
    assert run_state.tasks["a"].commit == "2" * 40


async def test_a_journal_that_came_with_the_repository_is_not_believed(shop: Path) -> None:
    line = '{"at": 1, "step": "begun", "text": "Make the shop larger"}\n'
    write(shop, {".project/.state/agents/own.jsonl": line})
    git(shop, "add", "-f", ".project/.state/agents/own.jsonl")
    off = {"PREREAD_CLAUDE": "off", "PREREAD_TEST_COMMAND": "true"}
    assert (await run(shop, off, id="own"))["code"] == "E_NOT_ALLOWED"
    assert (await run(shop, off, id="other"))["code"] == "E_AGENT"
    assert (await run(shop, off, id="../x"))["code"] == "E_USAGE"


def test_a_dossier_of_another_branch_says_what_it_is_older_than(shop: Path) -> None:
    git(shop, "branch", "other")
    own = services(shop)
    order = Order(
        id="own", task="x", feature="shop", known={DOSSIER: "as it was"},
        suite=project_tests.parsed("true"), concurrency=1, seconds=1, usd=1,
        base="refs/heads/other",
    )  # fmt: skip
    dossier = Dossier(own, open_repository(own), order, {"a"})
    assert dossier.sources(["a"]) == {DOSSIER: "as it was"}
    older = f"{DOSSIER} (older than what is merged: b)"
    assert dossier.sources(["a", "b"]) == {older: "as it was"}


async def test_a_run_says_what_it_repaired_before_it_began(shop: Path) -> None:
    made = await answer(shop, {"method": "worktree.create", "params": {"name": "other"}})
    shutil.rmtree(made["result"]["path"])
    said: list[tuple[str, float, float]] = []
    off = {"PREREAD_CLAUDE": "off", "PREREAD_TEST_COMMAND": "true"}
    assert (await run(shop, off, said=said))["code"] == "E_AGENT"
    assert any(message.startswith("other: forget its folder") for message, _, _ in said)
    assert left(shop) == ([], [], [])


async def test_tests_run_only_if_a_person_allowed_them(shop: Path) -> None:
    write(shop, {"pytest.ini": "[pytest]\n", "tests/test_shop.py": "def test_a(): pass\n"})
    off = {"PREREAD_CLAUDE": "off", "PREREAD_ALLOW": "read:write:execute"}
    for more in ({}, {"by": "a client"}):
        refused = await run(shop, off, **more)
        assert refused["code"] == "E_NOT_ALLOWED"
        assert refused["details"] == {"test_command": "python -m pytest"}
    given = await run(shop, off, by="a client", test_command="true")
    assert given["code"] == "E_NOT_ALLOWED"
    assert (await run(shop, off, test_command="'"))["code"] == "E_USAGE"
    write(shop, {".project/config.toml": 'test_command = "touch pwned"\n'})
    assert (await run(shop, off))["code"] == "E_NOT_ALLOWED"
    asked: list[str] = []

    async def agree(question: str) -> bool:
        asked.append(question)
        return True

    call = {"method": METHOD, "params": TASK}
    (shop / ".project/config.toml").unlink()
    agreed = await answer(shop, call, environ=off, ask=agree)
    assert "pytest.ini, line 1, says that the tests are run by `python -m pytest`" in asked[0]
    assert agreed["error"]["details"]["because"] == "E_CLI"  # the next thing that it needs
    assert left(shop) == ([], [], [])


def test_each_kind_has_a_method_of_json_rpc_with_its_errors(shop: Path) -> None:
    running = shared()
    running.allow(shop)
    write(shop, {
        ".project/workflows/own.toml": 'doc = "One call."\nagents = ["pr"]\nstart = "/own"\n'
        '[[stages]]\nname = "all"\ndone = ["dossier"]\nnext = "x"\n',
    })  # fmt: skip
    config = {"concurrency": 3, "timeout_seconds": 3600}
    methods = {
        "codegen": {"issue_number": 270, "config": config},
        "review": {"issue_number": "270"},
        "issue": {"issue_number": 271},
        "deployment": {"issue_number": -1},
        "coordinator": {"issue_number": 270, "config": config},
        "pr": {"issue_number": 270},
        "test-healer": {"issue_number": 270},
        "gardener": {"issue_number": 270},
        "codegen ": {"issue_number": 270, "config": {"tools": ["Bash"]}},
        "review ": {"issue_number": 270, "kind": "codegen"},
    }
    calls = [
        {"jsonrpc": "2.0", "id": kind, "method": f"agents.{kind.strip()}.execute", "params": params}
        for kind, params in methods.items()
    ]

    def asked(token: str):
        done = running.ask("POST", "/rpc", calls, token)
        return {one["id"]: one["error"] for one in done.json}

    refused = asked(running.token("write", "--namespace", str(shop)))
    assert {error["data"]["code"] for error in refused.values()} == {"E_NOT_ALLOWED"}
    found = asked(token := running.token("execute", "--namespace", str(shop)))
    numbers = {kind: error["code"] for kind, error in found.items()}
    assert numbers == {
        "codegen": -32000, "review": -32000, "issue": -32010, "deployment": -32010,
        "coordinator": -32016, "pr": -32016, "test-healer": -32016, "gardener": -32602,
        "codegen ": -32602, "review ": -32602,
    }  # fmt: skip
    assert found["codegen"]["data"]["details"] == {
        "kind": "codegen", "because": "E_CLI", "worktree": found["codegen"]["data"]["details"]["worktree"],
    }  # fmt: skip
    assert "belongs to the workflow own, which is one call" in found["pr"]["message"]
    assert "test_command" in found["coordinator"]["data"]["hint"].lower()
    git(shop, "update-ref", "-d", "HEAD")
    calls[:] = [call for call in calls if call["id"] == "review"]
    assert asked(token)["review"]["code"] == -32001


def test_a_suite_that_finds_no_test_does_not_pass(tmp_path: Path) -> None:
    suite = project_tests.parsed(f"{sys.executable} -m unittest -q")
    nothing = project_tests.run(services(tmp_path), suite, tmp_path, PATIENCE)
    assert "it ran no test" in nothing.failure or "exit status 5" in nothing.failure
    case = "import unittest\n\nclass One(unittest.TestCase):\n    def test_it(self): pass\n"
    (tmp_path / "test_one.py").write_text(case)
    assert project_tests.run(services(tmp_path), suite, tmp_path, PATIENCE).failure == ""


def test_a_person_reads_what_failed_before_what_was_done() -> None:
    done = {"task": "a", "merged": True, "commit": "c" * 40, "summary": "Wrote a", "diff": "+A"}
    reply = ExecuteReply.model_validate({
        "status": "incomplete", "kind": "coordinator", "id": "issue-270", "cost_usd": 0.5,
        "execution_time_ms": 2000, "tasks_created": 2, "tasks_done": 1, "next": "Call again.",
        "diffs": [{**done, "findings": ["a.py:1: no docstring"], "tests": "...\n3 passed", "kept": []}],
        "failures": [{"task": "b", "stage": "tests", "code": "E_AGENT", "reason": "it broke",
                      "worktree": "issue-270-b-2", "kept": ["refs/preread/removed/issue-270-b-1/c"]}],
    })  # fmt: skip
    assert views.render("agent.execute", reply, terminal=True).split("\n") == [
        "incomplete: coordinator issue-270, 2 s, $0.5000",
        "1 of 2 tasks are merged",
        "b failed in tests: it broke (its work: issue-270-b-2)",
        "  an earlier try is kept: refs/preread/removed/issue-270-b-1/c",
        "a: merged as cccccccccccc: Wrote a",
        "  review: a.py:1: no docstring",
        "  tests: 3 passed",
        "Call again.",
    ]


@pytest.mark.parametrize(
    ("stage", "paid"),
    sized(
        [("review", {"coordinator", "codegen"})],
        [
            ("coordinator", set()),
            ("codegen", {"coordinator"}),
            ("review", {"coordinator", "codegen"}),
        ],
    ),
)
async def test_a_disk_that_fills_up_during_a_run_loses_nothing_and_the_next_call_goes_on(
    tmp_path: Path, api: MessagesAPI, environ: dict[str, str], stage: str, paid: set[str]
) -> None:
    with disk(tmp_path / "disk", "16m") as full:
        root = write(full / "shop", FILES)
        make_repository(root)
        team = Team(api, plan(a=[]))
        planned, filled = team.script, threading.Event()

        def script(request: Request) -> Answer:
            answer = planned(request)
            is_last = kind(request) == stage and (stage != "codegen" or request.turn)
            if is_last and not filled.is_set():
                fill(full)
                filled.set()
            return answer

        api.play(script)
        failed = await run(root, environ)
        assert filled.is_set()
        (full / "filler").unlink()
        assert failed["code"] in {"E_WRITE", "E_WORKTREE"}
        assert ("the disk is full" in failed["message"], "id" in failed["details"]) == (True, True)
        before = team.asked()
        done = await run(root, environ)
        assert done["failures"] == []
        assert (done["status"], done["tasks_done"]) == ("done", 1)
        again = {kind for kind, _ in team.asked() - before}
        assert not again & paid
        assert git(root, "show", "main:a.py") == "A = 1\n"
        assert git(root, "fsck", "--no-dangling") == ""
        # What could not be committed stays where it is.
        kept = [f"{done['id']}-a-1"] if stage == "codegen" else []
        assert left(root) == (kept, kept, [])
        assert all((root / ".worktrees" / name / "a.py").exists() for name in kept)


async def test_what_killed_tests_left_does_not_keep_the_work_from_being_merged(shop: Path) -> None:
    made = await answer(shop, {"method": "worktree.create", "params": {"name": "one"}})
    at = Path(made["result"]["path"])
    write(at, {"a.py": "A = 1\n"})
    git(at, "add", "-A")
    git(at, "commit", "-q", "-m", "Work")
    write(at, {"junk.txt": "left by tests that were killed", "a.py": "A = 'half'\n"})
    own = services(shop)
    repository = open_repository(own)
    record = records.need(repository, "one")
    suite = project_tests.parsed(f"{sys.executable} check.py")
    budget = Budget(1, time.monotonic() + PATIENCE)
    integrate(own, repository, record, suite, budget, threading.Lock())
    assert git(shop, "show", "main:a.py") == "A = 1\n"
    [ref] = git(shop, "for-each-ref", "--format=%(refname)", "refs/preread/removed/").split()
    assert git(shop, "show", f"{ref}:a.py") == "A = 'half'\n"
