"""What the lists of tools cost a session, and what `context_operation` adds to an operation.

    PYTHONPATH=server python bench/operations.py [--calls 200]

Tokens are characters of the JSON and the instructions divided by four. The times are of
`knowledge.search` over real stdio, called by its own tool and through `context_operation`.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

sys.path.insert(0, str(Path(__file__).parent))
from stdio_cached import ROOT, shop

PARAMS = {"query": "coupon", "limit": 5}


def server(project: Path, tools: str) -> StdioServerParameters:
    environ = {
        "PYTHONPATH": str(ROOT / "server"), "PATH": os.environ["PATH"],
        "PREREAD_TOOLS": tools, "PREREAD_CLAUDE": "off",
    }  # fmt: skip
    return StdioServerParameters(
        command=sys.executable, args=["-m", "preread", "mcp"], env=environ, cwd=project
    )


async def tokens(project: Path, tools: str) -> tuple[int, int, int]:
    """How many tools are listed; the tokens of that without and with the schemas of replies.

    A model is shown names, descriptions, schemas of params, and the instructions.
    """
    async with Client(server(project, tools), mode="legacy") as client:
        listed = (await client.list_tools()).tools
    told = len((ROOT / "prompts" / "instructions.md").read_text(encoding="utf-8"))
    shown = [
        {"name": t.name, "description": t.description, "input_schema": t.input_schema}
        for t in listed
    ]
    replies = sum(len(json.dumps(t.output_schema)) for t in listed)
    size = len(json.dumps(shown)) + told
    return len(listed), size // 4, (size + replies) // 4


async def times(project: Path, calls: int) -> dict[str, list[float]]:
    """Seconds of each call, taking turns so that a busy moment meets both."""
    given: dict[str, dict[str, Any]] = {
        "knowledge_search": PARAMS,
        "context_operation": {"method": "knowledge.search", "params": PARAMS},
    }
    taken: dict[str, list[float]] = {name: [] for name in given}
    async with Client(server(project, "full"), mode="legacy") as client:
        await client.list_tools()
        await client.call_tool("load_context", {"feature": "checkout"})
        for _ in range(calls):
            for name, arguments in given.items():
                begun = time.perf_counter()
                reply = await client.call_tool(name, arguments)
                taken[name].append(time.perf_counter() - begun)
                assert not reply.is_error, reply
    return taken


async def measure(calls: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = shop(Path(folder) / "shop")
        found = {tools: await tokens(project, tools) for tools in ("few", "full")}
        for tools, (count, size, whole) in found.items():
            print(f'tools = "{tools}": {count} tools, {size} tokens, {whole} with reply schemas')
        shares = (1 - found["few"][n] / found["full"][n] for n in (1, 2))
        print("fewer: {:.1%}, {:.1%} with reply schemas".format(*shares))
        medians = {
            name: statistics.median(taken) * 1000
            for name, taken in (await times(project, calls)).items()
        }
    for name, value in medians.items():
        print(f"{name:18} {value:7.3f} ms   median of {calls}")
    print(
        f"added              {medians['context_operation'] - medians['knowledge_search']:7.3f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=200)
    anyio.run(measure, parser.parse_args().calls)


if __name__ == "__main__":
    main()
