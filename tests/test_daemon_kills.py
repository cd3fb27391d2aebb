"""A daemon killed at any instant, while clients remember, build and read."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from _daemon import daemon
from _processes import left_behind, small
from preread.client import Client
from preread.dossier import published
from preread.errors import PrereadError
from preread.layout import Layout

KILLS = int(os.environ.get("PREREAD_TEST_DAEMON_KILLS", "2"))
EVERYBODY = ("a session", "remember", "load", "show")
BOUND = 60.0  # seconds in which a client has to be served again; the machine may be busy
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}  # fmt: skip


class Session:
    """An agent's client: `preread mcp` in front of the daemon."""

    def __init__(self, root: Path, environ: Mapping[str, str]) -> None:
        program = [sys.executable, "-m", "preread", "mcp", "--project", str(root)]
        self._process = subprocess.Popen(
            program, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._ids = count()
        self._ask("initialize", HELLO)
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _write(self, message: object) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _ask(self, method: str, params: object) -> Any:
        assert self._process.stdout
        ident = next(self._ids)
        self._write({"jsonrpc": "2.0", "id": ident, "method": method, "params": params})
        while (answer := json.loads(self._process.stdout.readline())).get("id") != ident:
            assert "method" in answer, "each request is answered once"
        return answer

    def remember(self, word: str) -> bool:
        """Whether it was answered; else the call failed because the daemon was killed."""
        state = {"method": "remember", "params": {"content": f"fact {word} by a session"}}
        call = {"name": "context_operation", "arguments": state}
        result = self._ask("tools/call", call)["result"]
        if result["isError"]:
            assert "Call again" in result["content"][0]["text"], result
        return not result["isError"]

    def end(self) -> None:
        with self._process:  # which closes its pipes
            assert self._process.stdin
            self._process.stdin.close()
            assert self._process.wait(BOUND) == 0


class Campaign:
    """The clients of one project, all through its kills, and what they were answered."""

    def __init__(self, root: Path, environ: Mapping[str, str]) -> None:
        self.root, self.environ = root, environ
        self.kept: list[str] = []  # what somebody was told is remembered
        self.wrong: list[str] = []
        self.ended, self.killed = threading.Event(), threading.Event()
        self.answered: Counter[str] = Counter()  # by whose call it was
        self.failed = 0
        self._words = map("marker-{:06d}x".format, count())

    def start(self) -> None:
        """Begin all clients, each in a thread; what one of them raises is wrong."""
        works = (self._remember, self._build, self._read, self._agents)
        self._threads = [threading.Thread(target=self._noted, args=(work,)) for work in works]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self.ended.set()
        for thread in self._threads:
            thread.join(BOUND)
            assert not thread.is_alive(), "a client hangs"

    def _noted(self, work: Any) -> None:
        try:
            work()
        except Exception as error:  # a thread's own end
            self.wrong.append(repr(error))

    def _ask(self, client: Client, method: str, **params: object) -> Any:
        """The result of a call by one client, which is repeated until a daemon answers it."""
        while True:
            try:
                answer = client.send({"method": method, "params": params})
            except PrereadError as error:
                if error.code != "E_SERVER":
                    raise
                self.failed += 1
                time.sleep(0.1)
                if self.ended.is_set():
                    return None
            else:
                assert answer.get("error") is None, answer
                self.answered[method] += 1
                return answer["result"]

    def _remember(self) -> None:
        with Client.over_socket(self.root, environ=self.environ) as client:
            while not self.ended.is_set():
                word = next(self._words)
                if self._ask(client, "remember", content=f"fact {word} by a client"):
                    self.kept.append(word)

    def _build(self) -> None:
        source = self.root / "login.py"
        text = source.read_text()
        with Client.over_socket(self.root, environ=self.environ) as client:
            for attempts in count(6):
                source.write_text(text.replace("ATTEMPTS = 5", f"ATTEMPTS = {attempts}"))
                self._ask(client, "load", feature="login", force=True, level="light")
                if self.ended.is_set():
                    return

    def _read(self) -> None:
        with Client.over_socket(self.root, environ=self.environ) as client:
            while not self.ended.is_set():
                shown = self._ask(client, "show", feature="login")
                if shown and shown["edited"]:
                    self.wrong.append(f"torn for a client: {shown['edited']}")

    def _agents(self) -> None:
        """One session after the other; each goes on after a kill: after a failed call at most."""
        while not self.ended.is_set():
            session = Session(self.root, self.environ)
            self.killed.clear()
            while not (self.killed.is_set() or self.ended.is_set()):
                self._heard(session)
            if not (self._heard(session) or self._heard(session)):
                self.wrong.append("a session is not served again")
            session.end()

    def _heard(self, session: Session) -> bool:
        word = next(self._words)
        is_kept = session.remember(word)
        self.kept += [word] * is_kept
        self.answered["a session"] += is_kept
        self.failed += not is_kept
        return is_kept

    def recovered(self) -> bool:
        """Whether everybody is answered now."""
        before, until = Counter(self.answered), time.monotonic() + BOUND
        while time.monotonic() < until:
            if all(self.answered[who] > before[who] for who in EVERYBODY):
                return True
            time.sleep(0.05)
        return False

    def check_dossier(self) -> None:
        """That it is whole now, when nobody finishes or repairs anything."""
        found = published.read(Layout(self.root), "login")
        if found is None or found.manifest is None or found.edited:
            self.wrong.append(f"torn: {found and found.edited}")
        elif found.manifest.files.keys() != found.texts.keys():
            self.wrong.append(f"torn: {sorted(found.manifest.files.keys() ^ found.texts.keys())}")


@pytest.mark.usefixtures("environment")
def test_nothing_is_torn_or_lost_and_every_client_recovers_by_itself(tmp_path: Path) -> None:
    """A sample; `PREREAD_TEST_DAEMON_KILLS=200` kills that often."""
    root, home, generator = small(tmp_path / "small"), tmp_path / "h", random.Random(KILLS)
    with daemon(home, "--socket") as running:
        campaign = Campaign(root, running.environ)
        with Client.over_socket(root, environ=running.environ) as client:
            client.load("login", level="light")
    campaign.start()
    try:
        for number in range(KILLS):
            with daemon(home, "--socket") as running:
                time.sleep(generator.uniform(0, 0.7))
                os.kill(running.pid, signal.SIGKILL)
                os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT)
            campaign.killed.set()
            campaign.check_dossier()
            if number % 2:  # so that sessions serve themselves meanwhile
                time.sleep(0.5)
        with daemon(home, "--socket"):
            assert campaign.recovered(), (campaign.answered, campaign.wrong)
            campaign.end()
            with Client.over_socket(root, environ=running.environ) as client:
                client.load("login", level="light", force=True)
            campaign.check_dossier()
    finally:
        campaign.ended.set()
    assert campaign.wrong == []
    text = Layout(root).knowledge.read_text()
    assert [word for word in campaign.kept if word not in text] == []
    assert campaign.failed >= KILLS
    assert len(campaign.kept) >= KILLS
    assert left_behind(root) == []
    about = f"{len(campaign.kept)} facts confirmed, {campaign.failed} calls failed"
    sys.stdout.write(f"{KILLS} kills, {about}, answered {dict(campaign.answered)}\n")
