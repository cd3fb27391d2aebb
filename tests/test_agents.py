"""Agents: the real Claude Code with a scripted model, in worktrees of real git.

Each kind is run: codegen and the four that only read here, the coordinator with its own agents in
tests/test_coordinator.py. Attempts to get out are a sample; PREREAD_TEST_WHOLE=1 tries each kind.
"""

import json
from pathlib import Path

import anyio
import pytest

from _faces import answer
from _headless import headless
from _messages_api import Block, Hang, MessagesAPI, Request, text, tool
from _trees import write
from _whole import IS_WHOLE
from conftest import git
from preread.agents.kinds import POLICIES

pytestmark = pytest.mark.anyio
FILES = {
    "shop.py": "PRICE = 42\n",
    ".gitignore": ".env\n",
    ".env": "API_KEY=s3cr3t-of-the-main-tree\n",
    ".project/tickets/270.md": "# Coupons round down\nRound them half up.\n",
    ".project/knowledge.md": "# Knowledge\n\n## Notes\n- the till opens at nine\n",
    ".project/runs/shop.md": "# Run log: shop\n\n## ANALYZE\n- coupons came up before\n",
    "certs/server.pem": "PRIVATE-pem-text\n",
}
OUTSIDE = "a text of the home folder"
READERS = tuple(kind for kind in POLICIES if kind not in {"codegen", "coordinator"})


@pytest.fixture
def environ(claude: Path, api: MessagesAPI, tmp_path: Path) -> dict[str, str]:
    return headless(claude, api, tmp_path, level="light")


async def run(root: Path, environ: dict[str, str], by: str = "person", **params: object):
    given = {"method": "agent.execute", "params": params}
    done = await answer(root, given, by=by, environ=environ)
    return done["error"] if "error" in done else done["result"]


def nothing_left(root: Path, *, worktrees: int = 0) -> bool:
    return git(root, "worktree", "list").count("\n") == worktrees + 1


async def test_codegen_changes_its_worktree_only_and_has_read_first(
    shop: Path, api: MessagesAPI, environ: dict[str, str]
) -> None:
    meanwhile = []

    def script(request: Request) -> list[Block]:
        if request.turn == 0:
            removal = {"name": request.folder.name, "force": True}
            calls = [{"method": "worktree.list"}, {"method": "worktree.remove", "params": removal}]
            meanwhile.extend(anyio.run(answer, shop, call) for call in calls)
            return [
                tool("Write", file_path=str(request.folder / "coupon.py"), content="HALF = 1\n")
            ]
        return [text("Rounded half up.")]

    api.play(script)
    hasty = {**environ, "PREREAD_REPLY_WITHIN": "0.001"}  # the dossier takes longer
    params = {"kind": "codegen", "issue": 270, "feature": "shop"}
    given = {"method": "agent.execute", "params": params}
    done = (await answer(shop, given, environ=hasty, times_out=True))["result"]
    assert (done["status"], done["text"], done["denials"]) == ("done", "Rounded half up.", [])
    listed, refused = meanwhile
    assert listed["result"]["worktrees"][0]["agent"] == "codegen"
    assert refused["error"]["details"]["reason"] == "agent"
    assert [file["path"] for file in done["files"]] == ["coupon.py"]
    assert not (shop / "coupon.py").exists()
    assert git(shop, "show", f"preread/{done['worktree']}:coupon.py") == "HALF = 1\n"
    prompt = api.requests[0].prompt
    for known in (
        "Round them half up",
        "the till opens at nine",
        "coupons came up before",
        "PRICE",
        "a worktree of your own",
    ):
        assert known in prompt
    assert (shop / ".project/.state/spending.jsonl").read_text().count("\n") == 1
    assert nothing_left(shop, worktrees=1)


@pytest.mark.parametrize("kind", READERS)
async def test_all_other_kinds_can_only_read_and_leave_nothing(
    shop: Path, api: MessagesAPI, environ: dict[str, str], kind: str
) -> None:
    write(
        shop, {f".project/agents/{kind}.md": "---\ntools: Bash, Write\n---\nThe project's own.\n"}
    )
    git(shop, "add", "-A")
    git(shop, "commit", "-q", "-m", "own")
    verdict = '{"verdict": "approve"}'
    api.play([[tool("Write", file_path="x.py", content="x")], [text(verdict)]])
    done = await run(shop, environ, kind=kind, task="Look at the price", feature="shop")
    assert done["status"] == ("proposed" if POLICIES[kind].proposes else "done")
    assert (done["worktree"], done["files"]) == ("", [])
    assert "The project's own." in api.requests[0].prompt
    assert set(api.requests[0].tools) <= {"Read", "Grep", "Glob"}
    assert nothing_left(shop)


def attempts(at: Path, main: Path, home: Path) -> list[Block]:
    """Ways out of a worktree, to secrets, to other people's programs, to the network."""
    up = "../../shop.py"
    reads = [
        main / "shop.py", at / up, home / "notes.txt", "/etc/passwd", main / ".env", "/proc/self/environ",
        "~/notes.txt", at / "out/notes.txt", at / "sub/../../../shop.py", at / "certs/server.pem",
        home / ".ssh/id_rsa", main / ".git/config", main / ".project/.state/spending.jsonl", at / ".env",
    ]  # fmt: skip
    writes = [
        main / "shop.py", at / up, home / "notes.txt", home.parent / "elsewhere/escape.txt", at / "out/new.txt",
        at / "out/notes.txt", main / ".git/hooks/post-checkout", at / ".git", at / ".claude/settings.json",
        at / ".project/config.toml", at / ".project/gates", at / ".project/agents/codegen.md",
        at / ".project/prompts/context-builder.md.j2",
        at / ".project/.state/spending.jsonl", at / ".mcp.json", at / ".gitmodules", at / ".env",
        at / ".github/workflows/ci.yml", at / ".vscode/tasks.json", at / ".project/context/shop/summary.md",
        "~/.bashrc", at / ".GIT/config", at / ".Claude/settings.json",
    ]  # fmt: skip
    commands = [
        "git push origin HEAD", "curl http://example.org", "cat ../../.env", "env", "rm -rf ../..",
        "python3 -c 'print(1)'", "ssh host", "git -C ../.. commit -am x",
    ]  # fmt: skip
    return [
        *(tool("Read", file_path=str(path)) for path in reads),
        *(tool("Write", file_path=str(path), content="escaped\n") for path in writes),
        *(tool("Bash", command=command, description="x") for command in commands),
        tool("Edit", file_path=str(main / "shop.py"), old_string="42", new_string="0"),
        tool("Grep", pattern="s3cr3t", path=str(main), output_mode="content"),
        tool("Grep", pattern="text", path=str(home), output_mode="content"),
        tool("Glob", pattern=str(home / "**")),
        tool("WebFetch", url="http://example.org", prompt="x"),
        tool("WebSearch", query="x"),
        tool("Task", description="x", prompt="x", subagent_type="general-purpose"),
        tool("NotebookEdit", notebook_path=str(main / "n.ipynb"), new_source="x"),
        tool("mcp__preread__context_operation", method="context.status"),
    ]


@pytest.mark.parametrize("kind", ["codegen", *(READERS if IS_WHOLE else ("deployment",))])
async def test_no_way_out_of_a_worktree_in_the_real_client(
    shop: Path, api: MessagesAPI, environ: dict[str, str], tmp_path: Path, kind: str
) -> None:
    home = tmp_path / "home"
    write(home, {"notes.txt": OUTSIDE, ".ssh/id_rsa": OUTSIDE})
    (shop / "out").symlink_to(home)
    git(shop, "add", "out")
    git(shop, "commit", "-q", "-m", "a link that leads away")
    before = {path: path.read_bytes() for path in (shop / "shop.py", shop / ".git/config")}
    tried: list[Block] = []

    def script(request: Request) -> list[Block]:
        if request.turn == 0:
            tried.extend(attempts(request.folder, shop, home))
            return tried
        return [text("I tried.")]

    api.play(script)
    done = await run(shop, environ, kind=kind, task="Try", feature="shop")
    assert done["text"] == "I tried."
    results = {result.id: result for result in api.requests[-1].results}
    let_through = [call for call in tried if not results[call["id"]].is_error]
    # A search that skips what it may not read finds nothing, and is no error.
    assert {call["name"] for call in let_through} <= {"Grep", "Glob"}, let_through
    assert len(tried) - len(let_through) >= 40
    sent = "\n".join(results[call["id"]].text for call in tried)
    for secret in ("s3cr3t", OUTSIDE, "PRIVATE-pem", "root:x:", "[core]"):
        assert secret not in sent
    assert {path: path.read_bytes() for path in before} == before
    assert (home / "notes.txt").read_text() == OUTSIDE
    assert done["files"] == []
    assert git(shop, "status", "--porcelain", "--untracked-files=no") == ""
    assert nothing_left(shop)


async def test_a_time_out_ends_it_and_says_so(
    shop: Path, api: MessagesAPI, environ: dict[str, str]
) -> None:
    api.play(lambda _: Hang([text("Thinking")]))
    failed = await run(shop, environ, kind="review", task="Look", feature="shop", timeout_seconds=4)
    assert (failed["code"], failed["jsonrpc"]) == ("E_TIMEOUT", -32020)
    assert failed["details"]["kind"] == "review"
    assert nothing_left(shop)


async def test_a_person_allows_exact_commands_for_one_run_and_nothing_else_is_run(
    shop: Path, api: MessagesAPI, environ: dict[str, str], tmp_path: Path
) -> None:
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    push = f"git push -q {remote} HEAD:refs/heads/pr-270"
    allowed = {
        "kind": "pr",
        "feature": "shop",
        "issue": 270,
        "commands": [push, "false", "touch x"],
    }

    def proposing(*commands: str) -> list[Block]:
        return [text(json.dumps({"text": "Round half up", "commands": commands}))]

    api.play([[text("Round half up")], proposing(push, "false", "touch x")])  # sent back once
    done = await run(shop, environ, **allowed)
    assert (done["status"], [step["command"] for step in done["ran"]]) == (
        "incomplete", [push, "false"],
    )  # fmt: skip
    assert [step["failure"] for step in done["ran"]] == ["", "exit status 1"]
    assert git(remote, "rev-parse", "pr-270") == git(shop, "rev-parse", "HEAD")
    assert push in api.requests[0].prompt
    api.play([proposing("touch x", f"{push} --force", "touch x")])
    done = await run(shop, environ, **allowed)
    assert (done["status"], done["ran"]) == ("proposed", [])
    assert "Nobody allowed" in done["next"]
    assert nothing_left(shop)
    on = {"PREREAD_CLAUDE": "off", "PREREAD_ALLOW": "read:write:execute"}
    assert (await run(shop, on, by="a client", **allowed))["code"] == "E_NOT_ALLOWED"
    assert (await run(shop, on, **{**allowed, "kind": "codegen"}))["code"] == "E_USAGE"
    assert (await run(shop, on, **{**allowed, "commands": ["echo 'x"]}))["code"] == "E_USAGE"


async def test_errors_have_their_numbers_and_start_nothing(shop: Path, api: MessagesAPI) -> None:
    off = {"PREREAD_CLAUDE": "off", "PREREAD_LEVEL": "light"}
    on = {**off, "PREREAD_ALLOW": "read:write:execute"}
    task = {"kind": "codegen", "task": "x", "feature": "shop"}
    failed = await run(shop, off, **task)
    assert (failed["code"], failed["jsonrpc"], failed["details"]["because"]) == (
        "E_AGENT", -32000, "E_CLI",
    )  # fmt: skip
    for number in (0, -1, 271, 10**12):
        failed = await run(shop, off, kind="issue", issue=number)
        assert (failed["code"], failed["jsonrpc"]) == ("E_ISSUE", -32010)
        assert failed["details"] == {"issue": number}
    failed = await run(shop, off, kind="issue")
    assert (failed["code"], "Round coupons" in failed["hint"]) == ("E_USAGE", True)
    assert (await run(shop, off, kind="nope", task="x"))["code"] == "E_USAGE"
    assert (await run(shop, off, by="a client", **task))["code"] == "E_NOT_ALLOWED"
    assert (await run(shop, on, by="a client", **task))["code"] == "E_AGENT"
    alone = await run(shop, on, by="a client", kind="test-healer", task="x")
    assert "belongs to the workflow" in alone["message"]
    assert (await run(shop, on, model="opus", **task))["code"] == "E_NOT_ALLOWED"
    assert api.requests == []
    assert nothing_left(shop)


@pytest.mark.parametrize("kind", ["codegen", "coordinator"])
async def test_a_dry_run_says_what_would_be_run_and_touches_nothing(
    shop: Path, environ: dict[str, str], api: MessagesAPI, kind: str
) -> None:
    def files() -> dict[str, bytes]:
        return {str(one): one.read_bytes() for one in shop.rglob("*") if one.is_file()}

    before = files()
    params = {"kind": kind, "issue": 270, "feature": "shop", "max_usd": 0.25}
    given = {"method": "agent.execute", "params": params, "options": {"dry_run": True}}
    tests = {"PREREAD_TEST_COMMAND": "pytest -q"}
    notes = " ".join((await answer(shop, given, environ=environ | tests))["result"]["notes"])
    told = {
        "codegen": ("agent codegen", "feature shop", "preread/codegen-", "may read and write"),
        "coordinator": ("at most 3 agents", "`pytest -q` would be run", "may only read"),
    }[kind]
    always = (
        "model sonnet",
        "what the project knows",
        "would be built first",
        "600 s",
        "0.25 dollars",
    )
    assert [one for one in (*told, *always) if one not in notes] == []
    refused = await answer(shop, given, by="a client", environ=environ)
    assert refused["error"]["code"] == "E_NOT_ALLOWED"
    assert files() == before
    assert api.requests == []


async def test_a_search_without_an_index_has_its_number(shop: Path) -> None:
    cache = shop / ".project/.cache"
    cache.mkdir()
    (cache / "index.db").mkdir()
    done = await answer(shop, {"method": "knowledge.search", "params": {"query": "till"}})
    error = done["error"]
    assert (error["code"], error["jsonrpc"]) == ("E_SEARCH", -32002)
    assert error["details"]["because"] == "E_WRITE"


@pytest.mark.parametrize("kind", ["review", "coordinator"])
async def test_an_agent_that_the_month_has_no_money_for_is_not_started(
    shop: Path, environ: dict[str, str], api: MessagesAPI, kind: str
) -> None:
    money = {"PREREAD_MONTH_USD": "0.5", "PREREAD_MAX_USD": "1"}
    tight = {**environ, **money, "PREREAD_TEST_COMMAND": "true"}
    error = await run(shop, tight, kind=kind, task="Read it", feature="shop")
    assert (error["code"], "one more build may cost $1.00" in error["message"]) == ("E_MONEY", True)
    assert not [request for request in api.requests if "Your task:" in request.whole]
