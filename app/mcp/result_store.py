"""Where the proxy keeps the results that pass it, and what it shows a model instead of them."""

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace

from app.mcp.calls import ToolCall
from app.mcp.lines import Line
from app.mcp.members import Span
from app.models.json_value import JsonValue, json_text
from app.models.rendering import McpRevision, RenderOptions
from app.models.tool_result import StoredToolResult
from app.services.renders.renders import RenderQuery
from app.wiring import Container


@dataclass(frozen=True, slots=True, eq=False)
class ResultStore:
    """Stores calls and their results in a session, and renders them for hosts.

    Args:
        container: The stores and services.
        project_id: Whose session it is.
        session_id: The session that all calls of the proxy are part of.
        options: What the host takes.
    """

    container: Container
    project_id: str
    session_id: str
    options: RenderOptions

    async def note_call(self, call: ToolCall) -> None:
        """Append a call to the session's history, as the message of an assistant.

        Raises:
            ServiceError: It cannot be stored.
        """
        function = {"name": call.name, "arguments": json_text(call.arguments)}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call.call_id, "type": "function", "function": function}],
        }

        async def body() -> AsyncIterator[bytes]:
            yield json_text(message).encode("utf-8", "backslashreplace")

        await self.container.session_messages.append(
            self.project_id, self.session_id, body(), idempotency_key=None
        )

    async def keep(self, call: ToolCall, line: Line, answer: Span, *, success: bool) -> bool:
        """Store what a call was answered with; return whether it is more than a short text.

        Args:
            call: The call.
            line: The message that answers it.
            answer: Where on the line the result, or the error, is.
            success: False for an error.

        Raises:
            ServiceError: It cannot be stored, or refuses to be read; nothing of it is stored.
        """
        head = {
            "toolName": call.name,
            "toolCallId": call.call_id,
            "sessionId": self.session_id,
            "success": success,
        }

        async def body() -> AsyncIterator[bytes]:
            yield json_text(head)[:-1].encode("utf-8", "backslashreplace") + b',"result":'
            for piece in line.pieces(answer):
                yield piece
            yield b"}"

        ingested = await self.container.tool_results.ingest(
            self.project_id, body(), idempotency_key=None
        )
        return _has_media(ingested.result)

    async def rendering(self, call: ToolCall, revision: McpRevision) -> dict[str, JsonValue]:
        """Return the result of a call that has been kept, as a host is to get it.

        Raises:
            ServiceError: It cannot be rendered.
        """
        stored = await self.container.records.read(
            self.project_id,
            lambda unit: unit.tool_results.find_call(self.session_id, call.call_id),
        )
        if stored is None:
            return {}
        query = RenderQuery("mcp", replace(self.options, protocol_version=revision))
        body = await self.container.renders.tool_result(
            self.project_id, stored.result.tool_result_id, query
        )
        async with aclosing(body.chunks()) as chunks:
            text = b"".join([chunk async for chunk in chunks])
        result: dict[str, JsonValue] = json.loads(text)["messages"][0]
        return result


def _has_media(result: StoredToolResult) -> bool:
    return bool(json.loads(result.sanitized)["resources"])
