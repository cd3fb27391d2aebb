"""A client of the Python SDK 1.x against one server; prints what it saw as JSON.

Its argument is JSON, as that of `client.mjs`.
"""

import asyncio
import json
import sys
from contextlib import AsyncExitStack

import httpx
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


async def main(given):
    async with AsyncExitStack() as stack:
        if "url" in given:
            wire = httpx.AsyncClient(headers=given["headers"], timeout=60, trust_env=False)
            await stack.enter_async_context(wire)
            connected = streamable_http_client(given["url"], http_client=wire)
        else:
            connected = stdio_client(StdioServerParameters(**given["server"]))
        read, write, *_ = await stack.enter_async_context(connected)
        session = await stack.enter_async_context(ClientSession(read, write))
        begun = await session.initialize()
        heard = []

        async def tell(_progress, _total, message):
            heard.append(message)

        tools = [tool.name for tool in (await session.list_tools()).tools]
        asked = {"feature": "checkout", "level": "light"}
        loaded = await session.call_tool("load_context", asked, progress_callback=tell)
        refused = await session.call_tool("load_context", {"feature": "../x"})
        resources = [str(one.uri) for one in (await session.list_resources()).resources]
        return {
            "tools": tools, "resources": resources, "heard": heard, "era": begun.protocolVersion,
            "status": loaded.structuredContent["status"], "refused": refused.isError,
        }  # fmt: skip


print(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))))
