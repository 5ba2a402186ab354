"""Pydantic AI: `Agent(toolsets=[RememberingToolset(toolset, session), …])`.

Any toolset can be wrapped, including functions and MCP servers. `PagefaultMessageHistory` loads the
`message_history` of a run, and `memory_tools` are the tools of the memory. The module needs
`pagefault-client[pydantic-ai]`.
"""

import base64
import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from pydantic_ai import (
    ApprovalRequired,
    BinaryContent,
    CallDeferred,
    FileUrl,
    RunContext,
    Tool,
    ToolReturn,
    UploadedFile,
)
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from pydantic_ai.toolsets import ToolsetTool, WrapperToolset

from pagefault_client import AsyncMemory, AsyncSession, PagefaultError
from pagefault_client.adapters.record import AsyncRecorder
from pagefault_client.models import RenderedToolResult, SanitizedToolResult
from pagefault_client.options import SessionRenderOptions
from pagefault_client.tool_calls import ToolCall

logger = logging.getLogger("pagefault_client")


class PagefaultMessageHistory(AsyncRecorder):
    """The messages of an agent's runs: `agent.run("…", message_history=await history.messages())`.

    Behind each run: `await history.add(result.new_messages())`.
    """

    def __init__(self, session: AsyncSession, **options: Unpack[SessionRenderOptions]) -> None:
        super().__init__(session, **options)
        self._counts: dict[str, int] = {}

    async def messages(self) -> list[ModelMessage]:
        """Return the messages for the next run, within `max_tokens` if that is given."""
        return ModelMessagesTypeAdapter.validate_python(await self.load("pydantic-ai"))

    async def add(self, messages: Sequence[ModelMessage]) -> None:
        """Append the messages of a run; those that its tools have stored are not repeated."""
        run_id = messages[-1].run_id if messages else None
        new = [message for message in messages if message.run_id == run_id]
        count = self._counts.get(run_id or "", 0)
        dumped = ModelMessagesTypeAdapter.dump_python(new[count:], mode="json")
        if dumped:
            # An agent adds its instructions to each request anew.
            await self.save([{**message, "instructions": None} for message in dumped])
        if run_id:
            self._counts[run_id] = len(new)

    async def add_before_call(self, ctx: RunContext[Any]) -> None:
        """Append the messages of a run up to a call; if that fails, they are appended later."""
        messages = [message for message in ctx.messages if message.run_id == ctx.run_id]
        try:
            await self.add(messages)
        except PagefaultError as error:
            logger.warning("the messages before %s are not stored yet: %s", ctx.tool_call_id, error)


async def memory_tools(session: AsyncSession | AsyncRecorder) -> list[Tool[Any]]:
    """Return the tools with which a model reads and writes its memory."""
    memory = AsyncMemory(session)

    def make(name: str, description: str, schema: dict[str, Any]) -> Tool[Any]:
        async def call(ctx: RunContext[Any], **arguments: Any) -> Any:  # noqa: ANN401
            tool_call = ToolCall(name, _id_of(ctx), arguments)
            return await memory.call_tool(tool_call, _values_of, target="mcp")

        return Tool.from_schema(call, name, description, schema, takes_ctx=True)

    return [make(*definition) for definition in await memory.list_tools()]


@dataclass
class RememberingToolset(WrapperToolset[Any]):
    """A toolset whose calls and results are stored in a session.

    If the runs have a `PagefaultMessageHistory`, that is the `session`.

    The `metadata` of a result is its record. If a tool returns a `ToolReturn` with a mapping as
    `metadata`, the record is added to it as the member `pagefault`. Metadata of other types are
    kept; the record can then be found by the id of the call.
    """

    session: AsyncSession | AsyncRecorder

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],
        tool: ToolsetTool[Any],
    ) -> Any:  # noqa: ANN401 - Pydantic AI's
        """Run a tool, store its result, and return the rendered result."""
        memory = AsyncMemory(self.session)
        call = ToolCall(name, _id_of(ctx), tool_args)
        if isinstance(self.session, PagefaultMessageHistory):
            await self.session.add_before_call(ctx)
        try:
            result = await super().call_tool(name, tool_args, ctx, tool)
        except (ApprovalRequired, CallDeferred):
            # The call continues later, under the same id.
            raise
        except Exception as error:
            await memory.store_error(name, call.call_id, error, tool_args)
            raise

        def convert(record: RenderedToolResult, content: dict[str, Any]) -> ToolReturn:
            value = result.return_value if isinstance(result, ToolReturn) else result
            if not has_links(value):
                value = _values_of(content)
            return ToolReturn(
                return_value=value,
                content=result.content if isinstance(result, ToolReturn) else None,
                metadata=_metadata(result, record["sanitized"]),
            )

        return await memory.store_and_convert(
            call, raw_of(result), convert, target="mcp", fallback=result
        )


def _id_of(ctx: RunContext[Any]) -> str:
    return ctx.tool_call_id or f"call_{uuid.uuid4().hex}"


def _metadata(result: object, record: SanitizedToolResult) -> object:
    metadata = result.metadata if isinstance(result, ToolReturn) else None
    if metadata is None:
        return record
    return {**metadata, "pagefault": record} if isinstance(metadata, Mapping) else metadata


def has_links(value: object) -> bool:
    """Return whether a value has media by URL, which are not stored."""
    if isinstance(value, dict):
        return any(map(has_links, value.values()))
    if isinstance(value, list | tuple):
        return any(map(has_links, value))
    return isinstance(value, FileUrl | UploadedFile)


def raw_of(result: object) -> object:
    """Convert the media of Pydantic AI in a result to data URIs with their types."""
    if isinstance(result, FileUrl):
        return result.url
    if isinstance(result, ToolReturn):
        return raw_of(result.return_value)
    if isinstance(result, BinaryContent):
        return result.data_uri
    if isinstance(result, list | tuple):
        return [raw_of(item) for item in result]
    if isinstance(result, dict):
        return {name: raw_of(value) for name, value in result.items()}
    return result


def _values_of(result: dict[str, Any]) -> list[str | BinaryContent]:
    """Convert an MCP result to the types of Pydantic AI."""
    return [value_of(block) for block in result["content"]]


def value_of(block: dict[str, Any]) -> str | BinaryContent:
    """Convert an MCP block to the type of Pydantic AI."""
    if block["type"] in {"image", "audio"}:
        data = base64.b64decode(block["data"])
        return BinaryContent(data=data, media_type=block["mimeType"])
    if block["type"] == "resource_link":
        return f"[{block.get('name') or 'file'}: {block['uri']}]"
    return str(block.get("text") or block.get("resource", {}).get("text") or "")
