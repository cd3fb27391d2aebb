"""The real Claude Code with a server whose Python starts slowly, that starts twice, that dies."""

import json
import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from _flow import LOAD, Flow, Session
from _messages_api import Answer, MessagesAPI, Request, text, tool
from _whole import sized

# Claude Code gives up its probe for the newer protocol after 2.5 seconds.
DELAYS = sized((0.0, 2.4, 2.6, 10.0), (0.0, 1.2, 2.4, 2.6, 5.0, 10.0))
AT_ONCE = 3
MAX_WAITS, MAX_CALLS = 20, 5


def slow(claude: Path, api: MessagesAPI, tmp: Path, delay: float) -> Flow:
    """A project and a plugin whose Python takes so many seconds to start."""
    tmp.mkdir()
    flow = Flow(claude, api, tmp)
    flow.environ["PREREAD_LEVEL"] = "light"
    wrapper = tmp / "python"
    start = wrapper.read_text().replace("exec", f"sleep {delay}\nexec", 1)
    wrapper.write_text(start)
    return flow


def make_cold(flow: Flow) -> None:
    """Have the next start find that the server was never compiled, so that the relay is used."""
    data = flow.home / ".claude" / "plugins" / "data" / "preread-inline" / "pycache"
    compiled = data.resolve()
    data.unlink()
    being_written = shutil.ignore_patterns("*.pyc.*")
    shutil.copytree(compiled, data, copy_function=os.link, ignore=being_written)
    # Tests of this run that have a copy of the plugin compile it there, too.
    (found,) = data.joinpath(*flow.plugin.parts[1:]).glob("server/preread/mcp/server.*.pyc")
    found.unlink()


def loads(request: Request) -> Answer:
    """A model that loads a dossier as soon as it has the tool for it."""
    if replies(request):
        return [text("Done.")]
    if LOAD not in request.tools and request.turn < MAX_WAITS:
        return [tool("Bash", command="sleep 1")]
    return [tool(LOAD, feature="login")]


def replies(request: Request) -> list[str]:
    """The statuses of the replies, or the errors, of the calls so far."""
    found = [r for r in request.results if r.is_error or r.text.startswith("{")]
    return [r.text if r.is_error else json.loads(r.text)["status"] for r in found]


def loaded(session: Session) -> list[str]:
    return replies(session.own[-1])


def test_however_long_the_server_takes_to_start_its_calls_are_answered(
    claude: Path, api: MessagesAPI, tmp_path: Path
) -> None:
    warm = slow(claude, api, tmp_path / "warm", 0)
    api.play(loads, when="GO")
    assert loaded(warm.session(loads)) == ["ok"]

    flows = [slow(claude, api, tmp_path / f"cold {delay}", delay) for delay in DELAYS]
    for flow in flows:
        make_cold(flow)
    # The last one twice, at the same time.
    flows = [slow(claude, api, tmp_path / "warm 3", 3), *flows, flows[-1]]
    names = [flow.tmp.name for flow in flows]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        sessions = threads.map(lambda flow: flow.run(), flows)
        found = dict(zip([*names[:-1], "twice"], map(loaded, sessions), strict=True))
    assert set(map(tuple, found.values())) == {("ok",)}, found
    assert len(found) == len(DELAYS) + 2
    relayed = [flow for flow in flows if "--in-place mcp" in flow.starts.read_text()]
    assert len(relayed) == len(DELAYS) + 1


def test_a_server_that_dies_in_mid_session_is_started_again(
    claude: Path, api: MessagesAPI, tmp_path: Path
) -> None:
    flow = slow(claude, api, tmp_path / "a", 0)
    killed: list[int] = []

    def script(request: Request) -> Answer:
        done = replies(request)
        if not done:
            return loads(request)
        if len(done) == 1:
            killed.extend(kill_server(flow))
        is_over = len(done) > MAX_CALLS or (done[1:] and done[-1] == "ok")
        return [text("Done.")] if is_over else [tool(LOAD, feature="cart")]

    statuses = loaded(flow.session(script))
    assert len(killed) == 1
    assert statuses[0] == statuses[-1] == "ok", statuses
    assert len(statuses) in (2, 3)  # one call may find out that the server is gone


def kill_server(flow: Flow) -> list[int]:
    """End the servers of a home folder; their process ids."""
    found = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        words = process.info["cmdline"] or []
        own = (process.info["environ"] or {}).get("HOME") == str(flow.home)
        if own and words[-1:] == ["mcp"] and "runpy" in " ".join(words):
            process.send_signal(signal.SIGKILL)
            process.wait(30)
            found.append(process.pid)
    return found
