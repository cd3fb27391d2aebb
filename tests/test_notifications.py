"""Clients hear of dossiers that change, appear and go: one body, over every way to connect."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from itertools import count
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from _daemon import Daemon, daemon
from _mcp_process import connect
from _session_hooks import Scene
from conftest import git, make_repository, run_cli
from preread.gates import sessions
from preread.layout import Layout

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:resources/subscribe is removed"),
]
BOUND = 100.0  # seconds; the machine may be busy
SETTLED = 8.0  # in which a watcher begins, and looks at what changed
OFF = {"PREREAD_CLAUDE": "off"}
ERAS = ("legacy", "2026-07-28")
CODE = "LIMIT = 10\n\n\ndef make_{name}(user):\n    return user\n"
CHANGED = ("resources/updated", "dossier://login/patterns.md")
APPEARED = ("resources/updated", "dossier://cart/patterns.md")
LISTED = ("resources/list_changed", "")
Heard = list[tuple[str, str]]
Open = Callable[[Path, str, Heard], AbstractAsyncContextManager[Client]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    for name in ("login", "cart"):
        (folder / f"{name}.py").write_text(CODE.format(name=name))
    return folder


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with daemon(tmp_path_factory.mktemp("n")) as found:
        yield found


@pytest.fixture
def over_stdio() -> Open:
    return lambda root, era, heard: _told(connect(root, era, OFF), heard)


@pytest.fixture
def over_a_relay(running: Daemon) -> Open:
    env = {name: running.environ[name] for name in ("HOME", "XDG_RUNTIME_DIR", *OFF)}
    return lambda root, era, heard: _told(connect(root, era, env), heard)


@pytest.fixture
def over_http(running: Daemon) -> Open:
    @asynccontextmanager
    async def opened(root: Path, era: str, heard: Heard) -> AsyncIterator[Client]:
        running.allow(root)
        headers = {"authorization": f"Bearer {running.token('read', '--namespace', str(root))}"}
        async with httpx2.AsyncClient(headers=headers, timeout=BOUND) as wire:
            transport = streamable_http_client(f"{running.url}/mcp", http_client=wire)
            async with _told(Client(transport, mode=era), heard) as client:
                yield client

    return opened


@asynccontextmanager
async def _told(client: Client, heard: Heard) -> AsyncIterator[Client]:
    async def on_message(message: object) -> None:
        method = getattr(message, "method", "").removeprefix("notifications/")
        heard.append((method, str(getattr(getattr(message, "params", None), "uri", ""))))

    client.message_handler = on_message
    async with client:
        yield client


@asynccontextmanager
async def subscribed(client: Client, era: str, heard: Heard) -> AsyncIterator[None]:
    """Hear of the dossiers `login` and `cart`, and of the list, as the era has it."""
    uris = [CHANGED[1], APPEARED[1]]
    if era == "legacy":
        await client.list_resources()
        for uri in uris:
            await client.session.subscribe_resource(uri)
        yield
        return
    async with (
        client.listen(resource_subscriptions=uris, resources_list_changed=True) as stream,
        anyio.create_task_group() as tasks,
    ):

        async def listen() -> None:
            async for event in stream:
                uri = getattr(event, "uri", "")
                heard.append((CHANGED[0] if uri else LISTED[0], uri))

        tasks.start_soon(listen)
        yield
        tasks.cancel_scope.cancel()


async def preread(root: Path, *arguments: str) -> None:
    done = await anyio.to_thread.run_sync(lambda: run_cli(*arguments, cwd=root, env=OFF))
    assert done.status == 0, done


async def until_heard(
    heard: Heard, wanted: set[tuple[str, str]], work: Callable[[], Awaitable[object]]
) -> None:
    """Do it, and wait for all of these."""
    del heard[:]
    await work()
    while not wanted <= set(heard):  # noqa: ASYNC110 - it grows in another task
        await anyio.sleep(0.02)


async def change(root: Path, heard: Heard) -> None:
    """Change a cited line until it is heard: the watcher may have only just begun."""
    path, texts = root / "login.py", [CODE.format(name="login")]
    texts.append(texts[0].replace("10", "11"))
    while CHANGED not in heard:
        texts.reverse()
        path.write_text(texts[0])
        await anyio.sleep(1)


async def until_refreshed(root: Path) -> None:
    """The server brings a stale dossier up to date, though nobody has asked for it."""
    value = (root / "login.py").read_text().split("\n")[0]
    path = root / ".project" / "context" / "login" / "codebase.md"
    while f"`{value}`" not in path.read_text():  # noqa: ASYNC110 - another process writes it
        await anyio.sleep(0.1)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("way", ["over_stdio", "over_a_relay", "over_http"])
async def test_a_client_hears_of_what_changes_appears_and_goes(
    root: Path, way: str, era: str, request: pytest.FixtureRequest
) -> None:
    heard: Heard = []
    await preread(root, "load", "login", "--level", "light")
    with anyio.fail_after(BOUND):
        async with (
            request.getfixturevalue(way)(root, era, heard) as client,
            subscribed(client, era, heard),
        ):
            await until_heard(heard, {CHANGED}, partial(change, root, heard))
            assert APPEARED not in heard
            await until_refreshed(root)
            loaded = partial(preread, root, "load", "cart", "--level", "light")
            await until_heard(heard, {APPEARED, LISTED}, loaded)
            await until_heard(heard, {APPEARED, LISTED}, partial(preread, root, "remove", "cart"))
            left = {str(one.uri) for one in (await client.list_resources()).resources}
            assert CHANGED[1] in left
            assert APPEARED[1] not in left
            assert {uri for _, uri in heard} <= {CHANGED[1], APPEARED[1], ""}


@pytest.mark.parametrize("way", ["over_stdio", "over_http"])
async def test_a_client_hears_when_what_a_dossier_counts_changes(
    root: Path, way: str, request: pytest.FixtureRequest
) -> None:
    heard: Heard = []
    test = root / "test_other.py"
    test.write_text("def test_other():\n    assert 1\n")
    (root / "README.md").write_text("Tokens.\n")
    await preread(root, "load", "login", "--level", "light")
    codebase = root / ".project" / "context" / "login" / "codebase.md"
    assert "test names it" not in codebase.read_text()
    with anyio.fail_after(BOUND):
        async with (
            request.getfixturevalue(way)(root, "legacy", heard) as client,
            subscribed(client, "legacy", heard),
        ):
            await anyio.sleep(SETTLED)
            (root / "README.md").write_text("Tokens and more.\n")
            await anyio.sleep(SETTLED)
            assert heard == []

            async def count() -> None:
                test.write_text("def test_other():\n    assert make_login(1)\n")

            await until_heard(heard, {CHANGED}, count)
            while "1 test names it" not in codebase.read_text() or await stale(client):  # noqa: ASYNC110
                await anyio.sleep(0.02)  # it is being published
            assert hints(root) == set()


async def test_a_client_hears_of_the_files_that_change_appear_and_go(
    root: Path, over_stdio: Open
) -> None:
    heard: Heard = []
    await preread(root, "load", "login", "--level", "light")
    folder = root / ".project" / "context" / "login"
    added = folder / "anti-patterns.md"
    assert not added.exists()

    async def edit() -> None:
        """Until it is heard: the watcher may have only just begun."""
        while CHANGED not in heard:
            with (folder / "patterns.md").open("a") as file:
                file.write("\n<!-- later -->\n")
            await anyio.sleep(1)

    async def add() -> None:
        added.write_text("# Anti-patterns: login\n\n## Traps\n- `LIMIT = 10` (login.py:1)\n")

    async def remove() -> None:
        added.unlink()

    with anyio.fail_after(BOUND):
        async with over_stdio(root, "legacy", heard) as client:
            for one in (await client.list_resources()).resources:
                await client.session.subscribe_resource(str(one.uri))
            await client.session.subscribe_resource("dossier://login/anti-patterns.md")
            await until_heard(heard, {CHANGED}, edit)
            await anyio.sleep(SETTLED)
            uris = {uri for _, uri in heard}
            assert uris <= {CHANGED[1], "dossier://login/manifest.json"}
            for work in (add, remove):
                appeared = ("resources/updated", "dossier://login/anti-patterns.md")
                await until_heard(heard, {appeared, LISTED}, work)


def write(path: Path, limit: str) -> None:
    path.write_text(CODE.format(name=path.stem).replace("10", limit))


async def spoil(path: Path, heard: Heard, event: tuple[str, str]) -> None:
    """Change the file's cited line, each time to something new, until that is heard."""
    for value in map(str, count(11)):
        write(path, value)
        with anyio.move_on_after(1):
            while event not in heard:  # noqa: ASYNC110 - it grows in another task
                await anyio.sleep(0.02)
            return


async def stale(client: Client) -> set[str]:
    """The dossiers whose text says that it may be out of date."""
    found = set()
    listed = {str(one.uri) for one in (await client.list_resources()).resources}
    for uri in listed & {CHANGED[1], APPEARED[1]}:
        [content] = (await client.read_resource(uri)).contents
        text = str(getattr(content, "text", ""))
        assert text.startswith(("It may be out of date", "What is between"))
        found |= {uri} if text.startswith("It may") else set()
    return found


def hints(root: Path) -> set[str]:
    return {path.name for path in Layout(root).stale("login").parent.glob("*")}


def told_at_the_next_prompt(root: Path) -> str:
    """What a session that has read both dossiers is told; their hints may be older than that."""
    for feature in ("login", "cart"):
        sessions.use_dossier(str(root), "s-1", feature)
    scene = Scene(root, "s-1", {"CLAUDE_PROJECT_DIR": str(root)})
    event = scene.event("UserPromptSubmit", prompt="go on")
    return json.dumps(scene.answer(scene.start("user-prompt", event)))


@pytest.mark.parametrize(("way", "era"), [("over_a_relay", "legacy"), ("over_http", "2026-07-28")])
async def test_worktrees_of_one_repository_under_one_daemon_have_nothing_to_do_with_each_other(
    root: Path, way: str, era: str, request: pytest.FixtureRequest
) -> None:
    (root / ".git").rmdir()
    make_repository(root)
    other = root.parent / "other"
    git(root, "worktree", "add", "-q", "-b", "other", str(other))
    for tree in (root, other):
        for feature in ("login", "cart"):
            await preread(tree, "load", feature, "--level", "light")
        # the server refreshes no dossier that git tracks: it stays stale
        git(tree, "add", "-f", ".project/context")
        git(tree, "commit", "-qm", "dossiers")
        for feature in ("login", "cart"):
            await preread(tree, "load", feature, "--level", "light")
    one: Heard = []
    two: Heard = []
    opened = request.getfixturevalue(way)
    with anyio.fail_after(BOUND):
        async with (
            opened(root, era, one) as client,
            subscribed(client, era, one),
            opened(other, era, two) as second,
            subscribed(second, era, two),
        ):
            await until_heard(one, {CHANGED}, partial(spoil, root / "login.py", one, CHANGED))
            git(root, "commit", "-qam", "what one worktree commits")
            assert await stale(client) == {CHANGED[1], APPEARED[1]}  # rules have read both files
            assert await stale(second) == set()
            await until_heard(two, {APPEARED}, partial(spoil, other / "cart.py", two, APPEARED))
            assert CHANGED not in two
            assert APPEARED not in one
    assert (hints(root), hints(other)) == ({"login"}, {"cart"})
    told = told_at_the_next_prompt(root), told_at_the_next_prompt(other)
    assert [("login" in one, "cart" in one) for one in told] == [(True, False), (False, True)]


@pytest.mark.parametrize("era", ERAS)
async def test_clients_that_left_keep_nobody_from_hearing(
    root: Path, era: str, over_http: Open
) -> None:
    await preread(root, "load", "login", "--level", "light")
    gone: Heard = []
    heard: Heard = []
    with anyio.fail_after(BOUND):
        async with over_http(root, era, gone) as client, subscribed(client, era, gone):
            await until_heard(gone, {CHANGED}, partial(change, root, gone))
        del gone[:]
        async with over_http(root, era, heard) as client, subscribed(client, era, heard):
            await until_heard(heard, {CHANGED}, partial(change, root, heard))
    assert gone == []
