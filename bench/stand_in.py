#!/usr/bin/env python3
"""A stand-in for Claude Code: somebody else is the model, and works through files.

    STAND_IN=DIR PREREAD_CLAUDE=bench/stand_in.py PREREAD_TIMEOUT=3600 preread load FEATURE --level full

Each run gets a folder of its own, DIR/N. It writes the prompt there as `message-1.md` and waits.
Whoever plays the model, knowing nothing but that file, reads the project, writes drafts into the
output directory that it names, and creates `done-1`. If Preread sends drafts back, that is
`message-2.md`; after the corrections comes `done-2`. What the output directory held each time is
kept in `round-1` and `round-2`, to be compared with what was published. `python bench/stand_in.py
--report DIR PROJECT FEATURE` counts.

The child of `preread agent KIND` is played in the same way: its prompt names no output directory,
it works in the folder that `folder` names, and its last words are what `answer-1` says.

The time in the prompt is what a build has by default, SECONDS, not the hour of the waiting.
"""

import json
import os
import re
import shutil
import sys
import time
from pathlib import Path

VERSION = "2.1.329"
SECONDS, COST_USD = {"standard": 192, "full": 432}, 0.01
TOOLS = ["Read", "Grep", "Glob", "Write", "Edit"]


def tell(kind: str, **fields: object) -> None:
    print(json.dumps({"type": kind, **fields}), flush=True)


def own_folder() -> Path:
    top = Path(os.environ["STAND_IN"])
    for number in range(1, 1000):
        try:
            (top / str(number)).mkdir(parents=True)
        except FileExistsError:
            continue
        return top / str(number)
    raise SystemExit(f"{top} is full")


def converse() -> None:
    folder = own_folder()
    known = {"claude_code_version": VERSION, "tools": TOOLS, "mcp_servers": []}
    tell("system", subtype="init", model="stand-in", **known)
    (folder / "folder").write_text(str(Path.cwd()), encoding="utf-8")
    output = None
    for turn, line in enumerate(sys.stdin, 1):
        text = json.loads(line)["message"]["content"][0]["text"]
        if turn == 1:
            named = re.search(r"^Output directory: (.+)$", text, re.MULTILINE)
            output = Path(named[1]) if named else None
            level = "full" if "`anti-patterns.md`, `# " in text else "standard"
            text = re.sub(r"About \d+ seconds", f"About {SECONDS[level]} seconds", text)
        (folder / f"message-{turn}.md").write_text(text, encoding="utf-8")
        while not (folder / f"done-{turn}").exists():
            time.sleep(0.2)
        said = "Done."
        if output is None:
            said = (folder / f"answer-{turn}").read_text(encoding="utf-8")
        else:
            shutil.copytree(output, folder / f"round-{turn}")
        content = [{"type": "text", "text": said}]
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": str(turn), "model": "stand-in", "content": content, "usage": usage}
        tell("assistant", message=message)
        result = {"subtype": "success", "is_error": False, "result": said, "num_turns": 1}
        tell("result", total_cost_usd=COST_USD * turn, **result)


def facts(folder: Path) -> dict[str, int]:
    """The facts of each draft in a folder, as they were written."""
    return {
        path.name: len(re.findall(r"^- ", path.read_text(encoding="utf-8"), re.MULTILINE))
        for path in sorted(folder.glob("*.md"))
    }


def report(top: Path, project: Path, feature: str) -> None:
    """What each round wrote, what was sent back, what was dropped and cut in the end."""
    for folder in sorted((one for one in top.iterdir() if one.is_dir()), key=lambda one: one.name):
        for turn in (1, 2):
            written = facts(folder / f"round-{turn}")
            print(f"round {turn}: {sum(written.values())} facts in {written}" if written else "")
        sent = folder / "message-2.md"
        if sent.exists():
            print(
                "sent back:",
                *re.findall(r"^\S+\.md:\d+: .*$", sent.read_text(), re.MULTILINE),
                sep="\n  ",
            )
    record = json.loads((project / ".project/.state/runs" / f"{feature}.json").read_text())
    print("stats:", record["stats"])
    print("problems in the end:", *record["problems"], sep="\n  ")


if __name__ == "__main__":
    if "--version" in sys.argv:
        print(f"{VERSION} (Claude Code)")
    elif "--report" in sys.argv:
        report(Path(sys.argv[-3]), Path(sys.argv[-2]), sys.argv[-1])
    else:
        converse()
