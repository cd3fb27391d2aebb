"""Hook and reference on the same event: where they differ, and the two ways to ask the hook."""

import random
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import _gate_reference as reference
from _gate_events import Event, Events
from _gate_rows import Said, agrees, read_answer, run_hook
from _gate_worlds import world
from preread.gates import entry, events

Ask = Callable[[Event, Path], Said]
EVENTS_OF_A_WORLD = 100


def by_process(event: Event, cwd: Path) -> Said:
    return run_hook(event.hook, event.data, event.env, cwd)


def by_import(event: Event, _: Path) -> Said:
    """The gates in this process, as preread/gates/entry.py calls them, without the bash front."""
    if event.env.get("PREREAD_CHILD") or event.env.get("PREREAD_GATES") == "off":
        return Said("pass", "", "")
    module, function = entry.HOOKS[event.hook]
    decide: Any = getattr(import_module(f"preread.gates.{module}"), function)
    try:
        answer = decide(events.read(event.data), event.env)
    except events.InvalidEvent as error:
        answer = events.failure(str(error))
    return read_answer(events.encode(answer).encode("ascii"))


def difference(event: Event, said: Said, asked: set[tuple[str, str]]) -> str:
    """What the reference says otherwise; empty where they agree."""
    try:
        reference.parse(event.data)
    except reference.InvalidEventError:
        meant: Any = "let through"
        if said.kind in {"pass", "failure"}:
            return ""
    else:
        meant = reference.decide(event.hook, event.data, event.env, asked)
        if agrees(said, meant):
            return ""
    call = f"{event.hook} {event.env}\n{event.data[:3000]!r}"
    return f"{call}\n  hook:      {said}\n  reference: {meant}"


def one_world(seed: str, number: int, folder: Path, ask: Ask) -> Iterator[str]:
    """The differences in one project, for so many events."""
    rng = random.Random(f"{seed} {number}")
    base = folder / f"w{number}"
    base.mkdir(parents=True)
    cwd = base / "cwd"
    cwd.mkdir()
    asked = set[tuple[str, str]]()
    events = Events(rng, world(rng, base))
    for _ in range(EVENTS_OF_A_WORLD):
        event = events.event()
        try:
            said = ask(event, cwd)
        except Exception as error:
            yield f"{event.hook} {event.env}\n{event.data[:3000]!r}\n  hook:      {error!r}"
            continue
        if found := difference(event, said, asked):
            yield f"world {number}: {found}"
    for path in (*cwd.iterdir(), *base.rglob("pwned*")):
        yield f"world {number}: {path} was made"


def compare(seed: str, events: int, ask: Ask, workers: int = 1) -> tuple[int, list[str]]:
    """How many events were compared, and where hook and reference differ."""
    worlds = range(-(-events // EVENTS_OF_A_WORLD))
    with (
        tempfile.TemporaryDirectory(prefix="gates-") as folder,
        ThreadPoolExecutor(workers) as pool,
    ):
        found = pool.map(
            lambda number: list(one_world(seed, number, Path(folder).resolve(), ask)), worlds
        )
        return len(worlds) * EVENTS_OF_A_WORLD, [
            each for differences in found for each in differences
        ]
