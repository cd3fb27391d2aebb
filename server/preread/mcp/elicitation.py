"""Asks a client's user: with a request to the client or, in newer protocols, with a result."""

import hashlib
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

from preread.operations.registry import AnswerNeeded

ANSWER = "agreed"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        ANSWER: {"type": "boolean", "title": "Continue", "description": "Yes to continue."}
    },
    "required": [ANSWER],
}


class InputRequired(AnswerNeeded):
    """The client has to repeat the call with an answer."""

    def __init__(self, result: InputRequiredResult) -> None:
        super().__init__("an answer is needed")
        self.result = result


class Asker:
    """Asks one question during one call."""

    def __init__(self, call: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> None:
        self._call, self._answers = call, params.input_responses or {}

    @property
    def is_supported(self) -> bool:
        client = self._call.session.client_params
        return client is not None and client.capabilities.elicitation is not None

    async def ask(self, question: str) -> bool:
        """Whether the person says yes. Raises InputRequired if the answer comes in another call."""
        asked = ElicitRequestFormParams(message=question, requested_schema=SCHEMA)
        key = _key(question)
        answer = self._answers.get(key)
        if answer is None and self._call.protocol_version in MODERN_PROTOCOL_VERSIONS:
            requests = {key: ElicitRequest(params=asked)}
            raise InputRequired(InputRequiredResult(input_requests=requests))
        if answer is None:
            try:
                answer = await self._call.session.elicit_form(
                    question, SCHEMA, self._call.request_id
                )
            except MCPError:  # the client announced elicitation, but it failed
                return False
        if not isinstance(answer, ElicitResult) or answer.action != "accept":
            return False
        return bool(answer.content and answer.content.get(ANSWER))


def _key(question: str) -> str:
    """The key of a question: an answer is valid only for the exact text that was shown."""
    digest = hashlib.sha256(question.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{ANSWER}-{digest[:16]}"
