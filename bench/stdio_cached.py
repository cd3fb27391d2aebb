"""A cached `load_context` against a tool that does nothing, on the same server over real stdio.

    PYTHONPATH=server python bench/stdio_cached.py [--calls 200] [--project DIR] [--feature NAME]

Without a project it takes a copy of the example shop in a new git repository.
Prints both medians and their ratio.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters

ROOT = Path(__file__).resolve().parents[1]


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


async def measure(project: Path, feature: str, calls: int) -> None:
    server = StdioServerParameters(
        command=sys.executable,
        args=[__file__, "--serve", "--project", str(project)],
        env={"PYTHONPATH": str(ROOT / "server"), "PATH": os.environ["PATH"]},
    )
    async with Client(server, mode="legacy") as client:
        await client.list_tools()
        first = await client.call_tool("load_context", {"feature": feature})
        assert not first.is_error, first.content
        times: dict[str, list[float]] = {"nothing": [], "load_context": []}
        for _ in range(calls):  # one after the other, so that a busy moment meets both
            for name, taken in times.items():
                begun = time.perf_counter()
                reply = await client.call_tool(
                    name, {"feature": feature} if name == "load_context" else {}
                )
                taken.append(time.perf_counter() - begun)
                assert name == "nothing" or reply.structured_content["state"] == "cached", reply
    nothing, cached = (statistics.median(taken) * 1000 for taken in times.values())
    print(f"nothing      {nothing:8.3f} ms   median of {calls}")
    print(
        f"load_context {cached:8.3f} ms   cached, {len(reply.structured_content['dossier'])} "
        f"characters"
    )
    print(f"ratio        {cached / nothing:8.2f}")


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
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.project)
    with tempfile.TemporaryDirectory() as folder:
        project = given.project or shop(Path(folder) / "shop")
        anyio.run(measure, project, given.feature, given.calls)


if __name__ == "__main__":
    main()
