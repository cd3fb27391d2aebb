"""What the gates cost a tool call: the shipped hooks as processes, against a shell that does
nothing.

    python bench/gates.py [--runs 200] [--python FILE]

Each round runs every case once, so that a machine whose speed drifts drifts for all of them alike.
Prints medians and their ratio to `bash -c :`, the least of each, and what is to be held:
`bench/README.md` has the figures.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

HOOKS = Path(__file__).resolve().parents[1] / "hooks"
BASELINE = "`bash -c :`"
HERE_DOCUMENT = "cat > tests/cart.spec.ts <<'END'\nit('adds')\nEND"


def project(root: Path, rules: int) -> Path:
    """A project with so many rules, and one standing dossier."""
    names = [f"packages/part{number}/**/{{feature}}.check.ts" for number in range(rules - 1)]
    place = root / f"rules{rules}"
    dossier = place / ".project" / "context" / "login"
    dossier.mkdir(parents=True)
    (place / "tests").mkdir()
    (place / ".project" / "gates").write_text("\n".join([*names, "**/{feature}.spec.ts", ""]))
    for name in ("patterns.md", "codebase.md", "summary.md"):
        (dossier / name).write_text("- a fact\n")
    return place


def event(place: Path, tool: str, **fields: str) -> bytes:
    """An event as Claude Code sends it."""
    sent = {
        "session_id": "597d140e-6480-496a-ab20-8bfc3962013a",
        "transcript_path": "/srv/person/.claude/projects/-home-person-shop/597d140e-6480-496a-ab20-8bfc3962013a.jsonl",
        "cwd": str(place),
        "prompt_id": "01c6eb09-85c2-47bb-b9e1-faf91760e835",
        "permission_mode": "default",
        "effort": {"level": "medium"},
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": fields,
        "tool_use_id": "toolu_000009",
    }
    return json.dumps(sent, separators=(",", ":"), ensure_ascii=False).encode()


def cases(root: Path) -> dict[str, tuple[list[str], bytes, str]]:
    """Name -> command, input, and the bound that is to be held."""
    few, many = project(root, 5), project(root, 50)
    files, agents = [str(HOOKS / "pre-spec-write")], [str(HOOKS / "pre-task-gate")]
    text = "const answer = 42\n"

    def write(place: Path, name: str, size: int) -> bytes:
        return event(
            place,
            "Write",
            file_path=str(place / name),
            content=(text * (size // len(text) + 1))[:size],
        )

    edit = event(
        few, "Edit", file_path=str(few / "src/cart.ts"), old_string=text * 20, new_string=text * 25
    )
    build = event(few, "Bash", command="npm run build 2>&1 | tail -20", description="Build")
    document = event(few, "Bash", command=HERE_DOCUMENT, description="Write")
    planner = event(
        few,
        "Agent",
        description="plan",
        prompt="feature: cart",
        subagent_type="preread:test-planner",
    )
    return {
        BASELINE: (["/bin/bash", "-c", ":"], b"", ""),
        "no rule: Write of 4 KB": (files, write(few, "src/cart.ts", 4000), "4"),
        "no rule: Write, 50 rules": (files, write(many, "src/cart.ts", 4000), "2 × 5 rules"),
        "no rule: Edit": (files, edit, "4"),
        "no rule: Bash": (files, build, "4"),
        "block: Write of 4 KB": (files, write(few, "tests/cart.spec.ts", 4000), "15"),
        "block: Write, 50 rules": (files, write(many, "tests/cart.spec.ts", 4000), "2 × 5 rules"),
        "pass, dossier stands": (files, write(few, "tests/login.spec.ts", 4000), "15"),
        "block: Bash, here-document": (files, document, "15"),
        "block: an agent": (agents, planner, ""),
        "no rule: Write of 300 KB": (files, write(few, "src/cart.ts", 300_000), "25"),
        "block: Write of 300 KB": (files, write(few, "tests/cart.spec.ts", 300_000), "25"),
        "block: Write of 5 MB": (files, write(few, "tests/cart.spec.ts", 5_000_000), "0.2 s"),
        "block: Write of 10 MB": (files, write(few, "tests/cart.spec.ts", 10_000_000), "2 × 5 MB"),
    }


def seconds(command: list[str], data: bytes, environ: dict[str, str]) -> float:
    """One run, from the start of its process to its end."""
    reads, writes = os.pipe()
    silent = os.open(os.devnull, os.O_WRONLY)
    fed = len(data) < 60_000  # what a pipe holds
    if fed:
        os.write(writes, data)
        os.close(writes)
    actions = [(os.POSIX_SPAWN_DUP2, reads, 0), (os.POSIX_SPAWN_DUP2, silent, 1)]
    began = time.perf_counter()
    child = os.posix_spawn(command[0], command, environ, file_actions=actions)
    os.close(reads)
    if not fed:
        with os.fdopen(writes, "wb") as pipe:
            pipe.write(data)
    _, status = os.waitpid(child, 0)
    took = time.perf_counter() - began
    os.close(silent)
    if status:
        sys.exit(f"{command[0]} ended with {status}")
    return took


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--python", help="the Python that hooks find first; else they look on PATH")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "plugin data"
        data.mkdir()
        if chosen.python:
            (data / "python").symlink_to(shutil.which(chosen.python) or chosen.python)
        kept = ("PATH", "HOME", "LANG")
        environ = {
            "CLAUDE_PLUGIN_DATA": str(data),
            **{name: os.environ[name] for name in kept if name in os.environ},
        }
        rows = cases(Path(folder))
        times: dict[str, list[float]] = {name: [] for name in rows}
        for command, sent, _ in rows.values():  # the first run compiles
            seconds(command, sent, environ)
        for _ in range(chosen.runs):
            for name, (command, sent, _) in rows.items():
                times[name].append(seconds(command, sent, environ))
    base = statistics.median(times[BASELINE])
    print(
        "| what | median, ms | × | least, ms | × | bound |\n| --- | --- | --- | --- | --- | --- |"
    )
    for name, (_, _, bound) in rows.items():
        middle, least = statistics.median(times[name]), min(times[name])
        ratios = f"{middle / base:.1f}", f"{least / min(times[BASELINE]):.1f}"
        print(
            f"| {name} | {middle * 1000:.1f} | {ratios[0]} | {least * 1000:.1f} | {ratios[1]} | "
            f"{bound} |"
        )


if __name__ == "__main__":
    main()
