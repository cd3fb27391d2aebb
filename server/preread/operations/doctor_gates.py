"""The doctor's checks of the gates: whether the hooks exist, run, are fast and have fired."""

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
from preread.gates import blocks, rules
from preread.infra import assets
from preread.infra.subprocesses import Done
from preread.operations import gates, hooks
from preread.operations.health import HealthCheck, fail, ok, warn
from preread.operations.hooks import Explained
from preread.services import Services

REINSTALL = "Run: pip install --upgrade preread, or clone the plugin again."
NAMED = re.compile(r"\$\{CLAUDE_PLUGIN_ROOT\}/hooks/([\w.-]+)")
RUNS, MAX_MS = 5, 50
MAX_SESSIONS = 1_000
ODD = re.compile(r"[\s{}]")
NOT_STARTED = 127


def checks(services: Services) -> Iterator[HealthCheck]:
    """The checks; all but the first need the hooks that it finds."""
    try:
        folder = hooks.folder()
        yield _installed(folder)
        yield _speed(services, folder)
        here = hooks.explain(services, str(services.layout.gates), services.layout.root)
    except PrereadError as error:
        yield fail("hooks", error.message, REINSTALL)
        return
    yield _gates(services, folder, here)
    yield _last_fired(services, gated=here.gates is not None)


def _installed(folder: Path) -> HealthCheck:
    """Whether each file that hooks.json names exists and is executable."""
    try:
        text = assets.text(folder / "hooks.json")
        events = json.loads(text)["hooks"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        return fail("hooks", f"{folder / 'hooks.json'} cannot be read: {error}", REINSTALL)
    names = sorted(set(NAMED.findall(text)))
    missing = [name for name in (*names, "hook.py") if not (folder / name).is_file()]
    if missing or not names:
        return fail("hooks", f"not in {folder}: {', '.join(missing) or 'any hook'}", REINSTALL)
    closed = [name for name in names if not os.access(folder / name, os.X_OK)]
    if os.name == "posix" and closed:
        return warn("hooks", f"not executable: {', '.join(closed)}", f"Run: chmod +x {folder}/*")
    return ok("hooks", f"{len(names)} for {len(events)} events in {folder}")


def _run_file_gate(services: Services, folder: Path, name: str) -> Done:
    """Run the file gate as Claude Code does, for a write of this file in the project."""
    event = {
        "session_id": blocks.PROBE,
        "cwd": str(services.layout.root),
        "hook_event_name": "PreToolUse",
        "tool_name": "Write",
        "tool_input": {"file_path": str(services.layout.root / name), "content": ""},
    }
    return services.run(
        ["bash", "-p", str(folder / "pre-spec-write")],
        cwd=services.layout.root,
        timeout=hooks.SECONDS,
        environ=services.program_environ,
        check=services.progress.check,
        feed=json.dumps(event, separators=(",", ":")).encode() + b"\n",
    )


def _speed(services: Services, folder: Path) -> HealthCheck:
    """The median time for an event that no rule matches; every write of a file waits this long."""
    spent = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        done = _run_file_gate(services, folder, ".preread-doctor")
        spent.append(1000 * (time.perf_counter() - begun))
        if done.status or done.timed_out:
            error = done.err.decode("utf-8", "replace").strip()[:200]
            why = "took too long" if done.timed_out else error
            # Without bash this is a warning: the check of the gates says what that means here.
            result = warn if done.status == NOT_STARTED else fail
            return result("speed", f"pre-spec-write cannot be run: {why}", "The hooks need bash.")
    median = statistics.median(spent)
    found = f"{median:.0f} ms for a write that no rule matches, the median of {RUNS} runs"
    if median > MAX_MS:
        hint = (
            f"More than {MAX_MS} ms is noticeable: is the machine busy, or python3 a slow wrapper?"
        )
        return warn("speed", found, hint)
    return ok("speed", found)


def _gates(services: Services, folder: Path, here: Explained) -> HealthCheck:
    """The project's mode as the hooks report it, and whether a hook run on its own agrees."""
    if here.broken is not None:
        hint = "Fix it: until then everything is let through."
        return fail("gates", gates.broken(here.broken), hint)
    if here.gates is None:
        return warn("gates", "no .project/gates, so nothing is gated", "Run: `preread init`")
    mode = f"mode {here.mode} ({here.mode_from})"
    if here.mode_from.endswith("gates-off"):
        return warn(
            "gates", f"switched off {gates.until(here)}", "Switch them on: `preread gates on`"
        )
    done = _run_file_gate(services, folder, services.layout.relative(services.layout.gates))
    if (b"permissionDecision" in done.out) != (here.decision == "block"):
        answer = done.out.decode("utf-8", "replace").strip()[:300] or "nothing"
        return fail(
            "gates",
            f"{mode}, but pre-spec-write says {answer}",
            "The hooks need bash, and a Python 3.8 or newer.",
        )
    if here.notes:
        return warn("gates", f"{mode}; ignored: {'; '.join(here.notes)}", "Fix it or remove it.")
    odd = _odd_rules(services)
    if odd:
        hint = (
            "`preread gates explain PATH` tries a rule. Only `*`, `?` and `{feature}` are special."
        )
        return warn("gates", f"{mode}; matches no file: {', '.join(odd)}", hint)
    return ok("gates", mode)


def _odd_rules(services: Services) -> list[str]:
    """Rules that look like a slip: no file matches, and they have a space or a literal brace."""
    found = rules.read(str(services.layout.root))
    listed = [] if found is None else found.rules
    odd = [one for one in listed if ODD.search(one.pattern.replace("{feature}", ""))]
    return [
        f"{one.text[:60]!r} (line {one.line})"
        for one in odd
        if all(rules.capture(one.pattern, path) is None for path in services.tree.files)
    ]


def _last_fired(services: Services, *, gated: bool) -> HealthCheck:
    """When a hook last wrote a record of a session in this project."""
    newest = max(_times(services.layout.sessions), default=0.0)
    if newest:
        return ok("fired", f"last at {time.strftime('%Y-%m-%d %H:%M', time.localtime(newest))}")
    if not gated:
        return ok("fired", "not yet here: the hooks do nothing where nothing is gated")
    return warn(
        "fired",
        "not yet here: is the plugin installed?",
        "README.md says how; then start a session here.",
    )


def _times(folder: Path) -> Iterable[float]:
    """The times of the sessions' folders and their entries, without those that just vanished."""
    for session in islice(_entries(folder), MAX_SESSIONS):
        for entry in (session, *_entries(Path(session.path))):
            with suppress(OSError):
                yield entry.stat(follow_symlinks=False).st_mtime


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
