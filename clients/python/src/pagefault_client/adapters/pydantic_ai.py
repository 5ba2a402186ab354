"""Pydantic AI: `Agent(toolsets=[RememberingToolset(toolset, session), …])`.

It takes any toolset: functions, MCP servers, others. It needs `pagefault-client[pydantic-ai]`.
"""

import base64
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_ai import (
    ApprovalRequired,
    BinaryContent,
    CallDeferred,
    FileUrl,
    RunContext,
    ToolReturn,
    UploadedFile,
)
from pydantic_ai.toolsets import ToolsetTool, WrapperToolset

from pagefault_client import AsyncMemory, AsyncSession
from pagefault_client.models import RenderedToolResult, SanitizedToolResult


@dataclass
class RememberingToolset(WrapperToolset[Any]):
    """A toolset whose results are stored in a session.

    The `metadata` of each is the record. Where a tool returns `ToolReturn` with a mapping as its
    `metadata`, the record is the member `pagefault` of that; any other kind stays as it is, and
    the record is found by the id of the call alone.
    """

    session: AsyncSession

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],
        tool: ToolsetTool[Any],
    ) -> Any:  # noqa: ANN401 - Pydantic AI's
        """Run a tool, store what it returns, and return what the model should see of it."""
        memory = AsyncMemory(self.session)
        call_id = ctx.tool_call_id or f"call_{uuid.uuid4().hex}"
        try:
            result = await super().call_tool(name, tool_args, ctx, tool)
        except (ApprovalRequired, CallDeferred):
            # The call goes on later, under the same id.
            raise
        except Exception as error:
            await memory.keep_error(name, call_id, error)
            raise

        def show(record: RenderedToolResult, content: dict[str, Any]) -> ToolReturn:
            value = result.return_value if isinstance(result, ToolReturn) else result
            if not has_links(value):
                value = [value_of(block) for block in content["content"]]
            return ToolReturn(
                return_value=value,
                content=result.content if isinstance(result, ToolReturn) else None,
                metadata=_metadata(result, record["sanitized"]),
            )

        return await memory.store_and_show(
            name, call_id, raw_of(result), show, target="mcp", otherwise=result
        )


def _metadata(result: object, record: SanitizedToolResult) -> object:
    own = result.metadata if isinstance(result, ToolReturn) else None
    if own is None:
        return record
    return {**own, "pagefault": record} if isinstance(own, Mapping) else own


def has_links(value: object) -> bool:
    """Return whether a value names media by an address, of which nothing is stored."""
    if isinstance(value, dict):
        return any(map(has_links, value.values()))
    if isinstance(value, list | tuple):
        return any(map(has_links, value))
    return isinstance(value, FileUrl | UploadedFile)


def raw_of(result: object) -> object:
    """Return a result with the media of Pydantic AI as data URIs, in which their type is said."""
    if isinstance(result, FileUrl):
        return result.url
    if isinstance(result, ToolReturn):
        return raw_of(result.return_value)
    if isinstance(result, BinaryContent):
        return result.data_uri
    if isinstance(result, list | tuple):
        return [raw_of(each) for each in result]
    if isinstance(result, dict):
        return {name: raw_of(each) for name, each in result.items()}
    return result


def value_of(block: dict[str, Any]) -> str | BinaryContent:
    """Return a block of MCP as Pydantic AI has it."""
    if block["type"] in {"image", "audio"}:
        data = base64.b64decode(block["data"])
        return BinaryContent(data=data, media_type=block["mimeType"])
    if block["type"] == "resource_link":
        return f"[{block.get('name') or 'file'}: {block['uri']}]"
    return str(block.get("text") or block.get("resource", {}).get("text") or "")
