"""A project, its scripted model, and the real `preread` processes that run there."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from _headless import headless, output
from _messages_api import Answer, Block, MessagesAPI, Request, text, tool
from _processes import bytes_of, left_behind, small
from conftest import Ran, run_cli
from preread.layout import Layout

DONE = [text("Done.")]


def writes(request: Request, files: Mapping[str, str]) -> list[Block]:
    """The calls that write these files into the folder that the prompt names."""
    folder = output(request)
    return [
        tool("Write", file_path=str(folder / name), content=content)
        for name, content in files.items()
    ]


def turns(*steps: Mapping[str, str] | Callable[[Request], Answer]) -> Callable[[Request], Answer]:
    """A model that takes one step per turn: files to write, or what a function answers."""

    def script(request: Request) -> Answer:
        if request.turn >= len(steps):
            return DONE
        step = steps[request.turn]
        return step(request) if callable(step) else writes(request, step)

    return script


class Scene:
    """The small project, and `preread` processes in it that run the real program."""

    def __init__(self, claude: Path, api: MessagesAPI, tmp_path: Path) -> None:
        self.claude, self.api, self.tmp = claude, api, tmp_path
        self.project = tmp_path / "p"
        self.cwd: Path | None = None

    def make(self, files: Mapping[str, str] | None = None, name: str = "p") -> "Scene":
        self.project = small(self.tmp / name, files)
        return self

    @property
    def layout(self) -> Layout:
        return Layout(self.project)

    def run(self, *arguments: str, **settings: object) -> Ran:
        env = headless(self.claude, self.api, self.tmp, **settings)
        return run_cli(*arguments, cwd=self.cwd or self.project, env=env)

    def load(self, *arguments: str, **settings: object) -> dict[str, Any]:
        """The reply of a load at level `standard`; nothing may be left behind."""
        level = () if "--level" in arguments else ("--level", "standard")
        done = self.run("load", "login", "--json", *level, *arguments, **settings)
        assert done.status == 0, done
        assert left_behind(self.project) == []
        return dict(done.json)

    @property
    def texts(self) -> dict[str, str]:
        return {
            name: data.decode()
            for name, data in bytes_of(self.project).items()
            if name.endswith(".md")
        }

    @property
    def manifest(self) -> dict[str, Any]:
        return dict(json.loads((self.layout.dossier("login") / "manifest.json").read_text()))

    @property
    def record(self) -> dict[str, Any]:
        return dict(json.loads(self.layout.run_record("login").read_text()))

    @property
    def ledger(self) -> list[dict[str, Any]]:
        path = self.layout.spending
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def codes(self) -> list[tuple[str, str]]:
        """File and code of each problem in the run's record."""
        found = [
            re.fullmatch(r"(\S+?):\d+: (E_\w+) .*", problem) for problem in self.record["problems"]
        ]
        return [(match[1], match[2]) for match in found if match]

    def results(self, calls: Sequence[Block]) -> list[tuple[str, bool]]:
        """The result of each call as the model saw it, and whether it failed."""
        told = {result.id: result for request in self.api.requests for result in request.results}
        return [(told[call["id"]].text, told[call["id"]].is_error) for call in calls]

    def holding(self, secret: str) -> list[str]:
        """Every place that a text came to: files of `.project`, requests to the model."""
        data = secret.encode()
        found = [
            path.relative_to(self.project).as_posix()
            for path in self.layout.project.rglob("*")
            if path.is_file() and data in path.read_bytes()
        ]
        return found + [
            f"request {n}" for n, request in enumerate(self.api.requests) if secret in request.whole
        ]
