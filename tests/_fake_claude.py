"""A fake Claude Code that misbehaves in ways that the real one cannot be made to.

A behaviour is a piece of Python like `begin(); write(); result()`: see SPEECH, and PRELUDE in
_fake_programs.
"""

import json
import sys
import textwrap
from pathlib import Path

from _fake_programs import PRELUDE, lives
from _headless import STANDARD

HEAD = """#!{python} -IS
import sys
if "--version" in sys.argv:
    print({version!r})
    sys.exit()
sys.argv[1:] = [{pids!r}]
"""
SPEECH = '''
import json, re

def tell(kind, **fields):
    say(json.dumps({{"type": kind, **fields}}))

def begin():
    """Hear the prompt, and say which program this is."""
    global OUT
    prompt = json.loads(sys.stdin.readline())["message"]["content"][0]["text"]
    OUT = re.search(r"^Output directory: (.+)$", prompt, re.MULTILINE)[1]
    more = {{"claude_code_version": "2.1.329", "tools": [], "mcp_servers": []}}
    tell("system", subtype="init", model="claude-fake-1", **more)

def write(*names):
    """Good drafts: these files, by default all of a standard level."""
    global turns
    drafts = json.load(open({drafts!r}))
    for name in names or drafts:
        with open(os.path.join(OUT, name), "w") as file:
            file.write(drafts[name])
        turns += 1
        call = {{"type": "tool_use", "id": str(turns), "name": "Write"}}
        call["input"] = {{"file_path": name}}
        used = {{"input_tokens": 100, "output_tokens": 10}}
        message = {{"id": str(turns), "model": "claude-fake-1", "content": [call], "usage": used}}
        tell("assistant", message=message)

turns = 0

def result(**over):
    good = {{"subtype": "success", "is_error": False, "result": "Done.", "total_cost_usd": 0.25}}
    good["num_turns"] = turns
    tell("result", **{{**good, **over}})

def ready():
    """Let the test know that it is as far as the test wants it."""
    open({ready!r} + str(os.getpid()), "x").close()

def hold():
    """Wait until the test lets it go on."""
    while not os.path.exists({go!r}):
        time.sleep(0.01)
'''


class FakeClaude:
    """One such program, its runs, and what of them is left."""

    def __init__(
        self, folder: Path, behaviour: str, version: str = "2.1.329 (Claude Code)"
    ) -> None:
        self.path, self._go = folder / "claude", folder / "go"
        self._pids, self._ready = folder / "pids", folder / "ready"
        for place in (self._pids, self._ready):
            place.mkdir(parents=True)
        drafts = folder / "drafts.json"
        drafts.write_text(json.dumps(STANDARD))
        head = HEAD.format(python=sys.executable, version=version, pids=str(self._pids))
        speech = SPEECH.format(drafts=str(drafts), ready=f"{self._ready}/", go=str(self._go))
        self._parts = head, PRELUDE, speech
        self.behave(behaviour)

    def behave(self, behaviour: str) -> None:
        """Do otherwise from the next run on."""
        part = self.path.with_suffix(".part")
        part.write_text("".join(self._parts) + textwrap.dedent(behaviour))
        part.chmod(0o755)
        part.replace(self.path)

    def let_go(self) -> None:
        self._go.touch()

    def runs(self) -> int:
        """How many runs are, or were, as far as `ready`."""
        return len(list(self._ready.iterdir()))

    def started(self) -> set[int]:
        return {int(path.name) for path in self._pids.iterdir()}

    def left(self) -> set[int]:
        return {pid for pid in self.started() if lives(pid)}

    def forget(self) -> int:
        """Forget the processes that have ended, whose ids others may get; how many they are."""
        ended = self.started() - self.left()
        for pid in ended:
            (self._pids / str(pid)).unlink()
            (self._ready / str(pid)).unlink(missing_ok=True)
        return len(ended)


GOOD = "begin(); write(); result(); sys.stdin.read()"
# Works until it is asked to end, and then ends as the real one does: with a result.
WORKING = """
    def leave():
        aborted = {"terminal_reason": "aborted_streaming", "result": ""}
        result(subtype="error_during_execution", is_error=True, **aborted)
        os._exit(0)
    on(signal.SIGINT, leave)
    begin()
    ready()
    for_ever()
    """
# Ignores its input, and has three descendants that keep its output open: a child, an orphan, and
# an orphan without a mark.
STUBBORN = """
    ignore(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    begin()
    leave_behind(orphan=False)
    leave_behind()
    leave_behind(unmarked=True)
    ready()
    for_ever()
    """
