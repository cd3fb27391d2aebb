"""The real Claude Code: whatever goes wrong, a model that does what the block says can write.

Many ways to fail are met in one session: each changes something, makes the call that its block
named, and writes again. What the model is told tells them apart. In the same session, messages with
several calls at once: writes beside the call that they need, and the same write twice.
"""

import tempfile
from collections.abc import Callable, Mapping
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
    Result,
    Script,
    text,
    tool,
)

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
        words = f"#!/bin/sh\n{script}\n"
        if not self.child.exists() or self.child.read_text() != words:  # another version otherwise
            self.child.write_text(words)
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
# The calls of one message, in their order: `load`, or the file that is written.
TOGETHER = {
    "load-before": ("load", "one"),
    "load-after": ("one", "two", "load"),
    "no-load": ("one", "one"),
}
BLOCKED = {"load-before": 0, "load-after": 2, "no-load": 2}


class Model:
    """A scripted model: it meets each way to fail, then sends messages with several calls."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.first = {name: self.write(name) for name in EVERY}
        self.again = {name: self.write(name) for name in EVERY}
        self.calls: dict[str, Block] = {}
        self.together = {
            name: [self.together_call(name, what) for what in calls]
            for name, calls in TOGETHER.items()
        }
        self.followed: dict[str, list[Block]] = {}  # what a block named, then the blocked write

    def write(self, name: str) -> Block:
        return self.scene.flow.spec(f"tests/{name}.spec.ts")

    def together_call(self, name: str, what: str) -> Block:
        return tool(LOAD, feature=name) if what == "load" else self.write(f"{what}/{name}")

    def __call__(self, request: Request) -> Answer:
        told = {result.id: result for result in request.results}
        if LOAD not in request.tools and request.turn < MAX_WAITS:
            return [tool("Bash", command="sleep 1")]
        if next(iter(self.first.values()))["id"] not in told:
            return list(self.first.values())
        made = list(self.calls)
        if made and self.again[made[-1]]["id"] not in told:
            return [self.again[made[-1]]]
        if len(made) < len(EVERY):
            name = list(EVERY)[len(made)]
            self.scene.reset()
            EVERY[name].arrange(self.scene, name)
            named = call_in(told[self.first[name]["id"]].text)
            self.calls[name] = tool(named["name"], **named["input"], **EVERY[name].call)
            # Half of them in one message with the write that it is for.
            own = [] if EVERY[name].call else [self.again[name]]
            return [self.calls[name], *own]
        for name in TOGETHER:
            if message := self.about(name, told):
                return message
        return [text("Done.")]

    def about(self, name: str, told: Mapping[str, Result]) -> list[Block]:
        """The next message of one of TOGETHER; empty when it is through."""
        blocks = self.together[name]
        if blocks[0]["id"] not in told:
            return blocks
        refused = [block for block in blocks if told[block["id"]].is_error]
        if refused and name not in self.followed:
            named = call_in(told[refused[0]["id"]].text)
            paths = {block["input"]["file_path"]: block["input"] for block in refused}
            self.followed[name] = [named, *(tool("Write", **each) for each in paths.values())]
            return [named]
        if refused and self.followed[name][1]["id"] not in told:
            return self.followed[name][1:]
        return []


def test_a_model_that_does_what_the_block_says_can_write(
    claude: Path, api: MessagesAPI, tmp_path: Path
) -> None:
    flow = Flow(claude, api, tmp_path)
    child = tmp_path / "program"
    flow.environ |= {"PREREAD_LEVEL": "light", "PREREAD_CLAUDE": str(child)}
    scene = Scene(flow, child)
    scene.reset()
    model = Model(scene)
    seen = flow.session(model)
    assert [name for name in EVERY if not seen.told(model.first[name])[1]] == []
    again = {name: seen.told(model.again[name]) for name in EVERY}
    assert {name: words for name, (words, is_error) in again.items() if is_error} == {}
    assert [name for name in EVERY if not flow.there(f"tests/{name}.spec.ts")] == []
    replies = {name: seen.told(model.calls[name])[0] for name in EVERY}
    lacking = {name: reply for name, reply in replies.items() if EVERY[name].told not in reply}
    assert lacking == {}
    assert len({way.told for way in EVERY.values()} - {SILENT}) >= MIN_WAYS

    refused = {
        name: sum(seen.told(block)[1] for block in blocks)
        for name, blocks in model.together.items()
    }
    assert refused == BLOCKED
    assert set(model.followed) == {name for name, times in BLOCKED.items() if times}
    done = {name: [seen.told(b) for b in blocks] for name, blocks in model.followed.items()}
    assert {name: told for name, told in done.items() if any(error for _, error in told)} == {}
    writes = [f"{what}/{name}" for name, calls in TOGETHER.items() for what in calls]
    missing = [w for w in writes if "load/" not in w and not flow.there(f"tests/{w}.spec.ts")]
    assert missing == []
