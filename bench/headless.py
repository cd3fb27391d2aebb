"""What Preread adds around the headless child: everything of a `load` but the child's own run.

    python bench/headless.py   the example shop, and 1,600 made files

PREREAD_TEST_CLAUDE names the program.

The real Claude Code, with a scripted model (tests/_messages_api.py), so its own run is short and
costs nothing. A wrapper around it notes when each of its runs begins and ends; the difference to
the whole is Preread's. Every figure is a median of builds that draft four files anew (`force`) with
a warm index: by a server that is running, from a call to its reply, and by a command, from the
start of its process to its end.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import anyio

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "server"), str(ROOT / "bench")]

from load import make_repository  # noqa: E402 - found by the line above

from _claude import bare_environ, installed  # noqa: E402
from _headless import output  # noqa: E402
from _mcp_process import connect  # noqa: E402
from _messages_api import Answer, MessagesAPI, Request, text, tool  # noqa: E402

WRAPPER = """#!/bin/sh
begun=$(date +%s%N)
"{claude}" "$@"
status=$?
echo "$1 $begun $(date +%s%N)" >> "{log}"
exit $status
"""
LEFT_OUT = shutil.ignore_patterns(
    "node_modules", "__pycache__", ".cache", ".state", "context", "dist"
)
PARTS = (
    "until Claude Code is asked for its version",
    "that answer",
    "until it runs",
    "after its run",
)
ASKED = ["--force", "--level", "standard"]
BASELINE = (
    "import click, pydantic, anyio, asyncio"  # what any command line of this kind has to import
)
MOST = {"patterns": 20, "codebase": 12, "existing-tests": 6, "summary": 4}  # facts in each draft
TITLES = {
    "patterns": "Patterns",
    "codebase": "Codebase",
    "existing-tests": "Existing tests",
    "summary": "Summary",
}


def drafts(project: Path, feature: str, cited: str) -> dict[str, str]:
    """Four files of facts that hold: lines of one source file, quoted."""
    rows = (project / cited).read_text().split("\n")
    facts = [
        f"- a line of it: `{row.strip()}` ({cited}:{n})"
        for n, row in enumerate(rows, 1)
        if usable(row)
    ]
    found = {}
    for name, most in MOST.items():
        found[f"{name}.md"] = (
            f"# {TITLES[name]}: {feature}\n\n## Lines\n" + "\n".join(facts[:most]) + "\n"
        )
        facts = facts[most:] or facts
    return found


def usable(row: str) -> bool:
    return len(row.strip()) > 12 and "`" not in row and "(" not in row


def script(project: Path, feature: str, cited: str) -> Callable[[Request], Answer]:
    """A model that reads the file, then writes the drafts."""

    def answer(request: Request) -> Answer:
        if request.turn == 0:
            return [tool("Read", file_path=str(project / cited))]
        if request.turn == 1:
            written = drafts(project, feature, cited).items()
            return [
                tool("Write", file_path=str(output(request) / name), content=told)
                for name, told in written
            ]
        return [text("Done.")]

    return answer


class Bench:
    """One project, the environment of builds in it, and the notes of the wrapper."""

    def __init__(self, project: Path, feature: str, folder: Path, api: MessagesAPI) -> None:
        self.project, self.feature, self.log = project, feature, folder / "log"
        wrapper, home = folder / "claude", folder / "home"
        home.mkdir()
        wrapper.write_text(WRAPPER.format(claude=installed(), log=self.log))
        wrapper.chmod(0o755)
        paths = {"PREREAD_CLAUDE": str(wrapper), "PYTHONPATH": str(ROOT / "server")}
        self.environ = {**bare_environ(api, home), **paths}

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            check=False, cwd=self.project, env=self.environ, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            sys.exit(f"{arguments} failed: {done.stdout[:2000]}\n{done.stderr}")
        return done.stdout + done.stderr

    def parts(self, begun: float, ended: float) -> list[float]:
        """The seconds of each part of a build, the child's own run last."""
        rows = map(str.split, self.log.read_text().splitlines())
        runs = {name: (int(a) / 1e9, int(b) / 1e9) for name, a, b in rows}
        self.log.unlink()
        (asked, answered), (started, over) = runs["--version"], runs["-p"]
        return [asked - begun, answered - asked, started - answered, ended - over, over - started]

    def by_command(self) -> list[float]:
        begun = time.time()
        told = self.run("-m", "preread", "load", self.feature, *ASKED)
        ended = time.time()
        if not told.startswith("ok: built by claude (standard)"):
            sys.exit(f"no build by the model: {told[:2000]}")
        return self.parts(begun, ended)

    async def by_server(self, runs: int) -> list[list[float]]:
        found = []
        async with connect(self.project, env=self.environ, name="claude-code") as client:
            for _ in range(runs + 1):  # the first loads what builds
                begun = time.time()
                given = {"feature": self.feature, "force": True, "level": "standard"}
                reply = (await client.call_tool("load_context", given)).structured_content
                found.append(self.parts(begun, time.time()))
                if (reply["status"], reply["builder"]) != ("ok", "claude"):
                    sys.exit(f"no build by the model: {reply}")
        return found[1:]

    def imports(self) -> float:
        """Seconds of imports in one build, as Python itself counts them, which takes its time too."""
        rows = self.run(
            "-X", "importtime", "-m", "preread", "load", self.feature, *ASKED
        ).splitlines()
        counted = (
            row.split("|")[0].removeprefix("import time:").strip() for row in rows if "|" in row
        )
        return sum(int(number) for number in counted if number.isdigit()) / 1e6


def show(how: str, found: list[list[float]]) -> None:
    whole = [sum(parts[:-1]) for parts in found]
    *ours, child = (statistics.median(seconds) for seconds in zip(*found, strict=True))
    print(
        f"  {how}: {statistics.median(whole):.2f} s ({min(whole):.2f} to {max(whole):.2f}), child "
        f"{child:.2f} s"
    )
    for part, seconds in zip(PARTS, ours, strict=True):
        print(f"    {seconds:.3f} s  {part}")


def measure(name: str, project: Path, feature: str, cited: str, runs: int) -> None:
    with MessagesAPI() as api, tempfile.TemporaryDirectory() as folder:
        bench = Bench(project, feature, Path(folder), api)
        api.play(script(project.resolve(), feature, cited))
        bench.by_command()  # compiles what is imported, fills the index
        print(name)
        show("by a running server", anyio.run(bench.by_server, runs))
        show("by a command", [bench.by_command() for _ in range(runs)])
        base = []
        for _ in range(runs):
            begun = time.time()
            bench.run("-c", BASELINE)
            base.append(time.time() - begun)
        print(f"    {bench.imports():.3f} s  of it are imports, counted in a run of their own")
        print(f"    {statistics.median(base):.3f} s  is the baseline: {BASELINE}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    if installed() is None:
        sys.exit("Claude Code is not installed for tests; README.md says how.")
    with tempfile.TemporaryDirectory() as folder:
        shop = Path(folder) / "shop"
        shutil.copytree(ROOT / "examples" / "shop", shop, ignore=LEFT_OUT)
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "The shop"]):
            who = ["-c", "user.name=Bench", "-c", "user.email=bench@example.org"]
            subprocess.run(["git", *who, *command], cwd=shop, check=True, capture_output=True)
        measure("the example shop", shop, "checkout", "api/shop/checkout.py", runs)
        made = Path(folder) / "made"
        make_repository(made, 1600)
        measure("1,600 made files", made, "cart", "shop/cart/cart_0.py", runs)


if __name__ == "__main__":
    main()
