"""Models of other makers, scripted on loopback: what their clients need to call one tool.

    with ModelAPI("load_context", {"feature": "checkout"}) as api:
        ... run a client with api.url as its model ...
        api.offered  # the tool as the client offered it to the model
        api.results  # what the client told the model of the call

It speaks OpenAI's Responses, as Codex asks it, and Google's generateContent, as Gemini CLI does. To
every conversation without a result it says the call, to all others that it is done.
"""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar

from _loopback import Service

Json = dict[str, Any]
USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}


class Responses:
    """`POST …/responses` of OpenAI, streamed."""

    ends = "/responses"

    @staticmethod
    def tools(body: Json) -> Iterator[Json]:
        for tool in body.get("tools", []):
            if tool["type"] == "namespace":
                yield from ({**inner, "namespace": tool["name"]} for inner in tool["tools"])
            elif "name" in tool:
                yield tool

    @staticmethod
    def results(body: Json) -> list[str]:
        return [
            str(item["output"])
            for item in body["input"]
            if item.get("type") == "function_call_output"
        ]

    @staticmethod
    def events(tool: Json | None, arguments: Json) -> list[Json]:
        item: Json = {"type": "message", "id": "m1", "role": "assistant"}
        if tool is None:
            item["content"] = [{"type": "output_text", "text": "Done."}]
        else:
            call = {"type": "function_call", "id": "f1", "call_id": "c1", "name": tool["name"]}
            item = {**call, "arguments": json.dumps(arguments)}
            item |= {"namespace": tool["namespace"]} if "namespace" in tool else {}
        return [
            {"type": "response.created", "response": {"id": "r1"}},
            {"type": "response.output_item.done", "item": item},
            {"type": "response.completed", "response": {"id": "r1", "usage": USAGE}},
        ]


class GenerateContent:
    """`POST …:streamGenerateContent` of Google."""

    ends = ":streamGenerateContent"

    @staticmethod
    def tools(body: Json) -> Iterator[Json]:
        for group in body.get("tools", []):
            yield from group.get("functionDeclarations", [])

    @staticmethod
    def results(body: Json) -> list[str]:
        parts = (part for content in body["contents"] for part in content["parts"])
        return [
            part["functionResponse"]["response"]["output"]
            for part in parts
            if "functionResponse" in part
        ]

    @staticmethod
    def events(tool: Json | None, arguments: Json) -> list[Json]:
        part: Json = {"text": "Done."}
        if tool is not None:
            part = {"functionCall": {"name": tool["name"], "args": arguments}}
        answer = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        return [{"candidates": [answer]}]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "ModelAPI"

    def log_message(self, *arguments: object) -> None:
        """Say nothing on the tests' standard error."""

    def do_GET(self) -> None:
        self._send(404, "application/json", b"{}")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        dialect = next((one for one in ModelAPI.dialects if path.endswith(one.ends)), None)
        if dialect is None:
            self._send(404, "application/json", b"{}")
            return
        events = self.server.answer(dialect, body)
        lines = (
            (f"event: {event['type']}\n" if "type" in event else "")
            + f"data: {json.dumps(event)}\n\n"
            for event in events
        )
        self._send(200, "text/event-stream", "".join(lines).encode())

    def _send(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class ModelAPI(Service):
    """The service."""

    dialects: ClassVar = (Responses, GenerateContent)

    def __init__(self, tool: str, arguments: Json) -> None:
        super().__init__(_Handler)
        self.offered: Json = {}
        self.results: list[str] = []
        self._tool, self._arguments = tool, arguments

    def answer(self, dialect: type[Responses | GenerateContent], body: Json) -> list[Json]:
        offered = (tool for tool in dialect.tools(body) if tool["name"].endswith(self._tool))
        tool = next(offered, None)
        self.offered = tool or self.offered
        self.results = dialect.results(body) or self.results
        return dialect.events(None if dialect.results(body) else tool, self._arguments)
