"""Asking the person behind a client: a request back to it, or, on newer connections, a result that asks for input."""

from typing import Any

from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp_types import (
    CallToolRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

KEY = "agreed"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {KEY: {"type": "boolean", "title": "Go on", "description": "Yes to go on."}},
    "required": [KEY],
}


class InputRequired(Exception):  # noqa: N818 - what the call needs, not a failure
    """The call has to be made again with an answer."""

    def __init__(self, result: InputRequiredResult) -> None:
        super().__init__("an answer is needed")
        self.result = result


class Asker:
    """Asks one question in the course of one call."""

    def __init__(self, call: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> None:
        self._call, self._answers = call, params.input_responses or {}

    @property
    def can(self) -> bool:
        client = self._call.session.client_params
        return client is not None and client.capabilities.elicitation is not None

    async def __call__(self, question: str) -> bool:
        """Whether a person said yes. Raises InputRequired where the answer comes with another call."""
        asked = ElicitRequestFormParams(message=question, requested_schema=SCHEMA)
        answer = self._answers.get(KEY)
        if answer is None and self._call.protocol_version in MODERN_PROTOCOL_VERSIONS:
            raise InputRequired(
                InputRequiredResult(input_requests={KEY: ElicitRequest(params=asked)})
            )
        if answer is None:
            try:
                answer = await self._call.session.elicit_form(
                    question, SCHEMA, self._call.request_id
                )
            except MCPError:  # a client that promised to ask and cannot: nobody said yes
                return False
        said = isinstance(answer, ElicitResult) and answer.action == "accept" and answer.content
        return bool(said and said.get(KEY))
