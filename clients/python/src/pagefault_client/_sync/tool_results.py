"""Results of tools."""

# Written by generate.py from `_async/`; change that.

from typing import Any, Unpack

from pagefault_client import operations
from pagefault_client._sync.lists import Items
from pagefault_client._sync.transport import Transport
from pagefault_client.models import RenderedRecord, RenderedToolResult, ToolResultRecord
from pagefault_client.options import RenderOptions, Target, on_the_wire
from pagefault_client.values import jsonable


class ToolResults:
    """Results of tools, each stored once and never changed."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(  # noqa: PLR0913 - all but three by name
        self,
        tool_name: str,
        tool_call_id: str,
        result: Any,  # noqa: ANN401 - whatever a tool returns
        *,
        session_id: str | None = None,
        success: bool = True,
        new_call: bool = False,
        render: Target | None = None,
        handles: bool | None = None,
        idempotency_key: str | None = None,
    ) -> RenderedToolResult:
        """Store what a tool returned, and return the record.

        Args:
            tool_name: The tool.
            tool_call_id: The id of the call, from the model's message.
            result: What it returned: any JSON value, bytes, a pydantic model, a dataclass.
            session_id: The conversation; without it the result is in no history.
            success: False for an error of the tool.
            new_call: True if another call of the session with this id has its result, and the
                message that makes this one is not stored yet.
            render: With a target, the answer has the rendering for that model too.
            handles: Whether the rendering names the media that it has.
            idempotency_key: Names the request where no session does; made here by default.

        Raises:
            ConflictError: The call has another result already.
        """
        call = operations.create_tool_result(
            {
                "toolName": tool_name,
                "toolCallId": tool_call_id,
                "result": jsonable(result),
                "success": success,
                "sessionId": session_id,
            },
            render=render,
            new_call=new_call or None,
            handles=handles,
            idempotency_key=idempotency_key,
        )
        # In a session the id of the call makes a repetition harmless, unless that is used again.
        named = call.changed(is_repeatable=session_id is not None and not new_call)
        return self._transport.send(named)

    def get(self, tool_result_id: str) -> ToolResultRecord:
        """Return a record."""
        return self._transport.send(operations.get_tool_result(tool_result_id))

    def list(
        self, session_id: str | None = None, *, limit: int | None = None
    ) -> Items[ToolResultRecord]:
        """Return all records, or those of a session; `limit` is how many one request asks for."""
        return Items(
            self._transport,
            lambda cursor: operations.list_tool_results(
                session_id=session_id, limit=limit, cursor=cursor
            ),
        )

    def render(
        self, tool_result_id: str, target: Target, **options: Unpack[RenderOptions]
    ) -> RenderedRecord:
        """Return a record as messages for a model."""
        body: Any = {"target": target, "toolResultId": tool_result_id, **on_the_wire(options)}
        return self._transport.send(operations.render_record(body))
