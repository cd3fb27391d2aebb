"""What the doctor looks at of the gates: the hooks are there, run, are fast, have fired; what holds in the project."""

import json
import os
import re
import statistics
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from preread.errors import PrereadError
from preread.infra.subprocesses import Done
from preread.operations import gates, hooks
from preread.operations.hooks import Explained
from preread.operations.look import Look, fail, ok, warn
from preread.services import Services

AGAIN = "Run: pip install --upgrade preread, or clone the plugin again."
NAMED = re.compile(r"\$\{CLAUDE_PLUGIN_ROOT\}/hooks/([\w.-]+)")
TIMES, MOST_MS = 5, 50
MOST_SESSIONS = 1_000
NOT_STARTED = 127


def looks(services: Services) -> Iterator[Look]:
    """The looks, of which the later ones need the hooks of the first."""
    try:
        folder = hooks.folder()
        yield _there(folder)
        yield _speed(services, folder)
        here = hooks.explain(services, str(services.layout.gates), services.layout.root)
    except PrereadError as error:
        yield fail("hooks", error.message, AGAIN)
        return
    yield _gates(services, folder, here)
    yield _fired(services, gated=here.gates is not None)


def _there(folder: Path) -> Look:
    """Whether each file that hooks.json names is there and may be run."""
    try:
        text = (folder / "hooks.json").read_text(encoding="utf-8")
        events = json.loads(text)["hooks"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        return fail("hooks", f"{folder / 'hooks.json'} cannot be read: {error}", AGAIN)
    names = sorted(set(NAMED.findall(text)))
    missing = [name for name in (*names, "hook.py") if not (folder / name).is_file()]
    if missing or not names:
        return fail("hooks", f"not in {folder}: {', '.join(missing) or 'any hook'}", AGAIN)
    if os.name == "posix" and (
        closed := [name for name in names if not os.access(folder / name, os.X_OK)]
    ):
        return warn("hooks", f"not executable: {', '.join(closed)}", f"Run: chmod +x {folder}/*")
    return ok("hooks", f"{len(names)} for {len(events)} events in {folder}")


def _fire(services: Services, folder: Path, name: str) -> Done:
    """Run the gate on files as Claude Code does, for a write of this file in the project."""
    event = {
        "session_id": "doctor",
        "cwd": str(services.layout.root),
        "hook_event_name": "PreToolUse",
        "tool_name": "Write",
        "tool_input": {"file_path": str(services.layout.root / name), "content": ""},
    }
    return services.run(
        ["bash", "-p", str(folder / "pre-spec-write")],
        cwd=services.layout.root,
        timeout=hooks.SECONDS,
        environ=services.environ,
        check=services.progress.check,
        feed=json.dumps(event, separators=(",", ":")).encode() + b"\n",
    )


def _speed(services: Services, folder: Path) -> Look:
    """The median of a few runs for an event that no rule concerns: each write of a file waits for it."""
    spent = []
    for _ in range(TIMES):
        begun = time.perf_counter()
        done = _fire(services, folder, ".preread-doctor")
        spent.append(1000 * (time.perf_counter() - begun))
        if done.status or done.timed_out:
            why = (
                "took too long"
                if done.timed_out
                else done.err.decode("utf-8", "replace").strip()[:200]
            )
            look = (
                warn if done.status == NOT_STARTED else fail
            )  # what that means here, the look at the gates tells
            return look("speed", f"pre-spec-write cannot be run: {why}", "The hooks need bash.")
    median = statistics.median(spent)
    found = f"{median:.0f} ms for a write that no rule concerns, the median of {TIMES}"
    if median > MOST_MS:
        return warn(
            "speed",
            found,
            f"Above {MOST_MS} ms it is felt: is the machine busy, or python3 a slow wrapper?",
        )
    return ok("speed", found)


def _gates(services: Services, folder: Path, here: Explained) -> Look:
    """What holds in the project, by the hooks' own word; and that a hook which runs by itself says the same."""
    if here.broken is not None:
        return fail(
            "gates", gates.broken(here.broken), "Mend it: until then everything is let through."
        )
    if here.gates is None:
        return warn("gates", "no .project/gates, so nothing is gated", "Run: preread init")
    said = f"mode {here.mode} ({here.mode_from})"
    if here.mode_from.endswith("gates-off"):
        return warn(
            "gates", f"switched off {gates.until(here)}", "Switch them on again: preread gates on"
        )
    done = _fire(services, folder, services.layout.relative(services.layout.gates))
    if (b"permissionDecision" in done.out) != (here.decision == "block"):
        told = done.out.decode("utf-8", "replace").strip()[:300] or "nothing"
        return fail(
            "gates",
            f"{said}, but pre-spec-write says {told}",
            "The hooks need bash, and a Python 3.8 or newer.",
        )
    if here.notes:
        return warn("gates", f"{said}; ignored: {'; '.join(here.notes)}", "Mend it or remove it.")
    return ok("gates", said)


def _fired(services: Services, *, gated: bool) -> Look:
    """When a hook last remembered something of a session here."""
    newest = max(_times(services.layout.sessions), default=0.0)
    if newest:
        return ok("fired", f"last at {time.strftime('%Y-%m-%d %H:%M', time.localtime(newest))}")
    if not gated:
        return ok("fired", "not yet here: the hooks do nothing where nothing is gated")
    return warn(
        "fired",
        "not yet here: is the plugin installed?",
        "See README.md on the plugin, then begin a session here.",
    )


def _times(folder: Path) -> Iterable[float]:
    """The times of the sessions' folders and of what is right in them; one that goes meanwhile has none."""
    for session in islice(_entries(folder), MOST_SESSIONS):
        for entry in (session, *_entries(Path(session.path))):
            with suppress(OSError):
                yield entry.stat(follow_symlinks=False).st_mtime


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
