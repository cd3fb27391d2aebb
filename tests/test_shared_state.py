"""One shape for every call: the same states by the command line, in process, and over MCP."""

import json
import os
import shutil
import time
from functools import partial
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from _faces import FACES, Call, State, answer, face
from _files_project import snapshot
from _mcp_process import shop
from conftest import Cli, run_cli
from preread.layout import Layout
from preread.models import Model
from preread.operations import REGISTRY
from preread.operations.registry import Context, Operation, RequestModel
from preread.records import audit

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def shop_with_dossier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = shop(tmp_path_factory.mktemp("loaded") / "shop")
    before = time.time() - 1000  # a look-up trusts no file that has only just been written
    for path in root.rglob("*"):
        os.utime(path, (before, before))
    done = run_cli("load", "checkout", cwd=root, env={"PREREAD_CLAUDE": "off"})
    assert done.status == 0
    return root


@pytest.fixture
def loaded(shop_with_dossier: Path, tmp_path: Path) -> Path:
    """The example project with a dossier of `checkout`."""
    return Path(shutil.copytree(shop_with_dossier, tmp_path / "shop"))


@pytest.fixture(params=FACES)
async def call(request: pytest.FixtureRequest, loaded: Path):
    """Runs a state through one face on a project with a dossier of `checkout`."""
    async with face(request.param, loaded) as call:
        yield call


async def test_a_state_comes_back_with_its_result_and_who_asked_when(call: Call) -> None:
    state = {
        "method": "context.status",
        "params": {},
        "metadata": {"mine": [1], "request_id": "r-1"},
    }
    done = await call(state)
    assert (done["version"], done["method"]) == (1, "context.status")
    assert done["result"]["dossiers"][0]["feature"] == "checkout"
    about = done["metadata"]
    assert (about["mine"], about["request_id"]) == ([1], "r-1")
    assert about["timestamp"].endswith("+00:00")
    assert about["duration_ms"] > 0
    again = await call(done)
    assert again["result"]["dossiers"][0]["feature"] == "checkout"


async def test_every_problem_with_the_params_is_named_at_once_with_its_path(call: Call) -> None:
    params = {"quary": "x", "limit": 0, "feature": 7}
    done = await call({"method": "knowledge.search", "params": params})
    assert (done["error"]["code"], done["error"]["jsonrpc"]) == ("E_USAGE", -32602)
    problems = {each["path"]: each["message"] for each in done["error"]["details"]["problems"]}
    assert set(problems) == {"/quary", "/limit", "/feature", "/query"}
    assert "Did you mean `query`?" in problems["/quary"]
    assert "result" not in done


async def test_a_batch_keeps_its_order_and_each_state_fails_alone(call: Call) -> None:
    batch = [
        {"method": "knowledge.search", "params": {"query": "coupon", "limit": 1}},
        {"method": "knowledge.serch"},
        {"method": "context.status", "params": {"feature": "nosuch"}},
        {"method": "show", "params": {"feature": "checkout"}, "metadata": {"n": 4}},
    ]
    done = await call({"batch": batch})
    assert "error" not in done
    one, two, three, four = done["batch"]
    assert len(one["result"]["facts"]) == 1
    assert "Did you mean `knowledge.search`?" in two["error"]["message"]
    assert three["error"]["code"] == "E_NOT_FOUND"
    assert (four["result"]["feature"], four["metadata"]["n"]) == ("checkout", 4)


async def test_a_time_out_of_a_real_operation_says_so(loaded: Path) -> None:
    given = {"method": "context.evidence", "params": {"feature": "checkout"}}
    done = await answer(loaded, given | {"options": {"timeout_ms": 1}})
    assert done["error"]["code"] == "E_TIMEOUT"
    assert done["error"]["details"] == {"missing": ["context.evidence"]}
    done = await answer(loaded, {"batch": [given, given], "options": {"timeout_ms": 1}})
    assert len(done["error"]["details"]["missing"]) == 2


async def test_what_came_before_a_then_that_cannot_be_run_is_told(call: Call) -> None:
    first = {"method": "memory.remember", "params": {"content": "the till opens at nine"}}
    for following, code in (
        ({"method": "nosuch"}, "E_METHOD"),
        ({"method": "show", "params": {"feature": {"$ref": "#/no"}}}, "E_USAGE"),
    ):
        done = await call(first | {"then": following})
        assert done["error"]["code"] == code
        assert "the till opens at nine" in done["result"]["text"]
    done = await call({"batch": [first], "then": {"method": "log"}})
    assert done["error"]["code"] == "E_USAGE"


async def test_then_gets_the_result_by_pointers(call: Call) -> None:
    following = {
        "method": "context.wrong",
        "params": {"fact": {"$ref": "#/facts/0/id"}},
        "options": {"dry_run": True},
    }
    search = {"query": "coupon", "feature": "checkout"}
    done = await call({"method": "knowledge.search", "params": search, "then": following})
    assert "error" not in done
    fact, change = done["result"]["facts"][0], done["then"]["result"]["changes"][0]
    assert change["path"].strip() == fact["path"]
    following["params"] = {"fact": {"$ref": "#/facts/99/id"}}
    failed = await call({"method": "knowledge.search", "params": search, "then": following})
    assert "#/facts/99/id" in failed["error"]["message"]


async def test_a_dry_run_shows_a_diff_and_touches_nothing(call: Call, loaded: Path) -> None:
    layout = Layout(loaded)
    before = {path: path.read_bytes() for path in layout.dossier("checkout").iterdir()}
    shown = await call({"method": "show", "params": {"feature": "checkout", "ids": True}})
    fact = shown["result"]["facts"][0]
    asked = {"method": "wrong", "params": {"fact": fact["id"]}, "options": {"dry_run": True}}
    done = await call(asked)
    removed = [
        line
        for change in done["result"]["changes"]
        for line in change["diff"].split("\n")
        if line.startswith("-") and not line.startswith("---")
    ]
    assert any(line.startswith("-- ") for line in removed)
    assert {path: path.read_bytes() for path in layout.dossier("checkout").iterdir()} == before
    assert not layout.wrong.exists()
    assert [entry.method for entry in audit.entries(layout)] == ["context.load"]


async def test_long_results_are_paged_and_a_cursor_belongs_to_its_call(call: Call) -> None:
    state = {"method": "ops", "params": {}, "options": {"limit": 7}}
    names: list[str] = []
    while True:
        done = await call(state)
        assert len(done["result"]["operations"]) <= 7
        names += [each["name"] for each in done["result"]["operations"]]
        cursor = done["metadata"].get("next_cursor")
        if cursor is None:
            break
        state["options"]["cursor"] = cursor
    assert len(names) == done["metadata"]["total"] == len(set(names)) > 8
    stolen = {"method": "ops", "params": {"category": "context"}, "options": state["options"]}
    assert "does not belong to this call" in (await call(stolen))["error"]["message"]


@pytest.mark.parametrize("options", [{"limit": 5}, {"cursor": "50-00000000"}])
async def test_a_result_without_pages_takes_no_limit_and_no_cursor(
    loaded: Path, options: State
) -> None:
    state = {"method": "show", "params": {"feature": "checkout"}, "options": options}
    done = await answer(loaded, state)
    assert done["error"]["code"] == "E_USAGE"
    assert "has no pages" in done["error"]["message"]


@pytest.mark.parametrize(
    "params",
    [
        {"node": "checkout", "depth": 2},
        {"node": "checkout", "depth": 2, "limit": 5},
        {"node": "checkout", "to": "api/shop/money.py"},
        {"kinds": ["fact", "file"]},
        {"edges": ["cites", "belongs-to"]},
    ],
    ids=["around", "bounded", "path", "kinds", "edges"],
)
@pytest.mark.parametrize("limit", [1, 3])
async def test_over_all_pages_of_a_walk_every_node_and_every_edge_comes_once(
    loaded: Path, params: State, limit: int
) -> None:
    state: State = {"method": "knowledge.query", "params": params, "options": {"limit": 1000}}
    whole = await answer(loaded, state)
    nodes, edges, cursor = [], [], ""
    while True:
        options = {"limit": limit} | ({"cursor": cursor} if cursor else {})
        done = await answer(loaded, state | {"options": options})
        assert len(done["result"]["nodes"] + done["result"]["edges"]) <= limit
        nodes += done["result"]["nodes"]
        ids = {one["id"] for one in nodes}
        assert all({one["source"], one["target"]} <= ids for one in done["result"]["edges"])
        edges += done["result"]["edges"]
        if "next_cursor" not in done["metadata"]:
            break
        cursor = done["metadata"]["next_cursor"]
    assert nodes == whole["result"]["nodes"]
    assert len(nodes) == done["metadata"]["total"] == whole["result"]["total"]
    by_text = partial(json.dumps, sort_keys=True)
    assert sorted(edges, key=by_text) == sorted(whole["result"]["edges"], key=by_text)
    other = state | {"params": {"kinds": ["decision"]}, "options": {"cursor": cursor}}
    assert "does not belong to this call" in (await answer(loaded, other))["error"]["message"]


@pytest.mark.parametrize("place", ["params", "metadata"])
@pytest.mark.parametrize("depth", [300, 5_000])
async def test_json_that_is_nested_too_deep_is_bad_usage(
    tmp_path: Path, place: str, depth: int
) -> None:
    nested: State = {}
    for _ in range(depth):
        nested = {"a": [nested]}
    done = await answer(tmp_path, {"method": "status", place: nested})
    assert (done["method"], done["error"]["code"]) == ("status", "E_USAGE")
    json.dumps(done)


async def test_a_namespace_is_this_project_or_an_error(call: Call, loaded: Path) -> None:
    for name in (str(loaded), loaded.name):
        done = await call({"method": "context.status", "options": {"namespace": name}})
        assert "error" not in done
    done = await call({"method": "context.status", "options": {"namespace": "/etc"}})
    assert done["error"]["code"] == "E_NOT_FOUND"


async def test_a_result_can_be_a_tools_result(call: Call) -> None:
    options = {"as": "tool_result"}
    done = await call({"method": "context.status", "options": options})
    assert (done["result"]["success"], done["result"].get("error")) == (True, None)
    assert done["result"]["content"]["dossiers"]
    done = await call(
        {"method": "context.status", "params": {"feature": "nosuch"}, "options": options}
    )
    assert done["result"]["success"] is False
    assert done["result"]["error"]["code"] == "E_NOT_FOUND"


# -- what agents may do, and what is recorded


async def test_a_write_is_recorded_and_replayed_and_a_read_is_not(cli: Cli, loaded: Path) -> None:
    facts = cli("show", "checkout", "--ids", "--json", cwd=loaded).json["facts"]
    done = await answer(loaded, {"method": "wrong", "params": {"fact": facts[0]["id"]}}, by="mcp:x")
    assert done["result"]["dropped"]
    await answer(loaded, {"method": "context.status"})
    assert cli("wrong", "no such fact", cwd=loaded).status == 1
    [latest, first, built] = cli("log", "--json", cwd=loaded).json["entries"]
    assert built["method"] == "context.load"
    assert (first["method"], first["by"], first["outcome"]) == ("context.wrong", "mcp:x", "ok")
    assert first["params"] == {"fact": facts[0]["id"]}
    assert (latest["by"], latest["outcome"]) == ("person", "E_NOT_FOUND")
    replayed = cli("replay", first["id"], cwd=loaded)
    assert replayed.status == 1
    assert "was dropped before" in replayed.err
    assert "nobody" not in cli("log", "--by", "nobody", cwd=loaded).out
    assert cli("replay", "nosuch", cwd=loaded).status == 1


async def test_secrets_and_long_texts_stay_out_of_the_log(cli: Cli, loaded: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    for fact in (f"the token {token}", "x" * 5000):
        await answer(loaded, {"method": "wrong", "params": {"fact": fact}})
    long, secret, _ = cli("log", "--json", cwd=loaded).json["entries"]
    assert token not in Layout(loaded).audit.read_text()
    assert len(long["params"]["fact"]) < 2100
    for entry in (long, secret):
        refused = cli("replay", entry["id"], cwd=loaded)
        assert (refused.status, "cannot be replayed" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("method", "params"),
    [("remove", {"feature": "checkout"}), ("replay", {"id": "x"}), ("call", {"method": "x"})],
)
async def test_what_is_for_people_is_refused_to_an_agent(
    loaded: Path, method: str, params: State
) -> None:
    done = await answer(loaded, {"method": method, "params": params}, by="mcp:x")
    assert done["error"]["code"] == "E_NOT_ALLOWED"
    assert (loaded / ".project" / "context" / "checkout").is_dir()


async def test_an_agent_may_do_what_the_settings_allow_and_always_load(loaded: Path) -> None:
    config = loaded / ".project" / "config.toml"
    text = config.read_text() if config.exists() else ""
    config.write_text(text + '\nallow = ["execute"]\n')
    done = await answer(loaded, {"method": "context.status"}, by="mcp:x")
    assert done["error"]["code"] == "E_NOT_ALLOWED"
    assert (await answer(loaded, {"method": "context.status"}))["result"]
    load = {"method": "load", "params": {"feature": "checkout"}}
    assert (await answer(loaded, load, by="mcp:x"))["result"]["status"] == "ok"


# -- time-outs, and anything at all


class Nap(RequestModel):
    seconds: float = 0


class Rested(Model):
    seconds: float


async def nap(_: Context, request: Nap) -> Rested:
    await anyio.sleep(request.seconds)
    return Rested(seconds=request.seconds)


TOYS = {
    "toys.nap": Operation(
        name="toys.nap", request=Nap, reply=Rested, effect="read", doc="Sleep.", example="", run=nap
    )
}


async def test_what_has_finished_at_the_time_out_is_returned_and_the_rest_is_named(
    tmp_path: Path,
) -> None:
    batch = [{"method": "nap", "params": {"seconds": seconds}} for seconds in (0, 3000, 0)]
    done = await answer(tmp_path, {"batch": batch, "options": {"timeout_ms": 200}}, TOYS)
    assert (done["error"]["code"], done["error"]["details"]) == ("E_TIMEOUT", {"missing": ["nap"]})
    assert [each.get("result") for each in done["batch"]] == [{"seconds": 0}, None, {"seconds": 0}]
    assert done["batch"][1]["error"]["code"] == "E_TIMEOUT"
    following = {"method": "nap", "params": {"seconds": 3000}}
    given = {"method": "nap", "then": following, "options": {"timeout_ms": 200}}
    late = await answer(tmp_path, given, TOYS)
    assert late["result"] == {"seconds": 0}
    assert late["error"]["details"] == {"missing": ["nap"]}


async def test_a_result_that_the_next_method_accepts_is_passed_on_whole(tmp_path: Path) -> None:
    state = {"method": "nap", "params": {"seconds": 0.01}, "then": {"method": "nap"}}
    done = await answer(tmp_path, state, TOYS)
    assert done["then"]["result"] == {"seconds": 0.01}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ["method", "params", "options", "batch", "then", "metadata", "version", "result", "error"]
)
METHODS = st.sampled_from(["toys.nap", "nap", "status", "facts", "ops", "", "log", "check"])
ANY_STATE = st.dictionaries(NAMES | st.text(max_size=6), JSON | METHODS, max_size=5).flatmap(
    lambda state: (
        st.fixed_dictionaries({"method": METHODS}).map(lambda named: state | named) | st.just(state)
    )
)


@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(ANY_STATE)
def test_any_json_gives_a_state_with_a_structured_error_or_a_result(
    tmp_path: Path, state: State
) -> None:
    done = anyio.run(answer, tmp_path, state, {**TOYS, **{n: REGISTRY[n] for n in QUIET}})
    assert done["version"] == 1
    json.dumps(done)
    if "batch" in done and "error" not in done:
        assert all("error" in each or "result" in each for each in done["batch"])
    else:
        assert ("error" in done) != ("result" in done) or "then" in done
    if "error" in done:
        assert {"code", "message", "hint", "details", "jsonrpc"} == set(done["error"])
        assert done["error"]["code"] != "E_INTERNAL"


QUIET = ("context.status", "config.ops", "audit.log")


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '"x"', "[" * 100_000])
def test_standard_input_that_is_no_state_is_bad_usage(cli: Cli, loaded: Path, text: str) -> None:
    done = cli("call", "-", cwd=loaded, input=text)
    assert (done.status, "E_USAGE" in done.err) == (2, True)
    assert cli("call", "context.status", text or "x", cwd=loaded).status == 2


def test_a_failed_call_ends_with_the_status_of_its_error(cli: Cli, loaded: Path) -> None:
    done = cli("call", "context.status", '{"feature": "nosuch"}', cwd=loaded)
    assert (done.status, done.json["error"]["code"]) == (1, "E_NOT_FOUND")
    assert cli("call", "nosuch", cwd=loaded).status == 2


@pytest.mark.parametrize(
    ("method", "params", "words"),
    [
        ("remove", {"feature": "checkout"}, "Copies would be kept"),
        ("load", {"feature": "checkout"}, "nothing would change"),
        ("load", {"feature": "cart"}, "A dossier of level light would be built"),
        (
            "extend",
            {"feature": "checkout", "files": ["patterns"]},
            "would draft again, in .project",
        ),
        ("init", {"share": True}, "+share = true"),
        ("init", {"undo": True}, "Nothing would change"),
        ("gates", {"action": "off"}, "nothing is gated"),
        ("documents.workflow", {"tool_calls": [{"method": "documents.load"}]}, "load would be"),
    ],
)
async def test_what_a_write_would_do_is_said_and_not_done(
    loaded: Path, method: str, params: State, words: str
) -> None:
    before = kept(loaded)
    done = await answer(loaded, {"method": method, "params": params, "options": {"dry_run": True}})
    assert words in json.dumps(done)
    assert kept(loaded) == before


def kept(project: Path) -> dict[str, tuple[bytes, int]]:
    """Every file but the databases of what was read."""
    derived = (".project/.cache/", ".project/.state/test-history.db")
    return {path: file for path, file in snapshot(project).items() if not path.startswith(derived)}


async def test_the_preview_of_a_replay_is_that_of_its_call(loaded: Path) -> None:
    remembered = {"method": "memory.remember", "params": {"content": "the till opens at nine"}}
    await answer(loaded, remembered)
    entry = (await answer(loaded, {"method": "log"}))["result"]["entries"][0]
    (loaded / ".project" / "knowledge.md").unlink()
    again = {"method": "replay", "params": {"id": entry["id"]}, "options": {"dry_run": True}}
    (change,) = (await answer(loaded, again))["result"]["changes"]
    assert "+- the till opens at nine" in change["diff"]
    assert not (loaded / ".project" / "knowledge.md").exists()
