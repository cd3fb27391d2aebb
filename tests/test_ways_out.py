"""The real Claude Code: whatever goes wrong, a model that does what the block says can write.

Many ways to fail are met in one session: each changes something, makes the call that its block
named, and writes again. What the model is told tells them apart. A sample runs, one way of each
sort; with PREREAD_TEST_WHOLE=1 all of them do.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from _flow import LOAD, Flow, call_in
from _messages_api import (
    NO_CREDIT,
    NO_MODEL,
    TOO_LONG,
    UNAUTHORIZED,
    Answer,
    Block,
    MessagesAPI,
    Request,
    Script,
    text,
    tool,
)
from _whole import sized

MIN_WAYS, MAX_WAITS = 25, 60  # of different words, of all; seconds that the server may need
Arrange = Callable[["Scene", str], object]


class Scene:
    """The project and the program that builds, as a way to fail changes them, and as they were."""

    def __init__(self, flow: Flow, child: Path) -> None:
        self.flow, self.child = flow, child
        self.own = flow.project / ".project"
        self.gates = (self.own / "gates").read_bytes()

    def reset(self) -> None:
        # Moved, because the server may write in it just now.
        self.own.rename(Path(tempfile.mkdtemp(dir=self.flow.tmp)) / "before")
        self.own.mkdir()
        (self.own / "gates").write_bytes(self.gates)
        self.program(f'exec "{self.flow.claude}" "$@"')

    def program(self, script: str) -> None:
        """What is started as Claude Code for builds."""
        self.child.write_text(f"#!/bin/sh\n{script}\n")
        self.child.chmod(0o755)


def put(name: str, content: str = "in the way\n") -> Arrange:
    return lambda scene, feature: scene.flow.write(name.format(feature=feature), content)


def folder(name: str) -> Arrange:
    return lambda scene, feature: (scene.own / name.format(feature=feature)).mkdir(parents=True)


def starts(script: str) -> Arrange:
    return lambda scene, feature: scene.program(script)


def model(script: Script) -> Arrange:
    return lambda scene, feature: scene.flow.api.play(script, when=f"/{feature}.")


def outside(scene: Scene, _: str) -> None:
    elsewhere = scene.flow.tmp / "elsewhere"
    elsewhere.mkdir()
    (scene.own / "context").symlink_to(elsewhere)


def gone(scene: Scene, _: str) -> None:
    scene.child.unlink()


def not_executable(scene: Scene, _: str) -> None:
    scene.child.chmod(0o644)


def half_written(scene: Scene, feature: str) -> None:
    scene.flow.write(f"context/{feature}/patterns.md", "")
    scene.flow.write(f"context/{feature}/manifest.json", "{")


class Way(NamedTuple):
    """What goes wrong, and what the reply says of it."""

    arrange: Arrange
    told: str
    call: dict[str, Any] = {}  # noqa: RUF012 - of the call, besides the feature


STANDARD = {"level": "standard"}
EVERY = {
    "unknown-key": Way(put("config.toml", "colour = 1\n"), "colour"),
    "bad-toml": Way(put("config.toml", "level = \n"), "line 1, is not TOML: Invalid value"),
    "bad-value": Way(put("config.toml", 'max_facts = "many"\n'), "max_facts"),
    "config-folder": Way(folder("config.toml"), "config.toml is not a file"),
    "config-bytes": Way(put("config.toml", "level = '\x00'\n"), "Found invalid character"),
    "context-file": Way(put("context"), "context/context-file cannot be written"),
    "cache-file": Way(put(".cache"), ".cache/locks cannot be written: Not a directory"),
    "staging-file": Way(put(".cache/staging"), ".cache/staging cannot be written"),
    "locks-file": Way(put(".cache/locks"), ".cache/locks cannot be written: File exists"),
    "state-file": Way(put(".state"), "/.state"),
    "dossier-file": Way(put("context/{feature}"), "dossier-file/patterns.md cannot be written"),
    "summary-folder": Way(folder("context/{feature}/summary.md"), "summary.md is a folder"),
    "context-outside": Way(outside, "E_OUTSIDE"),
    "not-logged-in": Way(model(lambda _: UNAUTHORIZED), "E_LOGIN", STANDARD),
    "no-credit": Way(model(lambda _: NO_CREDIT), "no credit left", STANDARD),
    "no-model": Way(model(lambda _: NO_MODEL), "E_MODEL", STANDARD),
    "too-long": Way(model(lambda _: TOO_LONG), "the prompt is too long", STANDARD),
    "no-drafts": Way(model(lambda _: [text("Done.")]), "E_DRAFTS", STANDARD),
    "program-gone": Way(gone, "there is no Claude Code program", STANDARD),
    "not-executable": Way(not_executable, "is not executable", STANDARD),
    "program-old": Way(starts("echo 1.0.0"), "1.0.0 is too old", STANDARD),
    "program-fails": Way(starts("echo 'cannot link' >&2; exit 1"), "cannot link", STANDARD),
    "program-mute": Way(
        starts('[ "$1" = --version ] && echo 2.1.329; exit 0'), "without a result", STANDARD
    ),
    "broken-template": Way(
        put("prompts/context-builder.md.j2", "{{ nothing.at.all }}"),
        "Preread's own template was used instead",
        STANDARD,
    ),
    "no-such-ticket": Way(lambda *_: None, "NO-1", {"ticket": "NO-1"}),
    # Repaired without a word.
    "damaged-index": Way(put(".cache/index.db"), '"ok"'),
    "half-written": Way(half_written, '"ok"'),
    "killed-build": Way(put(".cache/building/{feature}", "99999999999\n"), '"ok"'),
}
SILENT = '"ok"'
SAMPLE = (
    "bad-toml",
    "context-file",
    "summary-folder",
    "not-logged-in",
    "program-fails",
    "damaged-index",
)
WAYS = sized({name: EVERY[name] for name in SAMPLE}, EVERY)


def test_a_model_that_does_what_the_block_says_can_write(
    claude: Path, api: MessagesAPI, tmp_path: Path
) -> None:
    flow = Flow(claude, api, tmp_path)
    child = tmp_path / "program"
    flow.environ |= {"PREREAD_LEVEL": "light", "PREREAD_CLAUDE": str(child)}
    scene = Scene(flow, child)
    first = {name: flow.spec(f"tests/{name}.spec.ts") for name in WAYS}
    again = {name: flow.spec(f"tests/{name}.spec.ts") for name in WAYS}
    calls: dict[str, Block] = {}

    def script(request: Request) -> Answer:
        told = {result.id: result.text for result in request.results}
        if LOAD not in request.tools and request.turn < MAX_WAITS:
            return [tool("Bash", command="sleep 1")]
        if next(iter(first.values()))["id"] not in told:
            return list(first.values())
        made = list(calls)
        if made and again[made[-1]]["id"] not in told:
            return [again[made[-1]]]
        if len(made) == len(WAYS):
            return [text("Done.")]
        name = list(WAYS)[len(made)]
        scene.reset()
        WAYS[name].arrange(scene, name)
        named = call_in(told[first[name]["id"]])
        calls[name] = tool(named["name"], **named["input"], **WAYS[name].call)
        return [calls[name]]

    scene.reset()
    seen = flow.session(script)
    assert [name for name in WAYS if not seen.told(first[name])[1]] == []
    blocked = {name: seen.told(again[name])[0] for name in WAYS if seen.told(again[name])[1]}
    assert blocked == {}
    assert [name for name in WAYS if not flow.there(f"tests/{name}.spec.ts")] == []
    replies = {name: seen.told(calls[name])[0] for name in WAYS}
    lacking = {name: reply for name, reply in replies.items() if WAYS[name].told not in reply}
    assert lacking == {}
    assert len({way.told for way in EVERY.values()} - {SILENT}) >= MIN_WAYS
