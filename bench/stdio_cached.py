"""A cached `load_context` against a tool that does nothing, on the same server over real stdio.

    PYTHONPATH=server python bench/stdio_cached.py [--calls 200] [--project DIR] [--feature NAME]
                                                   [--than DIR]

Without a project it takes a copy of the example shop in a new git repository.
Prints both medians and their ratio. `--than` is a checkout of another commit: the same is measured
on its server, with a copy of the project and a dossier of its own, by turns with this one.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters

ROOT = Path(__file__).resolve().parents[1]
BUDGET = {"PREREAD_MAX_FACTS": "60", "PREREAD_MAX_TOKENS": "4000", "PREREAD_CLAUDE": "off"}


def serve(project: Path) -> None:
    """The real server, with one tool more."""
    from mcp_types import Tool

    from preread.mcp import serve_stdio, tools
    from preread.models import Model

    class Nothing(Model):
        pass

    async def run(*_):
        return Nothing()

    rows = tools.rows
    nothing = tools.ToolRow(Tool(name="nothing", input_schema={"type": "object"}), run)
    tools.rows = lambda *given, **more: rows(*given, **more) | {"nothing": nothing}
    serve_stdio(project, os.environ)


def client(project: Path, code: Path) -> Client:
    """The client of a server that runs the code of a checkout; this one has one tool more."""
    own = [__file__, "--serve"] if code == ROOT else ["-m", "preread", "mcp"]
    server = StdioServerParameters(
        command=sys.executable,
        args=[*own, "--project", str(project)],
        env={"PYTHONPATH": str(code / "server"), "PATH": os.environ["PATH"], **BUDGET},
    )
    return Client(server, mode="legacy")


async def measure(places: dict[Path, Path], feature: str, calls: int) -> None:
    """`places` are projects by the code that serves them, this code first."""
    async with AsyncExitStack() as stack:
        clients = {
            code: await stack.enter_async_context(client(project, code))
            for code, project in places.items()
        }
        for one in clients.values():
            await one.list_tools()
            first = await one.call_tool("load_context", {"feature": feature})
            assert not first.is_error, first.content
        asked = [(clients[ROOT], "nothing"), *((one, "load_context") for one in clients.values())]
        times: list[list[float]] = [[] for _ in asked]
        for _ in range(calls):  # one after the other, so that a busy moment meets all
            for (one, name), taken in zip(asked, times, strict=True):
                given = {"feature": feature} if name == "load_context" else {}
                begun = time.perf_counter()
                reply = await one.call_tool(name, given)
                taken.append(time.perf_counter() - begun)
                assert name == "nothing" or reply.structured_content["state"] == "cached", reply
        for (_, name), code, taken in zip(asked, (ROOT, *clients), times, strict=True):
            shown = f"{statistics.median(taken) * 1000:8.3f} ms, least {min(taken) * 1000:.3f}"
            print(f"{name:12} {shown}   of {calls}, {code}")
        nothing, cached = (statistics.median(taken) for taken in times[:2])
        print(f"ratio        {cached / nothing:8.2f}")
        stats = first.structured_content["stats"]
        print(f"{stats['facts']} facts, {stats['tokens']} tokens")
        if len(times) > 2:
            least = min(times[1]) / min(times[2])
            ratio = cached / statistics.median(times[2])
            print(f"than there   {ratio:8.2f}   least by least {least:.2f}")


def shop(folder: Path) -> Path:
    shutil.copytree(
        ROOT / "examples" / "shop", folder, ignore=shutil.ignore_patterns("node_modules", ".cache")
    )
    who = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "All of it"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--project", type=Path)
    parser.add_argument("--feature", default="checkout")
    parser.add_argument("--than", type=Path, help="a checkout of another commit")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.project)
        return
    with tempfile.TemporaryDirectory() as folder:
        project = given.project or shop(Path(folder) / "shop")
        places = {ROOT: project}
        if given.than:
            places[given.than.resolve()] = other = Path(folder) / "other" / project.name
            shutil.copytree(project, other, ignore=shutil.ignore_patterns("context", ".cache"))
        anyio.run(measure, places, given.feature, given.calls)


if __name__ == "__main__":
    main()
