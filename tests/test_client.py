"""The Python client: the same calls in process and over stdio, typed by the registry."""

import inspect
import json
import shutil
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

import _client
from _daemon import shared, shared_token
from _faces import BY_DAEMON, ENVIRON, FACES, by_daemon
from _mcp_process import command, environ
from conftest import ROOT, SHOP, child_environ
from preread.client import AsyncClient, Client, PrereadError, State
from preread.client.operations import positional_params
from preread.errors import CODES
from preread.infra.locks import FileLock
from preread.layout import Layout
from preread.operations import REGISTRY
from preread.operations.facts import SearchReply

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example project, with a dossier of `checkout`."""
    root = tmp_path_factory.mktemp("client") / "shop"
    shutil.copytree(SHOP, root, ignore=shutil.ignore_patterns(".cache", ".state", "context"))
    with Client(root, environ=child_environ() | ENVIRON) as client:
        reply = client.load("checkout", level="light")
    assert (reply.status, reply.state) == ("ok", "built")
    return root


def over_stdio(
    kind: type[Client] | type[AsyncClient], root: Path, era: str
) -> Client | AsyncClient:
    whole = environ(ENVIRON)
    program = command(["-m", "preread", "mcp", "--project", str(root)], whole)
    return kind.over_stdio(root, command=tuple(program), era=era, environ=whole)  # type: ignore[arg-type]


def client(kind: type[Client] | type[AsyncClient], root: Path, face: str) -> Client | AsyncClient:
    if face == "in process":
        return kind(root, environ=child_environ() | ENVIRON)
    if face in BY_DAEMON:
        return by_daemon(kind, face, root)
    return over_stdio(kind, root, face)


WAYS = [face for face in FACES if face != "command line"]


@pytest.mark.parametrize("face", WAYS)
def test_a_synchronous_client_says_the_same_over_every_transport(shop: Path, face: str) -> None:
    with client(Client, shop, face) as preread:
        assert preread.load("checkout", level="light").state == "cached"
        assert "<data-" not in preread.load("checkout", level="light").dossier
        found = preread.knowledge.search("coupon", limit=2)
        assert isinstance(found, SearchReply)
        assert len(found.facts) == 2
        assert "<data-" not in found.model_dump_json()
        assert preread.status().dossiers[0].feature == "checkout"
        assert len(preread.config.ops().operations) > 50  # more than a page
        with pytest.raises(PrereadError) as caught:
            preread.show("nosuch")
        assert (caught.value.code, caught.value.details["features"]) == (
            "E_NOT_FOUND",
            ["checkout"],
        )
        assert caught.value.hint
        with pytest.raises(PrereadError, match="E_USAGE"):
            preread.knowledge.search("x", limit=0)
        batch: State = {"batch": [{"method": "context.status"}, {"method": "nosuch"}]}
        one, two = preread.send(batch)["batch"]
        assert ("result" in one, two["error"]["code"]) == (True, "E_METHOD")


@pytest.mark.parametrize("face", WAYS)
async def test_an_asynchronous_client_says_the_same(shop: Path, face: str) -> None:
    async with client(AsyncClient, shop, face) as preread:
        [fact] = (await preread.knowledge.search("coupon", limit=1)).facts
        assert fact.text
        near = await preread.knowledge.query(node="checkout", edges=["belongs-to"])
        assert near.nodes[0].id == "feature:checkout"
        with pytest.raises(PrereadError, match="E_NOT_FOUND"):
            await preread.wrong("no such fact")


def test_over_stdio_a_client_is_an_agent(shop: Path) -> None:
    with client(Client, shop, "2026-07-28") as preread:
        with pytest.raises(PrereadError) as caught:
            preread.remove("checkout")
        assert caught.value.code == "E_NOT_ALLOWED"
    assert (shop / ".project/context/checkout/manifest.json").exists()


def test_a_server_that_ends_or_cannot_start_is_an_error_and_no_hang(tmp_path: Path) -> None:
    for program in ((sys.executable, "-c", "pass"), (str(tmp_path / "nosuch"),)):
        with (
            pytest.raises(PrereadError, match="did not start as an MCP server"),
            Client.over_stdio(tmp_path, command=program),
        ):
            pass


def test_who_may_not_open_a_websocket_is_told_why(shop: Path) -> None:
    for token, folder, code in (
        ("no", shop, "E_NOT_ALLOWED"),
        (shared_token(), "/etc", "E_NOT_FOUND"),
    ):
        with pytest.raises(PrereadError) as caught:
            Client.over_websocket(shared().url, token, namespace=str(folder)).__enter__()
        assert caught.value.code == code
    with (
        pytest.raises(PrereadError, match="did not answer"),
        Client.over_websocket("http://127.0.0.1:1", "x"),
    ):
        pass


async def test_calls_at_once_over_one_websocket_get_each_its_own_answer(shop: Path) -> None:
    async with (
        client(AsyncClient, shop, "websocket") as preread,
        anyio.create_task_group() as tasks,
    ):
        seen: dict[int, State] = {}

        async def ask(number: int) -> None:
            state = {"method": "config.ops", "options": {"limit": number}}
            if number % 2:
                state["metadata"] = {"request_id": "the same", "number": number}
            seen[number] = await preread.send(state)

        for number in range(1, 12):
            tasks.start_soon(ask, number)
    for number, answer in seen.items():
        assert len(answer["result"]["operations"]) == number
        assert answer["metadata"]["request_id"]
        assert answer["metadata"].get("number", number) == number
    assert seen[1]["metadata"]["request_id"] == "the same"


async def test_a_call_over_a_websocket_that_is_cancelled_ends_in_the_daemon(shop: Path) -> None:
    lock = Layout(shop).lock("refund")
    lock.parent.mkdir(parents=True, exist_ok=True)
    scope = anyio.CancelScope()
    async with client(AsyncClient, shop, "websocket") as preread:

        async def load() -> None:
            with scope:
                await preread.load("refund")

        async def builds() -> list[object]:
            return [*(await preread.send({"method": "builds.list"}))["result"]["builds"]]

        with FileLock(lock), anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(load)
                while not await builds():
                    pass
                scope.cancel()
            while await builds():
                pass
        assert scope.cancelled_caught


def test_a_transport_is_any_function_from_state_to_state() -> None:
    from contextlib import asynccontextmanager

    seen: list[State] = []
    answers = iter(
        [
            {"result": {"status": "building"}},
            {"result": {"status": "ok", "dossier": "d"}},
            {"result": {"operations": [], "next": ""}, "metadata": {"next_cursor": "1-aaaaaaaa"}},
            {"result": {"operations": []}},
            {"error": {"code": "E_FROM_THE_FUTURE", "message": "m", "hint": "h", "details": {"a": 1}}},
            {"result": {"status": "error", "code": "E_MONEY", "message": "spent"}},
        ]
    )  # fmt: skip

    @asynccontextmanager
    async def transport():
        async def send(state: State) -> State:
            seen.append(state)
            return next(answers)

        yield send

    with Client(transport=transport) as preread:
        assert preread.load("checkout").dossier == "d"
        assert seen[0] == seen[1] == {"method": "context.load", "params": {"feature": "checkout"}}
        preread.send({})
        preread.send({})
        with pytest.raises(PrereadError) as caught:
            preread.status()
        assert (caught.value.code, caught.value.details) == ("E_INTERNAL", {"a": 1})
        with pytest.raises(PrereadError, match="E_MONEY: spent"):
            preread.load("checkout")


def test_a_client_that_was_not_entered_and_names_that_do_not_exist_are_mistakes() -> None:
    preread = Client()
    with pytest.raises(RuntimeError, match="enter the client"):
        preread.status()
    for wrong in ("nosuch", "_private"):
        with pytest.raises(AttributeError, match=wrong):
            getattr(preread, wrong)
    with pytest.raises(AttributeError, match=r"knowledge\.nosuch"):
        preread.knowledge.nosuch  # noqa: B018
    with pytest.raises(TypeError, match="positional"):
        preread.show("a", "b", "c")
    with pytest.raises(TypeError, match="multiple values"):
        preread.show("a", feature="b")


def test_the_types_are_those_of_the_registry() -> None:
    assert _client.PLACE.read_text() == _client.written(), "run python tests/_client.py"
    preread = Client()
    for operation in REGISTRY.values():
        category, _, verb = operation.name.partition(".")
        owner = preread if category == "context" else getattr(preread, category)
        assert callable(getattr(owner, verb))
        assert set(positional_params(operation.name)) <= set(operation.request.model_fields)
    assert len(REGISTRY) > 50
    assert "E_INTERNAL" in CODES


def test_importing_the_client_imports_neither_the_sdk_nor_pydantic() -> None:
    script = "import sys, json, preread.client; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], env=child_environ(), capture_output=True, text=True
    )
    heavy = {"mcp", "pydantic", "anyio", "asyncio", "rich", "click", "preread.operations"}
    assert heavy & set(json.loads(done.stdout)) == set()


def test_the_document_lists_what_clients_can_do() -> None:
    text = (ROOT / "docs" / "client.md").read_text()
    for name in (
        "Client",
        "AsyncClient",
        "over_stdio",
        "Client.over_websocket",
        "send",
        "PrereadError",
    ):
        assert f"`{name}" in text
    assert inspect.signature(Client.over_stdio) == inspect.signature(AsyncClient.over_stdio)
