"""Every operation, one after another, through every face: the same answers."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from _faces import FACES, State, face
from _mcp_process import shop
from preread.operations import REGISTRY

Seen = dict[str, State]
Params = Callable[[Seen], State]
EXAMPLE = "docs/checkout.md"
PEOPLE = ("in process", "command line")
# What differs from run to run, or names who asked.
VARYING = {
    r"</?data-[0-9a-f]{12}>(\\n)?": "",
    r"/[^\" ]*?/shop\b": "ROOT",
    r"\d{4}-\d\d-\d\dT[\d:.]+(\+00:00|Z)?|\d{8}-\d{6}|\d\d\d\d-\d\d-\d\d": "TIME",
    r"\b[0-9a-f]{8,40}\b": "HEX",
    r"^\d+(-HEX)?$": "SESSION",
    r"said:[\w-]+@": "said:WHO@",
    r"\d+ (ms|s|KB)\b": "N",
    r"\b\d+\.\d+\b": "N",
}
NOT_COMPARED = {"quoted", "by", "size", "duration_ms", "next"}
NOT_COMPARED |= {"is_stale"}  # a server that stays hears of changes, at some time
# What depends on who asks: what an agent may call, and the calls that were made.
FOR_THE_CALLER = {
    "config.ops",
    "config.doctor",
    "audit.log",
    "session.who_is_here",
    "session.messages",
}


def fact(seen: Seen) -> State:
    return {"fact": seen["memory.learn"]["id"]}


def graph(seen: Seen) -> State:
    return {"graph": seen["graph.build"]["graph"]}


SCRIPT: dict[str, State | Params] = {
    "config.init": {"share": True},
    "context.load": {"feature": "checkout", "ticket": "SHOP-142"},
    "context.extend": {"feature": "checkout", "files": ["failures"]},
    "context.show": {"feature": "checkout", "ids": True, "cited": True},
    "context.status": {},
    "context.check": {"feature": "checkout"},
    "integrity.check": {},
    "integrity.repair": {},
    "context.evidence": {"feature": "checkout", "limit": 5},
    "context.failures": {"limit": 5},
    "builds.list": {},
    "builds.cancel": {"feature": "checkout"},
    "knowledge.search": {"query": "coupon", "limit": 5},
    "knowledge.index": {},
    "knowledge.query": {"node": "checkout"},
    "knowledge.node": {"node": "checkout"},
    "knowledge.stats": {},
    "knowledge.capture": {"feature": "checkout"},
    "memory.learn": {"lesson": "wait for the address, not for a time"},
    "memory.remember": {"content": "the gateway answers within 12 s", "tags": ["payment"]},
    "memory.decide": {"decision": "amounts are whole cents", "reasoning": "floats lose some"},
    "memory.update_metadata": lambda seen: {**fact(seen), "tags": ["money"]},
    "memory.recall": {"topic": "gateway"},
    "memory.recent": {"limit": 5},
    "memory.digest": {},
    "history.blame": fact,
    "history.trace": fact,
    "history.diff": {"feature": "checkout"},
    "history.impact": {"paths": ["api/shop/checkout.py"]},
    "history.costs": {},
    "memory.forget": lambda seen: {**fact(seen), "reason": "no longer true"},
    "documents.load": {"paths": [EXAMPLE]},
    "documents.list": {},
    "documents.read": {"path": EXAMPLE},
    "documents.entities": {},
    "documents.relations": {},
    "documents.workflow": {"tool_calls": [{"method": "documents.list"}]},
    "documents.workflows": {},
    "graph.build": {},
    "graph.analyse": graph,
    "graph.report": graph,
    "graph.export": lambda seen: {**graph(seen), "format": "csv"},
    "workflow.state": {},
    "workflow.suggest": {"task": "the checkout test is flaky"},
    "workflow.agents": {},
    "workflow.readiness": {},
    "worktree.create": {"name": "coupon"},
    "worktree.list": {},
    "worktree.diff": {"name": "coupon"},
    "worktree.merge": {"name": "coupon"},
    "worktree.remove": {"name": "coupon"},
    "worktree.prune": {},
    "attention.wm_add": {"what": "the sandbox rejects amounts over 999"},
    "attention.wm_status": {},
    "attention.wm_decay": {"turns": 3},
    "attention.wm_consolidate": {},
    "attention.detect_boundary": {},
    "attention.process_boundary": {"why": "the refund is done"},
    "attention.cognitive_status": {},
    "session.register": {"name": "payments", "feature": "checkout"},
    "session.status": {"files": ["api/shop/checkout.py"]},
    "session.say": {"text": "I rename Cart.total"},
    "session.messages": {},
    "session.hear": {},
    "session.whoami": {},
    "session.who_is_here": {},
    "context.wrong": lambda seen: {"fact": seen["context.show"]["facts"][0]["id"]},
    "audit.log": {"method": "memory.decide"},
    "config.doctor": {},
    "config.get": {"key": "timeout"},
    "config.get_semantic_config": {},
    "config.regenerate_vectors": {},
    "config.gated": {},
    "config.ops": {"category": "knowledge"},
    "integrity.backups": {},
    # for people
    "agent.execute": {"kind": "review", "task": "Read the diff"},
    "workflow.execute": {"workflow": "none", "feature": "checkout"},
    "knowledge.graph": {"feature": "checkout"},
    "graph.save": {"folder": "../report"},
    "config.configure_semantic": {"weight": 0.7},
    "config.gates": {"action": "explain", "paths": ["tests/test_checkout.py"]},
    "config.call": {"method": "context.status"},
    "audit.replay": lambda seen: {"id": seen["audit.log"]["entries"][0]["id"]},
    "config.install_client": {"client": "cursor", "dry_run": True},
    "context.remove": {"feature": "checkout"},
    "integrity.restore": lambda seen: {"id": seen["context.remove"].get("backup", "none")},
    "integrity.gc": {"days": 7},
}  # fmt: skip


def test_the_script_has_every_operation_once() -> None:
    assert set(SCRIPT) == {operation.name for operation in REGISTRY.values()}


async def walk(name: str, root: Path) -> Seen:
    """What each operation of the script answers through a face."""
    seen: Seen = {}
    async with face(name, root) as call:
        for method, params in SCRIPT.items():
            given = params(seen) if callable(params) else params
            done = await call({"method": method, "params": given})
            seen[method] = done.get("result") or {"error": done["error"]}
    return seen


def comparable(value: Any) -> Any:
    """An answer without what differs from run to run; of an error, its code."""
    if isinstance(value, dict):
        if "error" in value:
            return value["error"]["code"]
        return {key: comparable(one) for key, one in value.items() if key not in NOT_COMPARED}
    if isinstance(value, list):
        return [comparable(one) for one in value]
    if isinstance(value, float):
        return "a number"
    if isinstance(value, str):
        for pattern, name in VARYING.items():
            value = re.sub(pattern, name, value)
    return value


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return anyio.run(walk, "in process", shop(tmp_path_factory.mktemp("faces") / "shop"))


FOR_PEOPLE = {operation.name for operation in REGISTRY.values() if operation.people_only}


def test_in_process_every_operation_works(expected: Seen) -> None:
    codes = {name: comparable(one) for name, one in expected.items() if "error" in one}
    assert codes == {
        "builds.cancel": "E_NOT_FOUND",  # nothing runs
        "knowledge.capture": "E_NOT_FOUND",  # nothing was run
        "agent.execute": "E_AGENT",  # Claude Code is switched off
        "workflow.execute": "E_NOT_FOUND",  # there is no such workflow
    }


@pytest.mark.parametrize("name", [name for name in FACES if name != "in process"])
@pytest.mark.anyio
async def test_every_face_answers_the_same(name: str, expected: Seen, tmp_path: Path) -> None:
    seen = await walk(name, shop(tmp_path / "shop"))
    assert list(seen) == list(expected)
    for method, answer in seen.items():
        refused = name not in PEOPLE and method in FOR_PEOPLE | {
            "agent.execute",
            "workflow.execute",
        }
        wanted = "E_NOT_ALLOWED" if refused else comparable(expected[method])
        if method in FOR_THE_CALLER:
            assert "error" not in answer, method
        else:
            assert comparable(answer) == wanted, method
